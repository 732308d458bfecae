/* truncate_text: cuts a long text to the part that an observation shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"
#include "base/utf8.h"
#include "executor/terminal/truncate_text.h"

static const struct {
	const char *in, *out;
} rows[] = {
	{ "", "" },
	{ " \n\t \n", "" },
	{ "a", "a" },
	{ "\n  a  \n\tb\t\n\n", "a\n\tb" },
	{ "a \n \n b", "a\n\n b" },
	{ "a\n\n\n", "a" },
	/* characters beyond ASCII for which Python's str.isspace() is true, and some
	 * that only look like blanks */
	{ "\xc2\xa0\xe1\x9a\x80\xe2\x80\x80\xe2\x80\x8a\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaf"
	  "\xe2\x81\x9f\xe3\x80\x80x\xe3\x80\x80\xe2\x81\x9f\xe2\x80\xaf \xc2\xa0",
	  "x" },
	{ "\xe2\x80\x8b"
	  "x\xe2\x80\x8b",
	  "\xe2\x80\x8b"
	  "x\xe2\x80\x8b" },
	{ "\xc3\xa0\xc2\xa1", "\xc3\xa0\xc2\xa1" },
	{ "x\xc3\xa0", "x\xc3\xa0" },
};

static void test_blanks_at_ends(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_FREE char *text = strdup(rows[i].in);
		size_t len = truncate_text_strip((uint8_t *)text, strlen(text));
		if (len != strlen(rows[i].out) || memcmp(text, rows[i].out, len) != 0)
			fail_msg("row %zu: '%.*s'", i, (int)len, text);
	}
}

/* Returns `count` characters of `width` bytes each, each different from its
 * neighbours. */
static uint8_t *characters(size_t count, size_t width)
{
	static const char *const kinds[5][2] = { { 0 },
						 { "a", "b" },
						 { "\xc3\xa9", "\xc3\xa8" },
						 { "\xe2\x82\xac", "\xe2\x82\xad" },
						 { "\xf0\x9f\x90\x87",
						   "\xf0\x9f\x90\x88" } };
	uint8_t *text = malloc(count * width + TRUNCATE_TEXT_ROOM);

	for (size_t i = 0; i < count; i++)
		memcpy(text + i * width, kinds[width][i % 2], width);
	return text;
}

static void test_thirty_thousand_characters_are_whole_and_more_are_not(void **state)
{
	(void)state;
	for (size_t width = 1; width <= 4; width++) {
		AUTO_FREE uint8_t *text = characters(30001, width);
		AUTO_FREE uint8_t *cut = characters(30001, width);
		size_t len = 30000 * width, half = 15000 * width;
		assert_int_equal(truncate_text_clip(cut, &len), 0);
		assert_int_equal(len, 30000 * width);
		len = 30001 * width;
		assert_int_equal(truncate_text_clip(cut, &len), width);
		assert_int_equal(len, 30000 * width + TRUNCATE_TEXT_ROOM);
		assert_int_equal(utf8_count(cut, len), 30047);
		assert_memory_equal(cut, text, half);
		assert_memory_equal(cut + half, TRUNCATE_TEXT_NOTICE, TRUNCATE_TEXT_ROOM);
		assert_memory_equal(cut + half + TRUNCATE_TEXT_ROOM, text + half + width,
				    half);
	}
}

static void test_lines_are_counted(void **state)
{
	(void)state;
	assert_int_equal(truncate_text_lines(NULL, 0), 0);
	assert_int_equal(truncate_text_lines((const uint8_t *)"a", 1), 1);
	assert_int_equal(truncate_text_lines((const uint8_t *)"a\n\nb", 4), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blanks_at_ends),
		cmocka_unit_test(
			test_thirty_thousand_characters_are_whole_and_more_are_not),
		cmocka_unit_test(test_lines_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
