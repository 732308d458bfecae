/* session, shell: run an agent's commands in a real bash.  Some of these commands
 * attack the client that asked for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/own.h"
#include "tests/unit/actor.h"
#include "tests/unit/in_session.h"

static struct run_request request(uint32_t kind, const char *text, uint64_t soft,
				  uint64_t hard)
{
	return (struct run_request){ .session = 1, .kind = kind, .soft_ms = soft,
				     .hard_ms = hard, .text = bytes_of(text) };
}

/* Sends the request, and compares state, content and, if the command has ended, its
 * exit code. */
static void expect(struct run_request r, uint32_t state, const char *content,
		   uint32_t exit_code)
{
	struct act x = actor_do(&a, r, state);

	assert_string_equal(x.content, content);
	assert_int_equal(x.report.exit_code, exit_code);
	act_done(&x);
}

/* Waits until the command has shown `content` and still runs, however long that
 * takes. */
static void shows(uint32_t kind, const char *text, const char *content)
{
	actor_show(&a, request(kind, text, 0, 0), content);
}

/* A program that SIGINT ends; it prints "up" once it is in the foreground. */
#define UP_AND_STAY "sh -c 'echo up; exec sleep 1000'"

struct row {
	const char *command, *content;
	uint32_t exit_code;
};

static void check_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		actor_check(&a, rows[i].command, rows[i].content, rows[i].exit_code);
}

static void test_the_changes_of_a_command_last(void **state)
{
	static const struct row rows[] = {
		{ "echo hi", "hi", 0 },
		{ "cd /usr; x=5; f() { echo f $1; }; alias ll='echo LL'; set -- a b", "",
		  0 },
		{ "pwd; echo $x $2; f 1", "/usr\n5 b\nf 1", 0 },
		{ "ll", "LL", 0 },
		{ "false", "", 1 },
		{ "echo $?", "1", 0 },
		{ "declare -a list=(1 2); declare -i n=3", "", 0 },
		{ "echo ${list[1]} $n; export E=env; env | grep ^E=", "2 3\nE=env", 0 },
		{ "exec 3>/dev/null; umask 077", "", 0 },
		{ "echo x >&3; umask", "0077", 0 },
		{ "trap 'echo got' USR1", "", 0 },
		{ "kill -USR1 $$", "got", 0 },
		{ "nonesuch_program", "bash: nonesuch_program: command not found", 127 },
		{ "(exit 7)", "", 7 },
		{ "printf no-newline", "no-newline", 0 },
		{ "tty >/dev/null && test -t 0 && test -t 1 && stty size", "1000 1000",
		  0 },
		{ "", "", 0 },
		{ "   ", "", 0 },
		{ "# a comment", "", 0 },
	};

	(void)state;
	check_rows(rows, ARRAY_LEN(rows));
	struct act x = actor_run(&a, "cd /tmp");
	assert_string_equal(x.cwd, "/tmp");
	act_done(&x);
}

static void test_text_runs_exactly_as_given(void **state)
{
	static const struct row rows[] = {
		/* bash prints one + for the command and one for the eval that runs
		 * it. */
		{ "set -x", "", 0 },
		{ "echo traced", "++ echo traced\ntraced", 0 },
		{ "set +x", "++ set +x", 0 },
		{ "echo quiet", "quiet", 0 },
		{ "echo \"a!b\" '!!' !x", "a!b !! !x", 0 },
		{ "cat <<'E'\na\tb\n\t$x `y`\nE\n", "a       b\n        $x `y`", 0 },
		{ "cat <<'E' | cat -T\na\tb\n\t$x `y`\nE\n", "a^Ib\n^I$x `y`", 0 },
		{ "for i in 1 2\ndo\n\techo $i\ndone", "1\n2", 0 },
		{ "echo a \\\n b", "a b", 0 },
		{ "echo 'one\ntwo'", "one\ntwo", 0 },
		{ "printf '%s' '\xc3\xa9\xe2\x82\xac'", "\xc3\xa9\xe2\x82\xac", 0 },
		{ "printf '\\033[31mred\\033[0m \\377 \\007x'", "red \xef\xbf\xbd x", 0 },
		{ "[ \"$(printf '\x01\x02\x7f' | od -An -tx1)\" = ' 01 02 7f' ]", "", 0 },
		{ "echo \x03 | od -An -tx1", "03 0a", 0 },
		{ "if true; then", "bash: syntax error: unexpected end of file", 2 },
		{ "set -v", "", 0 },
		{ "echo verbose", "verbose", 0 },
		{ "set -a; set +m; set -f; set -u; set +B; unset PWD", "", 0 },
		{ "echo $nope", "bash: nope: unbound variable", 1 },
		{ "set +a; set -m; set +f; set +u; set -B; cd .", "", 0 },
		{ "trap 'echo ERR' ERR; trap 'echo bye' RETURN", "", 0 },
		{ "true", "", 0 },
		{ "trap - ERR RETURN", "", 0 },
		/* After this syntax error bash drops a token of the next line, which
		 * must not be part of the next command. */
		{ "echo 'open", "bash: unexpected EOF while looking for matching `''",
		  2 },
		{ "echo alive", "alive", 0 },
		{ "echo alive", "alive", 0 },
	};

	(void)state;
	check_rows(rows, ARRAY_LEN(rows));
}

/* After the SIGINT bash abandons the executor's first line, and reports by the second. */
static void test_no_line_of_the_executor_s_is_traced(void **state)
{
	static const char *const commands[] = { "set -x; kill -INT $$; echo never",
						"kill -INT $$", "set +x" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		struct act x = actor_run(&a, commands[i]);
		assert_null(strstr(x.content, "__hutch"));
		act_done(&x);
	}
}

static void test_a_syntax_error_is_told_and_the_shell_lives(void **state)
{
	(void)state;
	actor_check(&a, "v=kept", "", 0);
	struct act x = actor_run(&a, "echo )(");
	assert_non_null(strstr(x.content, "syntax error near unexpected token"));
	assert_int_equal(x.report.exit_code, 2);
	act_done(&x);
	actor_check(&a, "echo $v", "kept", 0);
}

static void test_a_command_of_a_megabyte_runs(void **state)
{
	enum { MIB = 1 << 20 };
	char *command = malloc(MIB + 100);

	(void)state;
	strcpy(command, "set -a; x='");
	memset(command + 11, 'y', MIB);
	strcpy(command + 11 + MIB, "'; set +a; export -n x; echo ${#x}");
	actor_check(&a, command, "1048576", 0);
	free(command);
	actor_check(&a, "echo ${#x}", "1048576", 0);
	actor_check(&a, "/bin/echo after", "after", 0);
}

static void test_break_and_return_do_what_they_do_at_a_prompt(void **state)
{
	(void)state;
	actor_check(&a, "break",
		    "bash: break: only meaningful in a `for', `while', or `until' loop",
		    0);
	actor_check(
		&a, "continue",
		"bash: continue: only meaningful in a `for', `while', or `until' loop",
		0);
	actor_check(&a, "return 3",
		    "bash: return: can only `return' from a function or sourced script",
		    2);
	actor_check(&a, "local x",
		    "bash: local: can only be used in a function", 1);
	actor_check(&a, "echo same $$ | tr -d 0-9", "same", 0);
}

/* Runs a command that ends its shell.  Checks its exit code, the notice about the
 * new shell, and the working directory. */
static void check_death(const char *command, uint32_t code)
{
	actor_check(&a, "cd /usr; gone=1", "", 0);
	struct act x = actor_run(&a, command);
	if (x.report.exit_code != code)
		fail_msg("'%s' gave %u, %s", command, x.report.exit_code, x.content);
	assert_false(x.report.flags & REPORT_RESTARTED);
	act_done(&x);
	x = actor_run(&a, "pwd; echo ${gone-new}");
	assert_string_equal(x.content, "/usr\nnew");
	assert_true(x.report.flags & REPORT_RESTARTED);
	act_done(&x);
	x = actor_run(&a, "true");
	assert_false(x.report.flags & REPORT_RESTARTED);
	act_done(&x);
}

static void
test_the_death_of_the_shell_ends_the_action_and_a_new_one_follows(void **state)
{
	(void)state;
	check_death("exit 3", 3);
	check_death("exec true", 0);
	check_death("set -e; false", 1);
	check_death("kill -9 $$", 137);
	check_death("kill -SEGV $$", 139);
	check_death("exec /bin/sh -c 'exit 9'", 9);
}

static void test_the_output_before_the_death_is_there(void **state)
{
	(void)state;
	struct act x = actor_run(&a, "seq 1000; exec seq 1001 2000");
	assert_int_equal(strlen(x.content), 8892);
	assert_string_equal(x.content + x.len - 4, "2000");
	act_done(&x);
}

static void test_a_folder_that_is_gone_is_replaced_by_the_first(void **state)
{
	(void)state;
	actor_check(&a, "mkdir gone; cd gone; rmdir ../gone; exit 4", "exit", 4);
	struct act x = actor_run(&a, "echo x");
	assert_string_equal(x.cwd, a.home);
	assert_string_equal(x.content, "x");
	act_done(&x);
	actor_check(&a, "rm -rf \"$PWD\"; exit 4", "exit", 4);
	actor_check(&a, "pwd", "/", 0);
}

static void test_input_is_typed_and_never_shown(void **state)
{
	(void)state;
	shows(RUN_COMMAND, "cat; echo end", "");
	shows(RUN_INPUT, "one", "one");
	shows(RUN_INPUT, "two\nthree", "two\nthree");
	struct act x = actor_do(&a, request(RUN_KEY, "C-d", 0, 0), REPORT_COMPLETED);
	assert_string_equal(x.content, "end");
	assert_int_equal(x.report.exit_code, 0);
	assert_int_equal(x.report.flags, REPORT_KEY | REPORT_CONTINUED);
	act_done(&x);
}

static void test_read_prompts_and_gets_its_answer(void **state)
{
	(void)state;
	shows(RUN_COMMAND, "read -p 'name? ' n; echo hello $n", "name?");
	expect(request(RUN_INPUT, "John", 0, 0), REPORT_COMPLETED, "hello John", 0);
}

static void
test_a_command_that_runs_on_is_waited_for_refused_and_interrupted(void **state)
{
	(void)state;
	shows(RUN_COMMAND, UP_AND_STAY, "up");
	expect(request(RUN_WAIT, "", 0, 1), REPORT_TIMED_OUT, "", ACTION_NO_CODE);
	struct act x = actor_do(&a, request(RUN_COMMAND, "echo no", 0, 0), REPORT_BUSY);
	assert_string_equal(x.content, "");
	assert_int_equal(x.report.flags, REPORT_CONTINUED);
	act_done(&x);
	expect(request(RUN_WAIT, "", 1, 0), REPORT_NO_CHANGE, "", ACTION_NO_CODE);
	expect(request(RUN_KEY, "F13", 0, 0), REPORT_UNKNOWN_KEY, "", ACTION_NO_CODE);
	expect(request(RUN_KEY, "C-c", 0, 0), REPORT_COMPLETED, "^C", 130);
	actor_check(&a, "echo after", "after", 0);
}

static void test_a_stopped_job_is_a_completed_command(void **state)
{
	(void)state;
	/* The shell ignores the signal of C-z, so a program has to run. */
	shows(RUN_COMMAND, UP_AND_STAY, "up");
	struct act x = actor_do(&a, request(RUN_KEY, "C-z", 0, 0), REPORT_COMPLETED);
	assert_int_equal(x.report.exit_code, 148);
	assert_non_null(strstr(x.content, "Stopped"));
	act_done(&x);
	/* `fg` may find that the job has ended already. */
	x = actor_run(&a, "kill %1; fg; jobs");
	act_done(&x);
	actor_check(&a, "jobs; echo none", "none", 0);
}

static void test_nothing_runs_that_could_be_waited_for(void **state)
{
	(void)state;
	expect(request(RUN_WAIT, "", 0, 0), REPORT_NOTHING, "", ACTION_NO_CODE);
	expect(request(RUN_INPUT, "x", 0, 0), REPORT_NOTHING, "", ACTION_NO_CODE);
	expect(request(RUN_KEY, "C-c", 0, 0), REPORT_NOTHING, "", ACTION_NO_CODE);
	actor_check(&a, "echo x", "x", 0);
}

/* Whether the shell has reported the command's end and waits in read(2) for its next
 * lines (proc(5), wchan). */
static bool has_reported(void *shell)
{
	AUTO_FREE char *path = text_format("/proc/%s/wchan", (const char *)shell);
	char at[64] = "";
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0 && read(fd, at, sizeof(at) - 1) >= 0);
	return strstr(at, "pipe_read");
}

/* Runs a command that ends while no action waits, so that its end is not yet
 * reported. */
static void end_unwaited(const char *word)
{
	AUTO_FREE char *command =
		text_format("cat fifo; rm fifo; echo %s; (exit 5)", word);
	struct act shell = actor_run(&a, "echo $$");

	actor_make_fifo(&a, "fifo");
	expect(request(RUN_COMMAND, command, 1, 0), REPORT_NO_CHANGE, "", ACTION_NO_CODE);
	(void)close(actor_open_fifo(&a, "fifo", O_WRONLY));
	patience_wait(has_reported, shell.content);
	act_done(&shell);
	actor_sync(&a);
}

static void test_an_end_that_nobody_waited_for_is_told_once(void **state)
{
	(void)state;
	end_unwaited("rest");
	expect(request(RUN_WAIT, "", 0, 0), REPORT_COMPLETED, "rest", 5);
	expect(request(RUN_WAIT, "", 0, 0), REPORT_NOTHING, "", ACTION_NO_CODE);
}

static void test_input_for_what_has_ended_is_not_typed(void **state)
{
	(void)state;
	end_unwaited("rest");
	struct act x = actor_do(&a, request(RUN_INPUT, "touch typed", 0, 0),
				REPORT_COMPLETED);
	assert_string_equal(x.content, "rest");
	assert_int_equal(x.report.exit_code, 5);
	assert_int_equal(x.report.flags, REPORT_CONTINUED | REPORT_NOT_TYPED);
	act_done(&x);
	actor_check(&a, "ls", "", 0);
}

static void test_a_new_command_comes_with_its_own_output_alone(void **state)
{
	(void)state;
	end_unwaited("rest");
	actor_check(&a, "echo new", "new", 0);
}

static void test_earlier_output_is_told_first_where_asked_for(void **state)
{
	struct run_request r = request(RUN_COMMAND, "echo new", 0, 0);

	(void)state;
	end_unwaited("rest");
	r.flags = RUN_PREVIOUS;
	struct act x = actor_do(&a, r, REPORT_COMPLETED);
	assert_string_equal(x.content, "rest");
	assert_int_equal(x.report.flags, REPORT_PREVIOUS | REPORT_CONTINUED);
	assert_int_equal(x.report.exit_code, 5);
	struct act own = actor_expect(&a, x.id);
	assert_string_equal(own.content, "new");
	assert_int_equal(own.report.flags, 0);
	act_done(&x);
	act_done(&own);
	x = actor_do(&a, r, REPORT_COMPLETED);
	assert_int_equal(x.report.flags, 0);
	act_done(&x);
}

static void test_a_background_process_is_told_by_its_number(void **state)
{
	(void)state;
	struct act x = actor_run(&a, "sleep 1000 &");
	char *expected = text_format("[1] %u", x.report.background);
	assert_string_equal(x.content, expected);
	assert_int_equal(kill((pid_t)x.report.background, 0), 0);
	free(expected);
	act_done(&x);
	x = actor_run(&a, "kill -9 $!; wait; true");
	act_done(&x);
}

static void test_background_output_is_read_while_nobody_waits(void **state)
{
	(void)state;
	struct act x = actor_run(&a, "{ seq 100000; touch done; } &");
	act_done(&x);
	actor_await_file(&a, "done");
	x = actor_run(&a, "echo own");
	assert_non_null(strstr(x.content, "100000"));
	assert_non_null(strstr(x.content, "own"));
	act_done(&x);
}

static void test_a_terminal_left_in_any_mode_is_well_again(void **state)
{
	(void)state;
	actor_check(&a, "stty -echo; stty raw", "", 0);
	actor_check(&a, "echo a; echo b", "a\nb", 0);
	actor_check(&a, "stty -isig intr '^-' eof x onlcr ixoff; stty echo", "", 0);
	shows(RUN_COMMAND, UP_AND_STAY, "up");
	expect(request(RUN_KEY, "C-c", 0, 0), REPORT_COMPLETED, "^C", 130);
}

static void test_the_prompt_is_the_command_s_to_change_and_nobody_s_harm(void **state)
{
	static const struct row rows[] = {
		{ "PROMPT_COMMAND=:; PS1='x$ '; PS2=y; PS0=z", "", 0 },
		{ "echo a", "a", 0 },
		{ "PROMPT_COMMAND=(); PROMPT_COMMAND+=('echo pc')", "", 0 },
		{ "echo b", "b", 0 },
		{ "PROMPT_COMMAND=:; PS1='x$ '; echo ${nope?none}; echo never",
		  "bash: nope: none", 1 },
		{ "echo c", "c", 0 },
		{ "readonly PS1; alias eval=false builtin=false; alias printf=false", "",
		  0 },
		{ "set -o posix; shopt -s extdebug; set +o posix; shopt -u extdebug", "",
		  0 },
	};

	(void)state;
	check_rows(rows, ARRAY_LEN(rows));
}

static void test_an_abandoned_command_with_its_own_prompt_is_reported(void **state)
{
	(void)state;
	shows(RUN_COMMAND,
	      "unset PROMPT_COMMAND; PROMPT_COMMAND=:; PS1='x$ '; " UP_AND_STAY, "up");
	struct act x = actor_do(&a, request(RUN_KEY, "C-c", 0, 0), REPORT_COMPLETED);
	assert_int_equal(x.report.exit_code, 130);
	act_done(&x);
	actor_check(&a, "echo after", "after", 0);
}

static void test_the_shell_s_own_input_cannot_be_taken_away(void **state)
{
	static const struct row rows[] = {
		{ "exec </dev/null; cat; echo eof", "eof", 0 },
		{ "echo next", "next", 0 },
		{ "exec 60<&- 61<&- 62>&-; exec 0<&-", "", 0 },
		{ "echo next", "next", 0 },
		{ "ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3", 0 },
		{ "sh -c 'ls /proc/self/fd' | tr '\\n' ' '", "0 1 2 3", 0 },
	};

	(void)state;
	check_rows(rows, ARRAY_LEN(rows));
}

/* Checks that after this command, which takes descriptors from its shell, the shell
 * ends at once.  The command's exit code is kept, and the next command runs in a new
 * shell. */
static void check_lost(const char *command, uint32_t code)
{
	actor_check(&a, "gone=1", "", 0);
	struct act x = actor_run(&a, command);
	if (x.report.exit_code != code ||
	    !strstr(x.content, "hutch: the shell has ended"))
		fail_msg("'%s' gave %u, %s", command, x.report.exit_code, x.content);
	act_done(&x);
	x = actor_run(&a, "echo ${gone-new}");
	assert_string_equal(x.content, "new");
	assert_true(x.report.flags & REPORT_RESTARTED);
	act_done(&x);
}

static void test_a_shell_that_loses_its_descriptors_ends_at_once(void **state)
{
	(void)state;
	check_lost("ulimit -n 10; (exit 7)", 7);
	check_lost("ulimit -n 62", 0);
	check_lost("set -e; ulimit -n 30", 0);
	/* A process that keeps the report pipe open, and a job for which `exit`
	 * would wait. */
	actor_make_fifo(&a, "never");
	check_lost("(read x <never; exit) & echo $! >holder; ulimit -n 30", 0);
	actor_check(&a, "kill -9 $(<holder)", "", 0);
	/* A stopped job gets a SIGHUP when its shell ends. */
	check_lost(
		"sleep 1000 & kill -STOP $!; until jobs | grep -q Stopped; do :; done; "
		"ulimit -n 30",
		0);
	check_lost(
		"for f in /proc/$$/fd/*; do f=${f##*/}; ((f < 3)) || eval \"exec $f>&-\"; "
		"done; true",
		0);
	/* Closes the copies of the terminal that the shell has saved to undo its
	 * redirections. */
	check_lost(
		"for f in /proc/$$/fd/*; do [[ $(readlink $f) == /dev/pts/* ]] && "
		"((${f##*/} > 2 && ${f##*/} < 60)) && eval \"exec ${f##*/}>&-\"; done; "
		"true",
		0);
	actor_check(&a, "ulimit -n 63; kept=1", "", 0);
	actor_check(&a, "echo $kept; (ulimit -n 10; ulimit -n)", "1\n10", 0);
}

static void test_typed_input_that_was_not_read_is_run_by_no_shell(void **state)
{
	(void)state;
	actor_make_fifo(&a, "fifo");
	expect(request(RUN_COMMAND, "cat fifo; rm fifo", 1, 0), REPORT_NO_CHANGE, "",
	       ACTION_NO_CODE);
	AUTO_CLOSE int held = actor_open_fifo(&a, "fifo", O_WRONLY);
	uint32_t id = actor_send_run(&a, 1, RUN_INPUT, "touch run-by-the-shell");
	actor_sync(&a); /* it was typed */
	own_close(&held);
	struct act x = actor_expect(&a, id);
	assert_int_equal(x.report.state, REPORT_COMPLETED);
	assert_string_equal(x.content, "");
	act_done(&x);
	/* A later command that reads the terminal does not get that input either. */
	actor_check(&a, "ls; read -t 0 x; echo $?", "1", 0);
}

static void test_more_is_typed_than_anybody_reads(void **state)
{
	char *much = malloc((1 << 20) + 1);

	(void)state;
	for (size_t i = 0; i < 1 << 20; i++)
		much[i] = i % 80 == 79 ? '\n' : 'x';
	much[1 << 20] = '\0';
	expect(request(RUN_COMMAND, "sleep 1000", 1, 0), REPORT_NO_CHANGE, "",
	       ACTION_NO_CODE);
	for (int i = 0; i < 8; i++)
		expect(request(RUN_INPUT, much, 1, 0), REPORT_NO_CHANGE, "",
		       ACTION_NO_CODE);
	uint32_t id = actor_send_run(&a, 1, RUN_WAIT, "");
	actor_cancel(&a, id);
	struct act x = actor_expect(&a, id);
	assert_int_equal(x.report.state, REPORT_CANCELLED);
	act_done(&x);
	actor_check(&a, "echo after", "after", 0);
	/* A command that reads gets all of the input that was typed for it. */
	expect(request(RUN_COMMAND, "head -c 1048570 | wc -c", 1, 0), REPORT_NO_CHANGE,
	       "", ACTION_NO_CODE);
	expect(request(RUN_INPUT, much, 0, 0), REPORT_COMPLETED, "1048570", 0);
	free(much);
}

static void test_the_last_lines_of_ten_megabytes_are_told(void **state)
{
	(void)state;
	struct act x = actor_run(&a, "seq 1 1400000");
	char *first = text_format("%u\n", 1400001 - (unsigned)x.report.lines);
	assert_in_range(x.report.lines, 10001, 11360);
	assert_int_equal(strncmp(x.content, first, strlen(first)), 0);
	free(first);
	assert_string_equal(x.content + x.len - 16, "\n1399999\n1400000");
	assert_int_equal(x.len, 30047);
	/* The command's last newline does not count. */
	assert_int_equal(x.report.cut, 10088896 - 1 - 30000);
	act_done(&x);
}

/* KiB by which the executor's memory may grow.  AddressSanitizer keeps freed memory
 * for a while. */
#ifdef __SANITIZE_ADDRESS__
#define STREAM_ROOM 2000
#else
#define STREAM_ROOM 400
#endif

/* Whether the channel is full, so that the executor has to wait for the test. */
static bool is_full(void *socket)
{
	int waiting = 0;

	assert_int_equal(ioctl(*(const int *)socket, FIONREAD, &waiting), 0);
	return waiting >= 64 << 10;
}

static void test_a_stream_says_everything_and_waits_for_its_reader(void **state)
{
	struct run_request r =
		request(RUN_COMMAND, "seq 300000; printf '\\303\\251\\303'", 0, 0);

	(void)state;
	r.flags = RUN_STREAM;
	unsigned long kib = supervisor_memory(&a.s);
	uint32_t id = actor_send(&a, r);
	/* While the test reads nothing the command has to stop, and the executor
	 * sleeps. */
	patience_wait(is_full, &a.s.socket);
	supervisor_await_rest(&a.s);
	assert_in_range(supervisor_memory(&a.s), 0, kib + STREAM_ROOM);
	struct act x = actor_expect(&a, id);
	/* The output is raw: each line ends with a CR and a newline, and U+FFFD
	 * stands for the last half of a character. */
	assert_int_equal(x.output_len, 1988895 + 300000 + 2 + 3);
	assert_string_equal(x.output + x.output_len - 13,
			    "300000\r\n\303\251\357\277\275");
	assert_true(x.outputs > 100);
	assert_int_equal(x.report.state, REPORT_COMPLETED);
	act_done(&x);
}

static void test_two_sessions_side_by_side(void **state)
{
	(void)state;
	actor_open(&a, 2, "/usr", NULL);
	struct act x = actor_expect(&a, 2);
	assert_int_equal(x.type, MSG_STARTED);
	act_done(&x);
	actor_make_fifo(&a, "fifo");
	uint32_t slow = actor_send_run(&a, 1, RUN_COMMAND, "cat fifo; pwd; echo $v");
	AUTO_CLOSE int held = actor_open_fifo(&a, "fifo", O_WRONLY);
	uint32_t quick = actor_send_run(&a, 2, RUN_COMMAND, "v=2; pwd");
	x = actor_expect(&a, quick);
	assert_string_equal(x.content, "/usr");
	act_done(&x);
	own_close(&held);
	x = actor_expect(&a, slow);
	assert_int_equal(strncmp(x.content, a.home, strlen(a.home)), 0);
	assert_int_equal(x.len, strlen(a.home));
	act_done(&x);
}

static void test_a_shell_killed_by_another_session_is_a_new_one(void **state)
{
	(void)state;
	struct act x = actor_run(&a, "echo $$");
	char *command = text_format("kill -9 %s", x.content);
	act_done(&x);
	actor_open(&a, 2, "/", NULL);
	x = actor_expect(&a, 2);
	act_done(&x);
	uint32_t id = actor_send_run(&a, 1, RUN_COMMAND, "echo up >up; sleep 1000");
	actor_await_file(&a, "up");
	uint32_t killer = actor_send_run(&a, 2, RUN_COMMAND, command);
	free(command);
	for (int i = 0; i < 2; i++) {
		x = actor_next(&a);
		assert_true(x.id == id || x.id == killer);
		assert_int_equal(x.report.exit_code, x.id == id ? 137 : 0);
		act_done(&x);
	}
	x = actor_run(&a, "echo again");
	assert_string_equal(x.content, "again");
	assert_true(x.report.flags & REPORT_RESTARTED);
	act_done(&x);
	/* The same, but no action waits when the shell dies. */
	x = actor_run(&a, "echo $$");
	command = text_format("kill -9 %s", x.content);
	act_done(&x);
	x = actor_expect(&a, actor_send_run(&a, 2, RUN_COMMAND, command));
	act_done(&x);
	free(command);
	x = actor_run(&a, "echo third");
	assert_string_equal(x.content, "third");
	act_done(&x);
	actor_check(&a, "echo fourth", "fourth", 0);
}

static void test_a_forged_report_ends_an_action_early_and_no_more(void **state)
{
	static const char *const junk[] = {
		"printf '\\0\\0n%s\\0s7\\0f\\0b\\0d/\\0p\\0' 4 >$P",
		"printf 'abc' >$P",
		"printf '\\0\\0n' >$P",
		"printf '\\0\\0n1\\0s999\\0' >$P",
		"printf '\\0\\0n99999999999\\0s1\\0f\\0b\\0d/\\0p\\0' >$P",
		"head -c 300000 /dev/zero >$P",
		"head -c 300000 /dev/urandom >$P",
		"yes | head -c 300000 >$P",
	};

	(void)state;
	/* Finds the descriptor under which bash keeps the report pipe while a
	 * command runs. */
	actor_check(&a,
		    "for P in /proc/$$/fd/*; do case $(readlink $P) in pipe:*) "
		    "{ true >$P; } 2>/dev/null && break;; esac; done; test -p $P",
		    "", 0);
	for (size_t i = 0; i < ARRAY_LEN(junk); i++) {
		actor_check(&a, junk[i], "", 0);
		actor_check(&a, "echo fine", "fine", 0);
	}
	actor_make_fifo(&a, "fifo");
	struct act x = actor_run(&a, "printf '\\0\\0n%s\\0s7\\0f\\0b\\0d/nowhere\\0p\\0' "
				     "$((2 * 8 + 2)) >$P; cat fifo");
	assert_int_equal(x.report.exit_code, 7);
	assert_string_equal(x.cwd, "/nowhere");
	act_done(&x);
	/* The command still runs; the next one waits in the shell's pipe. */
	uint32_t id = actor_send_run(&a, 1, RUN_COMMAND, "echo next");
	actor_sync(&a);
	(void)close(actor_open_fifo(&a, "fifo", O_WRONLY));
	x = actor_expect(&a, id);
	assert_string_equal(x.content, "next");
	assert_int_equal(x.report.exit_code, 0);
	act_done(&x);
}

static void test_a_cancelled_action_ends_at_once(void **state)
{
	(void)state;
	shows(RUN_COMMAND, UP_AND_STAY, "up");
	uint32_t id = actor_send_run(&a, 1, RUN_WAIT, "");
	actor_cancel(&a, id);
	struct act x = actor_expect(&a, id);
	assert_int_equal(x.report.state, REPORT_CANCELLED);
	assert_int_equal(x.report.exit_code, 130);
	act_done(&x);
	/* Cancels an action that is reported already, which is permitted. */
	actor_cancel(&a, id);
	actor_check(&a, "echo after", "after", 0);
}

static void test_output_before_an_interruption_is_there(void **state)
{
	(void)state;
	uint32_t id = actor_send_run(&a, 1, RUN_COMMAND,
				     "sh -c 'echo up; >up; exec sleep 1000'; echo no");
	actor_await_file(&a, "up");
	actor_cancel(&a, id);
	struct act x = actor_expect(&a, id);
	assert_int_equal(x.report.exit_code, 130);
	assert_string_equal(x.content, "up");
	act_done(&x);
}

/* A cancel at any moment of a command, also while bash reads its lines: the
 * test cancels after so many turns of the executor's loop.  SIGINT ends the
 * command, or SIGKILL if SIGINT came before bash could take it.  No part of the
 * command runs, and the session goes on. */
static void test_a_command_may_be_cancelled_at_any_moment(void **state)
{
	AUTO_FREE char *long_one = malloc(200100);

	(void)state;
	/* If only a part of the text ran, it would create a file. */
	memset(long_one, ' ', 200000);
	memcpy(long_one, "touch part", 10);
	strcpy(long_one + 200000, "-c; while :; do :; done");
	for (unsigned i = 0; i < 24; i++) {
		uint32_t id = actor_send_run(&a, 1, RUN_COMMAND,
					     i % 2 ? "while :; do :; done" : long_one);
		for (unsigned k = 0; k < i; k++)
			actor_sync(&a);
		actor_cancel(&a, id);
		struct act x = actor_expect(&a, id);
		assert_int_equal(x.report.state, REPORT_CANCELLED);
		if ((x.report.exit_code != 130 && x.report.exit_code != 137) || x.len)
			fail_msg("round %u: %u '%s'", i, x.report.exit_code, x.content);
		act_done(&x);
	}
	actor_check(&a, "ls; echo after", "after", 0);
}

static void test_a_command_that_ignores_sigint_is_killed(void **state)
{
	(void)state;
	actor_check(&a, "v=kept", "", 0);
	/* The shell survives when a separate program has to be killed. */
	shows(RUN_COMMAND, "sh -c 'trap \"\" INT; echo up; exec sleep 1000'", "up");
	uint32_t id = actor_send_run(&a, 1, RUN_WAIT, "");
	actor_cancel(&a, id);
	struct act x = actor_expect(&a, id);
	assert_int_equal(x.report.state, REPORT_CANCELLED);
	assert_int_equal(x.report.exit_code, 137);
	act_done(&x);
	actor_check(&a, "echo $v", "kept", 0);
	/* A loop that ignores SIGINT runs in the shell itself, so the shell has to
	 * be killed. */
	shows(RUN_COMMAND, "trap '' INT; echo up; while :; do sleep 1000; done", "up");
	id = actor_send_run(&a, 1, RUN_WAIT, "");
	actor_cancel(&a, id);
	x = actor_expect(&a, id);
	assert_int_equal(x.report.state, REPORT_CANCELLED);
	assert_int_equal(x.report.exit_code, 137);
	act_done(&x);
	x = actor_run(&a, "echo ${v-new}");
	assert_string_equal(x.content, "new");
	assert_true(x.report.flags & REPORT_RESTARTED);
	act_done(&x);
}

/* Contents of ~/.bashrc with settings that a session must survive. */
static void test_a_bashrc_is_read_and_cannot_disturb(void **state)
{
	static const char *const files[] = {
		"v=set", "v=set; echo noise; PS1=x PROMPT_COMMAND='echo pc'; set -v -x",
		"v=set; cat; read x; alias eval=false printf=false",
		"v=set; return 4", "v=set\nif", "v=set; trap 'echo D' EXIT; false",
	};
	static const char *const deadly[] = { "exit 3", "exec true", "kill -9 $$",
					      "set -e; false" };
	uint32_t id = 100;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(files) + ARRAY_LEN(deadly); i++, id++) {
		bool is_deadly = i >= ARRAY_LEN(files);
		struct act x = actor_write(&a, ".bashrc",
					   is_deadly ? deadly[i - ARRAY_LEN(files)]
						     : files[i], 0, ACTION_LAST_LINE);
		act_done(&x);
		actor_open(&a, id, a.home, NULL);
		x = actor_expect(&a, id);
		assert_int_equal(x.type, MSG_STARTED);
		act_done(&x);
		x = actor_expect(&a,
				 actor_send_run(&a, id, RUN_COMMAND, "echo ${v-not}"));
		assert_string_equal(x.content, is_deadly ? "not" : "set");
		act_done(&x);
	}
}

static void test_a_session_that_cannot_start_says_why(void **state)
{
	(void)state;
	actor_open(&a, 7, "/nonesuch", NULL);
	struct act x = actor_expect(&a, 7);
	assert_int_equal(x.type, MSG_FAILED);
	assert_int_equal(x.failed.stage, EXEC_STAGE_CWD);
	assert_int_equal(x.failed.sys, 2);
	act_done(&x);
	actor_open(&a, 7, "/", ARGV(TEXT("PATH=/nonesuch")));
	x = actor_expect(&a, 7);
	assert_int_equal(x.type, MSG_FAILED);
	assert_int_equal(x.failed.stage, EXEC_STAGE_LOOKUP);
	act_done(&x);
	actor_check(&a, "echo still", "still", 0);
}

/* Makes request number `what`, which a supervisor must not make; each of them ends
 * the sandbox. */
static void ask_badly(int what)
{
	char *argv[] = { TEXT("bash"), NULL };
	struct exec x = { .flags = what ? EXEC_PTY | EXEC_LAST : 0,
			  .cwd = "/",
			  .argv = argv,
			  .uid = getuid(),
			  .gid = getgid() };
	struct buffer b;

	buffer_init(&b, 10000);
	switch (what) {
	case 0: /* no terminal */
	case 1: /* the last one */
		assert_int_equal(message_put_open(&b, 9, &x, NULL), 0);
		supervisor_send(&a.s, &b, NULL, 0);
		break;
	case 2: /* an id in use */
		actor_open(&a, 1, "/", NULL);
		break;
	case 3: /* no such session */
		actor_send_run(&a, 2, RUN_COMMAND, "true");
		break;
	case 4: /* two actions at once */
		actor_send_run(&a, 1, RUN_COMMAND, "sleep 1000");
		actor_send_run(&a, 1, RUN_WAIT, "");
		break;
	case 5: /* the id of the session, used for an action */
		a.next = 1;
		actor_send_run(&a, 1, RUN_COMMAND, "true");
		break;
	default: /* an answer */
		assert_int_equal(action_put_text(&b, MSG_CONTENT, 7, bytes_of("x"), NULL),
				 0);
		supervisor_send(&a.s, &b, NULL, 0);
	}
	buffer_done(&b);
}

static void test_a_forbidden_request_ends_the_sandbox(void **state)
{
	(void)state;
	for (int what = 0; what <= 6; what++) {
		ask_badly(what);
		struct act x = actor_next(&a);
		assert_int_equal(x.type, MSG_NONE);
		act_done(&x);
		actor_end(&a);
		actor_start(&a);
	}
}

static void test_sixty_four_sessions_and_no_more(void **state)
{
	(void)state;
	unsigned before = 0;
	for (uint32_t id = 2; id <= 66; id++) {
		actor_open(&a, id, "/", NULL);
		struct act x = actor_expect(&a, id);
		assert_int_equal(x.type, id <= 64 ? MSG_STARTED : MSG_FAILED);
		if (id > 64)
			assert_int_equal(x.failed.sys, 11); /* EAGAIN */
		act_done(&x);
		if (id == 64)
			before = supervisor_fds(&a.s);
	}
	assert_int_equal(supervisor_fds(&a.s), before);
	struct act x = actor_expect(&a, actor_send_run(&a, 64, RUN_COMMAND, "echo last"));
	assert_string_equal(x.content, "last");
	act_done(&x);
}

static void test_ten_thousand_commands_neither_grow_nor_mix(void **state)
{
	unsigned long kib = 0;
	unsigned fds = 0;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		char command[64], expected[64];
		(void)snprintf(command, sizeof(command), "echo %d; (exit %d)", i,
			       i % 200);
		(void)snprintf(expected, sizeof(expected), "%d", i);
		if (i % 4 == 0)
			(void)snprintf(command, sizeof(command), "echo %d; return_%d=", i,
				       i);
		actor_check(&a, command, expected, i % 4 ? (uint32_t)i % 200 : 0);
		if (i == 5000) {
			kib = supervisor_memory(&a.s);
			fds = supervisor_fds(&a.s);
		}
	}
	assert_int_equal(supervisor_fds(&a.s), fds);
	assert_in_range(supervisor_memory(&a.s), 0, kib + 300);
}

static void test_a_time_out_of_ages_is_none(void **state)
{
	(void)state;
	actor_make_fifo(&a, "fifo");
	uint32_t id = actor_send(&a, request(RUN_COMMAND, "cat fifo; echo x", UINT64_MAX,
					     UINT64_MAX));
	AUTO_CLOSE int held = actor_open_fifo(&a, "fifo", O_WRONLY);
	actor_sync(&a); /* any notice would have come before the answer to this */
	own_close(&held);
	struct act x = actor_expect(&a, id);
	assert_int_equal(x.report.state, REPORT_COMPLETED);
	assert_string_equal(x.content, "x");
	act_done(&x);
}

/* In a folder whose path is longer than a report can have. */
static void test_a_folder_with_too_long_a_name_has_none(void **state)
{
	(void)state;
	actor_check(&a, "LC_ALL=C.UTF-8", "", 0);
	struct act x = actor_run(&a, "PWD=/$(printf '\\303\\251%.0s' {1..4000})");
	assert_string_equal(x.cwd, "");
	act_done(&x);
	x = actor_run(&a, "PWD=/$(printf '\\303\\251%.0s' {1..2000})");
	assert_int_equal(strlen(x.cwd), 4001);
	act_done(&x);
}

/* A command can write to all descriptors of its shell; a pipe that is full must not
 * block the executor. */
static void test_pipes_that_a_command_has_filled_stop_nobody(void **state)
{
	(void)state;
	shows(RUN_COMMAND, "trap '' INT; "
			   "for P in /proc/$$/fd/*; do case $(readlink $P) in "
			   "pipe:*) yes '' | head -c 70000 | dd bs=1 of=$P "
			   "oflag=nonblock 2>/dev/null;; esac; done; "
			   "echo full; sleep 1000", "full");
	uint32_t id = actor_send_run(&a, 1, RUN_WAIT, "");
	actor_cancel(&a, id);
	struct act x = actor_expect(&a, id);
	assert_int_equal(x.report.state, REPORT_CANCELLED);
	act_done(&x);
	actor_check(&a, "echo after", "after", 0);
}

/* Runs `rest` for each path by which a command can open its own text. */
#define EACH_TEXT(rest)							       \
	"for P in /proc/$$/fd/*; do case $(readlink $P) in "		       \
	"*memfd:hutch-command*) " rest ";; esac; done"

static void test_a_command_changes_no_command_s_text(void **state)
{
	(void)state;
	actor_check(&a, EACH_TEXT("truncate -s 0 $P 2>/dev/null && echo cut; "
				  "truncate -s 9000000 $P 2>/dev/null && echo grown; "
				  "{ echo x >$P; } 2>/dev/null && echo written")
		    "; echo tried", "tried", 0);
}

static void test_a_forged_report_without_an_end_hides_no_other(void **state)
{
	(void)state;
	actor_check(&a,
		    "for P in /proc/$$/fd/*; do case $(readlink $P) in pipe:*) "
		    "{ true >$P; } 2>/dev/null && break;; esac; done; test -p $P",
		    "", 0);
	actor_check(&a, "{ printf '\\0\\0n'; yes | head -c 300000; } >$P", "", 0);
	actor_check(&a, "echo fine", "fine", 0);
	/* Nor does one for this very command, with an invalid status. */
	actor_make_fifo(&a, "fifo");
	uint32_t id = actor_send_run(&a, 1, RUN_COMMAND,
				     "printf '\\0\\0n4\\0s999\\0f\\0b\\0d/\\0p\\0' >$P; "
				     "cat fifo");
	AUTO_CLOSE int held = actor_open_fifo(&a, "fifo", O_WRONLY);
	/* The executor has read the forged report, and the command runs on. */
	actor_sync(&a);
	own_close(&held);
	struct act x = actor_expect(&a, id);
	assert_int_equal(x.report.exit_code, 0);
	assert_string_equal(x.content, "");
	act_done(&x);
}

static void test_unread_output_is_not_kept_without_end(void **state)
{
	enum { MIB = 1 << 20 };
	char *much = malloc(MIB + 1);

	(void)state;
	memset(much, 'x', MIB);
	much[MIB] = '\0';
	expect(request(RUN_COMMAND, "sleep 1000", 1, 0), REPORT_NO_CHANGE, "",
	       ACTION_NO_CODE);
	unsigned long kib = supervisor_memory(&a.s);
	for (int i = 0; i < 32; i++)
		expect(request(RUN_INPUT, much, 1, 0), REPORT_NO_CHANGE, "",
		       ACTION_NO_CODE);
	/* Memory for twice the output that is kept, and for a request. */
	assert_in_range(supervisor_memory(&a.s), 0, kib + 20 * 1024);
	free(much);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_changes_of_a_command_last),
		TEST(test_text_runs_exactly_as_given),
		TEST(test_no_line_of_the_executor_s_is_traced),
		TEST(test_a_syntax_error_is_told_and_the_shell_lives),
		TEST(test_a_command_of_a_megabyte_runs),
		TEST(test_break_and_return_do_what_they_do_at_a_prompt),
		TEST(test_the_death_of_the_shell_ends_the_action_and_a_new_one_follows),
		TEST(test_the_output_before_the_death_is_there),
		TEST(test_a_folder_that_is_gone_is_replaced_by_the_first),
		TEST(test_input_is_typed_and_never_shown),
		TEST(test_read_prompts_and_gets_its_answer),
		TEST(test_a_command_that_runs_on_is_waited_for_refused_and_interrupted),
		TEST(test_a_stopped_job_is_a_completed_command),
		TEST(test_nothing_runs_that_could_be_waited_for),
		TEST(test_an_end_that_nobody_waited_for_is_told_once),
		TEST(test_input_for_what_has_ended_is_not_typed),
		TEST(test_a_new_command_comes_with_its_own_output_alone),
		TEST(test_earlier_output_is_told_first_where_asked_for),
		TEST(test_a_background_process_is_told_by_its_number),
		TEST(test_background_output_is_read_while_nobody_waits),
		TEST(test_a_terminal_left_in_any_mode_is_well_again),
		TEST(test_the_prompt_is_the_command_s_to_change_and_nobody_s_harm),
		TEST(test_an_abandoned_command_with_its_own_prompt_is_reported),
		TEST(test_the_shell_s_own_input_cannot_be_taken_away),
		TEST(test_a_shell_that_loses_its_descriptors_ends_at_once),
		TEST(test_typed_input_that_was_not_read_is_run_by_no_shell),
		TEST(test_more_is_typed_than_anybody_reads),
		TEST(test_the_last_lines_of_ten_megabytes_are_told),
		TEST(test_a_stream_says_everything_and_waits_for_its_reader),
		TEST(test_two_sessions_side_by_side),
		TEST(test_a_shell_killed_by_another_session_is_a_new_one),
		TEST(test_a_forged_report_ends_an_action_early_and_no_more),
		TEST(test_a_cancelled_action_ends_at_once),
		TEST(test_output_before_an_interruption_is_there),
		TEST(test_a_command_may_be_cancelled_at_any_moment),
		TEST(test_a_command_that_ignores_sigint_is_killed),
		TEST(test_a_bashrc_is_read_and_cannot_disturb),
		TEST(test_a_session_that_cannot_start_says_why),
		TEST(test_a_forbidden_request_ends_the_sandbox),
		TEST(test_sixty_four_sessions_and_no_more),
		TEST(test_ten_thousand_commands_neither_grow_nor_mix),
		TEST(test_a_time_out_of_ages_is_none),
		TEST(test_a_folder_with_too_long_a_name_has_none),
		TEST(test_pipes_that_a_command_has_filled_stop_nobody),
		TEST(test_a_command_changes_no_command_s_text),
		TEST(test_a_forged_report_without_an_end_hides_no_other),
		TEST(test_unread_output_is_not_kept_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
