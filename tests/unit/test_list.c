#include "base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"

static void test_an_empty_list_is_a_zeroed_one(void **state)
{
	struct list l = { 0 };

	(void)state;
	assert_null(list_get_env(&l, "PATH"));
	list_done(&l);
	list_done(NULL);
	assert_null(l.items);
}

static void test_a_list_is_null_terminated_after_every_add(void **state)
{
	struct list l = { 0 };

	(void)state;
	for (int i = 0; i < 100; i++) {
		list_addf(&l, "%d-%s", i, "x");
		assert_int_equal(l.count, i + 1);
		assert_null(l.items[l.count]);
		assert_true(l.count < l.room);
	}
	assert_string_equal(l.items[0], "0-x");
	assert_string_equal(l.items[99], "99-x");
	list_done(&l);
	assert_int_equal(l.count, 0);
	list_add(&l, "again");
	assert_string_equal(l.items[0], "again");
	list_done(&l);
}

static void test_a_list_keeps_copies(void **state)
{
	struct list l = { 0 };
	char text[] = "abc";

	(void)state;
	list_add(&l, text);
	text[0] = 'x';
	assert_string_equal(l.items[0], "abc");
	list_done(&l);
}

static void test_a_list_has_its_texts_and_takes_a_text_once(void **state)
{
	struct list l = { 0 };

	(void)state;
	assert_false(list_has(&l, ""));
	list_add_once(&l, "ab");
	list_add_once(&l, "a");
	list_add_once(&l, "ab");
	assert_int_equal(l.count, 2);
	assert_true(list_has(&l, "ab"));
	assert_true(list_has(&l, "a"));
	assert_false(list_has(&l, "b"));
	list_done(&l);
}

static void test_a_variable_replaces_its_own_and_no_other(void **state)
{
	static const char *const sets[] = { "AB=1", "A=2",  "B=3", "A=4",
					    "AB=", "C=a=b", "B=5" };
	static const char *const wanted[] = { "AB=", "A=4", "B=5", "C=a=b" };
	struct list l = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sets); i++)
		list_set_env(&l, sets[i]);
	assert_int_equal(l.count, ARRAY_LEN(wanted));
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		assert_string_equal(l.items[i], wanted[i]);
	assert_string_equal(list_get_env(&l, "A"), "4");
	assert_string_equal(list_get_env(&l, "AB"), "");
	assert_string_equal(list_get_env(&l, "C"), "a=b");
	assert_null(list_get_env(&l, "a"));
	assert_null(list_get_env(&l, "ABC"));
	assert_null(list_get_env(&l, ""));
	list_done(&l);
}

static void test_a_variable_is_taken_out_and_no_other(void **state)
{
	static const char *const sets[] = { "AB=1", "A=2", "B=3" };
	struct list l = { 0 };

	(void)state;
	list_unset_env(&l, "A");
	for (size_t i = 0; i < ARRAY_LEN(sets); i++)
		list_add(&l, sets[i]);
	list_add(&l, "A=again");
	list_unset_env(&l, "A");
	list_unset_env(&l, "");
	assert_int_equal(l.count, 2);
	assert_string_equal(l.items[0], "AB=1");
	assert_string_equal(l.items[1], "B=3");
	assert_null(l.items[2]);
	list_done(&l);
}

static void test_joined_are_those_from_one_on(void **state)
{
	static const struct {
		size_t from;
		const char *wanted;
	} rows[] = { { 0, "a, , c" }, { 1, ", c" }, { 2, "c" }, { 3, "" }, { 4, "" } };
	struct list l = { 0 };

	(void)state;
	AUTO_FREE char *none = list_join(&l, 0, ", ");
	assert_string_equal(none, "");
	list_add(&l, "a");
	list_add(&l, "");
	list_add(&l, "c");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_FREE char *got = list_join(&l, rows[i].from, ", ");
		assert_string_equal(got, rows[i].wanted);
	}
	list_done(&l);
}

static void test_a_formatted_text_has_any_length(void **state)
{
	char letters[1025];

	(void)state;
	memset(letters, 'a', sizeof(letters));
	for (size_t len = 0; len < sizeof(letters); len++) {
		AUTO_FREE char *text = text_format("%.*s!", (int)len, letters);
		assert_int_equal(strlen(text), len + 1);
		assert_int_equal(strspn(text, "a"), len);
		assert_string_equal(text + len, "!");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_empty_list_is_a_zeroed_one),
		cmocka_unit_test(test_a_list_is_null_terminated_after_every_add),
		cmocka_unit_test(test_a_list_keeps_copies),
		cmocka_unit_test(test_a_list_has_its_texts_and_takes_a_text_once),
		cmocka_unit_test(test_a_variable_replaces_its_own_and_no_other),
		cmocka_unit_test(test_a_variable_is_taken_out_and_no_other),
		cmocka_unit_test(test_joined_are_those_from_one_on),
		cmocka_unit_test(test_a_formatted_text_has_any_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
