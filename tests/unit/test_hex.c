/* hex: writes bytes as hexadecimal digits, and makes names of random digits. */
#include "base/hex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void test_each_byte_is_two_digits(void **state)
{
	char text[13];

	(void)state;
	hex_encode("\x00\x09\x0a\x7f\xa0\xff", 6, text);
	assert_string_equal(text, "00090a7fa0ff");
	hex_encode("", 0, text);
	assert_string_equal(text, "");
}

static void test_random_names_are_digits_and_differ(void **state)
{
	char one[HEX_RANDOM_MAX + 1], other[HEX_RANDOM_MAX + 1], rest[2] = { 'x', 'x' };
	struct err e;

	(void)state;
	assert_int_equal(hex_random(one, HEX_RANDOM_MAX, &e), 0);
	assert_int_equal(hex_random(other, HEX_RANDOM_MAX, &e), 0);
	assert_int_equal(strlen(one), HEX_RANDOM_MAX);
	assert_int_equal(strspn(one, "0123456789abcdef"), HEX_RANDOM_MAX);
	assert_string_not_equal(one, other);
	assert_int_equal(hex_random(rest, 0, &e), 0);
	assert_int_equal(rest[0], '\0');
	assert_int_equal(rest[1], 'x');
}

static void test_each_digit_has_its_value_and_nothing_else_has_one(void **state)
{
	(void)state;
	for (int i = 0; i < 16; i++) {
		assert_int_equal(hex_value("0123456789abcdef"[i]), i);
		assert_int_equal(hex_value("0123456789ABCDEF"[i]), i);
	}
	for (const char *at = "/:@G`g \x80\xe1"; *at; at++)
		assert_int_equal(hex_value(*at), -1);
	assert_int_equal(hex_value('\0'), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_digit_has_its_value_and_nothing_else_has_one),
		cmocka_unit_test(test_each_byte_is_two_digits),
		cmocka_unit_test(test_random_names_are_digits_and_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
