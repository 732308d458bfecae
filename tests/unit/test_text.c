/* text, utf8: invalid bytes in printed text are replaced, wherever the text is cut,
 * and its characters are counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "executor/terminal/text.h"

#define R UTF8_REPLACEMENT

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

static void test_a_byte_beyond_ascii_is_found_at_any_place(void **state)
{
	uint8_t in[40], out[3 * sizeof(in)];
	size_t used;

	(void)state;
	for (size_t len = 1; len < sizeof(in); len++) {
		for (size_t at = 0; at < len; at++) {
			memset(in, 'x', len);
			assert_int_equal(utf8_ascii(in, len), len);
			assert_true(utf8_is_valid(in, len, false));
			in[at] = 0xff;
			assert_int_equal(utf8_ascii(in, len), at);
			assert_false(utf8_is_valid(in, len, true));
			assert_int_equal(text_to_utf8(in, len, false, out, &used),
					 len + 2);
			assert_memory_equal(out + at, R, 3);
			assert_int_equal(out[len + 1], at + 1 == len ? 0xbd : 'x');
		}
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
		cmocka_unit_test(test_a_stream_is_valid_wherever_it_is_cut),
		cmocka_unit_test(test_a_byte_beyond_ascii_is_found_at_any_place),
		cmocka_unit_test(test_characters_are_counted_and_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
