/* JSON output is valid, whatever the bytes. */
#include "actions/json_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/own.h"
#include "policy/json/json.h"

static void test_strings(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *json;
	} samples[] = {
		{ "", 0, "\"\"" },
		{ "plain", 5, "\"plain\"" },
		{ "a\"b\\c", 5, "\"a\\\"b\\\\c\"" },
		{ "\b\t\n\f\r", 5, "\"\\b\\t\\n\\f\\r\"" },
		{ "\x1b[0m\x7f\0x", 7, "\"\\u001b[0m\\u007f\\u0000x\"" },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x87", 9, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x87\"" },
		{ "\xc2\x9b\xc2\x85\xc2\xa0", 6, "\"\\u009b\\u0085\xc2\xa0\"" },
		{ "\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa", 9, "\"\\u2028\\u2029\xe2\x80\xaa\"" },
		{ "a\xff" "b", 3, "\"a\xef\xbf\xbd" "b\"" },
		{ "\xc0\xaf", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xe2\x82", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		struct buffer b;
		buffer_init(&b, 1000);
		json_write_bytes(&b, samples[i].bytes, samples[i].len);
		assert_int_equal(buffer_len(&b), strlen(samples[i].json));
		assert_memory_equal(buffer_data(&b), samples[i].json, buffer_len(&b));
		assert_true(json_write_is_whole(&b));
		buffer_done(&b);
	}
}

/* Writes each pair of bytes, and reads it back with the strict reader. */
static void test_every_pair_of_bytes_is_a_valid_string(void **state)
{
	(void)state;
	for (int n = 0; n < 65536; n++) {
		char pair[2] = { (char)(n >> 8), (char)n };
		struct buffer b;
		struct err e;
		if (!pair[0] || !pair[1])
			continue; /* that reader refuses \u0000 */
		buffer_init(&b, 100);
		json_write_bytes(&b, pair, 2);
		AUTO_JSON struct json *doc =
			json_parse((const char *)buffer_data(&b), buffer_len(&b), &e);
		if (!doc)
			fail_msg("%04x: %s", n, e.text);
		buffer_done(&b);
	}
}

static void test_a_text_that_does_not_fit_is_known(void **state)
{
	struct buffer b;

	(void)state;
	buffer_init(&b, 4);
	json_write_text(&b, "long");
	assert_false(json_write_is_whole(&b));
	buffer_done(&b);
	buffer_init(&b, 1000);
	json_write_format(&b, "%255d", 1);
	assert_true(json_write_is_whole(&b));
	json_write_format(&b, "%256d", 1);
	assert_false(json_write_is_whole(&b));
	buffer_done(&b);
}

static void test_keys_and_null(void **state)
{
	struct buffer b;

	(void)state;
	buffer_init(&b, 100);
	json_write_raw(&b, "{");
	json_write_key(&b, "a", true);
	json_write_text(&b, NULL);
	json_write_key(&b, "b", false);
	json_write_format(&b, "%d}", 7);
	assert_memory_equal(buffer_data(&b), "{\"a\":null,\"b\":7}", buffer_len(&b));
	buffer_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_every_pair_of_bytes_is_a_valid_string),
		cmocka_unit_test(test_a_text_that_does_not_fit_is_known),
		cmocka_unit_test(test_keys_and_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
