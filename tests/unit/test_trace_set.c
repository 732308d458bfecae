#include "sandbox/monitor/trace_set.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "tests/unit/scene.h"

static void test_a_path_is_kept_once_with_all_uses(void **state)
{
	struct trace_set t = { 0 };

	(void)state;
	trace_set_add(&t, "/a", TRACE_SET_LOOK);
	trace_set_add(&t, "/b", TRACE_SET_READ);
	trace_set_add(&t, "/a", TRACE_SET_WRITE);
	assert_int_equal(t.count, 2);
	assert_string_equal(trace_set_text(&t, 0), "/a");
	assert_int_equal(t.paths[0].use, TRACE_SET_LOOK | TRACE_SET_WRITE);
	assert_int_equal(t.paths[1].use, TRACE_SET_READ);
	assert_int_equal(t.lost, 0);
	trace_set_done(&t);
}

static void test_there_is_a_bound_on_paths(void **state)
{
	struct trace_set t = { 0 };
	char path[32];

	(void)state;
	for (int i = 0; i < TRACE_SET_PATHS + 100; i++) {
		(void)snprintf(path, sizeof(path), "/n/%d", i);
		trace_set_add(&t, path, TRACE_SET_LOOK);
	}
	assert_int_equal(t.count, TRACE_SET_PATHS);
	assert_int_equal(t.lost, 100);
	trace_set_add(&t, "/n/7", TRACE_SET_READ);
	assert_int_equal(t.lost, 100);
	assert_int_equal(t.paths[7].use, TRACE_SET_LOOK | TRACE_SET_READ);
	trace_set_done(&t);
}

static void test_there_is_a_bound_on_bytes(void **state)
{
	struct trace_set t = { 0 };
	char path[TRACE_SET_PATH_MAX];

	(void)state;
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	for (int i = 0; i < 3000; i++) {
		(void)snprintf(path + 1, 8, "%06d", i);
		path[7] = 'x';
		trace_set_add(&t, path, TRACE_SET_LOOK);
	}
	assert_int_equal(t.count, TRACE_SET_BYTES / TRACE_SET_PATH_MAX);
	assert_int_equal(t.lost, 3000 - t.count);
	assert_true(t.len <= TRACE_SET_BYTES);
	trace_set_done(&t);
}

static void test_there_is_a_bound_on_addresses(void **state)
{
	struct trace_set t = { 0 };
	char text[32];

	(void)state;
	for (int n = 0; n < 2; n++)
		for (int i = 0; i < TRACE_SET_ADDRESSES + 5; i++) {
			(void)snprintf(text, sizeof(text), "192.0.2.1:%d", i);
			trace_set_add_address(&t, text);
		}
	assert_int_equal(t.address_count, TRACE_SET_ADDRESSES);
	assert_int_equal(t.lost_addresses, 10);
	trace_set_done(&t);
}

static void test_paths_are_joined_as_texts(void **state)
{
	static const struct {
		const char *base, *path, *is; /* NULL: not at all */
	} rows[] = {
		{ "", "/a/b", "/a/b" },
		{ "/x", "a", "/x/a" },
		{ "/x", "../a", "/a" },
		{ "/x/", "./a//b/", "/x/a/b" },
		{ "", "/../../..", "/" },
		{ "/x", "/a/../b", "/b" },
		{ "x", "a", NULL },
		{ "", "a", NULL },
		{ "/", ".", "/" },
		{ "", "/a/.../b", "/a/.../b" },
		{ "", "/a/..b/.c", "/a/..b/.c" },
		{ "/a (deleted)", "b", "/a (deleted)/b" },
	};
	char got[TRACE_SET_PATH_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(trace_set_join(rows[i].base, rows[i].path, got),
				 rows[i].is != NULL);
		if (rows[i].is)
			assert_string_equal(got, rows[i].is);
	}
}

static void test_paths_that_are_too_long_are_not_joined(void **state)
{
	char base[TRACE_SET_PATH_MAX], got[TRACE_SET_PATH_MAX + 1];

	(void)state;
	memset(base, 'x', sizeof(base));
	base[0] = '/';
	base[sizeof(base) - 1] = '\0';
	got[TRACE_SET_PATH_MAX] = 'z';
	assert_true(trace_set_join("", base, got));
	assert_int_equal(strlen(got), TRACE_SET_PATH_MAX - 1);
	assert_false(trace_set_join(base, "y", got));
	assert_true(trace_set_join(base, "../y", got));
	assert_string_equal(got, "/y");
	assert_int_equal(got[TRACE_SET_PATH_MAX], 'z');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_path_is_kept_once_with_all_uses),
		cmocka_unit_test(test_there_is_a_bound_on_paths),
		cmocka_unit_test(test_there_is_a_bound_on_bytes),
		cmocka_unit_test(test_there_is_a_bound_on_addresses),
		cmocka_unit_test(test_paths_are_joined_as_texts),
		cmocka_unit_test(test_paths_that_are_too_long_are_not_joined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
