/* workers: in whatever way a worker's process ends, its owner is told once, and no
 * process or descriptor is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "executor/process/all_processes.h"
#include "executor/process/processes.h"
#include "executor/process/user.h"
#include "executor/process/workers.h"
#include "protocol/message.h"
#include "tests/patience.h"

#define GOT_MAX 100
#define MOST	3

/* The time at which each worker of these tests starts. */
#define T0	 1000
#define WORDS_MS 60

/* Counts the calls of the functions of a worker's kind; it outlives the workers. */
static struct {
	unsigned told, freed;
	enum worker_end how;
	size_t len;
	char got[GOT_MAX + 1];
} seen;

static void on_tell(const struct workers *s, struct worker *w, enum worker_end how)
{
	(void)s;
	seen.told++;
	seen.how = how;
	seen.len = buffer_len(&w->got);
	assert_true(seen.len <= GOT_MAX);
	if (seen.len > 0)
		memcpy(seen.got, buffer_data(&w->got), seen.len);
	seen.got[seen.len] = '\0';
}

static void on_free(struct worker *w)
{
	seen.freed++;
	free(w);
}

static const struct worker_kind patient = {
	.tell = on_tell, .free = on_free, .most = MOST, .got_max = GOT_MAX,
	.last_words_ms = WORDS_MS
};
static const struct worker_kind strict = {
	.tell = on_tell, .free = on_free, .most = MOST, .got_max = GOT_MAX
};

/* --- what they do ------------------------------------------------------------ */

static void say(const char *text)
{
	/* Fails if the reader has closed the pipe. */
	(void)io_write_all(1, text, strlen(text));
}

static void speak(const void *what)
{
	say(what);
	_exit(0);
}

/* Writes without end, even if the pipe has no reader any more. */
static void speak_without_end(const void *what)
{
	(void)signal(SIGPIPE, SIG_IGN);
	/* Ends this process even if the test fails. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	for (;;)
		say(what);
}

static void stay(const void *what)
{
	/* Ends this process even if the test fails. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	say(what);
	for (;;)
		(void)pause();
}

static void say_last_words(int signo)
{
	(void)signo;
	say("last words");
	_exit(0);
}

static void wait_for_alarm(const void *what)
{
	(void)signal(SIGALRM, say_last_words);
	stay(what);
}

static void ignore_alarm(const void *what)
{
	(void)signal(SIGALRM, SIG_IGN);
	stay(what);
}

static void stay_with_a_child(const void *what)
{
	if (fork() > 0)
		stay(what);
	(void)alarm(PATIENCE_S); /* ends this process even if the test fails */
	(void)pause();
	_exit(0);
}

/* --- what the executor does ---------------------------------------------------- */

struct stage {
	struct processes processes;
	struct all_processes all_processes;
	struct user user;
	struct workers workers;
};

static void stage_init(struct stage *s)
{
	memset(&seen, 0, sizeof(seen));
	*s = (struct stage){ 0 };
	processes_init(&s->processes);
	assert_int_equal(user_init(&s->user), 0);
	s->workers = (struct workers){ .processes = &s->processes, .user = &s->user,
				       .all_processes = &s->all_processes };
}

static void stage_done(struct stage *s)
{
	assert_int_equal(s->processes.fds, 0);
	workers_done(&s->workers);
	processes_done(&s->processes);
}

static int start(struct stage *s, const struct worker_kind *kind, uint32_t id,
		 const struct worker_task *task)
{
	const struct exec exec = { .uid = getuid(), .gid = getgid(), .cwd = "/" };
	struct worker_task t = *task;
	struct worker *w = mem_zeroed(1, sizeof(*w));

	t.exec = &exec;
	w->kind = kind;
	w->id = id;
	if (workers_start(&s->workers, w, &t, T0) == 0)
		return 0;
	free(w);
	return -1;
}

/* Waits for output or for a child's end.  The test's time stands still meanwhile. */
static void wait_for_more(struct stage *s)
{
	struct pollfd fds[WORKERS_MAX];
	size_t n = workers_watch(&s->workers, fds);
	sigset_t none;

	(void)sigemptyset(&none);
	if (ppoll(fds, n, NULL, &none) > 0)
		workers_serve(&s->workers, fds);
}

static void turn(struct stage *s)
{
	wait_for_more(s);
	for (pid_t pid; (pid = waitpid(-1, NULL, WNOHANG)) > 0;)
		assert_true(workers_reaped(&s->workers, pid));
}

/* Waits until the worker has written something, and so runs; then sets the time to
 * its deadline. */
static void let_time_pass(struct stage *s)
{
	const int64_t due = workers_due(&s->workers);

	while (buffer_len(&s->workers.all[0]->got) == 0)
		wait_for_more(s);
	workers_expire(&s->workers, due - 1);
	assert_int_equal(seen.told, 0);
	assert_true(workers_due(&s->workers) == due);
	workers_expire(&s->workers, due);
}

static void until_gone(struct stage *s)
{
	while (s->workers.count > 0)
		turn(s);
}

/* --- tests --------------------------------------------------------------------- */

static const struct row {
	const struct worker_kind *kind;
	void (*run)(const void *what);
	uint64_t timeout_ms;
	int64_t due;
	unsigned late; /* how many of its deadlines pass */
	enum worker_end how;
	const char *got; /* output of the worker; NULL: as much as is permitted */
} rows[] = {
	{ &strict, speak, 0, INT64_MAX, 0, WORKER_ENDED, "words" },
	{ &strict, speak, 60000, T0 + 60000, 0, WORKER_ENDED, "words" },
	{ &strict, speak, UINT64_MAX, INT64_MAX, 0, WORKER_ENDED, "words" },
	{ &strict, speak_without_end, 0, INT64_MAX, 0, WORKER_ENDED, NULL },
	{ &strict, stay, 30, T0 + 30, 1, WORKER_LATE, "words" },
	{ &strict, wait_for_alarm, 30, T0 + 30, 1, WORKER_LATE, "words" },
	{ &patient, wait_for_alarm, 200, T0 + 200, 1, WORKER_ENDED, "wordslast words" },
	{ &patient, ignore_alarm, 200, T0 + 200, 2, WORKER_LATE, "words" },
};

static void test_each_is_told_about_once(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];
		const struct worker_task task = { .run = r->run, .what = "words",
						  .timeout_ms = r->timeout_ms };
		struct stage s;
		stage_init(&s);
		assert_int_equal(start(&s, r->kind, 7, &task), 0);
		assert_true(workers_has(&s.workers, 7));
		assert_true(workers_due(&s.workers) == r->due);
		for (unsigned n = 0; n < r->late; n++)
			let_time_pass(&s);
		until_gone(&s);
		if (seen.told != 1 || seen.freed != 1 || seen.how != r->how ||
		    (r->got ? strcmp(seen.got, r->got) != 0 : seen.len != GOT_MAX))
			fail_msg("row %zu: told %u, freed %u, %u, \"%s\"", i, seen.told,
				 seen.freed, seen.how, seen.got);
		stage_done(&s);
	}
}

static void test_one_that_is_cancelled_takes_its_group_along(void **state)
{
	const struct worker_task task = { .run = stay_with_a_child, .what = "words" };
	struct stage s;

	(void)state;
	stage_init(&s);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	assert_int_equal(start(&s, &strict, 7, &task), 0);
	while (buffer_len(&s.workers.all[0]->got) == 0) /* then both exist */
		wait_for_more(&s);
	assert_false(workers_cancel(&s.workers, 8, T0));
	assert_true(workers_cancel(&s.workers, 7, T0));
	assert_true(seen.told == 1 && seen.how == WORKER_CANCELLED);
	assert_string_equal(seen.got, "words");
	assert_false(workers_has(&s.workers, 7));
	assert_false(workers_cancel(&s.workers, 7, T0));
	unsigned ours = 0;
	for (pid_t pid; (pid = waitpid(-1, NULL, 0)) > 0;)
		ours += workers_reaped(&s.workers, pid);
	/* Both processes have ended, and one of them was the worker. */
	assert_int_equal(ours, 1);
	assert_true(seen.told == 1 && seen.freed == 1);
	stage_done(&s);
}

static void test_there_are_so_many_of_a_kind_and_no_more(void **state)
{
	const struct worker_task task = { .run = stay, .what = "" };
	struct stage s;

	(void)state;
	stage_init(&s);
	for (uint32_t i = 0; i < MOST; i++)
		assert_int_equal(start(&s, &strict, 1 + i, &task), 0);
	errno = 0;
	assert_true(start(&s, &strict, 10, &task) < 0 && errno == EAGAIN);
	assert_int_equal(start(&s, &patient, 11, &task), 0); /* places are per kind */
	assert_true(workers_cancel(&s.workers, 2, T0));
	assert_int_equal(start(&s, &strict, 10, &task), -1); /* it still exists */
	while (s.workers.count > MOST)
		turn(&s);
	assert_int_equal(start(&s, &strict, 10, &task), 0);
	static const uint32_t left[] = { 1, 3, 10, 11 };
	for (size_t i = 0; i < ARRAY_LEN(left); i++)
		assert_true(workers_cancel(&s.workers, left[i], T0));
	until_gone(&s);
	assert_true(seen.told == MOST + 2 && seen.freed == MOST + 2);
	stage_done(&s);
}

static void test_time_stands_still_while_everyone_is_paused(void **state)
{
	const struct worker_task task = { .run = stay, .what = "", .timeout_ms = 60000 };
	struct stage s;

	(void)state;
	stage_init(&s);
	assert_true(workers_due(&s.workers) == INT64_MAX);
	assert_int_equal(start(&s, &strict, 7, &task), 0);
	int64_t due = workers_due(&s.workers);
	assert_true(due == T0 + 60000);
	all_processes_hold(&s.all_processes, true, T0 + 10000);
	workers_expire(&s.workers, all_processes_now(&s.all_processes, T0 + 70000));
	assert_true(seen.told == 0 &&
		    all_processes_wait(&s.all_processes, due, T0 + 70000) == -1);
	all_processes_hold(&s.all_processes, false, T0 + 70000);
	workers_expire(&s.workers, all_processes_now(&s.all_processes, T0 + 119999));
	assert_true(seen.told == 0 &&
		    all_processes_wait(&s.all_processes, due, T0 + 119999) == 1);
	workers_expire(&s.workers, all_processes_now(&s.all_processes, T0 + 120000));
	assert_true(seen.told == 1 && seen.how == WORKER_LATE);
	assert_true(workers_due(&s.workers) == INT64_MAX); /* it was ended */
	until_gone(&s);
	stage_done(&s);
}

/* --- its time, with no process and any `now` ------------------------------------ */

static const struct {
	struct worker w;
	bool is_stopped;
	int64_t now;
	enum worker_step step;
} steps[] = {
	{ { .kind = &strict, .due = INT64_MAX }, false, INT64_MAX - 1, WORKER_GOES_ON },
	{ { .kind = &strict, .due = 1100 }, false, 1099, WORKER_GOES_ON },
	{ { .kind = &strict, .due = 1100 }, false, 1100, WORKER_IS_GIVEN_UP },
	{ { .kind = &patient, .due = 1100 }, false, 1099, WORKER_GOES_ON },
	{ { .kind = &patient, .due = 1100 }, false, 1100, WORKER_IS_ASKED },
	{ { .kind = &patient, .due = 1100 }, false, 9999, WORKER_IS_ASKED },
	{ { .kind = &patient, .due = 1160, .was_asked = true },
	  false,
	  1159,
	  WORKER_GOES_ON },
	{ { .kind = &patient, .due = 1160, .was_asked = true },
	  false,
	  1160,
	  WORKER_IS_GIVEN_UP },
	{ { .kind = &patient, .due = 1160, .is_reported = true },
	  false,
	  9999,
	  WORKER_GOES_ON },
	/* A worker that a process inside has stopped could not answer, so it is not
	 * asked. */
	{ { .kind = &patient, .due = 1100 }, true, 1099, WORKER_GOES_ON },
	{ { .kind = &patient, .due = 1100 }, true, 1100, WORKER_IS_GIVEN_UP },
	{ { .kind = &patient, .due = 1160, .was_asked = true },
	  true,
	  1101,
	  WORKER_IS_GIVEN_UP },
	{ { .kind = &patient, .due = 1160, .is_reported = true },
	  true,
	  9999,
	  WORKER_GOES_ON },
	/* A worker that undoes its work when it is asked to end has the whole
	 * time-out for that. */
	{ { .kind = &patient, .due = 1100, .takes_back = true },
	  true,
	  1100,
	  WORKER_IS_ASKED },
	{ { .kind = &patient, .due = 1160, .takes_back = true, .was_asked = true },
	  true,
	  1159,
	  WORKER_GOES_ON },
	{ { .kind = &patient, .due = 1160, .takes_back = true, .was_asked = true },
	  true,
	  1160,
	  WORKER_IS_GIVEN_UP },
};

static void test_a_late_worker_is_asked_for_last_words_and_given_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		if (worker_step(&steps[i].w, steps[i].is_stopped, steps[i].now) !=
		    steps[i].step)
			fail_msg("row %zu", i);
}

/* A worker that is found stopped before its deadline is continued.  If it is stopped
 * at the deadline, it is given up at once. */
static void test_one_that_is_stopped_is_continued_and_given_up_in_time(void **state)
{
	const struct worker_task task = { .run = wait_for_alarm, .what = "words",
					  .timeout_ms = 60000 };
	struct stage s;
	siginfo_t info;

	(void)state;
	stage_init(&s);
	assert_int_equal(start(&s, &patient, 7, &task), 0);
	const pid_t pid = s.workers.all[0]->pid;
	const int64_t look = workers_look_due(&s.workers);
	assert_true(look > T0 && look < T0 + 60000);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT), 0);
	workers_look(&s.workers, look - 1);
	assert_true(halt_has(pid));
	workers_look(&s.workers, look);
	assert_false(halt_has(pid));
	while (buffer_len(&s.workers.all[0]->got) == 0)
		wait_for_more(&s);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT), 0);
	workers_expire(&s.workers, T0 + 60000);
	assert_true(seen.told == 1 && seen.how == WORKER_LATE);
	assert_true(workers_look_due(&s.workers) == INT64_MAX);
	until_gone(&s);
	stage_done(&s);
}

/* A cancelled worker has time to undo its work, once. */
static void test_a_cancel_gives_the_same_time_for_last_words(void **state)
{
	struct worker w = {
		.kind = &patient, .id = 7, .due = INT64_MAX, .takes_back = true
	};
	const struct all_processes all_processes = { 0 };
	struct workers s = { .all = { &w }, .count = 1, .all_processes = &all_processes };

	(void)state;
	w.pid = fork(); /* this child gets the signal of the cancel */
	assert_true(w.pid >= 0);
	if (w.pid == 0)
		ignore_alarm("");
	assert_true(workers_cancel(&s, 7, T0));
	assert_true(workers_due(&s) == T0 + WORDS_MS);
	assert_true(workers_cancel(&s, 7, T0 + 10));
	assert_true(workers_due(&s) == T0 + WORDS_MS);
	assert_int_equal(kill(w.pid, SIGKILL), 0);
	assert_int_equal(waitpid(w.pid, NULL, 0), w.pid);
}

static void on_child(int signo)
{
	(void)signo; /* only to interrupt ppoll(2) */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_late_worker_is_asked_for_last_words_and_given_up),
		cmocka_unit_test(test_each_is_told_about_once),
		cmocka_unit_test(test_one_that_is_cancelled_takes_its_group_along),
		cmocka_unit_test(test_there_are_so_many_of_a_kind_and_no_more),
		cmocka_unit_test(test_time_stands_still_while_everyone_is_paused),
		cmocka_unit_test(
			test_one_that_is_stopped_is_continued_and_given_up_in_time),
		cmocka_unit_test(test_a_cancel_gives_the_same_time_for_last_words),
	};
	const struct sigaction act = { .sa_handler = on_child };
	sigset_t child;

	(void)alarm(PATIENCE_S);
	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	(void)sigaction(SIGCHLD, &act, NULL);
	(void)sigprocmask(SIG_BLOCK, &child, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
