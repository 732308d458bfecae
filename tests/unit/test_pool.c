/* What a pool's keeper has, and when it makes more; without any sandbox: what waits here is
 * one end of a socket. */
#include "sandbox/pool/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"

#define STOCK	 16
#define LONG_AGO 60000

struct scene {
	struct pool pool;
	int sandboxes[STOCK];
	int told; /* what whoever waits for the first one reads */
};

static void put(struct scene *s, size_t i)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	s->pool.waiting[i] = (struct waiting){ .lease = ends[0], .since_ms = clock_ms() };
	(void)snprintf(s->pool.waiting[i].name, sizeof(s->pool.waiting[i].name), "p-%zu", i);
	s->sandboxes[i] = ends[1];
}

static int setup(void **state)
{
	static struct scene s;
	int ends[2];

	memset(&s, 0, sizeof(s));
	pools_init(&s.pool.place);
	strcpy(s.pool.place.name, "p");
	s.pool.size = s.pool.waiting_count = STOCK;
	s.pool.lease = s.pool.signals = -1;
	assert_int_equal(pipe(ends), 0);
	s.told = ends[0];
	s.pool.ready = ends[1];
	for (size_t i = 0; i < POOL_MAKERS_MAX; i++)
		maker_init(&s.pool.makers[i]);
	for (size_t i = 0; i < STOCK; i++)
		put(&s, i);
	*state = &s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	for (size_t i = 0; i < s->pool.waiting_count; i++)
		own_close(&s->pool.waiting[i].lease);
	for (size_t i = 0; i < STOCK; i++)
		own_close(&s->sandboxes[i]);
	own_close(&s->told);
	own_close(&s->pool.ready);
	return 0;
}

static void the_oldest_that_lives_is_next(void **state)
{
	struct scene *s = *state;

	assert_string_equal(pool_oldest(&s->pool)->name, "p-0");
	own_close(&s->sandboxes[0]);
	own_close(&s->sandboxes[1]);
	own_close(&s->sandboxes[3]);
	assert_string_equal(pool_oldest(&s->pool)->name, "p-2");
	assert_int_equal(s->pool.lost, 2);
	pool_taken(&s->pool);
	assert_string_equal(pool_oldest(&s->pool)->name, "p-4");
	assert_int_equal(s->pool.waiting_count, STOCK - 4);
}

static void all_that_die_at_once_are_one_failure(void **state)
{
	struct scene *s = *state;

	for (size_t i = 0; i < STOCK; i++)
		own_close(&s->sandboxes[i]);
	assert_null(pool_oldest(&s->pool));
	assert_int_equal(s->pool.lost, STOCK);
	assert_true(s->pool.retry_ms <= clock_ms() + 100);
	assert_true(pool_is_in_trouble(&s->pool));
	assert_non_null(strstr(s->pool.trouble.text, "ended while it waited"));
}

static void one_that_dies_after_each_pause_makes_the_next_twice_as_long(void **state)
{
	struct scene *s = *state;

	for (size_t i = 0; i < 12; i++) {
		const int64_t now = clock_ms();
		const int64_t pause = (int64_t)100 << (i < 9 ? i : 9);
		s->pool.retry_ms = s->pool.retry_ms ? now - 1 : 0; /* it is over */
		own_close(&s->sandboxes[i]);
		(void)pool_oldest(&s->pool);
		assert_in_range(s->pool.retry_ms - now, pause, pause + 1000);
	}
}

static void what_dies_of_old_age_is_no_failure(void **state)
{
	struct scene *s = *state;

	s->pool.waiting[0].since_ms -= LONG_AGO;
	own_close(&s->sandboxes[0]);
	assert_string_equal(pool_oldest(&s->pool)->name, "p-1");
	assert_int_equal(s->pool.retry_ms, 0);
	assert_int_equal(s->pool.trouble.kind, ERR_NONE);
}

/* Half a stock is left for a burst; below that the next is made at once. */
static void making_rests_while_there_is_enough(void **state)
{
	struct scene *s = *state;

	for (size_t left = STOCK; left-- > 0;) {
		pool_taken(&s->pool);
		assert_int_equal(s->pool.rest_ms != 0, 2 * left >= STOCK);
	}
	assert_int_equal(s->pool.taken, STOCK);
}

static void the_end_says_so_to_what_waits_and_hears_of_theirs(void **state)
{
	struct scene *s = *state;
	char byte;

	pool_stop(&s->pool);
	for (size_t i = 0; i < STOCK; i++) {
		assert_int_equal(read(s->sandboxes[i], &byte, 1), 0);
		assert_int_equal(write(s->pool.waiting[i].lease, "x", 1), -1);
	}
	assert_int_equal(s->pool.waiting_count, STOCK);
	own_close(&s->sandboxes[0]);
	assert_string_equal(pool_oldest(&s->pool)->name, "p-1");
	assert_int_equal(s->pool.lost, 0); /* as it was asked to */
}

static void who_waits_for_the_first_is_told_that_there_will_be_none(void **state)
{
	struct scene *s = *state;
	struct err e;

	while (s->pool.waiting_count > 0)
		own_close(&s->pool.waiting[--s->pool.waiting_count].lease);
	pool_stop(&s->pool);
	assert_int_not_equal(s->pool.ready, -1); /* the name is not free yet */
	pool_run(&s->pool);
	assert_int_equal(s->pool.ready, -1);
	assert_int_equal(read(s->told, &e, sizeof(e)), sizeof(e));
	assert_int_equal(e.kind, ERR_GONE);
	assert_non_null(strstr(e.text, "pool 'p' was ended"));
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(the_oldest_that_lives_is_next),
		CASE(all_that_die_at_once_are_one_failure),
		CASE(one_that_dies_after_each_pause_makes_the_next_twice_as_long),
		CASE(what_dies_of_old_age_is_no_failure),
		CASE(making_rests_while_there_is_enough),
		CASE(the_end_says_so_to_what_waits_and_hears_of_theirs),
		CASE(who_waits_for_the_first_is_told_that_there_will_be_none),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
