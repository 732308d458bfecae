#include "base/term_escape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/own.h"

#define TEXT(s) (s), sizeof(s) - 1

static const struct {
	const char *raw;
	size_t len;
	const char *block, *line; /* line: NULL if the text contains a 0 byte */
} forms[] = {
	{ TEXT(""), "", "" },
	{ TEXT("plain ~"), "plain ~", "plain ~" },
	{ TEXT("\033]52;c;bad\a"), "^[]52;c;bad^G", "^[]52;c;bad^G" },
	{ TEXT("\x7f"), "^?", "^?" },
	{ TEXT("a\nb\tc"), "a\nb\tc", "a^Jb^Ic" },
	{ TEXT("a\r\nb"), "a\r\nb", "a^M^Jb" },
	{ TEXT("over\rwrite"), "over^Mwrite", "over^Mwrite" },
	{ TEXT("\r"), "^M", "^M" },
	{ TEXT("\r\r\n"), "^M\r\n", "^M^M^J" },
	{ TEXT("a\0b"), "a^@b", NULL },
	{ TEXT("\xc2\x9b"
	       "31m"),
	  "M-^[31m", "M-^[31m" },
	{ TEXT("\xc2\x80\xc2\x9f"), "M-^@M-^_", "M-^@M-^_" },
	{ TEXT("\xc2\xa0\xc3\x9b\xe2\x82\xac"), "\xc2\xa0\xc3\x9b\xe2\x82\xac",
	  "\xc2\xa0\xc3\x9b\xe2\x82\xac" },
	{ TEXT("\xc2"), "\xc2", "\xc2" },
	{ TEXT("a\u202eb\u2066\u200f"), "a\u202eb\u2066\u200f",
	  "a<U+202E>b<U+2066><U+200F>" },
	{ TEXT("\u2028\u2027\u202f\u2065\u206a\xe2\x80"),
	  "\u2028\u2027\u202f\u2065\u206a\xe2\x80",
	  "<U+2028>\u2027\u202f\u2065\u206a\xe2\x80" },
	{ TEXT("\xc2\033"), "\xc2^[", "\xc2^[" },
};

static void test_control_characters_are_shown(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		struct buffer b;
		buffer_init(&b, 100);
		term_escape_append(&b, forms[i].raw, forms[i].len);
		assert_int_equal(buffer_len(&b), strlen(forms[i].block));
		if (buffer_len(&b))
			assert_memory_equal(buffer_data(&b), forms[i].block,
					    buffer_len(&b));
		buffer_done(&b);
		if (!forms[i].line)
			continue;
		AUTO_FREE char *line = term_escape_line(forms[i].raw);
		assert_string_equal(line, forms[i].line);
	}
}

/* No byte is printed in a form that a terminal interprets. */
static void test_no_single_byte_comes_out_as_a_control(void **state)
{
	(void)state;
	for (int c = 1; c < 256; c++) {
		const char raw[] = { 'a', (char)c, 'b', 0 };
		AUTO_FREE char *line = term_escape_line(raw);
		for (const unsigned char *at = (const unsigned char *)line; *at; at++)
			assert_true(*at >= 0x20 && *at != 0x7f);
	}
}

static void test_a_line_grows_fourfold_at_most_and_drops_the_rest(void **state)
{
	struct buffer b;
	char raw[64];

	(void)state;
	memset(raw, 0x1b, sizeof(raw));
	buffer_init(&b, 4 * sizeof(raw));
	term_escape_append(&b, raw, sizeof(raw));
	assert_int_equal(buffer_len(&b), 2 * sizeof(raw));
	buffer_done(&b);
	buffer_init(&b, 5);
	term_escape_append(&b, raw, sizeof(raw));
	assert_int_equal(buffer_len(&b), 4);
	buffer_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_control_characters_are_shown),
		cmocka_unit_test(test_no_single_byte_comes_out_as_a_control),
		cmocka_unit_test(test_a_line_grows_fourfold_at_most_and_drops_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
