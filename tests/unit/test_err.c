/* err: an error is a value; a long text is cut, never overrun, and safe to print. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <limits.h>

#include "base/err.h"

static void test_set_fills_in_everything_and_returns_minus_one(void **state)
{
	struct err e;

	(void)state;
	memset(&e, 'x', sizeof(e));
	assert_int_equal(err_set(&e, ERR_USAGE, "no %s in %d", "sense", 5), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_int_equal(e.sys, 0);
	assert_string_equal(e.text, "no sense in 5");
	assert_string_equal(e.remedy, "");
}

static void test_too_many_descriptors_under_way_bring_what_helps(void **state)
{
	struct err e;

	(void)state;
	errno = ETOOMANYREFS;
	(void)err_sys(&e, "send");
	assert_non_null(strstr(e.remedy, "ulimit -n"));
	assert_true(strlen(e.remedy) < ERR_REMEDY_MAX - 1);
	errno = EPERM;
	(void)err_sys(&e, "send");
	assert_string_equal(e.remedy, "");
}

static void test_sys_tells_errno_and_keeps_it(void **state)
{
	static const struct {
		int sys;
		enum err_kind kind;
	} rows[] = {
		{ ENOENT, ERR_NOT_FOUND }, { ENOTDIR, ERR_NOT_FOUND },
		{ EPERM, ERR_REFUSED },	   { EACCES, ERR_REFUSED },
		{ ENOSYS, ERR_UNSUPPORTED }, { EMFILE, ERR_LIMIT },
		{ ENOSPC, ERR_LIMIT },	   { EAGAIN, ERR_LIMIT },
		{ EIO, ERR_SYSTEM },	   { EINVAL, ERR_SYSTEM },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char expected[200];
		struct err e;
		errno = rows[i].sys;
		assert_int_equal(err_sys(&e, "open %s", "/x"), -1);
		assert_int_equal(errno, rows[i].sys);
		assert_int_equal(e.sys, rows[i].sys);
		assert_int_equal(e.kind, rows[i].kind);
		(void)snprintf(expected, sizeof(expected), "open /x: %s",
			       strerror(rows[i].sys));
		assert_string_equal(e.text, expected);
	}
}

static void test_places_and_sources_go_around_the_text(void **state)
{
	struct err e;

	(void)state;
	(void)err_set(&e, ERR_LIMIT, "too many");
	assert_int_equal(err_remedy(&e, "ask for %d", 3), -1);
	assert_int_equal(err_in(&e, "line %d", 7), -1);
	assert_int_equal(err_in(&e, "file"), -1);
	assert_int_equal(err_from(&e, "-v"), -1);
	assert_int_equal(err_from(&e, NULL), -1);
	assert_int_equal(err_from(&e, ""), -1);
	assert_string_equal(e.text, "file: line 7: too many (from -v)");
	assert_string_equal(e.remedy, "ask for 3");
	assert_int_equal(e.kind, ERR_LIMIT);
}

static void test_null_is_allowed_everywhere(void **state)
{
	(void)state;
	errno = EIO;
	assert_int_equal(err_set(NULL, ERR_USAGE, "x"), -1);
	assert_int_equal(err_sys(NULL, "x"), -1);
	assert_int_equal(err_in(NULL, "x"), -1);
	assert_int_equal(err_from(NULL, "x"), -1);
	assert_int_equal(err_remedy(NULL, "x"), -1);
}

static void test_a_text_that_is_too_long_is_cut_at_every_step(void **state)
{
	char text[3000];
	struct err e;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	(void)err_set(&e, ERR_SYSTEM, "%s", text);
	assert_int_equal(strlen(e.text), ERR_TEXT_MAX - 1);
	errno = EIO;
	(void)err_sys(&e, "%s", text);
	assert_int_equal(strlen(e.text), ERR_TEXT_MAX - 1);
	assert_int_equal(e.sys, EIO);
	for (int i = 0; i < 20; i++)
		(void)err_in(&e, "place %d %s", i, text);
	assert_int_equal(strlen(e.text), ERR_TEXT_MAX - 1);
	assert_memory_equal(e.text, "place 19 a", 10);
	(void)err_from(&e, text);
	assert_int_equal(strlen(e.text), ERR_TEXT_MAX - 1);
	(void)err_remedy(&e, "%s", text);
	assert_int_equal(strlen(e.remedy), ERR_REMEDY_MAX - 1);
}

static void test_text_of_every_length_survives_a_place(void **state)
{
	char text[ERR_TEXT_MAX];

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		struct err e;
		memset(text, 'b', len);
		text[len] = '\0';
		(void)err_set(&e, ERR_SYSTEM, "%s", text);
		(void)err_in(&e, "in");
		size_t expected = len + 4 < ERR_TEXT_MAX - 1 ? len + 4 : ERR_TEXT_MAX - 1;
		assert_int_equal(strlen(e.text), expected);
		assert_memory_equal(e.text, "in: ", 4);
	}
}

static void test_kinds_have_names(void **state)
{
	(void)state;
	assert_string_equal(err_kind_name(ERR_NONE), "none");
	assert_string_equal(err_kind_name(ERR_USAGE), "usage");
	assert_string_equal(err_kind_name(ERR_NOT_FOUND), "not_found");
	assert_string_equal(err_kind_name(-1), "internal");
	assert_string_equal(err_kind_name(ERR_KIND_COUNT), "internal");
	assert_string_equal(err_kind_name(INT_MAX), "internal");
	for (int kind = 0; kind < ERR_KIND_COUNT; kind++)
		assert_true(strlen(err_kind_name(kind)) > 0);
}

static void test_a_hostile_one_becomes_safe(void **state)
{
	static const int kinds[] = { -1, 0, ERR_KIND_COUNT, INT_MIN, INT_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct err e;
		memset(&e, 0x1b, sizeof(e));
		e.kind = kinds[i];
		e.text[5] = '\n';
		e.text[6] = 0x7f;
		e.text[7] = 'k';
		err_sanitize(&e);
		assert_int_equal(e.kind, ERR_INTERNAL);
		assert_int_equal(strlen(e.text), ERR_TEXT_MAX - 1);
		assert_int_equal(strlen(e.remedy), ERR_REMEDY_MAX - 1);
		assert_memory_equal(e.text, "???????k?", 9);
	}
	struct err good;
	(void)err_set(&good, ERR_LIMIT, "gr\xc3\xbc\xc3\x9f");
	(void)err_remedy(&good, "\xc2\x9b" "31m\xc2\xa0\xc2\x80\xc2");
	err_sanitize(&good);
	assert_int_equal(good.kind, ERR_LIMIT);
	assert_string_equal(good.text, "gr\xc3\xbc\xc3\x9f");
	assert_string_equal(good.remedy, "??31m\xc2\xa0??\xc2");
}

static void test_an_error_crosses_a_pipe_in_one_write(void **state)
{
	(void)state;
	assert_true(sizeof(struct err) <= PIPE_BUF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_fills_in_everything_and_returns_minus_one),
		cmocka_unit_test(test_sys_tells_errno_and_keeps_it),
		cmocka_unit_test(test_too_many_descriptors_under_way_bring_what_helps),
		cmocka_unit_test(test_places_and_sources_go_around_the_text),
		cmocka_unit_test(test_null_is_allowed_everywhere),
		cmocka_unit_test(test_a_text_that_is_too_long_is_cut_at_every_step),
		cmocka_unit_test(test_text_of_every_length_survives_a_place),
		cmocka_unit_test(test_kinds_have_names),
		cmocka_unit_test(test_a_hostile_one_becomes_safe),
		cmocka_unit_test(test_an_error_crosses_a_pipe_in_one_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
