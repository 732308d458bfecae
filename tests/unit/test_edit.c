/* edit: finds, replaces and shows parts of a text; each row is one case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/own.h"
#include "executor/edit/edit.h"
#include "executor/files/encoding.h"

static struct bytes text(const char *t)
{
	return (struct bytes){ (const uint8_t *)t, strlen(t) };
}

static void same(const struct buffer *b, const char *expected)
{
	assert_int_equal(buffer_len(b), strlen(expected));
	if (*expected)
		assert_memory_equal(buffer_data(b), expected, strlen(expected));
}

static void test_a_file_is_seen_with_newlines_only(void **state)
{
	static const struct {
		const char *raw, *lines, *newline;
		size_t mark;
	} rows[] = {
		{ "", "", "\n", 0 },
		{ "a\nb", "a\nb", "\n", 0 },
		{ "a\r\nb\r\n", "a\nb\n", "\r\n", 0 },
		{ "a\rb\r", "a\nb\n", "\r", 0 },
		{ "\xef\xbb\xbf" "a\n", "a\n", "\n", 3 },
		{ "\xef\xbb\xbf\r\n", "\n", "\r\n", 3 },
		/* As many \r\n as \n: the file counts as one with \n. */
		{ "a\r\nb\n", "a\nb\n", "\n", 0 },
		{ "a\r\nb\nc\r\n", "a\nb\nc\n", "\r\n", 0 },
		{ "a\r\r\n\n\r", "a\n\n\n\n", "\r", 0 },
		{ "\xef\xbb", NULL, NULL, 0 },
	};
	size_t bad;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct edit_text t;
		bool is_text = edit_text_init(&t, text(rows[i].raw), &encoding_utf8,
					      &bad);
		assert_int_equal(is_text, rows[i].lines != NULL);
		if (!is_text)
			continue;
		assert_int_equal(t.lines.len, strlen(rows[i].lines));
		assert_memory_equal(t.lines.data, rows[i].lines, t.lines.len);
		assert_string_equal(t.newline, rows[i].newline);
		assert_int_equal(t.mark, rows[i].mark);
		edit_text_done(&t);
	}
}

static void test_the_first_byte_that_is_no_utf8_is_told(void **state)
{
	struct edit_text t;
	size_t bad = 99;

	(void)state;
	assert_false(edit_text_init(&t, text("caf\xe9 \xff"), &encoding_utf8, &bad));
	assert_int_equal(bad, 3);
	assert_false(edit_text_init(&t, text("ab\xc3"), &encoding_utf8, &bad));
	assert_int_equal(bad, 2);
}

static void test_lines_are_counted_as_python_reads_them(void **state)
{
	static const struct {
		const char *text;
		size_t count;
	} rows[] = { { "", 0 }, { "a", 1 }, { "a\n", 1 }, { "\n", 1 }, { "a\nb", 2 },
		     { "\n\n", 2 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(edit_count(text(rows[i].text)), rows[i].count);
}

static void test_lines_are_cut_out_as_far_as_they_are_there(void **state)
{
	static const struct {
		size_t first, end;
		const char *lines;
	} rows[] = { { 0, 1, "a\n" },
		     { 1, 3, "b\nc" },
		     { 0, 99, "a\nb\nc" },
		     { 3, 9, "" },
		     { 2, 1, "" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bytes got =
			edit_slice(text("a\nb\nc"), rows[i].first, rows[i].end);
		assert_int_equal(got.len, strlen(rows[i].lines));
		assert_memory_equal(got.data, rows[i].lines, got.len);
	}
}

static void test_a_text_is_found_once_or_with_its_lines(void **state)
{
	static const struct {
		const char *lines, *literal;
		size_t count, at, line;
		const char *places;
	} rows[] = {
		{ "x\ny\nx\n", "x", 2, 0, 0, "[1, 3]" },
		{ "x\ny\nx\n", "y\nx", 1, 2, 1, "[2]" },
		{ "x\ny\nx\n", "z", 0, 0, 0, "[]" },
		{ "x\ny\nx\n", "", 2, 0, 0, "[1, 2, 3, 4]" },
		{ "", "", 1, 0, 0, "[1]" },
		{ "\xc3\xa9", "", 2, 0, 0, "[1]" },
		{ "aaa", "aa", 1, 0, 0, "[1]" }, /* matches do not overlap */
		{ "aaaa", "aa", 2, 0, 0, "[1]" },
		{ "ab ab\nab", "ab", 2, 0, 0, "[1, 2]" },
		{ "short", "longer than it", 0, 0, 0, "[]" },
		{ "a\n", "a\n", 1, 0, 0, "[1]" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bytes lines = text(rows[i].lines), literal = text(rows[i].literal);
		struct edit_found f = edit_find(lines, literal);
		struct buffer b;
		assert_int_equal(f.count, rows[i].count);
		assert_int_equal(f.at, rows[i].at);
		assert_int_equal(f.line, rows[i].line);
		buffer_init(&b, 1000);
		edit_put_places(&b, lines, literal);
		same(&b, rows[i].places);
		buffer_done(&b);
	}
}

static void test_the_places_that_are_told_are_bounded(void **state)
{
	AUTO_FREE char *many = mem_new(100001);
	struct buffer b;

	(void)state;
	memset(many, '\n', 100000);
	many[100000] = '\0';
	buffer_init(&b, 1 << 20);
	edit_put_places(&b, text(many), text("\n"));
	assert_true(buffer_len(&b) < 6000);
	assert_memory_equal(buffer_data(&b) + buffer_len(&b) - 10, "1000, ...]", 10);
	buffer_done(&b);
}

/* "|" in `lines` marks the beginning and the end of the replaced part. */
static void test_the_rest_of_a_text_stays_byte_for_byte(void **state)
{
	static const struct {
		const char *raw;
		size_t from, to;
		const char *new, *after;
	} rows[] = {
		{ "one\ntwo\n", 0, 3, "1", "1\ntwo\n" },
		{ "one\ntwo\n", 3, 4, "", "onetwo\n" },
		{ "", 0, 0, "x\n", "x\n" },
		/* \r\n stays, and is used for new lines. */
		{ "a\r\nb\r\nc\r\n", 2, 3, "x\ny", "a\r\nx\r\ny\r\nc\r\n" },
		{ "a\r\nb\r\nc\r\n", 2, 4, "", "a\r\nc\r\n" },
		{ "a\r\nb\r\n", 2, 3, "x\r\ny", "a\r\nx\r\ny\r\n" },
		{ "a\r\nb\r\nc\n", 4, 5, "C", "a\r\nb\r\nC\n" },
		{ "a\rb\r", 2, 3, "x\ny", "a\rx\ry\r" },
		{ "\xef\xbb\xbf" "a\n", 0, 1, "b", "\xef\xbb\xbf" "b\n" },
		{ "\xef\xbb\xbf\r\nx\r\n", 0, 1, "\n", "\xef\xbb\xbf\r\nx\r\n" },
		/* In a file with \n, a \r\n in the request is written as it is. */
		{ "a\nb\n", 0, 1, "x\r\ny", "x\r\ny\nb\n" },
		/* If a removed text leaves two line ends side by side, both stay. */
		{ "a\rb\nc\n", 2, 3, "", "a\r\n\nc\n" },
		{ "a\n\n\rb", 4, 5, "\nx", "a\n\n\r\n\nx" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct edit_text t;
		struct buffer b;
		size_t bad;
		assert_true(edit_text_init(&t, text(rows[i].raw), &encoding_utf8, &bad));
		assert_int_equal(edit_splice(&t, rows[i].from, rows[i].to,
					     text(rows[i].new), &b), 0);
		same(&b, rows[i].after);
		buffer_done(&b);
		edit_text_done(&t);
	}
}

static void test_lines_are_put_between_lines(void **state)
{
	static const struct {
		const char *raw;
		size_t line;
		const char *new, *after;
	} rows[] = {
		{ "1\n2\n", 0, "x", "x\n1\n2\n" },
		{ "1\n2\n", 1, "x\ny", "1\nx\ny\n2\n" },
		{ "1\n2\n", 2, "x", "1\n2\nx\n" },
		{ "1\n2\n", 2, "x\n", "1\n2\nx\n\n" },
		{ "1\n2", 2, "x", "1\n2\nx\n" }, /* not "2x" */
		{ "1\n2", 1, "x", "1\nx\n2" },
		{ "", 0, "x", "x\n" },
		{ "", 0, "", "\n" },
		{ "1\r\n2", 2, "x\ny", "1\r\n2\r\nx\r\ny\r\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct edit_text t;
		struct buffer b;
		size_t bad;
		assert_true(edit_text_init(&t, text(rows[i].raw), &encoding_utf8, &bad));
		assert_int_equal(edit_insert(&t, rows[i].line, text(rows[i].new), &b), 0);
		same(&b, rows[i].after);
		buffer_done(&b);
		edit_text_done(&t);
	}
}

static void test_lines_are_shown_with_their_numbers(void **state)
{
	static const struct {
		const char *lines;
		size_t first;
		const char *shown;
	} rows[] = {
		{ "", 1, "     1\t\n" },
		{ "a\nb\n", 9, "     9\ta\n    10\tb\n    11\t\n" },
		{ "a\n\nb", 1, "     1\ta\n     2\t\n     3\tb\n" },
		{ "x", 1234567, "1234567\tx\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buffer b;
		buffer_init(&b, 1000);
		assert_int_equal(
			edit_put_numbered(&b, text(rows[i].lines), rows[i].first), 0);
		same(&b, rows[i].shown);
		buffer_done(&b);
	}
}

/* Has the same length as OpenHands' first line for a file whose name has 26
 * characters. */
#define HEAD "Here's the result of running `cat -n` on 12345678901234567890123456:\n"

static void test_long_views_are_cut_before_they_are_numbered(void **state)
{
	AUTO_FREE char *many = mem_new(7 * 16000 + 1);
	struct buffer b;

	(void)state;
	for (int i = 0; i < 16000; i++)
		memcpy(many + 7 * i, "Line 1\n", 8);
	buffer_init(&b, 1 << 20);
	assert_int_equal(edit_put_numbered(&b, text(many), 1), 7 * 16000 - EDIT_CLIP);
	assert_int_equal(buffer_len(&b), 32322 - strlen(HEAD));
	buffer_done(&b);
	/* The bound counts characters, not bytes. */
	for (int i = 0; i < 16001; i++)
		memcpy(many + 2 * i, "\xc3\xa9", 3);
	buffer_init(&b, 1 << 20);
	assert_int_equal(edit_put_clipped(&b, text(many), "|"), 1);
	assert_int_equal(buffer_len(&b), 2 * EDIT_CLIP + 1);
	buffer_done(&b);
	many[2 * EDIT_CLIP] = '\0';
	buffer_init(&b, 1 << 20);
	assert_int_equal(edit_put_clipped(&b, text(many), "|"), 0);
	assert_int_equal(buffer_len(&b), 2 * EDIT_CLIP);
	buffer_done(&b);
}

static void test_numbers_and_ranges_are_whole(void **state)
{
	static const struct {
		const char *text;
		bool is_number;
		int64_t number;
	} rows[] = { { "0", true, 0 },
		     { "-12", true, -12 },
		     { " +7\n", true, 7 },
		     { "", false, 0 },
		     { "x", false, 0 },
		     { "1x", false, 0 },
		     { "1 2", false, 0 },
		     { "-", false, 0 },
		     { "1.0", false, 0 },
		     { "999999999999999999", true, 999999999999999999 },
		     { "9999999999999999999", false, 0 } };
	static const char *const bad[] = {
		"",	    "[]",	"[1]",
		"[1, 2",    "[1, 2]x",	"[1, 2, 3]",
		"['1', 2]", "[1.0, 2]", "1, 2",
		"[1, ]",    "[--1, 2]", "[11111111111111111111111111111111, 2]"
	};
	int64_t number, range[2];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(edit_number(rows[i].text, &number), rows[i].is_number);
		if (rows[i].is_number)
			assert_int_equal(number, rows[i].number);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(edit_range(bad[i], range));
	assert_true(edit_range("[-3, 14]", range));
	assert_true(range[0] == -3 && range[1] == 14);
}

static void test_paths_are_as_pathlib_has_them(void **state)
{
	static const char *const rows[][2] = {
		{ "/a/b", "/a/b" },   { "//a///b//", "/a/b" },	{ "/", "/" },
		{ "/.", "/" },	      { "./x", "x" },		{ ".", "." },
		{ "a/./b/.", "a/b" }, { "/a/../b", "/a/../b" }, { "..", ".." },
		{ "./", "." },	      { "/.a", "/.a" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char path[32];
		(void)snprintf(path, sizeof(path), "%s", rows[i][0]);
		edit_tidy_path(path);
		assert_string_equal(path, rows[i][1]);
	}
}

static void test_documents_are_known_by_their_names(void **state)
{
	(void)state;
	assert_string_equal(edit_document("/a/b.pdf"), ".pdf");
	assert_string_equal(edit_document("/a.b/c.DOCX"), ".DOCX");
	assert_string_equal(edit_document("x.tar.mp3"), ".mp3");
	assert_null(edit_document("/a.pdf/b"));
	assert_null(edit_document("/a/.pdf"));
	assert_null(edit_document("/a/b.pdf2"));
	assert_null(edit_document("/a/pdf"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_file_is_seen_with_newlines_only),
		cmocka_unit_test(test_the_first_byte_that_is_no_utf8_is_told),
		cmocka_unit_test(test_lines_are_counted_as_python_reads_them),
		cmocka_unit_test(test_lines_are_cut_out_as_far_as_they_are_there),
		cmocka_unit_test(test_a_text_is_found_once_or_with_its_lines),
		cmocka_unit_test(test_the_places_that_are_told_are_bounded),
		cmocka_unit_test(test_the_rest_of_a_text_stays_byte_for_byte),
		cmocka_unit_test(test_lines_are_put_between_lines),
		cmocka_unit_test(test_lines_are_shown_with_their_numbers),
		cmocka_unit_test(test_long_views_are_cut_before_they_are_numbered),
		cmocka_unit_test(test_numbers_and_ranges_are_whole),
		cmocka_unit_test(test_paths_are_as_pathlib_has_them),
		cmocka_unit_test(test_documents_are_known_by_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
