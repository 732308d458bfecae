/* pause: judges the executor's messages about a pause, lets a reader wait for it,
 * and lets no time pass in it. */
#include "supervisor/pause.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>

#include "base/buffer.h"
#include "base/frame.h"
#include "protocol/message.h"
#include "sandbox/launch/result.h"
#include "tests/unit/control.h"

#define STAND_MS 10000 /* the value in pause.c */

static struct control x;

static int setup(void **state)
{
	(void)state;
	control_begin(&x);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	control_end(&x);
	return 0;
}

static int says(uint32_t number)
{
	struct buffer b;
	struct frame f;
	struct err e;

	buffer_init(&b, 64);
	assert_int_equal(message_put_paused(&b, number, &e), 0);
	assert_int_equal(frame_next(&b, FRAME_MAX_FROM_EXECUTOR, &f, &e), 1);
	int taken = pause_frame(&x.s, &f, &e);
	buffer_done(&b);
	return taken;
}

static int answers(uint32_t number, uint32_t why)
{
	const struct frozen what = { .number = number, .why = why, .pid = 7 };
	struct buffer b;
	struct frame f;
	struct err e;

	buffer_init(&b, 64);
	assert_int_equal(message_put_frozen(&b, &what, &e), 0);
	assert_int_equal(frame_next(&b, FRAME_MAX_FROM_EXECUTOR, &f, &e), 1);
	int taken = pause_frame(&x.s, &f, &e);
	buffer_done(&b);
	return taken;
}

static void test_frozen_comes_for_what_was_asked_and_once(void **state)
{
	(void)state;
	assert_int_equal(answers(1, FREEZE_STANDS), -1);
	x.s.pause.freezes = 3;
	assert_int_equal(answers(1, FREEZE_STANDS), 0);
	assert_int_equal(answers(1, FREEZE_STANDS), -1);
	/* Pause 2 was released before it took effect, so the executor answers pause
	 * 3 only. */
	assert_int_equal(answers(3, FREEZE_LATE), 0);
	assert_int_equal(answers(2, FREEZE_STANDS), -1);
	assert_int_equal(answers(4, FREEZE_STANDS), -1);
	assert_int_equal(x.s.pause.frozen.number, 3);
}

static void test_paused_comes_for_what_was_asked_and_once(void **state)
{
	(void)state;
	assert_int_equal(says(1), -1);
	x.s.pause.asked = 3;
	assert_int_equal(says(1), 0);
	assert_int_equal(says(1), -1);
	assert_int_equal(x.s.pause.stopped, 1);
	/* Pause 2 was released before all processes had stopped, so the executor
	 * confirms pause 3 only. */
	assert_int_equal(says(3), 0);
	assert_int_equal(says(2), -1);
	assert_int_equal(says(4), -1);
	assert_int_equal(says(UINT32_MAX), -1);
	assert_int_equal(x.s.pause.stopped, 3);
}

/* --- a reader ------------------------------------------------------------------- */

static bool is_answered(const struct client *c, const char *part)
{
	const struct buffer *out = &c->conn.out;

	return memmem(buffer_data(out) ? (const char *)buffer_data(out) : "",
		      buffer_len(out), part, strlen(part)) != NULL;
}

/* A client that reads a file is answered when all processes are stopped, or STAND_MS
 * later. */
static void test_a_reader_waits_for_all_and_not_for_ever(void **state)
{
	static const struct {
		int64_t stand; /* when all processes are stopped; 0: never */
		int64_t end;   /* when the client gets its answer */
		const char *answer;
	} rows[] = {
		{ 1, 1, "\"result\":" },
		{ STAND_MS - 1, STAND_MS - 1, "\"result\":" },
		{ STAND_MS, STAND_MS, "\"result\":" },
		{ 0, STAND_MS, "not every process inside stood still within 10 s" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const int64_t moments[] = { 0, 1, 2, STAND_MS - 1, STAND_MS };
		int fd, to;
		struct client *c = control_client(&x, &fd);
		struct pause *t = &x.s.pause;
		struct err e = { 0 };
		int ours = control_pair(&to);
		x.launch.sandbox.upper = open("/", O_PATH | O_CLOEXEC);
		assert_int_equal(pause_begin(&x.s, c, text_copy("7"), to, &e), 0);
		assert_int_equal(t->due_ms, NOW + STAND_MS);
		for (size_t n = 0; n < ARRAY_LEN(moments); n++) {
			x.s.now_ms = NOW + moments[n];
			if (rows[i].stand && rows[i].stand == moments[n])
				assert_int_equal(answers(1, FREEZE_STANDS), 0);
			pause_look(&x.s);
			const bool is_over = moments[n] >= rows[i].end;
			if (is_answered(c, rows[i].answer) != is_over ||
			    !t->request != is_over)
				fail_msg("row %zu at %lld", i, (long long)moments[n]);
		}
		assert_int_equal(t->due_ms, 0);
		/* If the processes were not all stopped in time, they run again. */
		assert_int_equal(x.s.status,
				 rows[i].stand ? REGISTRY_PAUSED : REGISTRY_READY);
		own_close(&fd);
		own_close(&ours);
		assert_int_equal(teardown(state) + setup(state), 0);
	}
}

/* --- no time passes --------------------------------------------------------------- */

static void ask_for_pause(struct client *c)
{
	struct err e = { 0 };

	if (pause_pause(&x.s, c, text_copy("8"), &e) < 0)
		fail_msg("%s", e.text);
}

static void all_stand(void)
{
	assert_int_equal(answers(x.s.pause.freezes, FREEZE_STANDS), 0);
	pause_look(&x.s);
}

static void pause_it(void)
{
	int fd;

	ask_for_pause(control_client(&x, &fd));
	own_close(&fd);
	all_stand();
}

static void lose_it(void)
{
	struct err lost = { 0 };

	(void)err_set(&lost, ERR_REFUSED, "/work/.git was replaced");
	pause_unprotected(&x.s, &lost);
	all_stand();
}

static void unpause(void)
{
	struct err e = { 0 };

	if (pause_unpause(&x.s, false, &e) < 0)
		fail_msg("%s", e.text);
}

static void insist(void)
{
	struct err e = { 0 };

	/* The lost protection does not come back: a plain unpause is refused, and
	 * only an explicit one continues. */
	assert_int_equal(pause_unpause(&x.s, false, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	if (pause_unpause(&x.s, true, &e) < 0)
		fail_msg("%s", e.text);
}

static void stop(void)
{
	pause_end(&x.s);
}

/* Deadlines of processes and actions move by the length of the pause. */
static void test_in_a_pause_no_time_passes(void **state)
{
	static const struct {
		void (*begin)(void), (*end)(void);
	} pauses[] = { { pause_it, unpause }, { pause_it, stop }, { lose_it, insist } };
	static const int64_t lengths[] = { 0, 1, 5000, 86400000 };

	for (size_t i = 0; i < ARRAY_LEN(pauses) * ARRAY_LEN(lengths); i++) {
		const int64_t length = lengths[i % ARRAY_LEN(lengths)];
		struct session *opening = queue_session(&x.s.dispatcher.queue, "a");
		struct job *j = control_job(&x, NULL);
		j->deadline_ms = NOW + 60000;
		opening->is_opening = true;
		opening->deadline_ms = NOW + 70000;
		x.s.now_ms = NOW + 100;
		pauses[i / ARRAY_LEN(lengths)].begin();
		assert_int_equal(x.s.status, REGISTRY_PAUSED);
		assert_int_equal(jobs_due(&x.s.jobs), 0);
		x.s.now_ms = NOW + 100 + length;
		jobs_expire(&x.s.jobs, x.s.now_ms);
		pauses[i / ARRAY_LEN(lengths)].end();
		if (jobs_due(&x.s.jobs) != NOW + 60000 + length ||
		    dispatcher_deadline(&x.s.dispatcher) != NOW + 70000 + length ||
		    j->has_timed_out)
			fail_msg("row %zu: %lld and %lld", i,
				 (long long)jobs_due(&x.s.jobs) - NOW,
				 (long long)dispatcher_deadline(&x.s.dispatcher) - NOW);
		assert_int_equal(teardown(state) + setup(state), 0);
	}
}

/* --- where no process can be stopped ------------------------------------------------ */

static void test_nobody_is_told_of_a_pause_that_is_none(void **state)
{
	static const struct {
		uint32_t why;
		const char *answer;
	} rows[] = {
		{ FREEZE_TRACED, "process 7 inside is traced by another one" },
		{ FREEZE_DENIED, "the kernel lets no process trace process 7 inside" },
		{ FREEZE_LATE, "process 7 inside did not stand still in time" },
		{ FREEZE_FAILED,
		  "no process that stops the others could be started inside" },
		{ FREEZE_STANDS, "\"result\":{\"by\":\"tracing\"}" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool stands = rows[i].why == FREEZE_STANDS;
		int fd;
		struct client *c = control_client(&x, &fd);
		ask_for_pause(c);
		pause_look(&x.s);
		assert_int_equal(x.s.status, REGISTRY_READY);
		/* Counts as paused, so no request goes to the executor. */
		assert_true(pause_is(&x.s));
		assert_int_equal(buffer_len(&c->conn.out), 0);
		assert_int_equal(answers(1, rows[i].why), 0);
		pause_look(&x.s);
		assert_true(is_answered(c, rows[i].answer));
		assert_int_equal(x.s.status, stands ? REGISTRY_PAUSED : REGISTRY_READY);
		assert_int_equal(pause_is(&x.s), stands);
		assert_int_equal(c->under_way, 0);
		own_close(&fd);
		assert_int_equal(teardown(state) + setup(state), 0);
	}
}

static void test_by_signals_only_with_best_effort_and_not_for_what_was_lost(void **state)
{
	struct err lost = { 0 };
	int fd;
	struct client *c = control_client(&x, &fd);

	(void)state;
	x.policy.is_best_effort = true;
	ask_for_pause(c);
	assert_int_equal(answers(1, FREEZE_TRACED), 0);
	pause_look(&x.s);
	assert_int_equal(x.s.status, REGISTRY_READY);
	assert_int_equal(says(1), 0);
	pause_look(&x.s);
	assert_true(is_answered(c, "\"result\":{\"by\":\"signals\"}"));
	assert_int_equal(x.s.status, REGISTRY_PAUSED);
	assert_int_equal(x.launch.degraded, DEGRADED_PAUSE);
	/* A pause by signals does not protect a file that was replaced, so the
	 * sandbox ends. */
	(void)err_set(&lost, ERR_REFUSED, "/work/.git was replaced");
	pause_unprotected(&x.s, &lost);
	assert_string_equal(x.s.ending.reason, "error");
	own_close(&fd);
	assert_int_equal(teardown(state) + setup(state), 0);
	/* If the first reason for a pause is such a file, signals are not even tried
	 * after the freezer has failed. */
	x.policy.is_best_effort = true;
	pause_unprotected(&x.s, &lost);
	assert_null(x.s.ending.reason);
	assert_int_equal(answers(1, FREEZE_TRACED), 0);
	pause_look(&x.s);
	assert_string_equal(x.s.ending.reason, "error");
	assert_int_equal(x.s.status, REGISTRY_READY);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_paused_comes_for_what_was_asked_and_once),
		TEST(test_frozen_comes_for_what_was_asked_and_once),
		TEST(test_nobody_is_told_of_a_pause_that_is_none),
		TEST(test_by_signals_only_with_best_effort_and_not_for_what_was_lost),
		TEST(test_a_reader_waits_for_all_and_not_for_ever),
		TEST(test_in_a_pause_no_time_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
