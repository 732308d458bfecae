/* chosen: a chosen path stands for itself, and a repository for all that is in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/own.h"
#include "rootfs-tools/changes/chosen.h"

static const char *const paths[] = { "d", "d/x", "a/.git", "d.txt", "e/f/g" };

static const struct {
	const char *path;
	bool is_chosen, is_above;
} rows[] = {
	{ "d", true, true },	     { "d/x", true, false },
	{ "d/y", false, false },     { "d/x/y", false, false },
	{ "d.txt", true, false },    { "d.tx", false, false },
	{ "a", false, true },	     { "a/.git", true, false },
	{ "a/.git/x/y", true, false }, { "a/.gitignore", false, false },
	{ ".git/x", false, false },  { "e", false, true },
	{ "e/f", false, true },	     { "e/f/g", true, false },
	{ "", false, false },	     { "z", false, false },
};

static void test_what_is_chosen_and_what_is_above_it(void **state)
{
	struct chosen c = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		chosen_add(&c, paths[i]);
	chosen_end(&c);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (chosen_has(&c, rows[i].path) != rows[i].is_chosen ||
		    chosen_is_above(&c, rows[i].path) != rows[i].is_above)
			fail_msg("'%s' is otherwise", rows[i].path);
	chosen_done(&c);
}

static void test_nothing_is_chosen_at_first(void **state)
{
	struct chosen c = { 0 };

	(void)state;
	chosen_end(&c);
	assert_false(chosen_has(&c, "a"));
	assert_false(chosen_is_above(&c, "a"));
	chosen_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_chosen_and_what_is_above_it),
		cmocka_unit_test(test_nothing_is_chosen_at_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
