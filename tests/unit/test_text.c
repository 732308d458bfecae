/* text and utf8: what of a command's output is shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"
#include "executor/text.h"
#include "base/utf8.h"

struct row {
	const char *in, *out;
};

#define R UTF8_REPLACEMENT

static const struct row rows[] = {
	{ "", "" },
	{ "hi\r\n", "hi" },
	{ "\r\n\n  a  \r\n\tb\t\r\n\r\n", "  a\n\tb" },
	{ " \t\r\n", "" },
	{ "a\r\r\nb\rc", "a\nbc" },
	{ "\x1b[31mred\x1b[0m \x1b[38;5;1mx\x1b[?25l", "red x" },
	{ "\x1b]0;title\aa\x1b]8;;http://x\x1b\\b", "ab" },
	{ "\x1b]0;never ended\nnext", "next" },
	{ "\x1bPq#0\x1b\\a\x1b^x\x1b\\b\x1b_y\x1b\\c", "abc" },
	{ "\x1b(Ba\x1b=b\x1b>c\x1b" "7d", "abcd" },
	{ "cut\x1b", "cut" },
	{ "cut\x1b[", "cut" },
	{ "cut\x1b[3", "cut" },
	{ "cut\x1b]0;x", "cut" },
	{ "\x1b[3\nx", "x" },
	{ "bell\a back\b del\x7f nul", "bell back del nul" },
	{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x87", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x87" },
	{ "a\xff" "b\xc3", "a" R "b" R },
	{ "\xe2\x82", R },
	{ "\xe2\x82x", R "x" },
	{ "\xc0\x80", R R },
	{ "\xed\xa0\x80", R R R },
	{ "\xf4\x90\x80\x80", R R R R },
	{ "\xc2\x9b" "31m", "31m" },
	{ "a  \n\x1b[0m  \n", "a" },
};

static struct text_taken take_of(const char *in, size_t len, size_t piece)
{
	struct text t = { 0 };

	for (size_t at = 0; at < len; at += piece)
		text_add(&t, in + at, len - at < piece ? len - at : piece);
	return text_take(&t);
}

static void test_each_kind_of_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t piece = 1; piece < 4; piece++) {
			size_t len = strlen(rows[i].in);
			struct text_taken got = take_of(rows[i].in, len, piece);
			if (got.len != strlen(rows[i].out) ||
			    (got.len && memcmp(got.bytes, rows[i].out, got.len) != 0))
				fail_msg("row %zu: '%.*s'", i, (int)got.len, got.bytes);
			assert_int_equal(got.cut, 0);
			free(got.bytes);
		}
	}
}

static void test_a_zero_byte_is_left_out(void **state)
{
	(void)state;
	struct text_taken got = take_of("a\0b", 3, 3);
	assert_int_equal(got.len, 2);
	assert_memory_equal(got.bytes, "ab", 2);
	free(got.bytes);
}

static void test_taking_leaves_it_empty(void **state)
{
	struct text t = { 0 };

	(void)state;
	text_add(&t, "x", 1);
	struct text_taken got = text_take(&t);
	free(got.bytes);
	assert_null(t.bytes);
	got = text_take(&t);
	assert_null(got.bytes);
	assert_int_equal(got.len, 0);
	text_done(&t);
}

/* `count` characters of `width` bytes each, all different from their neighbour. */
static char *characters(size_t count, size_t width)
{
	static const char *const kinds[5][2] = { { 0 }, { "a", "b" }, { "\xc3\xa9", "\xc3\xa8" },
						 { "\xe2\x82\xac", "\xe2\x82\xad" },
						 { "\xf0\x9f\x90\x87", "\xf0\x9f\x90\x88" } };
	char *text = malloc(count * width + 1);

	for (size_t i = 0; i < count; i++)
		memcpy(text + i * width, kinds[width][i % 2], width);
	text[count * width] = '\0';
	return text;
}

static void test_thirty_thousand_characters_are_whole_and_more_are_not(void **state)
{
	(void)state;
	for (size_t width = 1; width <= 4; width++) {
		AUTO_FREE char *text = characters(30001, width);
		struct text_taken got = take_of(text, 30000 * width, 1000);
		assert_int_equal(got.len, 30000 * width);
		assert_memory_equal(got.bytes, text, got.len);
		assert_int_equal(got.cut, 0);
		free(got.bytes);
		got = take_of(text, 30001 * width, 1000);
		assert_int_equal(got.len, 30000 * width + strlen(TEXT_NOTICE));
		assert_int_equal(got.cut, width);
		assert_memory_equal(got.bytes, text, 15000 * width);
		assert_memory_equal(got.bytes + 15000 * width, TEXT_NOTICE,
				    strlen(TEXT_NOTICE));
		assert_memory_equal(got.bytes + 15000 * width + strlen(TEXT_NOTICE),
				    text + 15001 * width, 15000 * width);
		free(got.bytes);
	}
}

/* Of any length and in any pieces: the first and the last are there, and the
 * rest is counted. */
static void test_both_ends_of_any_length_are_kept(void **state)
{
	static const size_t lengths[] = { 131071, 131072, 131073, 131074, 196607, 196608,
					  196609, 262144, 1000003 };
	static const size_t pieces[] = { 1, 4095, 65536, 65537, 200000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		size_t len = lengths[i];
		AUTO_FREE char *text = malloc(len + 16);
		for (size_t at = 0; at < len; at += 10)
			(void)snprintf(text + at, 16, "%09u\n", (unsigned)at / 10);
		text[len - 1] = 'e';
		for (size_t j = 0; j < ARRAY_LEN(pieces); j++) {
			struct text_taken got = take_of(text, len, pieces[j]);
			assert_int_equal(got.len, 30000 + strlen(TEXT_NOTICE));
			assert_int_equal(got.cut, len - 30000);
			assert_memory_equal(got.bytes, text, 15000);
			assert_memory_equal(got.bytes + got.len - 15000,
					    text + len - 15000, 15000);
			free(got.bytes);
		}
	}
}

static void test_memory_follows_what_was_printed_and_ends(void **state)
{
	struct text t = { 0 };
	char piece[1000];

	(void)state;
	memset(piece, 'x', sizeof(piece));
	text_add(&t, "x", 1);
	assert_true(t.room <= 512);
	for (int i = 0; i < 10000; i++)
		text_add(&t, piece, sizeof(piece));
	assert_int_equal(t.room, 2 * TEXT_SIDE);
	text_done(&t);
}

static void test_escapes_alone_are_nothing_and_what_is_left_is_told(void **state)
{
	struct text t = { 0 };

	(void)state;
	for (int i = 0; i < 100000; i++)
		text_add(&t, "\x1b[1m", 4);
	struct text_taken got = text_take(&t);
	assert_int_equal(got.len, strlen(TEXT_NOTICE));
	free(got.bytes);
}

static void test_a_stream_is_valid_wherever_it_is_cut(void **state)
{
	static const uint8_t in[] = "a\xc3\xa9\xff\xe2\x82\xac\xe2\x82";
	const size_t len = sizeof(in) - 1;
	const char *whole = "a\xc3\xa9" R "\xe2\x82\xac" R;

	(void)state;
	for (size_t cut = 0; cut <= len; cut++) {
		uint8_t out[64], rest[16];
		size_t used, rest_used, n = text_to_utf8(in, cut, false, out, &used);
		assert_true(cut - used < 4);
		assert_true(utf8_is_valid(out, n, false));
		memcpy(rest, in + used, len - used);
		n += text_to_utf8(rest, len - used, true, out + n, &rest_used);
		assert_int_equal(rest_used, len - used);
		assert_int_equal(n, strlen(whole));
		assert_memory_equal(out, whole, n);
	}
}

static void test_any_bytes_at_all(void **state)
{
	(void)state;
	srand(7);
	for (int i = 0; i < 3000; i++) {
		char in[300];
		size_t len = (size_t)rand() % sizeof(in);
		for (size_t j = 0; j < len; j++)
			in[j] = rand() % 3 ? "\x1b[]PX;m\n\r \\\a"[rand() % 12] : (char)rand();
		struct text_taken got = take_of(in, len, 1 + (size_t)rand() % 50);
		assert_true(utf8_is_valid(got.bytes, got.len, false));
		for (size_t j = 0; j < got.len; j++)
			assert_true(got.bytes[j] >= 0x20 || got.bytes[j] == '\n' ||
				    got.bytes[j] == '\t');
		free(got.bytes);
	}
}

static void test_characters_are_counted_and_found(void **state)
{
	const uint8_t text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x87z";
	const size_t len = sizeof(text) - 1;

	(void)state;
	assert_int_equal(utf8_count(text, len), 5);
	assert_int_equal(utf8_skip(text, len, 0), 0);
	assert_int_equal(utf8_skip(text, len, 2), 3);
	assert_int_equal(utf8_skip(text, len, 4), 10);
	assert_int_equal(utf8_skip(text, len, 5), len);
	assert_true(utf8_is_valid(text, 8, true));
	assert_false(utf8_is_valid(text, 8, false));
	assert_false(utf8_is_valid((const uint8_t *)"\xff", 1, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_kind_of_byte),
		cmocka_unit_test(test_a_zero_byte_is_left_out),
		cmocka_unit_test(test_taking_leaves_it_empty),
		cmocka_unit_test(
			test_thirty_thousand_characters_are_whole_and_more_are_not),
		cmocka_unit_test(test_both_ends_of_any_length_are_kept),
		cmocka_unit_test(test_memory_follows_what_was_printed_and_ends),
		cmocka_unit_test(test_escapes_alone_are_nothing_and_what_is_left_is_told),
		cmocka_unit_test(test_a_stream_is_valid_wherever_it_is_cut),
		cmocka_unit_test(test_any_bytes_at_all),
		cmocka_unit_test(test_characters_are_counted_and_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
