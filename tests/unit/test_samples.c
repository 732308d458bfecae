/* samples: sends samples of a sandbox's usage at regular times. */
#include "supervisor/samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/control.h"

#define EVERY_MS 500

static struct control x;

static int setup(void **state)
{
	(void)state;
	control_begin(&x);
	x.s.samples.every_ms = EVERY_MS;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	control_end(&x);
	return 0;
}

/* Returns the number of samples in the client's queue. */
static unsigned count_told(const struct client *c)
{
	static const char word[] = "\"event\":\"sample\"";
	const char *at = (const char *)buffer_data(&c->conn.out);
	size_t left = buffer_len(&c->conn.out);
	unsigned count = 0;

	for (const char *next;
	     left && (next = memmem(at, left, word, sizeof(word) - 1));) {
		count++;
		left -= (size_t)(next + 1 - at);
		at = next + 1;
	}
	return count;
}

static void test_one_is_told_at_each_interval(void **state)
{
	static const struct {
		int64_t at;
		unsigned count;
		int64_t due; /* time of the next sample */
	} rows[] = {
		{ 0, 1, EVERY_MS }, /* the first at once */
		{ 1, 1, EVERY_MS },
		{ EVERY_MS - 1, 1, EVERY_MS },
		{ EVERY_MS, 2, 2 * EVERY_MS },
		{ 2 * EVERY_MS + 7, 3, 3 * EVERY_MS + 7 },
		/* Samples that were missed are not sent later. */
		{ 9 * EVERY_MS, 4, 10 * EVERY_MS },
	};
	int fd;
	struct client *c = control_client(&x, &fd);

	(void)state;
	c->has_events = true;
	(void)control_job(&x, NULL);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		x.s.now_ms = NOW + rows[i].at;
		samples_tell(&x.s);
		if (count_told(c) != rows[i].count ||
		    samples_due(&x.s) != NOW + rows[i].due)
			fail_msg("row %zu: %u told, the next at %lld", i, count_told(c),
				 (long long)samples_due(&x.s) - NOW);
	}
	own_close(&fd);
}

static void test_none_is_due_without_a_listener_or_something_that_runs(void **state)
{
	static const struct {
		bool listens, runs;
		enum registry_status status;
		int64_t every_ms;
		bool is_due;
	} rows[] = {
		{ true, true, REGISTRY_READY, EVERY_MS, true },
		{ false, true, REGISTRY_READY, EVERY_MS, false },
		{ true, false, REGISTRY_READY, EVERY_MS, false },
		{ true, true, REGISTRY_PAUSED, EVERY_MS, false },
		{ true, true, REGISTRY_STOPPING, EVERY_MS, false },
		{ true, true, REGISTRY_READY, 0, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int fd;
		struct client *c = control_client(&x, &fd);
		c->has_events = rows[i].listens;
		if (rows[i].runs)
			(void)control_job(&x, NULL);
		x.s.status = rows[i].status;
		x.s.samples.every_ms = rows[i].every_ms;
		if ((samples_due(&x.s) != 0) != rows[i].is_due)
			fail_msg("row %zu", i);
		own_close(&fd);
		assert_int_equal(teardown(state) + setup(state), 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_one_is_told_at_each_interval),
		TEST(test_none_is_due_without_a_listener_or_something_that_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
