#include "store/refs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "store/reference.h"
#include "tests/unit/in_store.h"

static const struct digest a = { HEX_A }, b = { HEX_B };

static struct reference ref(const char *text)
{
	struct reference r;

	assert_int_equal(reference_parse(text, &r, NULL), 0);
	return r;
}

static void test_a_name_means_the_last_image_it_was_given(void **state)
{
	struct reference r = ref("localhost:5000/me/tool:1");
	struct digest got = { 0 };
	struct store s;
	struct err e;

	(void)state;
	in_store_open(&s);
	assert_int_equal(refs_get(&s, &r, &got, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_int_equal(refs_put(&s, &r, &a, &e), 0);
	assert_true(in_store_has(&s, "names/localhost:5000%2Fme%2Ftool:1"));
	assert_int_equal(refs_get(&s, &r, &got, &e), 0);
	assert_true(digest_equal(&got, &a));
	assert_int_equal(refs_put(&s, &r, &b, &e), 0);
	assert_int_equal(refs_get(&s, &r, &got, &e), 0);
	assert_true(digest_equal(&got, &b));
	assert_int_equal(refs_remove(&s, &r, &e), 0);
	assert_int_equal(refs_remove(&s, &r, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	store_done(&s);
}

static void take(void *context, const struct reference *r, const struct digest *image)
{
	char text[REFERENCE_MAX];

	reference_print_short(r, text);
	list_addf(context, "%s %c", text, image->hex[0]);
}

static void test_all_are_listed_and_nothing_else(void **state)
{
	const struct reference refs[] = { ref("b:2"), ref("a"),
					  ref("x.io/y/z@sha256:" HEX_B) };
	struct list got = { 0 };
	struct store s;

	in_store_open(&s);
	for (size_t i = 0; i < ARRAY_LEN(refs); i++)
		assert_int_equal(refs_put(&s, &refs[i], &a, NULL), 0);
	/* Other entries of the folder that are no references: a link to elsewhere,
	 * an unfinished one, an invalid name, a file. */
	scene_link(state, "hutch/store/names/docker.io%2Flibrary%2Fbad:1", "elsewhere");
	scene_link(state, "hutch/store/names/.0123456789abcdef", HEX_A);
	scene_link(state, "hutch/store/names/a:1", HEX_A);
	scene_file(state, "hutch/store/names/docker.io%2Flibrary%2Ffile:1", "");
	assert_int_equal(refs_each(&s, take, &got, NULL), 0);
	assert_int_equal(got.count, 3);
	assert_string_equal(got.items[0], "a a");
	assert_string_equal(got.items[1], "b:2 a");
	assert_string_equal(got.items[2], "x.io/y/z@sha256:" HEX_B " a");
	list_done(&got);
	store_done(&s);
}

static void test_a_link_that_says_something_else_is_an_error(void **state)
{
	struct reference r = ref("bad:1");
	struct digest got = { "untouched" };
	struct store s;
	struct err e;

	in_store_open(&s);
	scene_link(state, "hutch/store/names/docker.io%2Flibrary%2Fbad:1",
		   "../../" HEX_A);
	assert_int_equal(refs_get(&s, &r, &got, &e), -1);
	assert_int_equal(e.kind, ERR_SYSTEM);
	assert_string_equal(got.hex, "untouched");
	store_done(&s);
}

int main(void)
{
	scene_leave_root();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_a_name_means_the_last_image_it_was_given, in_store_setup,
			scene_teardown),
		cmocka_unit_test_setup_teardown(test_all_are_listed_and_nothing_else,
						in_store_setup, scene_teardown),
		cmocka_unit_test_setup_teardown(
			test_a_link_that_says_something_else_is_an_error, in_store_setup,
			scene_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
