/* restarts: whether a main process is started again, and after how long; and the words of
 * --restart. */
#include "supervisor/restarts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"

#define NOW	  1000000
#define LIVES_MAX 12

/* The lives of one main process, in ms, each with its exit code; and the delay before the
 * next one.  0: there is no next one. */
struct row {
	const char *rule;
	size_t count;
	struct {
		int64_t lived;
		int code;
		int64_t delay;
	} lives[LIVES_MAX];
};

static const struct row rows[] = {
	{ "no", 1, { { 5, 0, 0 } } },
	{ "no", 1, { { 5, 1, 0 } } },
	{ "on-failure", 2, { { 5, 1, 100 }, { 5, 0, 0 } } },
	{ "on-failure", 3, { { 5, 137, 100 }, { 5, 143, 200 }, { 5, 1, 400 } } },
	{ "on-failure:0", 3, { { 5, 1, 100 }, { 5, 1, 200 }, { 5, 1, 400 } } },
	{ "on-failure:2", 3, { { 5, 1, 100 }, { 5, 1, 200 }, { 5, 1, 0 } } },
	/* A long life does not make the count begin anew. */
	{ "on-failure:2", 3, { { 5, 1, 100 }, { 20000, 1, 100 }, { 20000, 1, 0 } } },
	{ "always", 2, { { 5, 0, 100 }, { 5, 1, 200 } } },
	{ "unless-stopped", 2, { { 5, 0, 100 }, { 5, 1, 200 } } },
	{ "always",
	  12,
	  { { 0, 1, 100 },
	    { 0, 1, 200 },
	    { 0, 1, 400 },
	    { 0, 1, 800 },
	    { 0, 1, 1600 },
	    { 0, 1, 3200 },
	    { 0, 1, 6400 },
	    { 0, 1, 12800 },
	    { 0, 1, 25600 },
	    { 0, 1, 51200 },
	    { 0, 1, 60000 },
	    { 0, 1, 60000 } } },
	{ "always",
	  4,
	  { { 9999, 1, 100 }, { 9999, 1, 200 }, { 10000, 1, 100 }, { 9999, 1, 200 } } },
};

static void test_each_end_has_its_delay(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct restarts r = { 0 };
		int64_t now = NOW;
		uint32_t count = 0;
		assert_int_equal(restart_rule_parse(rows[i].rule, &r.rule, NULL), 0);
		for (size_t n = 0; n < rows[i].count; n++) {
			restarts_begin(&r, now);
			now += rows[i].lives[n].lived;
			int64_t delay = restarts_next(&r, rows[i].lives[n].code, now);
			if (delay != rows[i].lives[n].delay)
				fail_msg("row %zu, life %zu: %lld", i, n,
					 (long long)delay);
			count += delay != 0;
			assert_int_equal(r.count, count);
			now += delay;
		}
	}
}

static void test_an_end_that_is_the_last_one_changes_nothing(void **state)
{
	static const struct {
		const char *rule;
		uint32_t count;
		int code;
	} lasts[] = { { "no", 0, 1 }, { "on-failure", 3, 0 }, { "on-failure:3", 3, 1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lasts); i++) {
		struct restarts r = { .count = lasts[i].count, .delay_ms = 400 };
		assert_int_equal(restart_rule_parse(lasts[i].rule, &r.rule, NULL), 0);
		restarts_begin(&r, NOW);
		assert_int_equal(restarts_next(&r, lasts[i].code, NOW + 20000), 0);
		assert_int_equal(r.count, lasts[i].count);
		assert_int_equal(r.delay_ms, 400);
	}
}

static void test_a_rule_is_printed_as_it_is_written(void **state)
{
	static const char *const words[] = {
		"no",	  "on-failure",	    "on-failure:3",
		"always", "unless-stopped", "on-failure:2147483647"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		struct restart_rule r;
		assert_int_equal(restart_rule_parse(words[i], &r, NULL), 0);
		AUTO_FREE char *text = restart_rule_print(&r);
		assert_string_equal(text, words[i]);
	}
}

static void test_other_words_are_refused(void **state)
{
	static const char *const words[] = { "",
					     "yes",
					     "on-failure:",
					     "on-failure:-1",
					     "on-failure:x",
					     "on-fail",
					     "always:3",
					     "no:",
					     "onfailure",
					     "always ",
					     "on-failure:2147483648" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		struct restart_rule r = { .when = RESTART_ALWAYS, .most = 7 };
		struct err e = { 0 };
		if (restart_rule_parse(words[i], &r, &e) != -1)
			fail_msg("'%s' is taken", words[i]);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_non_null(strstr(e.text, "--restart"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_end_has_its_delay),
		cmocka_unit_test(test_an_end_that_is_the_last_one_changes_nothing),
		cmocka_unit_test(test_a_rule_is_printed_as_it_is_written),
		cmocka_unit_test(test_other_words_are_refused),
	};

	return cmocka_run_group_tests_name("restarts", tests, NULL, NULL);
}
