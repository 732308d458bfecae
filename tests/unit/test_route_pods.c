/* pods: the words by which an operator names them. */
#include "gateway/route/pods.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"

static void words_become_pods(void **state)
{
	struct pods p = { 0 };
	struct err e;

	(void)state;
	assert_int_equal(pods_add(&p, "a=127.0.0.1:80", NULL, &e), 0);
	assert_int_equal(pods_add(&p, "b=[::1]:81", NULL, &e), 0);
	assert_int_equal(pods_add(&p, "c", "svc.x:7478", &e), 0);
	assert_int_equal(pods_add(&p, "hutch-9..11", "svc:7478", &e), 0);
	assert_int_equal(p.count, 6);
	assert_string_equal(p.items[0].host, "127.0.0.1");
	assert_string_equal(p.items[0].port, "80");
	assert_string_equal(p.items[1].host, "::1");
	assert_string_equal(p.items[2].host, "c.svc.x");
	assert_string_equal(p.items[3].name, "hutch-9");
	assert_string_equal(p.items[5].name, "hutch-11");
	assert_string_equal(p.items[5].host, "hutch-11.svc");
	assert_int_equal(pods_find(&p, "hutch-10-", 8), 4);
	assert_int_equal(pods_find(&p, "hutch-1", 7), -1);
	pods_done(&p);
}

static void wrong_words_are_refused(void **state)
{
	static const struct {
		const char *word, *service;
	} rows[] = {
		{ "a", NULL },	       { "a=x", NULL },	      { "a=x:0", NULL },
		{ "a=x:65536", NULL }, { "a=:1", NULL },      { "=x:1", NULL },
		{ "A=x:1", NULL },     { "a", "x" },	      { "", "x:1" },
		{ "a-3..1", "x:1" },   { "a-0..256", "x:1" }, { "a..3", "x:1" },
		{ "a-1..", "x:1" },    { "a-1..2x", "x:1" },  { "a-1..999999", "x:1" },
		{ "a=x:1x", NULL },
	};
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct pods p = { 0 };

		assert_int_equal(pods_add(&p, rows[i].word, rows[i].service, &e), -1);
		assert_int_equal(p.count, 0);
		pods_done(&p);
	}
}

static void there_are_no_two_of_one_name_and_no_more_than_the_bound(void **state)
{
	struct pods p = { 0 };
	struct err e;

	(void)state;
	assert_int_equal(pods_add(&p, "a-0..255", "x:1", &e), 0);
	assert_int_equal(p.count, PODS_MAX);
	assert_int_equal(pods_add(&p, "a-7", "x:1", &e), -1);
	assert_int_equal(pods_add(&p, "b", "x:1", &e), -1);
	pods_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_become_pods),
		cmocka_unit_test(wrong_words_are_refused),
		cmocka_unit_test(there_are_no_two_of_one_name_and_no_more_than_the_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
