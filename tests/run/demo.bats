#!/usr/bin/env bats
# Runs the commands of `make demo` with the limit of open descriptors of a login session.
# tests/fresh runs the whole demo, on a machine of its own.

load helpers
bats_require_minimum_version 1.5.0

setup() {
	begin
	ulimit -Sn 1024
	mkdir "$T/spare" # of the demo's own folder it has to be seen that it is gone
	export TMPDIR=$T/spare
}

shows() {
	grep -qE "$1" <<<"$output" || { echo "not shown: $1"; echo "$output"; return 1; }
}

@test "the demo shows what a sandbox sees, what it costs and an agent's work, and leaves nothing behind" {
	run -0 "$top/demo/demo.sh" "$HUTCH"
	shows '^  your home .*No such file or directory$'
	shows '^  network devices .* lo$'
	shows '^  hutch run true +median [0-9.]+ ms'
	shows '^      FAILED \(failures=1\)$'
	shows 'a person pushes'
	shows '^      \+    return year % 4 == 0 and'
	shows '^  Applied: M /workspace/dates.py$'
	shows '^README.md goes on from here.$'
	[ -z "$(ls -A spare)" ]
	run -1 grep -E '^(not )?ok [0-9]' <<<"$output"
}

@test "the project in the tree stays as it is" {
	cp -r "$top/demo/project" before
	run -0 "$top/demo/demo.sh" "$HUTCH"
	diff -r before "$top/demo/project"
}

@test "a sandbox that hides nothing is noticed" {
	printf '#!/bin/bash\nwhile [[ $1 != -- ]]; do [[ $1 != -e ]] || export "$2"; shift; done\nshift; DEMO_TAG=0 exec "$@"\n' >hutch
	chmod 755 hutch
	run -1 "$top/demo/demo.sh" "$T/hutch"
	shows '^seen, and should not have been: .*secret'
	shows '^demo failed: the sandbox saw what it should not'
}

@test "a build tells how far it has come, and one that fails is a failure" {
	cat >make <<-'MAKE'
		#!/bin/bash
		for ((i = 1; i <= 50; i++)); do
			if [[ $* == *-n* ]]; then
				echo "printf '  %-5s %s\\n' CC $i.o"
			else
				echo "  CC    $i.o"
			fi
		done
		[[ $* == *-n* ]] || exit 3
	MAKE
	chmod 755 make
	run -3 "$top/demo/build.sh" "$T/make" all
	[ "${lines[0]}" = 'Building hutch' ]
	[ "${lines[1]}" = '  file 25 of 50' ]
	[ "${lines[2]}" = '  file 50 of 50' ]
}
