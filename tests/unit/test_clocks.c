/* clocks: decides when a sandbox ends because of time, and with which reason. */
#include "supervisor/clocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/own.h"

#define NOW	1000000
#define STOP_MS 2000 /* as clocks.c has it */
#define NEVER	(-NOW)

/* A sandbox that is made at NOW.  All times are in ms after that. */
struct life {
	int64_t timeout, ttl, idle;
	int64_t taken; /* when it is taken from a pool: its time-out and ttl start here */
	int64_t ready; /* when it becomes ready; NEVER: it does not */
	int64_t used;  /* end of the last use; 0: it was never used */
	int64_t stop, grace;
	bool has_main; /* the stop is for its main process */
	int64_t ended,
		delay; /* when the main process ended, to be started after `delay` */
	int64_t due;
	enum clocks_end end;
};

static const struct life lives[] = {
	/* No limit is set. */
	{ .ready = 1, .due = NEVER },
	{ .ready = 59999, .due = NEVER },
	{ .ready = NEVER, .due = CLOCKS_START_MS, .end = CLOCKS_START },
	/* A time-out counts from when the sandbox is made, whether it is ready or
	 * not. */
	{ .timeout = 50, .ready = 1, .due = 50, .end = CLOCKS_TIMEOUT },
	{ .timeout = 50, .ready = NEVER, .due = 50, .end = CLOCKS_TIMEOUT },
	{ .ttl = 50, .ready = 1, .due = 50, .end = CLOCKS_TTL },
	{ .timeout = 50, .ttl = 51, .ready = 1, .due = 50, .end = CLOCKS_TIMEOUT },
	{ .timeout = 51, .ttl = 50, .ready = 1, .due = 50, .end = CLOCKS_TTL },
	{ .timeout = 50, .ttl = 50, .ready = 1, .due = 50, .end = CLOCKS_TIMEOUT },
	{ .timeout = 90000, .ready = NEVER, .due = CLOCKS_START_MS, .end = CLOCKS_START },
	/* For a sandbox that waits in a pool, the times count from when a client
	 * takes it. */
	{ .timeout = 50, .ready = 1, .taken = 700, .due = 750, .end = CLOCKS_TIMEOUT },
	{ .ttl = 50, .ready = 1, .taken = 700, .due = 750, .end = CLOCKS_TTL },
	{ .idle = 50, .ready = 1, .taken = 700, .due = 750, .end = CLOCKS_IDLE },
	/* The idle time counts from when the sandbox became ready, or from its last
	 * use. */
	{ .idle = 50, .ready = 100, .due = 150, .end = CLOCKS_IDLE },
	{ .idle = 50, .ready = 100, .used = 149, .due = 199, .end = CLOCKS_IDLE },
	{ .idle = 50, .ttl = 60, .ready = 1, .used = 11, .due = 60, .end = CLOCKS_TTL },
	/* After a stop the processes have the grace period, and the executor has
	 * STOP_MS more. */
	{ .ready = 1, .stop = 10, .due = 10 + STOP_MS, .end = CLOCKS_STOP },
	{ .ready = 1,
	  .stop = 10,
	  .grace = 5000,
	  .due = 5010 + STOP_MS,
	  .end = CLOCKS_STOP },
	{ .timeout = 2500,
	  .ready = 1,
	  .stop = 10,
	  .grace = 5000,
	  .due = 2500,
	  .end = CLOCKS_TIMEOUT },
	{ .timeout = 10 + STOP_MS,
	  .ready = 1,
	  .stop = 10,
	  .due = 10 + STOP_MS,
	  .end = CLOCKS_STOP },
	/* A main process has the grace period, and no more. */
	{ .ready = 1,
	  .stop = 10,
	  .grace = 5000,
	  .has_main = true,
	  .due = 5010,
	  .end = CLOCKS_STOP },
	{ .ready = 1, .stop = 10, .has_main = true, .due = 10, .end = CLOCKS_STOP },
	/* A restart comes after any end. */
	{ .ready = 1, .ended = 20, .delay = 100, .due = 120, .end = CLOCKS_RESTART },
	{ .ttl = 120,
	  .ready = 1,
	  .ended = 20,
	  .delay = 100,
	  .due = 120,
	  .end = CLOCKS_TTL },
	{ .idle = 50,
	  .ready = 1,
	  .used = 10,
	  .ended = 20,
	  .delay = 100,
	  .due = 60,
	  .end = CLOCKS_IDLE },
	/* A delay of 0 means that it is not started again. */
	{ .ready = 1, .ended = 20, .due = NEVER },
};

static void live(struct clocks *c, const struct life *l)
{
	*c = (struct clocks){ .timeout_ms = l->timeout,
			      .ttl_ms = l->ttl,
			      .idle_ms = l->idle };
	clocks_begin(c, NOW);
	if (!l->taken)
		clocks_run(c, NOW);
	if (l->ready != NEVER)
		clocks_ready(c, NOW + l->ready);
	if (l->taken)
		clocks_run(c, NOW + l->taken);
	if (l->used)
		clocks_use(c, NOW + l->used);
	if (l->stop)
		(l->has_main ? clocks_end : clocks_stop)(c, (uint64_t)l->grace,
							 NOW + l->stop);
	if (l->ended)
		clocks_restart(c, l->delay, NOW + l->ended);
}

static void expect(const struct clocks *c, size_t row, int64_t at, enum clocks_end end)
{
	const enum clocks_end got = clocks_look(c, c->start_due == 0, NOW + at);

	if (got != end)
		fail_msg("row %zu at %lld: %d and not %d", row, (long long)at, got, end);
}

static void test_each_ends_when_its_time_has_come_and_no_sooner(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lives); i++) {
		const struct life *l = &lives[i];
		struct clocks c;
		live(&c, l);
		const int64_t due = clocks_due(&c, c.start_due == 0);
		if (due != NOW + l->due)
			fail_msg("row %zu: due at %lld", i, (long long)due - NOW);
		if (l->due == NEVER) {
			expect(&c, i, INT32_MAX, CLOCKS_GO_ON);
			continue;
		}
		expect(&c, i, l->due - 1, CLOCKS_GO_ON);
		expect(&c, i, l->due, l->end);
	}
}

/* After a suspend of the host the loop finds all limits due at once. */
static void test_a_late_look_finds_the_end_that_was_due_first(void **state)
{
	static const struct {
		struct life life;
		enum clocks_end end;
	} rows[] = {
		{ { .timeout = 50, .ttl = 60, .idle = 5, .ready = 1 }, CLOCKS_TIMEOUT },
		{ { .timeout = 60, .ttl = 50, .idle = 5, .ready = 1 }, CLOCKS_TTL },
		{ { .timeout = 60, .stop = 10, .ready = 1 }, CLOCKS_STOP },
		{ { .timeout = 60, .stop = 10, .ready = NEVER }, CLOCKS_START },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct clocks c;
		live(&c, &rows[i].life);
		expect(&c, i, 10000000, rows[i].end);
	}
}

static void test_a_sandbox_in_use_is_never_idle(void **state)
{
	struct clocks c = { .idle_ms = 50 };

	(void)state;
	clocks_run(&c, NOW);
	clocks_ready(&c, NOW);
	assert_int_equal(clocks_due(&c, false), 0);
	assert_int_equal(clocks_look(&c, false, NOW + 1000000), CLOCKS_GO_ON);
	clocks_use(&c, NOW + 1000000);
	assert_int_equal(clocks_due(&c, true), NOW + 1000050);
	assert_int_equal(clocks_look(&c, true, NOW + 1000049), CLOCKS_GO_ON);
	assert_int_equal(clocks_look(&c, true, NOW + 1000050), CLOCKS_IDLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_ends_when_its_time_has_come_and_no_sooner),
		cmocka_unit_test(test_a_late_look_finds_the_end_that_was_due_first),
		cmocka_unit_test(test_a_sandbox_in_use_is_never_idle),
	};

	return cmocka_run_group_tests_name("clocks", tests, NULL, NULL);
}
