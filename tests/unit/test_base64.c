/* base64: reads and writes exactly the base64 of RFC 4648, section 4. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base64.h"
#include "base/own.h"

/* Examples of RFC 4648, section 10, and the digits + and /. */
static const struct {
	const char *bytes, *text;
} pairs[] = {
	{ "", "" },
	{ "f", "Zg==" },
	{ "fo", "Zm8=" },
	{ "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" },
	{ "fooba", "Zm9vYmE=" },
	{ "foobar", "Zm9vYmFy" },
	{ "\xfb\xef\xbe", "++++" },
	{ "\xff\xff\xff", "////" },
};

static void test_the_examples_of_the_rfc(void **state)
{
	uint8_t got[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		const char *bytes = pairs[i].bytes, *text = pairs[i].text;
		size_t len = 99;
		assert_int_equal(base64_length(strlen(bytes)), strlen(text));
		assert_int_equal(base64_encode(bytes, strlen(bytes), got), strlen(text));
		assert_memory_equal(got, text, strlen(text));
		assert_true(base64_decode(text, strlen(text), got, &len));
		assert_int_equal(len, strlen(bytes));
		assert_memory_equal(got, bytes, len);
	}
}

static void test_every_byte_at_every_place_comes_back(void **state)
{
	uint8_t bytes[4], text[8], got[8];

	(void)state;
	for (size_t len = 1; len <= sizeof(bytes); len++)
		for (unsigned v = 0; v < 256 * len; v++) {
			size_t got_len = 99;
			memset(bytes, 0x5a, sizeof(bytes));
			bytes[v / 256] = (uint8_t)v;
			size_t n = base64_encode(bytes, len, text);
			assert_true(base64_decode((char *)text, n, got, &got_len));
			assert_int_equal(got_len, len);
			assert_memory_equal(got, bytes, len);
		}
}

static void test_text_that_no_encoder_writes_is_refused(void **state)
{
	static const char *const wrong[] = {
		"Z",	    "Zg",    "Zg=",    "Zm9vY", "=",	"==",
		"===",	    "====",  "Z===",   "=g==",	"Z=g=", "Zg==Zg==",
		"Zm8=Zm9v",	    /* padding inside */
		"Zh==",	    "Zm9=", /* the unused bits of the last digit are not 0 */
		"Zm9\n",    " Zm9v", "Zm9v\n", "Zm-v",	"Zm_v", "Zm9v\xc3\xa9\xc3\xa9",
	};
	uint8_t got[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		size_t len = 99;
		assert_false(base64_decode(wrong[i], strlen(wrong[i]), got, &len));
		assert_int_equal(len, 99);
	}
}

/* Tries every byte that is not one of the 64 digits, at each place of a group of
 * four. */
static void test_only_digits_are_digits(void **state)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t got[8];

	(void)state;
	for (int c = 0; c < 256; c++)
		for (int place = 0; place < 4; place++) {
			char text[] = "AAAABBBB";
			size_t len;
			text[place] = (char)c;
			assert_int_equal(base64_decode(text, 8, got, &len),
					 c != 0 && strchr(digits, c) != NULL);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_examples_of_the_rfc),
		cmocka_unit_test(test_every_byte_at_every_place_comes_back),
		cmocka_unit_test(test_text_that_no_encoder_writes_is_refused),
		cmocka_unit_test(test_only_digits_are_digits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
