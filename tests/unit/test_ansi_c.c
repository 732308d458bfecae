#include "policy/bash/ansi_c.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"

/* Decodes a text up to its first byte 0. */
static const char *decoded(const char *text)
{
	static char all[256];
	const char *at = text, *end = text + strlen(text);
	size_t len = 0;

	while (at < end) {
		size_t n = ansi_c_next(&at, end, all + len);
		if (n == 0)
			break;
		len += n;
	}
	all[len] = '\0';
	return all;
}

static void test_escapes_are_what_bash_makes_of_them(void **state)
{
	static const struct {
		const char *text, *is;
	} samples[] = {
		{ "", "" },
		{ "abc", "abc" },
		{ "\\a\\b\\e\\E\\f\\n\\r\\t\\v", "\a\b\033\033\f\n\r\t\v" },
		{ "\\\\\\'\\\"\\?", "\\'\"?" },
		{ "\\101\\1012\\7", "AA2\a" },
		{ "\\x41\\x412\\x4g", "AA2\004g" },
		{ "\\x{41}b\\x{0041}", "AbA" },
		{ "\\u41\\u00e4\\u20ac\\U1F600z",
		  "A\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z" },
		{ "\\cA\\c[", "\001\033" },
		{ "\\xg\\u\\Uq\\q\\8", "\\xg\\u\\Uq\\q\\8" },
		{ "a\\0b", "a" },
		{ "a\\x00b", "a" },
		{ "a\\", "a\\" },
		{ "a\\c", "a\\c" },
		{ "\\c\\\\a", "\034a" },
		{ "a\\u0z", "a" },
		{ "a\\x{}z", "a" },
		{ "\\x{0000000000041}", "A" },
		{ "\\c?", "\177" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++)
		if (strcmp(decoded(samples[i].text), samples[i].is))
			fail_msg("%s is %s", samples[i].text, decoded(samples[i].text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_escapes_are_what_bash_makes_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
