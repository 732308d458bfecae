/* encoding: finds out in which encoding a file's bytes are, and writes the same
 * bytes again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/own.h"
#include "executor/files/encoding.h"

#define BYTES(text) { (const uint8_t *)(text), sizeof(text) - 1 }

/* The texts in other scripts mean or spell "cafe au lait", "add a file", "function",
 * "hello world", "chapter one", "nihongo" and "alpha". */
static const struct {
	const char *name;
	struct bytes raw;
	const char *text; /* NULL: the bytes are no text */
} rows[] = {
	{ "UTF-8", BYTES(""), "" },
	{ "UTF-8", BYTES("plain"), "plain" },
	{ "UTF-8", BYTES("caf\xc3\xa9"), "caf\xc3\xa9" },
	{ "UTF-8",
	  BYTES("\xef\xbb\xbf"
		"x"),
	  "\xef\xbb\xbf"
	  "x" },
	{ "windows-1252", BYTES("caf\xe9 au lait"), "caf\xc3\xa9 au lait" },
	{ "windows-1252", BYTES("\x80 \x93q\x94 \x81"),
	  "\xe2\x82\xac \xe2\x80\x9cq\xe2\x80\x9d "
	  "\xc2\x81" },
	{ "windows-1252", BYTES("ab\xc3"), "ab\xc3\x83" }, /* half a character */
	{ "windows-1252",
	  BYTES("// \xa9 M\xfcller & S\xf6hne, Gr\xf6\xdf"
		"e"),
	  "// \xc2\xa9 M\xc3\xbcller & S\xc3\xb6hne, Gr\xc3\xb6\xc3\x9f"
	  "e" },
	{ "windows-1252", BYTES("\x93\xfa\x96{\x8c\xea"), NULL },
	{ "windows-1252", BYTES("\xff\xff\xff\xff"), NULL },
	{ "windows-1251", BYTES("# \xe4\xee\xe1\xe0\xe2\xe8\xf2\xfc \xf4\xe0\xe9\xeb"),
	  "# \xd0\xb4\xd0\xbe\xd0\xb1\xd0\xb0\xd0\xb2\xd0\xb8\xd1\x82\xd1\x8c "
	  "\xd1\x84\xd0\xb0\xd0\xb9\xd0\xbb" },
	{ "windows-1251", BYTES("\xd4\xf3\xed\xea\xf6\xe8\xff"), NULL },
	{ "windows-1251", BYTES("\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0"), NULL },
	{ "windows-1251", BYTES("\xc3\xcb\xc0\xc2\xc0 \xcf\xc5\xd0\xc2\xc0\xdf"), NULL },
	{ "KOI8-R", BYTES("# \xc4\xcf\xc2\xc1\xd7\xc9\xd4\xd8 \xc6\xc1\xca\xcc"),
	  "# \xd0\xb4\xd0\xbe\xd0\xb1\xd0\xb0\xd0\xb2\xd0\xb8\xd1\x82\xd1\x8c "
	  "\xd1\x84\xd0\xb0\xd0\xb9\xd0\xbb" },
	{ "KOI8-R", BYTES("\xe6\xd5\xce\xcb\xc3\xc9\xd1"), NULL },
	{ "KOI8-R", BYTES("\xf0\xd2\xc9\xd7\xc5\xd4, \xcd\xc9\xd2"), NULL },
	{ "UTF-16LE",
	  BYTES("\xff\xfe"
		"a\0\n\0\xac\x20"),
	  "\xef\xbb\xbf"
	  "a\n\xe2\x82\xac" },
	{ "UTF-16BE", BYTES("\xfe\xff\0a\xd8\x3d\xde\x00"),
	  "\xef\xbb\xbf"
	  "a\xf0\x9f\x98\x80" },
	{ "UTF-16LE", BYTES("\xff\xfe"), "\xef\xbb\xbf" },
};

static void test_bytes_are_taken_for_an_encoding(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct encoding *x = encoding_guess(rows[i].raw, NULL);
		AUTO_FREE uint8_t *text = NULL;
		size_t len, bad;
		if (strcmp(encoding_name(x), rows[i].name) != 0)
			fail_msg("row %zu: %s", i, encoding_name(x));
		assert_true(encoding_decode(x, rows[i].raw, &text, &len, &bad));
		assert_true((text == NULL) == (x == &encoding_utf8));
		if (!rows[i].text)
			continue;
		assert_int_equal(len, strlen(rows[i].text));
		assert_memory_equal(text ? text : rows[i].raw.data, rows[i].text, len);
	}
}

static void test_a_file_keeps_its_encoding_while_it_can(void **state)
{
	const struct bytes koi =
		BYTES("# \xc4\xcf\xc2\xc1\xd7\xc9\xd4\xd8 \xc6\xc1\xca\xcc");
	const struct bytes ascii = BYTES("# plain"), cafe = BYTES("caf\xe9");
	const struct bytes utf8 = BYTES("caf\xc3\xa9"), utf16 = BYTES("\xff\xfe");
	const struct encoding *was = encoding_guess(koi, NULL);

	(void)state;
	assert_ptr_equal(encoding_guess(cafe, was), was);
	assert_ptr_equal(encoding_guess(ascii, was), was);
	assert_ptr_equal(encoding_guess(utf8, was), &encoding_utf8);
	assert_string_equal(encoding_name(encoding_guess(utf16, was)), "UTF-16LE");
	was = encoding_guess(utf16, NULL);
	assert_ptr_equal(encoding_guess(ascii, was), &encoding_utf8);
	assert_string_equal(encoding_name(encoding_guess(cafe, was)), "windows-1252");
	was = &encoding_utf8;
	assert_string_equal(encoding_name(encoding_guess(cafe, was)), "windows-1252");
}

static void test_the_first_byte_that_is_no_character_is_told(void **state)
{
	static const struct {
		struct bytes raw;
		size_t bad;
	} bads[] = {
		{ BYTES("\xff\xfe" "a"), 2 },
		{ BYTES("\xff\xfe" "a\0b"), 4 },
		{ BYTES("\xfe\xff\xd8\x3d"), 2 },	     /* half a surrogate pair */
		{ BYTES("\xfe\xff\0a\xd8\x3d\0a"), 4 },    /* a surrogate alone */
		{ BYTES("\xfe\xff\xde\x00\xd8\x3d"), 2 }, /* in the wrong order */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bads); i++) {
		const struct encoding *x = encoding_guess(bads[i].raw, NULL);
		uint8_t *text = NULL;
		size_t len, bad = 99;
		assert_false(encoding_decode(x, bads[i].raw, &text, &len, &bad));
		assert_null(text);
		assert_int_equal(bad, bads[i].bad);
	}
}

/* In each table every byte has its own letter, and decoding and encoding again gives
 * the same byte. */
static void test_no_two_bytes_are_the_same_character(void **state)
{
	static const struct bytes of[] = {
		BYTES("caf\xe9"), BYTES("\xef\xf0\xe8\xe2\xe5\xf2"),
		BYTES("\xd0\xd2\xc9\xd7\xc5\xd4"),
	};
	uint8_t all[256];

	(void)state;
	for (int i = 0; i < 256; i++)
		all[i] = (uint8_t)i;
	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		const struct encoding *x = encoding_guess(of[i], NULL);
		AUTO_FREE uint8_t *text = NULL;
		struct buffer back;
		size_t len, bad;
		uint32_t lacks;
		assert_true(encoding_decode(x, (struct bytes){ all, 256 }, &text, &len,
					    &bad));
		buffer_init(&back, 300);
		assert_true(encoding_put(x, (struct bytes){ text, len }, &back, &lacks));
		assert_int_equal(buffer_len(&back), 256);
		assert_memory_equal(buffer_data(&back), all, 256);
		assert_int_equal(encoding_place(x, (struct bytes){ all, 256 }, 128), 128);
		assert_int_equal(encoding_place(x, (struct bytes){ all, 256 }, len), 256);
		buffer_done(&back);
	}
}

static void test_a_character_that_it_lacks_is_told(void **state)
{
	const struct bytes western = BYTES("caf\xe9"), dragon = BYTES("x\xe9\xbe\x8d");
	const struct bytes wide = BYTES("\xff\xfe"), smile = BYTES("\xf0\x9f\x98\x80");
	struct buffer to;
	uint32_t lacks = 0;

	(void)state;
	buffer_init(&to, 100);
	assert_false(encoding_put(encoding_guess(western, NULL), dragon, &to, &lacks));
	assert_int_equal(lacks, 0x9f8d);
	buffer_consume(&to, buffer_len(&to));
	assert_true(encoding_put(encoding_guess(wide, NULL), smile, &to, &lacks));
	assert_int_equal(buffer_len(&to), 4);
	assert_memory_equal(buffer_data(&to), "\x3d\xd8\x00\xde", 4);
	buffer_done(&to);
}

/* Both have the byte 0xff, by which binary files are recognised, so Russian text
 * needs a rule of its own. */
static void test_russian_is_text_and_a_blank_image_is_not(void **state)
{
	const struct bytes text = BYTES("\xff \xe7\xed\xe0\xfe, \xf7\xf2\xee "
					"\xed\xe8\xf7\xe5\xe3\xee\n");
	const struct bytes blank = BYTES("\xff\xff\xff\xff\xff\xff"),
			   cafe = BYTES("caf\xe9");
	const struct bytes control = BYTES("\xe7\xed\xe0\xfe \xf7\xf2\xee\x01");

	(void)state;
	assert_true(encoding_is_russian(text));
	assert_false(encoding_is_russian(blank));
	assert_false(encoding_is_russian(cafe));
	assert_false(encoding_is_russian(control));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_are_taken_for_an_encoding),
		cmocka_unit_test(test_a_file_keeps_its_encoding_while_it_can),
		cmocka_unit_test(test_the_first_byte_that_is_no_character_is_told),
		cmocka_unit_test(test_no_two_bytes_are_the_same_character),
		cmocka_unit_test(test_a_character_that_it_lacks_is_told),
		cmocka_unit_test(test_russian_is_text_and_a_blank_image_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
