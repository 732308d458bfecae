/* all_processes: a signal to all, and a pause, reach every process in the sandbox,
 * and an agent's actions do not suffer from them. */
#include "executor/process/all_processes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "tests/unit/actor.h"
#include "tests/unit/inside.h"
#include "tests/unit/requests.h"

/* --- time, with no process and any `now` -------------------------------------- */

#define NEVER INT64_MAX

static const struct {
	const char *what;
	struct {
		int64_t at; /* 0: no more */
		bool is_held;
	} holds[4];
	int64_t now, theirs;
	int wait; /* ms until the processes' own time reaches 1100 */
} times[] = {
	{ "nothing has happened", { { 0 } }, 1050, 1050, 50 },
	{ "and it is due", { { 0 } }, 1100, 1100, 0 },
	{ "and it is late", { { 0 } }, 9000, 9000, 0 },
	{ "time stands still", { { 1010, true } }, 1050, 1010, -1 },
	{ "for as long as that lasts", { { 1010, true } }, 99999, 1010, -1 },
	{ "what was due before is due", { { 1200, true } }, 5000, 1200, 0 },
	{ "it goes on from there", { { 1010, true }, { 5010, false } }, 5010, 1010, 90 },
	{ "and further", { { 1010, true }, { 5010, false } }, 5099, 1099, 1 },
	{ "and is due", { { 1010, true }, { 5010, false } }, 5100, 1100, 0 },
	{ "twice is once",
	  { { 1010, true }, { 2000, true }, { 5010, false }, { 6010, false } },
	  6020,
	  2020,
	  0 },
	{ "a second pause",
	  { { 1010, true }, { 1110, false }, { 1150, true } },
	  9000,
	  1050,
	  -1 },
	{ "and its end",
	  { { 1010, true }, { 1110, false }, { 1150, true }, { 2150, false } },
	  2160,
	  1060,
	  40 },
	{ "what nobody holds is not let go", { { 1010, false } }, 1050, 1050, 50 },
};

static void test_time_is_what_was_not_paused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		struct all_processes e = { 0 };
		for (size_t k = 0; k < 4 && times[i].holds[k].at; k++)
			all_processes_hold(&e, times[i].holds[k].is_held,
					   times[i].holds[k].at);
		int64_t theirs = all_processes_now(&e, times[i].now);
		int wait = all_processes_wait(&e, 1100, times[i].now);
		if (theirs != times[i].theirs || wait != times[i].wait)
			fail_msg("%s: %lld, %d", times[i].what, (long long)theirs, wait);
		assert_int_equal(all_processes_wait(&e, NEVER, times[i].now), -1);
		/* holding the deadlines sends no signal to the processes */
		assert_false(all_processes_is_stopped(&e));
	}
}

/* A turn of the loop has one `now`, so a pause that begins or ends within a turn
 * takes no time from the processes. */
static void test_a_pause_that_begins_or_ends_changes_no_time(void **state)
{
	struct all_processes e = { 0 };

	(void)state;
	all_processes_hold(&e, true, 1000);
	assert_true(all_processes_now(&e, 1000) == 1000);
	all_processes_hold(&e, false, 1500);
	assert_true(all_processes_now(&e, 1500) == 1000);
	all_processes_hold(&e, true, 1500);
	assert_true(all_processes_now(&e, 1500) == 1000);
}

static const struct {
	struct all_processes e;
	bool all_stand;
	int64_t now;
	enum all_processes_step step;
} looks[] = {
	{ { 0 }, true, 9000, ALL_PROCESSES_WAITS },
	{ { .since = 1000, .due = 3000 }, false, 1000, ALL_PROCESSES_WAITS },
	{ { .since = 1000, .due = 3000 }, false, 2999, ALL_PROCESSES_WAITS },
	{ { .since = 1000, .due = 3000 }, true, 1001, ALL_PROCESSES_STOPS },
	{ { .since = 1000, .due = 3000 }, false, 3000, ALL_PROCESSES_STOPS },
	{ { .since = 1000 },
	  true,
	  9000,
	  ALL_PROCESSES_WAITS }, /* they have been stopped */
	{ { .is_ending = true, .due = 1500 }, true, 1499, ALL_PROCESSES_WAITS },
	{ { .is_ending = true, .due = 1500 }, false, 1500, ALL_PROCESSES_IS_ASKED },
	{ { .is_ending = true, .due = 1500 }, true, 1500, ALL_PROCESSES_IS_ASKED },
};

static void test_leaders_are_waited_for_so_long_and_asked_again(void **state)
{
	struct all_processes e = { .is_ending = true, .due = 1500 };
	const struct leaders none = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(looks); i++)
		if (all_processes_step(&looks[i].e, looks[i].all_stand, looks[i].now) !=
		    looks[i].step)
			fail_msg("row %zu", i);
	all_processes_look(&e, &none, 1499);
	assert_true(all_processes_due(&e) == 1500);
	all_processes_look(&e, &none, 1600);
	assert_true(all_processes_due(&e) == 2100); /* and so on */
}

/* --- with processes ---------------------------------------------------------------- */

static struct run_request request(const char *text, uint64_t soft, uint64_t hard)
{
	return (struct run_request){ .session = 1, .kind = RUN_COMMAND, .soft_ms = soft,
				     .hard_ms = hard, .text = bytes_of(text) };
}

static void test_a_signal_to_all_is_refused_outside_a_pid_namespace(void **state)
{
	struct supervisor s;

	(void)state;
	supervisor_start(&s);
	/* By default processes ignore SIGURG, so it would do no harm. */
	supervisor_signal(&s, 0, SIGURG);
	supervisor_expect_violation(&s);
}

/* Starts a process in a session of its own and its child, the parent of both, a
 * process on a terminal, and an orphan. */
static void start_all_kinds(struct supervisor *s)
{
	static char daemon[] =
		"setsid sh -c 'sleep 1000 & exec sleep 1000' & exec sleep 1000";
	struct ask plain = { .id = 1, .argv = SH(daemon) };
	struct ask terminal = { .id = 2, .flags = EXEC_PTY, .argv = sleep_argv };
	struct ask orphan = { .id = 3, .argv = SH("(setsid sleep 1000 &)") };

	supervisor_ask(s, &plain);
	supervisor_expect(s, MSG_STARTED, 1);
	supervisor_ask(s, &terminal);
	supervisor_expect(s, MSG_STARTED, 2);
	(void)supervisor_run(s, &orphan);
	inside_wait(s, 5, false);
}

static void test_a_pause_stops_all_and_its_end_continues_them(void **state)
{
	struct supervisor s;

	(void)state;
	supervisor_start_init(&s);
	start_all_kinds(&s);
	for (int i = 0; i < 20; i++) {
		supervisor_signal(&s, 0, SIGSTOP);
		inside_wait(&s, 5, true);
		supervisor_signal(&s, 0, SIGCONT);
		inside_wait(&s, 5, false);
	}
	/* Right after that they can be paused again, and get signals while paused. */
	supervisor_signal(&s, 0, SIGSTOP);
	supervisor_signal(&s, 0, SIGSTOP);
	supervisor_signal(&s, 0, SIGCONT);
	supervisor_signal(&s, 0, SIGSTOP);
	inside_wait(&s, 5, true);
	supervisor_signal(&s, 2, SIGKILL);
	assert_int_equal(supervisor_expect(&s, MSG_EXITED, 2).exited.status, SIGKILL);
	supervisor_signal(&s, 0, SIGKILL);
	assert_int_equal(supervisor_expect(&s, MSG_EXITED, 1).exited.status, SIGKILL);
	inside_wait(&s, 0, false);
	assert_int_equal(WEXITSTATUS(supervisor_end(&s)), 1);
}

/* The executor reports a pause once, when all processes are stopped. */
static void test_the_answer_comes_when_all_have_got_the_signal(void **state)
{
	struct supervisor s;

	(void)state;
	supervisor_start_init(&s);
	start_all_kinds(&s);
	for (uint32_t i = 1; i <= 10; i++) {
		supervisor_signal(&s, 0, SIGSTOP);
		supervisor_await_paused(&s, i);
		inside_wait(&s, 5, true);
		supervisor_signal(&s, 0, SIGCONT);
	}
	struct ask last = { .id = 9, .argv = true_argv };
	/* A second report would have come before this answer. */
	(void)supervisor_run(&s, &last);
	assert_int_equal(s.paused, 10);
	supervisor_signal(&s, 0, SIGKILL);
	(void)supervisor_answer(&s);
	assert_int_equal(WEXITSTATUS(supervisor_end(&s)), 1);
}

static void test_a_signal_to_all_needs_no_command(void **state)
{
	struct supervisor s;
	struct ask a = { .id = 1, .argv = true_argv };

	(void)state;
	supervisor_start_init(&s);
	supervisor_signal(&s, 0, SIGCONT);
	supervisor_signal(&s, 0, SIGTERM);
	supervisor_signal(&s, 0, SIGSTOP);
	supervisor_signal(&s, 0, SIGCONT);
	supervisor_run(&s, &a);
	assert_int_equal(WEXITSTATUS(supervisor_end(&s)), 1);
}

/* The first look may miss a child whose number it has passed already; the
 * child's parent was then still running. */
static bool all_are_stopped(void *supervisor)
{
	struct inside one = inside_look(supervisor), now = inside_look(supervisor);

	return one.count == one.stopped && now.count == now.stopped;
}

static bool none_is_stopped(void *supervisor)
{
	return inside_look(supervisor).stopped == 0;
}

/* Several processes fork as fast as they can; a pause stops all of them with their
 * children. */
static void test_a_process_that_forks_meanwhile_is_stopped_with_its_child(void **state)
{
	struct supervisor s;
	struct ask a = { .argv = SH("while :; do (:); done") };
	struct inside one, now;

	(void)state;
	supervisor_start_init(&s);
	for (a.id = 1; a.id <= 4; a.id++) {
		supervisor_ask(&s, &a);
		supervisor_expect(&s, MSG_STARTED, a.id);
	}
	for (int i = 0; i < 50; i++) {
		supervisor_signal(&s, 0, SIGSTOP);
		patience_wait(all_are_stopped, &s);
		now = inside_look(&s);
		one = inside_look(&s);
		assert_int_equal(one.stopped, now.count);
		assert_int_equal(one.count, now.count);
		supervisor_signal(&s, 0, SIGCONT);
		patience_wait(none_is_stopped, &s);
	}
	(void)supervisor_end(&s);
}

/* --- sessions -------------------------------------------------------------- */

#define CROWD 1000
#define BUSY  2

/* A bash that sees its foreground job stopped gives the job up. kill(2) signals
 * processes by age, so a crowd of processes is created between bash and its
 * job.  Their parent has exited; if they were bash's children, bash would hear
 * of them first. */
static void test_a_command_of_a_session_runs_on_after_a_pause(void **state)
{
	struct actor a;

	(void)state;
	actor_start_init(&a);
	actor_make_fifo(&a, "fifo");
	char *crowd = text_format("for i in {1..%d}; do (sleep 1000 &) done;"
				  " for i in {1..%d}; do (while :; do :; done &) done;"
				  " sh -c 'read x <fifo; echo got $x'", CROWD, BUSY);
	uint32_t id = actor_send(&a, request(crowd, 0, 0));
	/* The job opens the fifo once bash has started all others.  The count alone may
	 * be that of the job or of a subshell before it. */
	AUTO_CLOSE int to = actor_open_fifo(&a, "fifo", O_WRONLY);
	inside_wait(&a.s, CROWD + BUSY + 2, false);
	for (int i = 0; i < 15; i++) {
		supervisor_signal(&a.s, 0, SIGSTOP);
		inside_wait(&a.s, CROWD + BUSY + 2, true);
		supervisor_signal(&a.s, 0, SIGCONT);
		inside_wait(&a.s, CROWD + BUSY + 2, false);
	}
	free(crowd);
	assert_int_equal(write(to, "it\n", 3), 3);
	struct act x = actor_expect(&a, id);
	assert_int_equal(x.report.state, REPORT_COMPLETED);
	if (!strstr(x.content, "got it"))
		fail_msg("said: %s", x.content);
	assert_int_equal(x.report.exit_code, 0);
	act_done(&x);
	actor_end(&a);
}

/* Appends a request: with is_held to stop only the deadlines, else to stop all
 * processes. */
static void put_pause(struct buffer *to, bool is_held)
{
	struct err e;

	assert_int_equal(is_held ? message_put_hold(to, true, &e)
				 : message_put_signal(to, 0, SIGSTOP, &e), 0);
}

static int64_t cpu_us(void)
{
	struct timespec used;

	assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used), 0);
	return (int64_t)used.tv_sec * 1000000 + used.tv_nsec / 1000;
}

/* Uses the processor for `us`, so at least that much time passes. Then waits until a
 * turn of the executor's loop has checked the deadlines.  Returns false if a
 * deadline caused an answer. */
static bool a_moment_passes(struct actor *a, int64_t us)
{
	for (int64_t from = cpu_us(); cpu_us() < from + us;)
		if (!actor_sync_alone(a))
			return false;
	return true;
}

static void let_a_moment_pass(struct actor *a)
{
	assert_true(a_moment_passes(a, 2000));
}

static const struct timed {
	bool is_errand, is_hard;
	/* The deadlines stand still, but no process gets a signal, as when a cgroup
	 * is frozen. */
	bool is_held;
	uint32_t state;
} pauses[] = {
	{ .state = REPORT_NO_CHANGE },
	{ .is_hard = true, .state = REPORT_TIMED_OUT },
	{ .is_held = true, .state = REPORT_NO_CHANGE },
	{ .is_held = true, .is_hard = true, .state = REPORT_TIMED_OUT },
};

static void put_timed(struct buffer *b, uint32_t id, const struct timed *t, uint32_t ms)
{
	const struct run_request run = request("sleep 1000", t->is_hard ? 0 : ms,
					       t->is_hard ? ms : 0);
	const struct errand_request errand = {
		.place = { getuid(), getgid(), "/" }, .kind = ERRAND_LIST, .path = "/",
		.limit = 1, .other = "", .include = "", .depth = ERRAND_DEPTH_MAX,
		.timeout_ms = ms,
	};
	struct err e;

	assert_int_equal(t->is_errand ? action_put_errand(b, id, &errand, &e)
				      : action_put_run(b, id, &run, &e), 0);
}

static void go_on(struct actor *a, const struct timed *t)
{
	if (!t->is_held) {
		supervisor_signal(&a->s, 0, SIGCONT);
		return;
	}
	supervisor_hold(&a->s, true); /* a hold of what is held already changes nothing */
	supervisor_hold(&a->s, false);
	supervisor_hold(&a->s, false);
}

/* Sends the request and the pause in one write.  Returns false if the time-out
 * passed before the pause began, as may happen on a busy machine. */
static bool pauses_in_time(struct actor *a, const struct timed *t, uint32_t ms)
{
	struct buffer both;

	buffer_init(&both, 1000);
	put_timed(&both, a->next++, t, ms);
	put_pause(&both, t->is_held);
	supervisor_send(&a->s, &both, NULL, 0);
	buffer_done(&both);
	return a_moment_passes(a, 2000 * (int64_t)ms);
}

/* Returns the answer to a request whose time-out must not pass in a pause that
 * is twice as long.  If the time-out passes before the pause, a longer one is
 * tried. */
static struct act answer_over_a_pause(const struct timed *t)
{
	struct actor a;

	for (uint32_t ms = 1;; ms *= 2) {
		actor_start_init(&a);
		uint32_t id = a.next;
		bool is_in_time = pauses_in_time(&a, t, ms);
		go_on(&a, t);
		struct act x = { 0 };
		if (is_in_time)
			x = actor_expect(&a, id);
		actor_end(&a);
		if (is_in_time)
			return x;
		assert_true(ms < 1000);
	}
}

static void test_a_time_out_does_not_pass_in_a_pause(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pauses); i++) {
		struct act x = answer_over_a_pause(&pauses[i]);

		assert_int_equal(x.report.state, pauses[i].state);
		act_done(&x);
	}
}

/* In a pause the errand's process is stopped like all others.  Its time-out comes
 * when it has had its full time, not counting the pause. */
static void test_an_errand_has_its_time_after_a_pause(void **state)
{
	const struct timed errand = { .is_errand = true };
	struct act x = answer_over_a_pause(&errand);

	(void)state;
	assert_int_equal(x.type, MSG_RETURNED);
	act_done(&x);
}

/* Ends a hold of the deadlines; the executor may be gone already. */
static void try_to_let_go(struct supervisor *s)
{
	struct buffer frame;
	struct err e;

	buffer_init(&frame, 100);
	assert_int_equal(message_put_hold(&frame, false, &e), 0);
	(void)supervisor_try(s, buffer_data(&frame), buffer_len(&frame), NULL, 0);
	buffer_done(&frame);
}

/* A request to stop also ends a hold of the deadlines, and a later release does
 * nothing. */
static void test_a_stop_ends_a_hold(void **state)
{
	struct supervisor s;
	struct ask a = { .id = 1, .argv = sleep_argv };

	(void)state;
	supervisor_start_init(&s);
	supervisor_hold(&s, true);
	supervisor_hold(&s, false);
	supervisor_ask(&s, &a);
	supervisor_expect(&s, MSG_STARTED, 1);
	supervisor_hold(&s, true);
	supervisor_stop(&s, PATIENCE_MS);
	try_to_let_go(&s);
	assert_int_equal(supervisor_expect(&s, MSG_EXITED, 1).exited.status, SIGTERM);
	assert_int_equal(WEXITSTATUS(supervisor_wait(&s)), 0);
}

/* In a pause, and while only the deadlines are held, a cancel is not followed by a
 * stronger signal; afterwards it is. */
static void test_an_action_is_cancelled_over_a_pause(void **state)
{
	struct actor a;

	(void)state;
	actor_start_init(&a);
	uint32_t id = actor_send(&a, request("trap '' INT; sleep 1000", 0, 0));
	inside_wait(&a.s, 2, false);
	supervisor_signal(&a.s, 0, SIGSTOP);
	inside_wait(&a.s, 2, true);
	actor_cancel(&a, id);
	let_a_moment_pass(&a);
	inside_wait(&a.s, 2, true);
	supervisor_signal(&a.s, 0, SIGCONT);
	struct act x = actor_expect(&a, id);
	assert_int_equal(x.report.state, REPORT_CANCELLED);
	act_done(&x);
	actor_end(&a);
}

/* The executor itself runs during a pause: it reads and writes files. */
static void test_files_are_there_in_a_pause(void **state)
{
	struct actor a;

	(void)state;
	actor_start_init(&a);
	supervisor_signal(&a.s, 0, SIGSTOP);
	inside_wait(&a.s, 1, true);
	struct act x = actor_write(&a, "f", "one", 0, UINT64_MAX);
	assert_int_equal(x.outcome, OUTCOME_DONE);
	act_done(&x);
	x = actor_read(&a, READ_TEXT, "f", 0, UINT64_MAX);
	assert_string_equal(x.content, "one\n");
	act_done(&x);
	supervisor_signal(&a.s, 0, SIGCONT);
	actor_check(&a, "cat f", "one", 0);
	actor_end(&a);
}

static void pause_all(struct supervisor *s, bool is_held, bool is_paused)
{
	if (is_held)
		supervisor_hold(s, is_paused);
	else
		supervisor_signal(s, 0, is_paused ? SIGSTOP : SIGCONT);
}

/* The state for which starts_again() waits: another shell has replaced the killed
 * one. */
struct next {
	const struct supervisor *s;
	pid_t killed;
	bool is_held;
};

static bool another_has_begun(void *context)
{
	const struct next *n = context;
	struct inside now = inside_look(n->s);

	return now.count == 1 && now.one != n->killed &&
	       now.stopped == (n->is_held ? 0 : 1);
}

/* A shell that is killed while it starts is started once more, and the new shell
 * waits.  With `is_held` the deadlines are held as for a frozen cgroup, which would
 * freeze the new shell as well; in this test no cgroup does. */
static void starts_again(bool is_held)
{
	struct actor a;

	actor_start_init(&a);
	actor_check(&a, "echo ': >began; read x <fifo' >~/.bashrc; mkfifo fifo", "", 0);
	actor_check(&a, "exec true", "", 0);
	inside_wait(&a.s, 0, false);
	uint32_t id = actor_send(&a, request("echo late", 0, 0));
	actor_await_file(&a, "began");
	pause_all(&a.s, is_held, true);
	inside_wait(&a.s, 1, !is_held);
	struct next next = { &a.s, inside_look(&a.s).one, is_held };
	supervisor_signal(&a.s, 0, SIGKILL);
	patience_wait(another_has_begun, &next);
	if (!is_held)
		let_a_moment_pass(&a);
	inside_wait(&a.s, 1, !is_held);
	pause_all(&a.s, is_held, false);
	struct act x = actor_expect(&a, id);
	assert_string_equal(x.content, "late");
	act_done(&x);
	actor_end(&a);
}

static void test_nothing_starts_by_itself_in_a_pause(void **state)
{
	(void)state;
	starts_again(false);
	starts_again(true);
}

/* The tracer of a pause does not see new processes, so the executor starts none. */
static void
test_a_shell_that_dies_while_all_are_traced_is_begun_again_afterwards(void **state)
{
	struct actor a;

	(void)state;
	actor_start_seeing(&a);
	actor_check(&a, "echo ': >began; read x <fifo' >~/.bashrc; mkfifo fifo", "", 0);
	actor_check(&a, "exec true", "", 0);
	inside_wait(&a.s, 0, false);
	uint32_t id = actor_send(&a, request("echo late", 0, 0));
	actor_await_file(&a, "began");
	pid_t shell = inside_look(&a.s).one;
	supervisor_freeze(&a.s, 1);
	supervisor_await_paused(&a.s, 1);
	assert_int_equal(inside_state(shell), 't');
	assert_int_equal(kill(shell, SIGKILL), 0);
	inside_wait(&a.s, 1, false); /* the tracer */
	let_a_moment_pass(&a);
	assert_int_equal(inside_look(&a.s).count, 1);
	supervisor_freeze(&a.s, 0);
	struct act x = actor_expect(&a, id);
	assert_string_equal(x.content, "late");
	act_done(&x);
	/* Pauses again while the killed process is not reaped yet. */
	supervisor_freeze(&a.s, 2);
	supervisor_freeze(&a.s, 0);
	supervisor_freeze(&a.s, 3);
	supervisor_await_paused(&a.s, 3);
	supervisor_freeze(&a.s, 0);
	actor_check(&a, "echo here", "here", 0);
	actor_end(&a);
}

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
	struct run_request r = request("true", 0, 0);
	struct err e;

	assert_int_equal(action_put_run(b, 9, &r, &e), 0);
}

static void put_errand_9(struct buffer *b)
{
	const struct errand_request r = { .place = { getuid(), getgid(), "/" },
					  .kind = ERRAND_STAT, .path = "/", .other = "",
					  .include = "" };
	struct err e;

	assert_int_equal(action_put_errand(b, 9, &r, &e), 0);
}

static const struct untimely {
	void (*put)(struct buffer *);
	unsigned fds;
} starts[] = { { put_exec_9, 3 }, { put_open_9, 0 }, { put_run_9, 0 },
	       { put_errand_9, 0 } };

static void test_nothing_can_be_started_in_a_pause(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4 * ARRAY_LEN(starts); i++) {
		const struct untimely *u = &starts[i / 4];
		bool is_held = i & 1, is_over = i & 2;
		struct actor a;
		actor_start_init(&a);
		pause_all(&a.s, is_held, true);
		if (is_over)
			pause_all(&a.s, is_held, false);
		send_one(&a.s, u->put, u->fds);
		if (is_over) {
			struct act x = actor_next(&a);
			assert_int_equal(x.id, 9);
			act_done(&x);
			(void)supervisor_end(&a.s);
		} else {
			supervisor_expect_violation(&a.s);
		}
		actor_clean(&a);
	}
}

/* --- a range of ids -------------------------------------------------------- */

#define FIRST_ID 3000000000u
#define OWN_ID	 65536u
#define TOOLS	 (1u << CAP_KILL | 1u << CAP_SETUID | 1u << CAP_SETGID)

static void write_map(pid_t pid, const char *file)
{
	char *path = text_format("/proc/%d/%s", pid, file);
	char *map = text_format("0 %u %u\n", FIRST_ID, OWN_ID + 1);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_int_equal(write(fd, map, strlen(map)), strlen(map));
	free(path);
	free(map);
}

/* Puts this process into the state in which the launcher leaves an executor with
 * --idmap ranges: it has an id of its own, and three capabilities in its user
 * namespace that commands do not get. */
static int become_executor(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { TOOLS, TOOLS, 0 }, { 0 } };
	int failed = 0;

	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		failed |= prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	failed |= prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
	failed |= setresgid(OWN_ID, OWN_ID, OWN_ID) | setresuid(OWN_ID, OWN_ID, OWN_ID);
	return failed | (int)syscall(SYS_capset, &header, data);
}

static void start_with_range(struct supervisor *s)
{
	int ends[2], go[2];
	char byte;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	make_pipe(go);
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWPID | SIGCHLD, 0,
				   0, 0, 0);
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)close(ends[0]);
		if (read(go[0], &byte, 1) != 1 || become_executor())
			_exit(3);
		supervisor_play_init(ends[1]);
	}
	(void)close(ends[1]);
	write_map(pid, "uid_map");
	write_map(pid, "gid_map");
	assert_int_equal(write(go[1], "g", 1), 1);
	(void)close(go[0]);
	(void)close(go[1]);
	supervisor_adopt(s, pid, ends[0]);
}

/* Starts processes of users 5, 7 and root in the namespace, none of which is the
 * executor's user.  One of them is in a user namespace that it made itself. */
static void start_others(struct supervisor *s)
{
	static const uint32_t uids[] = { 5, 7, 0 };
	struct ask a = { .argv = sleep_argv, .is_other_user = true };

	for (a.id = 1; a.id <= ARRAY_LEN(uids); a.id++) {
		a.uid = a.gid = uids[a.id - 1];
		supervisor_ask(s, &a);
		supervisor_expect(s, MSG_STARTED, a.id);
	}
	a.uid = a.gid = 5;
	a.argv = ARGV(TEXT("/usr/bin/unshare"), TEXT("-U"), TEXT("/bin/sleep"),
		      TEXT("1000"));
	supervisor_ask(s, &a);
	supervisor_expect(s, MSG_STARTED, a.id);
	inside_wait(s, 4, false);
}

static void test_other_users_in_a_range_are_reached(void **state)
{
	struct supervisor s;

	(void)state;
	if (getuid() != 0)
		skip(); /* a range of ids cannot be mapped without root */
	start_with_range(&s);
	start_others(&s);
	supervisor_signal(&s, 0, SIGSTOP);
	inside_wait(&s, 4, true);
	supervisor_signal(&s, 0, SIGCONT);
	inside_wait(&s, 4, false);
	supervisor_signal(&s, 0, SIGTERM);
	for (int i = 0; i < 4; i++) {
		struct answer a = supervisor_answer(&s);
		assert_int_equal(a.type, MSG_EXITED);
		assert_int_equal(a.exited.status, SIGTERM);
	}
	(void)supervisor_end(&s);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_time_is_what_was_not_paused),
		TEST(test_a_pause_that_begins_or_ends_changes_no_time),
		TEST(test_leaders_are_waited_for_so_long_and_asked_again),
		TEST(test_a_signal_to_all_is_refused_outside_a_pid_namespace),
		TEST(test_a_pause_stops_all_and_its_end_continues_them),
		TEST(test_the_answer_comes_when_all_have_got_the_signal),
		TEST(test_a_signal_to_all_needs_no_command),
		TEST(test_a_process_that_forks_meanwhile_is_stopped_with_its_child),
		TEST(test_a_command_of_a_session_runs_on_after_a_pause),
		TEST(test_a_time_out_does_not_pass_in_a_pause),
		TEST(test_an_errand_has_its_time_after_a_pause),
		TEST(test_a_stop_ends_a_hold),
		TEST(test_an_action_is_cancelled_over_a_pause),
		TEST(test_files_are_there_in_a_pause),
		TEST(test_nothing_starts_by_itself_in_a_pause),
		TEST(test_a_shell_that_dies_while_all_are_traced_is_begun_again_afterwards),
		TEST(test_nothing_can_be_started_in_a_pause),
		TEST(test_other_users_in_a_range_are_reached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
