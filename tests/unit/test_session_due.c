/* session_action: has the deadlines of a session.  There is no bash, and no test
 * waits: each row gives the time. */
#include "executor/session/session_action.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/variables.h"
#include "executor/process/all_processes.h"
#include "executor/process/processes.h"
#include "executor/process/user.h"
#include "executor/session/output_log.h"
#include "executor/session/session.h"
#include "executor/session/session_output.h"
#include "executor/wire/send_queue.h"
#include "protocol/action.h"
#include "tests/patience.h"

/* The time at which each action begins. */
#define T0    INT64_C(1000)
#define NEVER INT64_MAX

struct stage {
	struct send_queue replies;
	struct session session;
};

/* Setup: a session whose shell got a command at T0, which still runs. */
static int setup(void **state)
{
	static struct stage st;
	struct shell none = { .status = -1, .lines = -1, .text = { .fd = -1 }, .reports = -1,
			      .terminal = { .master = -1, .slave = -1 } };

	(void)alarm(PATIENCE_S); /* for each test */
	st = (struct stage){ 0 };
	st.session = (struct session){ .id = 1,
				       .replies = &st.replies,
				       .shell = none,
				       .state = SESSION_RUNNING,
				       .begun = T0,
				       .start_due = NEVER,
				       .key_due = NEVER,
				       .inner_due = NEVER,
				       .hit_due = NEVER,
				       .parked = -1 };
	buffer_init(&st.session.shell.typed, 100);
	screen_init(&st.session.screen, 24, 80);
	output_log_init(&st.session.output_log, NULL, "");
	*state = &st;
	return 0;
}

static int teardown(void **state)
{
	struct stage *st = *state;

	screen_clear(&st->session.screen);
	output_log_end(&st->session.output_log);
	buffer_done(&st->session.shell.typed);
	send_queue_done(&st->replies);
	return 0;
}

static void begin(struct session *s, uint64_t soft_ms, uint64_t hard_ms, uint32_t flags)
{
	const struct run_request r = { .session = 1, .kind = RUN_WAIT, .flags = flags,
				       .soft_ms = soft_ms, .hard_ms = hard_ms };

	session_run(s, 7, &r, T0);
}

/* --- time-outs ----------------------------------------------------------------- */

static const struct {
	const char *what;
	uint64_t soft_ms, hard_ms;
	int64_t heard[3]; /* when the terminal printed something; 0: no more */
	int64_t now;
	unsigned overdue;
	int64_t due;
} time_outs[] = {
	{ "no time-out at all", 0, 0, { 0 }, NEVER - 1, 0, NEVER },
	{ "soft: a moment before", 100, 0, { 0 }, 1099, 0, 1100 },
	{ "soft: then", 100, 0, { 0 }, 1100, OVERDUE_SOFT, 1100 },
	{ "soft: long after", 100, 0, { 0 }, 99999, OVERDUE_SOFT, 1100 },
	{ "soft: output puts it off", 100, 0, { 1099 }, 1198, 0, 1199 },
	{ "soft: from the last output on", 100, 0, { 1099 }, 1199, OVERDUE_SOFT, 1199 },
	{ "soft: each output does", 100, 0, { 1090, 1180, 1270 }, 1369, 0, 1370 },
	{ "soft: but not for ever",
	  100,
	  0,
	  { 1090, 1180, 1270 },
	  1370,
	  OVERDUE_SOFT,
	  1370 },
	{ "hard: a moment before", 0, 100, { 0 }, 1099, 0, 1100 },
	{ "hard: then", 0, 100, { 0 }, 1100, OVERDUE_HARD, 1100 },
	{ "hard: output does not put it off",
	  0,
	  100,
	  { 1099 },
	  1100,
	  OVERDUE_HARD,
	  1100 },
	{ "both: the first has passed", 50, 60, { 0 }, 1055, OVERDUE_SOFT, 1050 },
	{ "both: or the other is first", 60, 50, { 0 }, 1055, OVERDUE_HARD, 1050 },
	{ "both have passed: the earlier is told",
	  50,
	  60,
	  { 0 },
	  9999,
	  OVERDUE_SOFT,
	  1050 },
	{ "both have passed, the other way round",
	  60,
	  50,
	  { 0 },
	  9999,
	  OVERDUE_HARD,
	  1050 },
	{ "both at once", 50, 50, { 0 }, 1050, OVERDUE_SOFT, 1050 },
	{ "both: output leaves the hard one",
	  50,
	  60,
	  { 1049 },
	  1060,
	  OVERDUE_HARD,
	  1060 },
	{ "ages",
	  UINT64_MAX,
	  UINT64_MAX,
	  { 0 },
	  INT64_C(1) << 49,
	  0,
	  T0 + (INT64_C(1) << 50) },
};

static void test_a_time_out_passes_when_its_time_has_come(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(time_outs); i++) {
		struct stage *st = *state;
		struct session *s = &st->session;
		begin(s, time_outs[i].soft_ms, time_outs[i].hard_ms, 0);
		for (size_t n = 0; n < 3 && time_outs[i].heard[n]; n++)
			session_heard(s, time_outs[i].heard[n]);
		unsigned overdue = session_overdue(s, time_outs[i].now);
		if (overdue != time_outs[i].overdue || session_due(s) != time_outs[i].due)
			fail_msg("%s: %u, next at %lld", time_outs[i].what, overdue,
				 (long long)session_due(s));
	}
}

/* Takes the only answer from the queue, and decodes it. */
static struct report take_report(struct stage *st)
{
	struct report r = { 0 };
	struct frame f;
	struct err e;

	assert_non_null(st->replies.first);
	assert_null(st->replies.first->next);
	assert_int_equal(frame_next(&st->replies.first->end, SEND_QUEUE_END_MAX, &f, &e),
			 1);
	assert_int_equal(f.id, 7);
	assert_int_equal(action_get_report(&f, &r, &e), 0);
	r.cwd = r.interpreter = NULL; /* these pointed into the frame, which is freed */
	send_queue_done(&st->replies);
	return r;
}

static const struct {
	uint64_t soft_ms, hard_ms;
	uint32_t state;
} ends[] = {
	{ 100, 0, REPORT_NO_CHANGE },
	{ 0, 100, REPORT_TIMED_OUT },
	{ 100, 101, REPORT_NO_CHANGE },
	{ 101, 100, REPORT_TIMED_OUT },
};

static void test_a_time_out_ends_the_action_and_not_the_command(void **state)
{
	struct stage *st = *state;
	struct session *s = &st->session;

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		begin(s, ends[i].soft_ms, ends[i].hard_ms, 0);
		session_expire(s, 1099);
		assert_null(st->replies.first);
		session_expire(s, 1100);
		struct report r = take_report(st);
		assert_int_equal(r.state, ends[i].state);
		assert_int_equal(r.exit_code, ACTION_NO_CODE);
		assert_int_equal(s->action.id, 0);
		assert_int_equal(s->state, SESSION_RUNNING);
		assert_true(session_due(s) == NEVER);
		session_heard(s, 1200); /* no action waits for output */
		session_expire(s, NEVER - 1);
		assert_null(st->replies.first);
	}
}

static const struct {
	uint32_t flags;
	int64_t held, heard, freed; /* when these happened; 0: never */
	int64_t now;
	unsigned overdue;
} holds[] = {
	{ RUN_STREAM, 1050, 0, 0, 1499, 0 },
	{ RUN_STREAM, 1050, 0, 0, 1500, OVERDUE_HARD },
	{ RUN_STREAM, 1050, 1060, 0, 1499, 0 },
	{ RUN_STREAM, 1050, 1060, 1300, 1399, 0 },
	{ RUN_STREAM, 1050, 1060, 1300, 1400, OVERDUE_SOFT },
	{ 0, 1050, 0, 0, 1149, 0 },
	{ 0, 1050, 0, 0, 1150, OVERDUE_SOFT }, /* without a stream a hold has no effect */
};

static void test_a_client_that_does_not_read_stops_the_soft_time_out(void **state)
{
	struct stage *st = *state;

	for (size_t i = 0; i < ARRAY_LEN(holds); i++) {
		struct session *s = &st->session;
		begin(s, 100, 500, holds[i].flags);
		session_hold(s, true, holds[i].held);
		if (holds[i].heard)
			session_heard(s, holds[i].heard);
		if (holds[i].freed)
			session_hold(s, false, holds[i].freed);
		if (session_overdue(s, holds[i].now) != holds[i].overdue)
			fail_msg("row %zu: %u", i, session_overdue(s, holds[i].now));
	}
}

/* The terminal itself prints. */
static void test_output_of_the_terminal_puts_the_soft_time_out_off(void **state)
{
	struct stage *st = *state;
	struct session *s = &st->session;
	struct terminal *t = &s->shell.terminal;
	size_t max = 100;

	s->work = SESSION_WORK;
	assert_int_equal(terminal_open(t, 24, 80), 0);
	assert_int_equal(fcntl(t->master, F_SETFL, O_NONBLOCK), 0);
	begin(s, 100, 0, 0);
	assert_true(session_read(s, &max, 1050));
	assert_true(session_due(s) == 1100); /* nothing was printed */
	assert_int_equal(write(t->slave, "x", 1), 1);
	assert_true(session_read(s, &max, 1090));
	assert_int_equal(max, 99);
	assert_true(session_due(s) == 1190);
	terminal_close(t);
}

/* --- shells that begin --------------------------------------------------------- */

static const struct {
	enum session_state state;
	int64_t start_due, key_due, now;
	unsigned overdue;
	int64_t due;
} starts[] = {
	{ SESSION_STARTING, 1500, NEVER, 1499, 0, 1500 },
	{ SESSION_STARTING, 1500, NEVER, 1500, OVERDUE_START, 1500 },
	{ SESSION_SETTING, 1500, NEVER, 1499, 0, 1500 },
	{ SESSION_SETTING, 1500, NEVER, 1500, OVERDUE_START, 1500 },
	{ SESSION_STARTING, NEVER, NEVER, 9999, 0, NEVER }, /* without ~/.bashrc */
	/* A key waits until the shell is ready. */
	{ SESSION_STARTING, 1500, 1400, 1450, 0, 1500 },
	{ SESSION_READY, 1500, NEVER, 9999, 0, NEVER },
	{ SESSION_RUNNING, 1500, NEVER, 9999, 0, NEVER },
	{ SESSION_DEAD, 1500, NEVER, 9999, 0, NEVER },
};

static void test_a_shell_that_begins_has_its_time_and_no_other(void **state)
{
	struct stage *st = *state;

	for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
		struct session *s = &st->session;
		s->state = starts[i].state;
		s->start_due = starts[i].start_due;
		s->key_due = starts[i].key_due;
		if (session_overdue(s, starts[i].now) != starts[i].overdue ||
		    session_due(s) != starts[i].due)
			fail_msg("row %zu: %u, next at %lld", i,
				 session_overdue(s, starts[i].now),
				 (long long)session_due(s));
	}
}

/* If a command has started another shell, that shell is checked at inner_due while
 * the command runs.  A bash that is starting cannot have started one. */
static void test_a_shell_in_a_shell_is_looked_at_when_its_time_has_come(void **state)
{
	struct stage *st = *state;
	struct session *s = &st->session;

	s->inner_due = 1500;
	assert_int_equal(session_due(s), 1500);
	assert_int_equal(session_overdue(s, 1499), 0);
	assert_int_equal(session_overdue(s, 1500), OVERDUE_INNER);
	s->state = SESSION_STARTING;
	assert_int_equal(session_overdue(s, 1500), 0);
}

static void test_a_lost_key_is_looked_after_while_its_command_runs(void **state)
{
	struct stage *st = *state;
	struct session *s = &st->session;

	s->hit_due = 1500;
	assert_int_equal(session_due(s), 1500);
	assert_int_equal(session_overdue(s, 1499), 0);
	assert_int_equal(session_overdue(s, 1500), OVERDUE_HIT);
	s->state = SESSION_READY;
	assert_int_equal(session_overdue(s, 1500), 0);
}

/* Plays a program that handles ^C and then ends at once: the caller's folder has the FIFO
 * PID/status, which shows a handler of SIGINT until the program's terminal has input. */
static _Noreturn void run_program_ended_by_key(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	char folder[16];

	(void)snprintf(folder, sizeof(folder), "%d", (int)getpid());
	if (mkdir(folder, 0700) < 0 || chdir(folder) < 0 || mkfifo("status", 0600) < 0 ||
	    write(STDOUT_FILENO, "x", 1) != 1)
		_exit(1);
	int status =
		open("status", O_WRONLY); /* waits for the executor to open the file */
	(void)dprintf(status, "Name:\tx\nSigIgn:\t0\nSigCgt:\t%x\n",
		      poll(&input, 1, 0) == 0 ? 1u << (SIGINT - 1) : 0);
	(void)close(status);
	for (;;)
		(void)pause();
}

/* If the executor looked only after it had typed the key, the program would seem to
 * handle no SIGINT, and a second ^C would interrupt the program that comes next. */
static void
test_a_program_that_a_key_ends_is_looked_at_before_the_key_is_typed(void **state)
{
	struct stage *st = *state;
	struct session *s = &st->session;
	const struct run_request key = { .session = 1,
					 .kind = RUN_KEY,
					 .text = { (const uint8_t *)"C-c", 3 } };
	char folder[] = "/tmp/test_session_due.XXXXXX", path[64], ready;
	struct termios raw = { .c_cflag = CS8 | CREAD };

	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	pid_t program = forkpty(&s->shell.terminal.master, NULL, &raw, NULL);
	assert_true(program >= 0);
	if (program == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		run_program_ended_by_key();
	}
	assert_int_equal(read(s->shell.terminal.master, &ready, 1), 1);
	s->proc = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	session_run(s, 7, &key, T0);
	session_expire(s, s->key_due);
	assert_int_equal(s->hit, program);
	assert_int_equal(s->key_due, NEVER);
	assert_int_equal(s->hit_due, NEVER);
	assert_int_equal(kill(program, SIGKILL), 0);
	assert_int_equal(waitpid(program, NULL, 0), program);
	own_close(&s->proc);
	own_close(&s->shell.terminal.master);
	assert_int_equal(chdir("/"), 0);
	(void)snprintf(path, sizeof(path), "%s/%d/status", folder, (int)program);
	assert_int_equal(unlink(path), 0);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

/* After a ^C that a trap of bash has handled, the command may ask a question.  The program
 * that follows its answer is not the one that the user meant to end. */
static void test_no_key_is_typed_again_after_an_answer_was_typed(void **state)
{
	static const struct run_request answers[] = {
		{ .session = 1, .kind = RUN_INPUT, .text = { (const uint8_t *)"y", 1 } },
		{ .session = 1,
		  .kind = RUN_KEY,
		  .text = { (const uint8_t *)"Enter", 5 } },
	};
	struct stage *st = *state;
	struct session *s = &st->session;

	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		s->hit_due = 1500;
		session_run(s, 7, &answers[i], T0);
		assert_int_equal(s->hit_due, NEVER);
	}
}

/* A shell that does not begin in time is killed.  The session learns of its death as
 * of any other, and starts another shell. */
static void test_a_shell_that_does_not_begin_in_time_is_killed(void **state)
{
	static const enum session_state begins[] = { SESSION_STARTING, SESSION_SETTING };
	struct stage *st = *state;
	struct session *s = &st->session;

	for (size_t i = 0; i < ARRAY_LEN(begins); i++) {
		siginfo_t info = { 0 };
		s->shell.pid = fork();
		assert_true(s->shell.pid >= 0);
		for (; s->shell.pid == 0;) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
			(void)pause();
		}
		s->state = begins[i];
		s->start_due = 1500;
		session_expire(s, 1499);
		assert_true(session_due(s) == 1500);
		session_expire(s, 1500);
		assert_true(session_due(s) == NEVER); /* only once */
		assert_int_equal(waitid(P_PID, (id_t)s->shell.pid, &info, WEXITED), 0);
		assert_true(info.si_code == CLD_KILLED && info.si_status == SIGKILL);
		s->shell.pid = 0;
	}
}

/* A process inside may stop a shell as soon as it exists, so that it reports
 * nothing.  The session has to give up before the host does, which waits 60 s and
 * then ends the sandbox. */
static void test_a_shell_that_never_begins_is_none_in_good_time(void **state)
{
	char **argv = mem_zeroed(3, sizeof(*argv)), **env = mem_zeroed(1, sizeof(*env));
	const struct exec exec = { .flags = EXEC_PTY,
				   .uid = getuid(),
				   .gid = getgid(),
				   .rows = 24,
				   .cols = 80,
				   .cwd = "/",
				   .argv = argv,
				   .env = env };
	struct stage *st = *state;
	struct processes processes;
	struct all_processes all_processes = { 0 };
	struct variables variables = { 0 };
	struct output_logs output_logs;
	struct user user;
	int status;

	argv[0] = (char *)"/bin/bash";
	argv[1] = (char *)"x";
	processes_init(&processes);
	assert_true(processes_reserve(&processes, SHELL_FDS));
	output_logs_init(&output_logs, -1);
	assert_int_equal(user_init(&user), 0);
	const struct session_world world = { &st->replies,	&user,
					     &processes.cgroup, &all_processes,
					     &output_logs,	&variables,
					     &processes,	-1 };
	struct session *s = session_new(3, NULL, &exec, &world, T0);
	int64_t now = T0;
	for (int i = 0; i < 2; i++) {
		const pid_t pid = s->shell.pid;
		assert_true(pid > 0 && session_due(s) < T0 + 60000);
		now = session_due(s);
		session_expire(s, now);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		session_reaped(s, status, now);
	}
	assert_true(s->is_gone);
	session_free(s);
	processes_done(&processes);
	output_logs_done(&output_logs);
}

static void test_an_action_has_its_time_while_a_shell_begins(void **state)
{
	struct stage *st = *state;
	struct session *s = &st->session;

	s->state = SESSION_STARTING;
	s->start_due = 1500;
	s->is_pending = true; /* a command waits until the shell has started */
	begin(s, 0, 100, 0);
	assert_true(session_due(s) == 1100);
	assert_int_equal(session_overdue(s, 1100), OVERDUE_HARD);
	assert_int_equal(session_overdue(s, 1500), OVERDUE_HARD | OVERDUE_START);
}

/* --- keys ---------------------------------------------------------------------- */

static const struct {
	size_t command_len;
	int64_t pressed, typed;
} keys[] = {
	{ 10, 1000, 1050 },
	{ 10, 1049, 1050 },
	{ 10, 1050, 1050 },
	{ 10, 2000, 2000 },
	{ 8192, 1000, 1052 },
	{ 1 << 20, 1000, 1306 }, /* bash takes longer to parse a text of this length */
};

static void test_a_key_that_is_a_signal_waits_until_the_command_has_begun(void **state)
{
	const char *name = "C-c";
	const struct run_request r = { .session = 1, .kind = RUN_KEY,
				       .text = { (const uint8_t *)name, 3 } };
	struct stage *st = *state;
	struct session *s = &st->session;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		s->pending_len = keys[i].command_len;
		s->is_interrupted = false;
		session_run(s, 7, &r, keys[i].pressed);
		if (keys[i].pressed < keys[i].typed) {
			assert_true(session_due(s) == keys[i].typed);
			session_expire(s, keys[i].typed - 1);
			assert_false(s->is_interrupted);
		}
		session_expire(s, keys[i].typed);
		if (!s->is_interrupted || session_due(s) != NEVER)
			fail_msg("row %zu: next at %lld", i, (long long)session_due(s));
		assert_int_equal(buffer_len(&s->shell.typed), 1); /* only once */
		assert_int_equal(*buffer_data(&s->shell.typed), 3);
		buffer_consume(&s->shell.typed, 1);
	}
}

/* --- cancellation -------------------------------------------------------------- */

static const struct {
	int64_t now;
	enum kill_step step;
	int64_t then;
} ladder[] = {
	{ 1049, KILL_WAITS, 1050 },
	{ 1050, KILL_INTERRUPTS, 2050 },
	{ 1050, KILL_WAITS, 2050 },
	{ 2049, KILL_WAITS, 2050 },
	{ 2050, KILL_INTERRUPTS, 2150 },
	{ 2149, KILL_WAITS, 2150 },
	{ 2150, KILL_ENDS_FOREGROUND, 2350 },
	{ 2349, KILL_WAITS, 2350 },
	{ 2350, KILL_ENDS_SHELL, NEVER },
	{ NEVER - 1, KILL_WAITS, NEVER },
}, late_ladder[] = {
	/* If a step comes late, the next one has its full time all the same. */
	{ 5000, KILL_INTERRUPTS, 6000 },
	{ 9000, KILL_INTERRUPTS, 9100 },
	{ 20000, KILL_ENDS_FOREGROUND, 20200 },
	{ 20199, KILL_WAITS, 20200 },
	{ 30000, KILL_ENDS_SHELL, NEVER },
};

static void test_a_cancellation_goes_on_step_by_step(void **state)
{
	struct stage *st = *state;
	struct session *s = &st->session;

	begin(s, 10, 10, 0);
	assert_int_equal(session_kill_step(&s->action, T0), KILL_WAITS);
	assert_int_equal(s->action.kills, 0);
	session_cancel(s, T0);
	for (size_t i = 0; i < ARRAY_LEN(ladder); i++) {
		/* The action's time-outs passed long ago; after a cancel they do not
		 * count. */
		bool is_due = ladder[i].step != KILL_WAITS;
		assert_int_equal(session_overdue(s, ladder[i].now),
				 is_due ? OVERDUE_KILL : 0);
		enum kill_step step = session_kill_step(&s->action, ladder[i].now);
		if (step != ladder[i].step || session_due(s) != ladder[i].then)
			fail_msg("row %zu: step %d, next at %lld", i, (int)step,
				 (long long)session_due(s));
	}
	begin(s, 0, 0, 0);
	session_cancel(s, T0);
	for (size_t i = 0; i < ARRAY_LEN(late_ladder); i++) {
		enum kill_step step = session_kill_step(&s->action, late_ladder[i].now);
		if (step != late_ladder[i].step || session_due(s) != late_ladder[i].then)
			fail_msg("late row %zu: step %d, next at %lld", i, (int)step,
				 (long long)session_due(s));
	}
}

static void test_a_command_that_began_long_ago_is_interrupted_at_once(void **state)
{
	struct stage *st = *state;
	struct session *s = &st->session;

	begin(s, 0, 0, 0);
	session_cancel(s, 5000);
	assert_true(session_due(s) == 6000);
	/* The action waits; whatever the shell does next ends it. */
	assert_int_equal(s->action.id, 7);
}

static void test_a_command_that_waits_for_its_shell_is_cancelled_at_once(void **state)
{
	struct stage *st = *state;
	struct session *s = &st->session;

	s->state = SESSION_STARTING;
	s->is_pending = true;
	begin(s, 0, 0, 0);
	session_cancel(s, T0);
	struct report r = take_report(st);
	assert_int_equal(r.state, REPORT_CANCELLED);
	assert_int_equal(r.exit_code, 130);
	assert_false(s->is_pending);
	assert_true(session_due(s) == NEVER);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_time_out_passes_when_its_time_has_come),
		TEST(test_a_time_out_ends_the_action_and_not_the_command),
		TEST(test_a_client_that_does_not_read_stops_the_soft_time_out),
		TEST(test_a_shell_that_never_begins_is_none_in_good_time),
		TEST(test_output_of_the_terminal_puts_the_soft_time_out_off),
		TEST(test_a_shell_that_begins_has_its_time_and_no_other),
		TEST(test_a_shell_in_a_shell_is_looked_at_when_its_time_has_come),
		TEST(test_a_lost_key_is_looked_after_while_its_command_runs),
		TEST(test_no_key_is_typed_again_after_an_answer_was_typed),
		TEST(test_a_program_that_a_key_ends_is_looked_at_before_the_key_is_typed),
		TEST(test_a_shell_that_does_not_begin_in_time_is_killed),
		TEST(test_an_action_has_its_time_while_a_shell_begins),
		TEST(test_a_key_that_is_a_signal_waits_until_the_command_has_begun),
		TEST(test_a_cancellation_goes_on_step_by_step),
		TEST(test_a_command_that_began_long_ago_is_interrupted_at_once),
		TEST(test_a_command_that_waits_for_its_shell_is_cancelled_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
