/* stop: processes that end when they are asked to are waited for, at most for the
 * grace period; then the others are killed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "tests/unit/actor.h"
#include "tests/unit/inside.h"
#include "tests/unit/requests.h"

#define LONG_MS	 1000000 /* longer than a test waits for any answer */
#define SHORT_MS 400
#define IGNORING "trap '' TERM HUP; echo up; while :; do sleep 1000; done"

/* Checks that the executor has ended properly, and that no process is left. */
static void expect_end(struct supervisor *s)
{
	struct answer a = supervisor_answer(s);

	if (a.type != MSG_NONE)
		fail_msg("'%s' about %u in place of the end", message_name(a.type), a.id);
	assert_int_equal(WEXITSTATUS(supervisor_wait(s)), 0);
}

static void expect_signaled(struct supervisor *s, uint32_t id, uint32_t signo)
{
	struct exited x = supervisor_expect(s, MSG_EXITED, id).exited;

	assert_true(x.is_signaled);
	assert_int_equal(x.status, signo);
}

static void start_one(struct supervisor *s, uint32_t id, uint32_t flags, char **argv)
{
	struct ask a = { .id = id, .flags = flags, .argv = argv };

	supervisor_ask(s, &a);
	supervisor_expect(s, MSG_STARTED, id);
}

/* A command that prints "up" when its traps are set, and the test's ends of its
 * pipes. */
struct talk {
	int in, out;
};

static struct talk start_talking(struct supervisor *s, uint32_t id, const char *script)
{
	int in[2], out[2];

	make_pipe(in);
	make_pipe(out);
	struct ask a = { .id = id, .argv = SH(script), .fds = { in[0], out[1], 0 } };
	supervisor_ask(s, &a);
	supervisor_expect(s, MSG_STARTED, id);
	(void)close(in[0]);
	(void)close(out[1]);
	read_until(out[0], "up");
	return (struct talk){ .in = in[1], .out = out[0] };
}

static void stop_talking(struct talk *t)
{
	(void)close(t->in);
	(void)close(t->out);
}

static void start_trapping(struct supervisor *s, uint32_t id, const char *script)
{
	struct talk t = start_talking(s, id, script);

	stop_talking(&t);
}

/* Makes a FIFO through which a command tells that it has begun. */
static int make_fifo(const struct actor *a, const char *name)
{
	AUTO_FREE char *path = text_format("%s/%s", a->home, name);

	assert_int_equal(mkfifo(path, 0600), 0);
	/* Opened for reading and writing: otherwise a read would find the end of
	 * file before the first writer comes. */
	const int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void test_an_empty_sandbox_ends_at_once(void **state)
{
	struct supervisor s;
	struct ask a = { .id = 1, .argv = true_argv };

	(void)state;
	for (int i = 0; i < 2; i++) {
		supervisor_start_init(&s);
		if (i)
			supervisor_run(&s, &a);
		supervisor_stop(&s, LONG_MS);
		expect_end(&s);
	}
}

static void test_a_process_that_heeds_sigterm_is_told_before_the_end(void **state)
{
	struct supervisor s;

	(void)state;
	supervisor_start_init(&s);
	start_one(&s, 1, 0, sleep_argv);
	supervisor_stop(&s, LONG_MS);
	expect_signaled(&s, 1, SIGTERM);
	expect_end(&s);
}

static void test_daemons_and_orphans_are_asked_too(void **state)
{
	struct supervisor s;
	struct ask a = { .id = 1, .argv = SH("(setsid sleep 1000 &)") };

	(void)state;
	supervisor_start_init(&s);
	(void)supervisor_run(&s, &a);
	inside_wait(&s, 1, false);
	supervisor_stop(&s, LONG_MS);
	expect_end(&s);
}

/* When the command has printed that it was asked to end, the test lets it finish, so
 * that it takes as long as the test wants.  It starts no process after "up": a
 * process that is just being forked would miss the signal. */
static void test_one_that_needs_a_moment_gets_it(void **state)
{
	struct supervisor s;

	(void)state;
	supervisor_start_init(&s);
	struct talk t = start_talking(&s, 1,
				      "trap '' TERM HUP; sleep 1000 & "
				      "trap 'echo asked; read -r x; kill -9 $!; exit 7' "
				      "TERM; echo up; while :; do wait; done");
	start_one(&s, 2, 0, sleep_argv);
	supervisor_stop(&s, LONG_MS);
	read_until(t.out, "asked");
	/* The end of another process does not end the sandbox. */
	expect_signaled(&s, 2, SIGTERM);
	assert_int_equal(write(t.in, "go\n", 3), 3);
	assert_int_equal(supervisor_expect(&s, MSG_EXITED, 1).exited.status, 7);
	expect_end(&s);
	stop_talking(&t);
}

/* The command ignores SIGTERM, runs on during the grace period, and is killed after
 * that. */
static void test_a_process_that_ignores_sigterm_is_ended_after_the_grace(void **state)
{
	struct supervisor s;

	(void)state;
	supervisor_start_init(&s);
	struct talk t = start_talking(&s, 1, "trap '' TERM HUP; echo up;"
					     " while read -r x; do echo still here; done;"
					     " sleep 1000");
	start_one(&s, 2, 0, sleep_argv);
	supervisor_stop(&s, LONG_MS);
	expect_signaled(&s, 2, SIGTERM);
	assert_int_equal(write(t.in, "?\n", 2), 2);
	read_until(t.out, "still here");
	supervisor_stop(&s, SHORT_MS);
	expect_end(&s);
	stop_talking(&t);
}

static void test_another_stop_shortens_and_never_lengthens(void **state)
{
	static const uint32_t graces[][2] = { { LONG_MS, 0 }, { LONG_MS, SHORT_MS },
					      { SHORT_MS, LONG_MS } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(graces); i++) {
		struct supervisor s;
		supervisor_start_init(&s);
		start_trapping(&s, 1, IGNORING);
		supervisor_stop(&s, graces[i][0]);
		supervisor_stop(&s, graces[i][1]);
		expect_end(&s);
	}
}

static void test_interactive_shells_end(void **state)
{
	struct supervisor s;
	struct ask a = { .id = 1, .flags = EXEC_PTY,
			 .argv = ARGV(TEXT("bash"), TEXT("--norc"), TEXT("-i")) };
	int out[2];

	(void)state;
	supervisor_start_init(&s);
	make_pipe(out);
	a.fds[1] = out[1];
	supervisor_ask(&s, &a);
	(void)close(out[1]);
	supervisor_expect(&s, MSG_STARTED, 1);
	read_until(out[0], "bash-");
	supervisor_stop(&s, LONG_MS);
	supervisor_expect(&s, MSG_EXITED, 1);
	expect_end(&s);
	(void)close(out[0]);
}

static void test_a_paused_sandbox_ends_as_well(void **state)
{
	struct supervisor s;

	(void)state;
	supervisor_start_init(&s);
	start_one(&s, 1, 0, sleep_argv);
	start_one(&s, 2, EXEC_PTY, sleep_argv);
	supervisor_signal(&s, 0, SIGSTOP);
	inside_wait(&s, 2, true);
	supervisor_stop(&s, LONG_MS);
	for (int i = 0; i < 2; i++)
		assert_int_equal(supervisor_answer(&s).type, MSG_EXITED);
	expect_end(&s);
}

/* --- sessions -------------------------------------------------------------- */

/* A child of an interactive bash has bash's handlers until it executes its program: a
 * signal that comes before is forgotten, and the program lives to the end of the grace.
 * So "up" comes from an sh, which such a child has executed. */
#define SLEEP "sh -c 'echo up >~/fifo; exec sleep 1000'"

static void test_a_session_ends_idle_or_busy(void **state)
{
	static const struct {
		const char *command, *says;
	} rows[] = { { NULL, NULL },
		     { SLEEP, "up\n" },
		     { "echo up >~/fifo; while :; do :; done", "up\n" },
		     { SLEEP " & " SLEEP "; echo no", "up\nup\n" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct actor a;
		uint32_t id = 0;
		actor_start_init(&a);
		if (rows[i].command) {
			AUTO_CLOSE int fifo = make_fifo(&a, "fifo");
			id = actor_send_run(&a, 1, RUN_COMMAND, rows[i].command);
			read_until(fifo, rows[i].says);
		}
		supervisor_stop(&a.s, LONG_MS);
		if (id) {
			struct act x = actor_expect(&a, id);
			assert_int_equal(x.type, MSG_REPORT);
			assert_null(x.content ? strstr(x.content, "no") : NULL);
			act_done(&x);
		}
		expect_end(&a.s);
		actor_clean(&a);
	}
}

/* A shell that dies while it starts is usually started once more, but not after a
 * request to stop. */
static void test_no_session_starts_again(void **state)
{
	struct actor a;

	(void)state;
	actor_start_init(&a);
	AUTO_CLOSE int fifo = make_fifo(&a, "fifo");
	actor_check(&a, "echo \"" SLEEP "\" >~/.bashrc", "", 0);
	actor_check(&a, "exec true", "", 0);
	inside_wait(&a.s, 0, false);
	uint32_t id = actor_send_run(&a, 1, RUN_COMMAND, "echo no");
	read_until(fifo, "up");
	supervisor_stop(&a.s, LONG_MS);
	struct act x = actor_expect(&a, id);
	assert_int_equal(x.type, MSG_REPORT);
	assert_int_not_equal(x.report.exit_code, 0);
	act_done(&x);
	expect_end(&a.s);
	actor_clean(&a);
}

/* --- what may be asked meanwhile -------------------------------------------- */

static void put_exec_9(struct buffer *b)
{
	put_exec_of(b, 9, 0, true_argv);
}

static void put_open_9(struct buffer *b)
{
	struct exec x = { .flags = EXEC_PTY, .uid = getuid(), .gid = getgid(), .cwd = "/",
			  .argv = ARGV(TEXT("bash")), .env = no_env };
	struct err e;

	assert_int_equal(message_put_open(b, 9, &x, &e), 0);
}

static void put_run_9(struct buffer *b)
{
	struct run_request r = { .session = 1,
				 .kind = RUN_COMMAND,
				 .text = bytes_of("true") };
	struct err e;

	assert_int_equal(action_put_run(b, 9, &r, &e), 0);
}

static void put_read_9(struct buffer *b)
{
	struct read_request r = { .place = { .cwd = "/" }, .form = READ_TEXT,
				  .path = "/dev/null", .end = UINT64_MAX };
	struct err e;

	assert_int_equal(action_put_read(b, 9, &r, &e), 0);
}

static void put_write_9(struct buffer *b)
{
	struct write_request r = { .place = { .cwd = "/" }, .path = "/dev/null",
				   .end = UINT64_MAX, .content = bytes_of("") };
	struct err e;

	assert_int_equal(action_put_write(b, 9, &r, &e), 0);
}

/* Asks a sandbox to stop that has a command which ignores that, so that its end
 * takes long. */
static void begin_ending(struct actor *a)
{
	actor_start_init(a);
	start_trapping(&a->s, 2, IGNORING);
	supervisor_stop(&a->s, LONG_MS);
}

static void test_nothing_new_is_taken(void **state)
{
	static const struct {
		void (*put)(struct buffer *);
		unsigned fds;
	} rows[] = { { put_exec_9, 3 }, { put_open_9, 0 }, { put_run_9, 0 },
		     { put_read_9, 0 }, { put_write_9, 0 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct actor a;
		begin_ending(&a);
		send_one(&a.s, rows[i].put, rows[i].fds);
		supervisor_expect_violation(&a.s);
		actor_clean(&a);
	}
}

static void test_present_processes_can_be_signalled(void **state)
{
	struct actor a;

	(void)state;
	begin_ending(&a);
	supervisor_resize(&a.s, 2, 1, 1);
	/* An action that may have ended already, so the request is permitted. */
	actor_cancel(&a, 77);
	supervisor_signal(&a.s, 2, SIGWINCH);
	supervisor_signal(&a.s, 0, SIGKILL);
	expect_signaled(&a.s, 2, SIGKILL);
	expect_end(&a.s);
	actor_clean(&a);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_empty_sandbox_ends_at_once),
		TEST(test_a_process_that_heeds_sigterm_is_told_before_the_end),
		TEST(test_daemons_and_orphans_are_asked_too),
		TEST(test_one_that_needs_a_moment_gets_it),
		TEST(test_a_process_that_ignores_sigterm_is_ended_after_the_grace),
		TEST(test_another_stop_shortens_and_never_lengthens),
		TEST(test_interactive_shells_end),
		TEST(test_a_paused_sandbox_ends_as_well),
		TEST(test_a_session_ends_idle_or_busy),
		TEST(test_no_session_starts_again),
		TEST(test_nothing_new_is_taken),
		TEST(test_present_processes_can_be_signalled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
