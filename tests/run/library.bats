#!/usr/bin/env bats
# Tests of libhutch in a program: the test cases in tests/lib, the example, and the symbols that
# it exports.

load helpers

setup() {
	begin
	cases=$BUILD/tests/lib/cases
	[[ -x $cases ]] || {
		echo "$cases is not there: make tests"
		return 1
	}
}

teardown() {
	remove_boxes
	end
}

# done_by CASE...: runs each test case of tests/lib in a separate process; a case prints the
# reason if it fails.
done_by() {
	local name
	for name in "$@"; do
		echo "$name"
		HUTCH=$HUTCH "$cases" "$name"
	done
}

@test "no case is left out here" {
	diff <("$cases" | sort) <(grep -oE '^	done_by .*|^		[a-z_]{8,}( |$).*' \
		"$BATS_TEST_FILENAME" | grep -oE '[a-z0-9]+_[a-z0-9_]+' | grep -vx done_by | sort -u)
}

@test "commands are run with their streams, from their start to their end" {
	done_by run_commands run_at_once make_one_with_a_main_process keep_no_more_than_16_mib
}

@test "rules about connections are flags of a sandbox that is made" {
	done_by allow_a_host
}

@test "an event loop polls one descriptor, and nothing waits" {
	done_by serve_an_event_loop open_for_a_caller_that_only_polls
}

@test "files go in and out through pipes" {
	done_by copy_files
}

@test "actions are done, streamed and cancelled" {
	done_by do_actions stream_actions
}

@test "an open connection is handed over to another handle" {
	done_by hand_over
}

@test "a sandbox is watched and steered, and its end is told to every handle" {
	done_by watch_and_steer read_what_the_supervisor_logs
}

@test "a sandbox that was kept is started again, with its files" {
	image img
	room data
	export XDG_DATA_HOME=$T/data
	as_who python3 -c 'import os; os.setxattr("data", "user.probe", b"1")' 2>/dev/null ||
		skip "$T has no user.* attributes"
	"$HUTCH" create --keep --image "dir:$T/img" -v /usr:/usr:ro box
	"$HUTCH" exec box -- sh -c 'echo one >/data/new'
	"$HUTCH" kill box
	done_by start_again
	[ -z "$(ls -A data/hutch/kept)" ]
}

@test "a sandbox of a pool is taken; released it lives on, and else it ends with its handle" {
	"$HUTCH" pool create --size 1 pond
	done_by take_from_a_pool take_without_a_program
	"$HUTCH" pool rm pond
	until_true none_is_left
}

@test "a pool's keeper is held to its protocol" {
	done_by hold_a_keeper_to_the_protocol bound_what_a_keeper_says give_up_on_a_silent_keeper
}

@test "a take without a free descriptor or memory is an error that says so" {
	done_by find_no_descriptor_for_a_sandbox take_where_there_is_no_memory
}

none_is_left() {
	[[ -z $("$HUTCH" ps -q) ]]
}

@test "each of several threads at one handle gets its own answers" {
	done_by give_each_thread_its_answers wait_without_being_busy
}

# ThreadSanitizer prints a race when it finds it, and lets the program end with code 66.
@test "ThreadSanitizer finds no race" {
	is_sanitized && skip "two sanitizers do not go together"
	cases=$BUILD/tests/lib/threads
	"$cases" >/dev/null || skip "this host has no layout of memory that ThreadSanitizer knows"
	done_by give_each_thread_its_answers refuse_a_child_of_fork serve_an_event_loop \
		end_every_call_when_the_supervisor_is_gone run_commands bound_a_line
}

@test "every error says what it is, and what would help" {
	done_by explain_errors judge_what_the_program_says
}

@test "a child of fork is refused, and the parent loses nothing" {
	done_by refuse_a_child_of_fork
}

@test "a supervisor that is killed in mid-call ends every call" {
	done_by end_every_call_when_the_supervisor_is_gone give_up_on_one_that_is_stuck
}

@test "a host may take all children, or ignore them" {
	done_by share_children_with_the_host start_programs_as_a_shell_would
}

@test "closed before it is ready, it leaves nothing" {
	done_by leave_nothing_when_closed_early
}

@test "without descriptors and without memory it says so, and goes on when there are some" {
	done_by say_that_there_are_no_descriptors find_no_descriptor_for_a_connection \
		say_that_there_is_no_memory
}

@test "messages of the other end are bounded and checked against the protocol" {
	done_by hold_lines_to_the_protocol bound_a_line bound_what_nobody_takes \
		keep_time_though_there_is_always_more
}

@test "the example does an agent's work, in 40 lines" {
	[ "$(grep -cvE '^ *$|^/\*|^#include|^\{|^\}' "$top/lib/examples/agent.c")" -le 40 ]
	PATH=${HUTCH%/*}:$PATH LD_LIBRARY_PATH=$BUILD/lib catch "$BUILD/tests/lib/agent" box
	[ "$status" -eq 0 ]
	[ "$output" = $'1\n2\n3\nended with 7\nacted in /workspace' ]
}

# --- the library as a file -------------------------------------------------------

# declared: prints the functions of the header.
declared() {
	grep -A1 '^HUTCH_API' "$top/include/hutch.h" | grep -oE '\bhutch_[a-z_]+\(' | tr -d '(' | sort -u
}

@test "exports are the functions that the header declares and the map lists, with their version" {
	lib=$BUILD/lib/libhutch.so.0
	[ "$(declared | wc -l)" -gt 30 ]
	diff <(declared) <(grep -oE '^	hutch_[a-z_]+' "$top/lib/libhutch.map" | tr -d '\t' | sort)
	diff <(declared | sed 's/$/@@HUTCH_0.1/') \
		<(nm -D --defined-only "$lib" | awk '$2 == "T" { print $3 }' | sort)
	readelf -d "$lib" | grep -q 'SONAME.*\[libhutch.so.0\]'
	# The library must define no other global symbol.
	diff <(declared) <(nm -g --defined-only "$BUILD/lib/libhutch.a" | awk 'NF == 3 { print $3 }' | sort)
}

@test "where memory is out the library does not abort, and it has no writable globals" {
	is_sanitized && skip "the sanitizer's own are in it"
	lib=$BUILD/lib/libhutch.so.0
	never grep -qE ' (abort|exit|__assert_fail|signal|sigaction|fork)(@|$)' <(nm -D --undefined-only "$lib")
	# Data of the compiler's start-up files is no global of the library.
	[ -z "$(objdump -t "$lib" | grep -E '\.(data|bss)	' | grep -vE ' (completed\.0|__dso_handle|__TMC_END__|\.data|\.bss)$')" ]
}

@test "fractions are read alike, whatever the locale of the program writes them with" {
	localedef -i de_DE -f UTF-8 "$T/de_DE.UTF-8" ||
		skip "no locale with a decimal comma can be made on this host"
	export LOCPATH=$T
	done_by read_fractions_in_any_locale
}

@test "the header stands alone, in C and in C++" {
	printf '#include "hutch.h"\n#include "hutch.h"\nint main(void) { return 0; }\n' >alone.c
	for std in c11 c2x; do
		gcc -std=$std -Wall -Wextra -Wpedantic -Werror -I"$top/include" -fsyntax-only alone.c
	done
	local cxx
	cxx=$(command -v g++ || command -v clang++) || skip "this host has no C++ compiler"
	"$cxx" -x c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -I"$top/include" -fsyntax-only alone.c
}

@test "pkg-config reads what is installed for it" {
	command -v pkg-config >/dev/null || skip "this host has no pkg-config"
	mkdir pc
	sed -e "s|@PREFIX@|$top|; s|@VERSION@|1|" "$top/lib/hutch.pc.in" >pc/hutch.pc
	PKG_CONFIG_PATH=pc pkg-config --validate hutch
	[ "$(PKG_CONFIG_PATH=pc pkg-config --cflags --libs hutch | xargs)" = "-I$top/include -L$top/lib -lhutch" ]
}

@test "every function of the header is in the manual page, and no other" {
	diff <(declared) <(grep -oE '\bhutch_[a-z_]+\(' "$top/docs/libhutch.md" | tr -d '(' | sort -u)
}

@test "the example of the manual page runs a command, and ends its sandbox" {
	is_sanitized && skip "the program would need the sanitizer"
	awk '/^```/ { inside = !inside; n++; next } inside && n == 1' "$top/docs/libhutch.md" >example.c
	gcc -Wall -Wextra -Werror -I"$top/include" example.c "$BUILD/lib/libhutch.so.0" \
		-Wl,-rpath,"$BUILD/lib" -o example
	printf 'all:\n\t@echo made\n' >Makefile
	[ "$(PATH=${HUTCH%/*}:$PATH ./example)" = $'made\nended with 0' ]
	[ -z "$("$HUTCH" ps -q)" ]
}
