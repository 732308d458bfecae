#include "sandbox/monitor/traced.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "tests/unit/scene.h"

static void test_a_path_is_kept_once_with_all_uses(void **state)
{
	struct traced t = { 0 };

	(void)state;
	traced_add(&t, "/a", TRACED_LOOK);
	traced_add(&t, "/b", TRACED_READ);
	traced_add(&t, "/a", TRACED_WRITE);
	assert_int_equal(t.count, 2);
	assert_string_equal(traced_text(&t, 0), "/a");
	assert_int_equal(t.paths[0].use, TRACED_LOOK | TRACED_WRITE);
	assert_int_equal(t.paths[1].use, TRACED_READ);
	assert_int_equal(t.lost, 0);
	traced_done(&t);
}

static void test_there_is_a_bound_on_paths(void **state)
{
	struct traced t = { 0 };
	char path[32];

	(void)state;
	for (int i = 0; i < TRACED_PATHS + 100; i++) {
		(void)snprintf(path, sizeof(path), "/n/%d", i);
		traced_add(&t, path, TRACED_LOOK);
	}
	assert_int_equal(t.count, TRACED_PATHS);
	assert_int_equal(t.lost, 100);
	traced_add(&t, "/n/7", TRACED_READ);
	assert_int_equal(t.lost, 100);
	assert_int_equal(t.paths[7].use, TRACED_LOOK | TRACED_READ);
	traced_done(&t);
}

static void test_there_is_a_bound_on_bytes(void **state)
{
	struct traced t = { 0 };
	char path[TRACED_PATH_MAX];

	(void)state;
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	for (int i = 0; i < 3000; i++) {
		(void)snprintf(path + 1, 8, "%06d", i);
		path[7] = 'x';
		traced_add(&t, path, TRACED_LOOK);
	}
	assert_int_equal(t.count, TRACED_BYTES / TRACED_PATH_MAX);
	assert_int_equal(t.lost, 3000 - t.count);
	assert_true(t.len <= TRACED_BYTES);
	traced_done(&t);
}

static void test_there_is_a_bound_on_addresses(void **state)
{
	struct traced t = { 0 };
	char text[32];

	(void)state;
	for (int n = 0; n < 2; n++)
		for (int i = 0; i < TRACED_ADDRESSES + 5; i++) {
			(void)snprintf(text, sizeof(text), "192.0.2.1:%d", i);
			traced_add_address(&t, text);
		}
	assert_int_equal(t.address_count, TRACED_ADDRESSES);
	assert_int_equal(t.lost_addresses, 10);
	traced_done(&t);
}

static void test_paths_are_joined_as_texts(void **state)
{
	static const struct {
		const char *base, *path, *is; /* NULL: not at all */
	} rows[] = {
		{ "", "/a/b", "/a/b" },	      { "/x", "a", "/x/a" },
		{ "/x", "../a", "/a" },	      { "/x/", "./a//b/", "/x/a/b" },
		{ "", "/../../..", "/" },     { "/x", "/a/../b", "/b" },
		{ "x", "a", NULL },	      { "", "a", NULL },
		{ "/", ".", "/" },	      { "", "/a/.../b", "/a/.../b" },
		{ "", "/a/..b/.c", "/a/..b/.c" }, { "/a (deleted)", "b", "/a (deleted)/b" },
	};
	char got[TRACED_PATH_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(traced_join(rows[i].base, rows[i].path, got),
				 rows[i].is != NULL);
		if (rows[i].is)
			assert_string_equal(got, rows[i].is);
	}
}

static void test_what_is_too_long_is_not_joined(void **state)
{
	char base[TRACED_PATH_MAX], got[TRACED_PATH_MAX + 1];

	(void)state;
	memset(base, 'x', sizeof(base));
	base[0] = '/';
	base[sizeof(base) - 1] = '\0';
	got[TRACED_PATH_MAX] = 'z';
	assert_true(traced_join("", base, got));
	assert_int_equal(strlen(got), TRACED_PATH_MAX - 1);
	assert_false(traced_join(base, "y", got));
	assert_true(traced_join(base, "../y", got));
	assert_string_equal(got, "/y");
	assert_int_equal(got[TRACED_PATH_MAX], 'z');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_path_is_kept_once_with_all_uses),
		cmocka_unit_test(test_there_is_a_bound_on_paths),
		cmocka_unit_test(test_there_is_a_bound_on_bytes),
		cmocka_unit_test(test_there_is_a_bound_on_addresses),
		cmocka_unit_test(test_paths_are_joined_as_texts),
		cmocka_unit_test(test_what_is_too_long_is_not_joined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
