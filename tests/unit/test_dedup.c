/* dedup: an action is done only once, although a client may ask for it again: the
 * answer is kept for a while. */
#include "actions/dedup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "actions/action.h"

static int setup(void **state)
{
	*state = dedup_new();
	return 0;
}

static int teardown(void **state)
{
	dedup_free(*state);
	return 0;
}

static struct action asked(uint64_t id, const char *timestamp, const char *client)
{
	return (struct action){ .has_id = true, .id = id,
				.timestamp = (char *)(uintptr_t)timestamp,
				.client = (char *)(uintptr_t)client };
}

static enum answer_state look(void *a, struct action x, const char *line,
			      const char **ret)
{
	return dedup_look(a, &x, line, strlen(line), ret);
}

static void keep(void *a, struct action x, const char *line)
{
	dedup_keep(a, &x, line, strlen(line));
}

static void test_once_under_way_and_kept(void **state)
{
	const char *kept = NULL;
	struct action x = asked(1, "t", "");

	assert_int_equal(look(*state, x, "body", &kept), ANSWER_NEW);
	assert_int_equal(look(*state, x, "body", &kept), ANSWER_UNDER_WAY);
	assert_int_equal(look(*state, x, "bodY", &kept), ANSWER_OTHER_BODY);
	keep(*state, x, "answer\n");
	keep(*state, x, "another\n");
	assert_int_equal(look(*state, x, "body", &kept), ANSWER_KEPT);
	assert_string_equal(kept, "answer\n");
	assert_int_equal(look(*state, x, "bodY", &kept), ANSWER_OTHER_BODY);
}

static void test_a_key_is_client_id_and_timestamp(void **state)
{
	const char *kept = NULL;

	assert_int_equal(look(*state, asked(1, "t", ""), "a", &kept), ANSWER_NEW);
	assert_int_equal(look(*state, asked(1, "u", ""), "b", &kept), ANSWER_NEW);
	assert_int_equal(look(*state, asked(2, "t", ""), "c", &kept), ANSWER_NEW);
	assert_int_equal(look(*state, asked(1, "t", "x"), "d", &kept), ANSWER_NEW);
	assert_int_equal(look(*state, asked(1, "", ""), "e", &kept), ANSWER_NEW);
}

static void play(void *a, uint64_t from, uint64_t to, const char *timestamp,
		 const char *answer)
{
	const char *kept = NULL;
	char when[64];

	for (uint64_t id = from; id < to; id++) {
		(void)snprintf(when, sizeof(when), *timestamp ? "%s.%06u" : "%s",
			       timestamp, (unsigned)id);
		assert_int_equal(look(a, asked(id, when, ""), "x", &kept), ANSWER_NEW);
		keep(a, asked(id, when, ""), answer);
	}
}

static void test_an_old_one_is_never_done_again(void **state)
{
	const char *kept = NULL;

	play(*state, 1, 100, "", "ok");
	assert_int_equal(look(*state, asked(99, "", ""), "x", &kept), ANSWER_KEPT);
	assert_int_equal(look(*state, asked(36, "", ""), "x", &kept), ANSWER_KEPT);
	assert_int_equal(look(*state, asked(35, "", ""), "x", &kept), ANSWER_TOO_OLD);
	assert_int_equal(look(*state, asked(1, "", ""), "x", &kept), ANSWER_TOO_OLD);
	/* Ids of another client are independent. */
	assert_int_equal(look(*state, asked(1, "", "b"), "x", &kept), ANSWER_NEW);
}

/* After a restart of its count, a client's requests have small ids but a later time,
 * so they are new. */
static void test_later_times_are_new(void **state)
{
	const char *kept = NULL;

	play(*state, 1, 100, "2026-01-01T00:00:00", "ok");
	assert_int_equal(
		look(*state, asked(1, "2026-01-01T00:00:00.000001", ""), "x", &kept),
		ANSWER_TOO_OLD);
	assert_int_equal(look(*state, asked(1, "2025-12-31T23:59:59", ""), "x", &kept),
			 ANSWER_TOO_OLD);
	play(*state, 1, 100, "2026-01-01T00:00:01", "ok");
}

/* When summer time ends an hour comes twice, but the ids go on rising. */
static void test_a_clock_may_go_back(void **state)
{
	play(*state, 1, 100, "2026-10-25T02:59:00", "ok");
	play(*state, 100, 200, "2026-10-25T02:00:00", "ok");
}

static void test_bytes_are_bounded_too(void **state)
{
	size_t size = DEDUP_BYTES / 4;
	const char *kept = NULL;
	char *answer = malloc(size + 1);

	assert_non_null(answer);
	memset(answer, 'a', size);
	answer[size] = '\0';
	play(*state, 1, 10, "", answer);
	free(answer);
	assert_int_equal(look(*state, asked(9, "", ""), "x", &kept), ANSWER_KEPT);
	assert_int_equal(look(*state, asked(6, "", ""), "x", &kept), ANSWER_KEPT);
	assert_int_equal(look(*state, asked(5, "", ""), "x", &kept), ANSWER_TOO_OLD);
}

/* An action that still runs is remembered, however many other actions follow. */
static void test_an_action_that_runs_long_is_remembered(void **state)
{
	const char *kept = NULL;

	assert_int_equal(look(*state, asked(1, "", ""), "x", &kept), ANSWER_NEW);
	play(*state, 2, 200, "", "ok");
	assert_int_equal(look(*state, asked(1, "", ""), "x", &kept), ANSWER_UNDER_WAY);
	keep(*state, asked(1, "", ""), "late");
	assert_int_not_equal(look(*state, asked(1, "", ""), "x", &kept), ANSWER_NEW);
}

/* The largest id of all forgotten requests counts, in whatever order they came. */
static void test_the_largest_that_was_let_go_of_counts(void **state)
{
	const char *kept = NULL;

	play(*state, 100, 101, "", "ok");
	play(*state, 1, DEDUP_KEPT + 1, "", "ok");
	play(*state, 101, 102, "", "ok");
	assert_int_equal(look(*state, asked(100, "", ""), "x", &kept), ANSWER_TOO_OLD);
	assert_int_equal(look(*state, asked(1, "b", "c"), "x", &kept), ANSWER_NEW);
	keep(*state, asked(1, "b", "c"), "ok");
	for (uint64_t id = 2; id < DEDUP_KEPT * 2; id++) {
		assert_int_equal(look(*state, asked(id, "a", "c"), "x", &kept),
				 ANSWER_NEW);
		keep(*state, asked(id, "a", "c"), "ok");
	}
	assert_int_equal(look(*state, asked(1, "b", "c"), "x", &kept), ANSWER_TOO_OLD);
}

static void test_one_that_is_too_large_is_kept_alone(void **state)
{
	char *answer = malloc(DEDUP_BYTES + 2);
	const char *kept = NULL;

	assert_non_null(answer);
	memset(answer, 'a', DEDUP_BYTES + 1);
	answer[DEDUP_BYTES + 1] = '\0';
	play(*state, 1, 3, "", answer);
	assert_int_equal(look(*state, asked(2, "", ""), "x", &kept), ANSWER_KEPT);
	assert_string_equal(kept, answer);
	assert_int_equal(look(*state, asked(1, "", ""), "x", &kept), ANSWER_TOO_OLD);
	free(answer);
}

static void test_clients_are_bounded(void **state)
{
	const char *kept = NULL;
	char name[16];

	for (int i = 0; i < DEDUP_CLIENTS; i++) {
		(void)snprintf(name, sizeof(name), "c%d", i);
		assert_int_equal(look(*state, asked(1, "", name), "x", &kept),
				 ANSWER_NEW);
	}
	assert_int_equal(look(*state, asked(1, "", "one more"), "x", &kept),
			 ANSWER_TOO_MANY);
}

static void test_a_client_that_has_gone_leaves_a_place(void **state)
{
	const char *kept = NULL;
	char name[16];

	for (int i = 0; i < 3 * DEDUP_CLIENTS; i++) {
		(void)snprintf(name, sizeof(name), "c%d", i);
		struct action done = asked(1, "", name), under_way = asked(2, "", name);
		assert_int_equal(look(*state, done, "x", &kept), ANSWER_NEW);
		assert_int_equal(look(*state, under_way, "x", &kept), ANSWER_NEW);
		keep(*state, done, "answer\n");
		dedup_forget(*state, name);
		keep(*state, under_way, "too late\n");
	}
	/* The answers of other clients are still kept, and the memory of the
	 * forgotten answer no longer counts. */
	assert_int_equal(look(*state, asked(1, "", "a"), "x", &kept), ANSWER_NEW);
	keep(*state, asked(1, "", "a"), "answer\n");
	dedup_forget(*state, "b");
	assert_int_equal(look(*state, asked(1, "", "a"), "x", &kept), ANSWER_KEPT);
	play(*state, 2, DEDUP_KEPT + 1, "", "y\n");
	assert_int_equal(look(*state, asked(1, "", "a"), "x", &kept), ANSWER_KEPT);
	assert_string_equal(kept, "answer\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_once_under_way_and_kept),
		TEST(test_a_key_is_client_id_and_timestamp),
		TEST(test_an_old_one_is_never_done_again),
		TEST(test_later_times_are_new),
		TEST(test_a_clock_may_go_back),
		TEST(test_bytes_are_bounded_too),
		TEST(test_an_action_that_runs_long_is_remembered),
		TEST(test_the_largest_that_was_let_go_of_counts),
		TEST(test_one_that_is_too_large_is_kept_alone),
		TEST(test_clients_are_bounded),
		TEST(test_a_client_that_has_gone_leaves_a_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
