/* pool: decides when a pool's keeper makes more sandboxes.  There are no sandboxes:
 * one end of a socket stands for each. */
#include "supervisor/pool/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"

#define STOCK 16
#define NOW	  1000000 /* ms; when all sandboxes of the stock began to wait */

struct scene {
	struct pool pool;
	int sandboxes[STOCK];
	int told; /* where the process that waits for the pool's first sandbox is told */
};

static void put(struct scene *s, size_t i)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	s->pool.waiting[i] = (struct waiting){ .lease = ends[0], .since_ms = NOW };
	(void)snprintf(s->pool.waiting[i].name, sizeof(s->pool.waiting[i].name), "p-%zu",
		       i);
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
	s.pool.together = 1;
	s.pool.lease = s.pool.signals = -1;
	assert_int_equal(pipe(ends), 0);
	s.told = ends[0];
	s.pool.ready = ends[1];
	for (size_t i = 0; i < POOL_SPAWNS_MAX; i++)
		pool_spawn_init(&s.pool.spawns[i]);
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

	assert_string_equal(pool_oldest(&s->pool, NOW)->name, "p-0");
	own_close(&s->sandboxes[0]);
	own_close(&s->sandboxes[1]);
	own_close(&s->sandboxes[3]);
	assert_string_equal(pool_oldest(&s->pool, NOW)->name, "p-2");
	assert_int_equal(s->pool.lost, 2);
	pool_taken(&s->pool, NOW);
	assert_string_equal(pool_oldest(&s->pool, NOW)->name, "p-4");
	assert_int_equal(s->pool.waiting_count, STOCK - 4);
}

static void all_that_die_at_once_are_one_failure(void **state)
{
	struct scene *s = *state;

	for (size_t i = 0; i < STOCK; i++)
		own_close(&s->sandboxes[i]);
	assert_null(pool_oldest(&s->pool, NOW + 1));
	assert_int_equal(s->pool.lost, STOCK);
	assert_int_equal(s->pool.pace.strikes, 1);
	assert_int_equal(pool_due(&s->pool), NOW + 1 + PACE_RETRY_MS);
	assert_true(pool_is_in_trouble(&s->pool));
	assert_non_null(strstr(s->pool.trouble.text, "ended while it waited"));
}

static void one_that_dies_after_each_pause_makes_the_next_twice_as_long(void **state)
{
	struct scene *s = *state;
	int64_t now = NOW;

	for (size_t i = 0; i < 6;
	     i++) { /* with 6 rounds the pauses add up to less than PACE_STEADY_MS */
		own_close(&s->sandboxes[i]);
		(void)pool_oldest(&s->pool, now);
		assert_int_equal(s->pool.pace.retry_ms, now + (PACE_RETRY_MS << i));
		now = s->pool.pace.retry_ms;
	}
}

static void what_dies_of_old_age_is_no_failure(void **state)
{
	struct scene *s = *state;

	own_close(&s->sandboxes[0]);
	assert_string_equal(pool_oldest(&s->pool, NOW + PACE_STEADY_MS)->name, "p-1");
	assert_int_equal(s->pool.lost, 1);
	assert_int_equal(s->pool.pace.retry_ms, 0);
	assert_int_equal(s->pool.trouble.kind, ERR_NONE);
}

/* While half of the stock waits, which suffices for a burst, the pool makes no more;
 * below that it makes the next sandbox at once. */
static void making_rests_while_there_is_enough(void **state)
{
	struct scene *s = *state;

	for (size_t left = STOCK; left-- > 0;) {
		pool_taken(&s->pool, NOW);
		assert_int_equal(pool_due(&s->pool),
				 2 * left >= STOCK ? NOW + PACE_REST_MS : 0);
	}
	assert_int_equal(s->pool.taken, STOCK);
}

/* --- what is too late ------------------------------------------------------------ */

/* Adds a sandbox that is being made; there is no process to kill for it. */
static struct pool_spawn *begin(struct scene *s, size_t i, int64_t due)
{
	struct pool_spawn *m = &s->pool.spawns[i];
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	m->says = ends[0];
	m->due_ms = due;
	(void)close(ends[1]);
	s->pool.making++;
	return m;
}

static void one_that_reads_its_words_for_too_long_is_given_up(void **state)
{
	struct scene *s = *state;

	own_close(&s->pool.ready); /* as after the first sandbox was made */
	s->pool.ready = -1;
	struct pool_spawn *early = begin(s, 0, NOW + POOL_SPAWN_READS_MS);
	struct pool_spawn *late = begin(s, 1, NOW + POOL_SPAWN_READS_MS + 7);
	struct pool_spawn *has_read = begin(s, 2, 0);
	assert_int_equal(pool_due(&s->pool), NOW + POOL_SPAWN_READS_MS);
	pool_expire(&s->pool, NOW + POOL_SPAWN_READS_MS - 1);
	assert_int_equal(s->pool.making, 3);
	pool_expire(&s->pool, NOW + POOL_SPAWN_READS_MS);
	assert_int_equal(s->pool.making, 2);
	assert_int_equal(early->says, -1);
	assert_int_equal(s->pool.failed, 1);
	assert_int_equal(s->pool.pace.strikes, 1);
	assert_non_null(strstr(s->pool.trouble.text, "still reading its options"));
	assert_int_equal(pool_due(&s->pool), NOW + POOL_SPAWN_READS_MS + 7);
	pool_expire(&s->pool, NOW + 10 * POOL_SPAWN_READS_MS);
	assert_int_equal(late->says, -1);
	/* A sandbox that has its image to pull may take any time. */
	assert_int_not_equal(has_read->says, -1);
	assert_int_equal(s->pool.making, 1);
	assert_false(s->pool.is_ending);
	pool_spawn_done(has_read);
}

static void a_pool_whose_first_one_is_given_up_ends(void **state)
{
	struct scene *s = *state;

	(void)begin(s, 0, NOW + POOL_SPAWN_READS_MS);
	pool_expire(&s->pool, NOW + POOL_SPAWN_READS_MS);
	assert_true(s->pool.is_ending);
	assert_non_null(strstr(s->pool.why.text, "still reading its options"));
}

/* The listener is missing, so that accept(2) fails, as it does without a free
 * descriptor. */
static void who_cannot_be_let_in_is_tried_again_after_100_ms(void **state)
{
	struct scene *s = *state;

	assert_int_equal(pool_due(&s->pool), 0);
	pool_clients_accept(&s->pool, NOW);
	assert_int_equal(s->pool.client_count, 0);
	assert_int_equal(pool_due(&s->pool), NOW + 100);
}

/* --- the end --------------------------------------------------------------------- */

static void the_end_waits_for_what_waits_but_not_for_ever(void **state)
{
	static const struct {
		bool is_stopped;
		size_t waiting, making;
		int64_t after; /* ms after the stop */
		bool is_over;
	} cases[] = {
		{ false, 0, 0, 1000000, false },   { true, 0, 0, 0, true },
		{ true, 1, 0, 9999, false },	   { true, 0, 1, 9999, false },
		{ true, 1, 0, 10000, true },	   { true, 0, 1, 10000, true },
		{ true, STOCK, 3, 10000, true },
	};
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct pool p = { .size = STOCK,
				  .waiting_count = cases[i].waiting,
				  .making = cases[i].making,
				  .is_ending = cases[i].is_stopped,
				  .end_ms = cases[i].is_stopped ? NOW + 10000 : 0 };
		assert_int_equal(pool_is_over(&p, NOW + cases[i].after),
				 cases[i].is_over);
	}
	pool_stop(&s->pool, NOW);
	pool_stop(&s->pool, NOW + 5000); /* a second stop does not extend the time */
	assert_int_equal(pool_due(&s->pool), NOW + 10000);
	pool_expire(&s->pool, NOW + 10000);
	assert_true(pool_is_over(&s->pool, NOW + 10000));
}

static void the_end_says_so_to_what_waits_and_hears_of_theirs(void **state)
{
	struct scene *s = *state;
	char byte;

	pool_stop(&s->pool, NOW);
	for (size_t i = 0; i < STOCK; i++) {
		assert_int_equal(read(s->sandboxes[i], &byte, 1), 0);
		assert_int_equal(write(s->pool.waiting[i].lease, "x", 1), -1);
	}
	assert_int_equal(s->pool.waiting_count, STOCK);
	own_close(&s->sandboxes[0]);
	assert_string_equal(pool_oldest(&s->pool, NOW)->name, "p-1");
	assert_int_equal(s->pool.lost, 0); /* it ended on request */
}

static void who_waits_for_the_first_is_told_that_there_will_be_none(void **state)
{
	struct scene *s = *state;
	struct err e;

	while (s->pool.waiting_count > 0)
		own_close(&s->pool.waiting[--s->pool.waiting_count].lease);
	pool_stop(&s->pool, NOW);
	/* The process that waits is told only when the pool's name is free. */
	assert_int_not_equal(s->pool.ready, -1);
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
		CASE(one_that_reads_its_words_for_too_long_is_given_up),
		CASE(a_pool_whose_first_one_is_given_up_ends),
		CASE(who_cannot_be_let_in_is_tried_again_after_100_ms),
		CASE(the_end_waits_for_what_waits_but_not_for_ever),
		CASE(the_end_says_so_to_what_waits_and_hears_of_theirs),
		CASE(who_waits_for_the_first_is_told_that_there_will_be_none),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
