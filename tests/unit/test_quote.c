#include "base/quote.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"

static void test_text_as_json_writes_it(void **state)
{
	static const struct {
		const char *text, *quoted;
	} cases[] = {
		{ NULL, "null" },
		{ "", "\"\"" },
		{ "plain", "\"plain\"" },
		{ "a\"b\\c", "\"a\\\"b\\\\c\"" },
		{ "\n\x1b\x7f", "\"\\u000a\\u001b\\u007f\"" },
		{ "h\xc3\xbctte", "\"h\xc3\xbctte\"" },
		{ "\xc2\x80\xc2\x9b[2J\xc2\xa0", "\"\\u0080\\u009b[2J\xc2\xa0\"" },
		{ "\xff\xc3(", "\"\\u00ff\\u00c3(\"" },  /* no UTF-8 */
		{ "\xc0\xaf", "\"\\u00c0\\u00af\"" },	      /* overlong */
		{ "\xed\xa0\x80", "\"\\u00ed\\u00a0\\u0080\"" }, /* a surrogate */
		{ "cut \xe2\x82", "\"cut \\u00e2\\u0082\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_FREE char *quoted = quote_json(cases[i].text);
		assert_string_equal(quoted, cases[i].quoted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_as_json_writes_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
