/* sessions: the work of drawing in one turn of the loop is bounded.  The test counts
 * rows and cells, no time.  Pipes play terminals, and there is no bash. */
#include "executor/session/sessions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/own.h"
#include "executor/process/all_processes.h"
#include "executor/process/cgroup.h"
#include "executor/process/processes.h"
#include "executor/session/session.h"
#include "executor/session/session_action.h"
#include "executor/session/session_output.h"
#include "executor/wire/send_queue.h"
#include "protocol/action.h"
#include "tests/patience.h"

#define C "\x1b["
#define NEVER INT64_MAX
#define NOW INT64_C(1000)

/* After this output each newline scrolls 999 rows. */
#define SCROLLS C "1000;1Hx" C "1;999r" C "999;1H"
#define NEWLINES 4096
/* The most work of one sequence (test_screen_hostile.c). */
#define STEP_WORK (SCREEN_ROWS * 16)
#define MANY 40

struct stage {
	struct sessions sessions;
	struct send_queue replies;
	struct processes processes;
	struct all_processes all_processes;
	struct cgroup cgroup;
	int into[MANY + 1];    /* owned; session I's output */
	int reports[MANY + 1]; /* owned; the pipe of session I's reports; 0: none */
	struct pollfd fds[(MANY + 1) * SESSION_POLLS + 1];
};

static int setup(void **state)
{
	struct stage *st = mem_zeroed(1, sizeof(*st));

	(void)alarm(PATIENCE_S); /* for each test */
	st->cgroup = (struct cgroup){ .procs = -1, .events = -1 };
	st->sessions = (struct sessions){ .replies = &st->replies,
					  .processes = &st->processes,
					  .all_processes = &st->all_processes,
					  .proc = -1 };
	*state = st;
	return 0;
}

static int teardown(void **state)
{
	struct stage *st = *state;

	sessions_done(&st->sessions);
	send_queue_done(&st->replies);
	for (size_t i = 0; i < ARRAY_LEN(st->into); i++) {
		if (st->into[i] > 0)
			own_close(&st->into[i]);
		if (st->reports[i] > 0)
			own_close(&st->reports[i]);
	}
	free(st);
	return 0;
}

static int make_pipe(int *ret_write)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	*ret_write = ends[1];
	return ends[0];
}

/* Returns the pid of a child that has ended but is not reaped, so that no other
 * process gets its pid. */
static pid_t make_pid(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(0);
	return pid;
}

/* Adds session number `at` + 1, with a running command and an action that waits for
 * it. */
static struct session *add(struct stage *st, size_t at)
{
	const struct run_request r = { .session = (uint32_t)at + 1, .kind = RUN_WAIT };
	struct sessions *all = &st->sessions;
	struct session *s = mem_zeroed(1, sizeof(*s));

	*s = (struct session){ .id = (uint32_t)at + 1, .replies = &st->replies,
			       .all_processes = &st->all_processes, .cgroup = &st->cgroup,
			       .processes = &st->processes, .variables = &all->variables,
			       .proc = -1, .state = SESSION_RUNNING, .start_due = NEVER,
			       .key_due = NEVER, .inner_due = NEVER, .hit_due = NEVER,
			       .parked = -1, .is_opened = true };
	s->shell = (struct shell){ .status = -1, .lines = -1, .text = { .fd = -1 }, .reports = -1,
				   .number = 1, .coming = { .lines = -1, .holder = -1 } };
	s->shell.terminal = (struct terminal){ make_pipe(&st->into[at]), -1 };
	buffer_init(&s->shell.typed, 100);
	buffer_init(&s->shell.reported, 4096);
	screen_init(&s->screen, SCREEN_ROWS, SCREEN_COLS);
	output_log_init(&s->output_log, NULL, "");
	all->all = mem_resize(all->all, all->count + 1, sizeof(struct session *));
	all->all[all->count++] = s;
	session_run(s, (uint32_t)at + 101, &r, NOW);
	return s;
}

static void print(struct stage *st, size_t at, const char *text)
{
	ssize_t len = (ssize_t)strlen(text);

	assert_int_equal(write(st->into[at], text, (size_t)len), len);
}

static void flood(struct stage *st, size_t at)
{
	char newlines[NEWLINES];

	memset(newlines, '\n', sizeof(newlines));
	print(st, at, SCROLLS);
	assert_int_equal(write(st->into[at], newlines, sizeof(newlines)),
			 sizeof(newlines));
}

static uint64_t work_of_all(const struct stage *st)
{
	uint64_t work = 0;

	for (size_t i = 0; i < st->sessions.count; i++)
		work += st->sessions.all[i]->screen.display.work;
	return work;
}

/* Runs a turn of the loop.  Returns false if no work is left. */
static bool turn(struct stage *st)
{
	uint64_t before = work_of_all(st);
	size_t count = sessions_watch(&st->sessions, st->fds, false);
	int ready = poll(st->fds, count, 0);

	assert_true(ready >= 0);
	if (ready == 0 && !sessions_have_more(&st->sessions))
		return false;
	sessions_serve(&st->sessions, st->fds, NOW);
	assert_in_range(work_of_all(st) - before, 0, SESSIONS_WORK + STEP_WORK);
	return true;
}

static struct screen_text text_of(struct session *s)
{
	return screen_take(&s->screen, SCREEN_ENDED | SCREEN_WHOLE);
}

/* --- what is printed ---------------------------------------------------------- */

static void test_a_session_has_its_share_of_a_turn_and_loses_nothing(void **state)
{
	struct stage *st = *state;
	struct session *s = add(st, 0);
	unsigned turns = 0;

	flood(st, 0);
	print(st, 0, "the end");
	for (uint64_t before = 0; turn(st); turns++) {
		assert_in_range(s->screen.display.work - before, 1,
				SESSION_WORK + STEP_WORK);
		before = s->screen.display.work;
	}
	assert_in_range(turns, NEWLINES * 999 / (SESSION_WORK + STEP_WORK), NEWLINES);
	assert_null(s->ahead.bytes); /* the memory for bytes read ahead is freed */
	struct screen_text t = text_of(s);
	assert_non_null(memmem(t.bytes, t.len, "the end", 7));
	free(t.bytes);
}

/* The bound on a turn's work counts rows and cells.  A bound in bytes would not do:
 * one part of a terminal's buffer may take as long as a thousand turns. */
static void test_forty_floods_share_a_turn(void **state)
{
	struct stage *st = *state;
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < MANY; i++) {
		(void)add(st, i);
		flood(st, i);
	}
	for (int i = 0; i < MANY; i++)
		assert_true(turn(st)); /* the turn checks the work that it did */
	for (size_t i = 0; i < MANY; i++) {
		uint64_t work = st->sessions.all[i]->screen.display.work;
		least = work < least ? work : least;
		most = work > most ? work : most;
	}
	assert_in_range(most - least, 0, 2 * (SESSION_WORK + STEP_WORK));
	assert_true(least > SESSION_WORK);
}

/* If one session prints a line while all others flood, the line is read after at
 * most one round of the others. */
static void test_a_quiet_session_has_its_turn(void **state)
{
	const size_t round = MANY * SESSION_WORK / SESSIONS_WORK + 2;
	struct stage *st = *state;

	for (size_t i = 0; i < MANY; i++) {
		(void)add(st, i);
		flood(st, i);
	}
	struct session *quiet = add(st, MANY);
	for (int often = 0; often < 3; often++) {
		uint64_t before = quiet->screen.display.work;
		size_t turns = 0;
		print(st, MANY, "a line\r\n");
		for (; quiet->screen.display.work == before; turns++)
			assert_true(turn(st));
		assert_in_range(turns, 1, round);
	}
}

/* A session whose stream the client holds causes no turns, although bytes were read
 * and are not drawn yet. */
static void test_a_held_stream_makes_no_turns(void **state)
{
	struct stage *st = *state;
	struct session *s = add(st, 0);

	s->action.flags = RUN_STREAM;
	flood(st, 0);
	assert_true(turn(st));
	assert_true(sessions_have_more(&st->sessions));
	sessions_hold(&st->sessions, 101, true, NOW);
	assert_false(turn(st));
	sessions_hold(&st->sessions, 101, false, NOW);
	assert_true(turn(st));
}

/* --- and then ends ------------------------------------------------------------ */

static void make_reports(struct stage *st, size_t at)
{
	st->sessions.all[at]->shell.reports = make_pipe(&st->reports[at]);
}

static void report(struct stage *st, size_t at)
{
	static const char text[] = "\0\0n1\0s7\0fhB\0b0\0d/\0p\0";

	assert_int_equal(write(st->reports[at], text, sizeof(text) - 1),
			 sizeof(text) - 1);
}

/* The end of a command is reported after all output before it was read and drawn, in
 * as many turns as that takes. */
static void test_an_end_waits_for_what_was_printed(void **state)
{
	struct stage *st = *state;
	struct session *s = add(st, 0);

	make_reports(st, 0);
	flood(st, 0);
	report(st, 0);
	for (int i = 0; i < 10; i++) {
		assert_true(turn(st));
		assert_int_equal(s->action.id, 101);
		assert_true(send_queue_is_empty(&st->replies));
	}
	while (turn(st))
		;
	assert_int_equal(s->action.id, 0);
	assert_int_equal(s->status, 7);
	assert_int_equal(s->state, SESSION_READY);
	assert_false(send_queue_is_empty(&st->replies));
}

/* The shell's death waits, too; a command that comes meanwhile is for the next
 * shell. */
static void test_a_death_waits_for_what_was_printed(void **state)
{
	const int exited_with_3 = 3 << 8;
	struct stage *st = *state;
	struct session *s = add(st, 0);
	pid_t pid = make_pid();

	s->shell.pid = pid;
	flood(st, 0);
	assert_true(turn(st));
	sessions_reaped(&st->sessions, pid, exited_with_3, NOW);
	for (int i = 0; i < 10; i++) {
		assert_true(turn(st));
		assert_int_equal(s->action.id, 101);
	}
	while (turn(st))
		;
	assert_int_equal(s->action.id, 0);
	assert_int_equal(s->status, 3);
	assert_int_equal(s->state, SESSION_DEAD);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* If a shell reports a command's end and then dies, the report counts. */
static void test_a_report_before_a_death_counts(void **state)
{
	struct stage *st = *state;
	struct session *s = add(st, 0);
	pid_t pid = make_pid();

	s->shell.pid = pid;
	make_reports(st, 0);
	flood(st, 0);
	report(st, 0);
	assert_true(turn(st));
	sessions_reaped(&st->sessions, pid, 0, NOW);
	assert_int_equal(s->action.id, 101);
	while (turn(st))
		;
	assert_int_equal(s->status, 7);
	assert_int_equal(s->state, SESSION_DEAD);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* A report costs as much work as there is text on the screen: if many are due at
 * once, they take several turns. */
static void test_reports_that_are_due_share_turns(void **state)
{
	struct stage *st = *state;
	unsigned turns = 0;
	size_t left = MANY;

	for (size_t i = 0; i < MANY; i++) {
		struct session *s = add(st, i);
		s->action.soft_due = NOW;
		for (int row = 0; row < 200; row++)
			screen_feed(&s->screen, "y" C "999b", 7);
	}
	for (; left > 0; turns++) {
		uint64_t before = work_of_all(st);
		sessions_serve(&st->sessions, st->fds, NOW);
		sessions_expire(&st->sessions, NOW);
		assert_in_range(work_of_all(st) - before, 0, SESSIONS_WORK + (1u << 20));
		left = 0;
		for (size_t i = 0; i < MANY; i++)
			left += st->sessions.all[i]->action.id != 0;
	}
	assert_in_range(turns, 2, MANY);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_session_has_its_share_of_a_turn_and_loses_nothing),
		TEST(test_forty_floods_share_a_turn),
		TEST(test_a_quiet_session_has_its_turn),
		TEST(test_a_held_stream_makes_no_turns),
		TEST(test_an_end_waits_for_what_was_printed),
		TEST(test_a_death_waits_for_what_was_printed),
		TEST(test_a_report_before_a_death_counts),
		TEST(test_reports_that_are_due_share_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
