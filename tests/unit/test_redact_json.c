/* redact_json: a line stays valid JSON when its secrets are masked, and keeps
 * everything else. */
#include "actions/redact_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/json/json.h"

#define M REDACT_TEXT

static void test_texts_are_masked_and_nothing_else(void **state)
{
	static const struct {
		const char *secret, *line, *want;
	} rows[] = {
		{ "secret", "{\"a\":\"a secret\"}", "{\"a\":\"a " M "\"}" },
		{ "secret", "{\"secret\":\"\"}", "{\"secret\":\"\"}" },
		{ "secret", "[\"secret\",\"secret\"]", "[\"" M "\",\"" M "\"]" },
		{ "secret", "[\"a secr[... 9 more\"]", "[\"a " M "[... 9 more\"]" },
		{ "secret", "[\"a sec[... 9\"]", "[\"a sec[... 9\"]" },
		{ "secret", "[\"secresecre[... 9 secret secr\"]",
		  "[\"secre" M "[... 9 " M " secr\"]" },
		{ "secre[... t", "[\"secre[... t\"]", "[\"" M "\"]" },
		{ "se[... cret", "[\"se[... cret\"]", "[\"" M "\"]" },
		{ "12345", "{\"a\":12345,\"b\":\"12345\"}",
		  "{\"a\":12345,\"b\":\"" M "\"}" },
		{ "true", "{\"a\":true}", "{\"a\":true}" },
		{ "error", "{\"observation\":\"error\",\"content\":\"error\"}",
		  "{\"observation\":\"error\",\"content\":\"" M "\"}" },
		{ "n123", "{\"a\":\"x\\n123\"}", "{\"a\":\"x\\n123\"}" },
		{ "n123", "{\"a\":\"x\\nn123\"}", "{\"a\":\"x\\n" M "\"}" },
		{ "a\nb\tc\"d\\e", "{\"a\":\"xa\\nb\\tc\\\"d\\\\ey\"}",
		  "{\"a\":\"x" M "y\"}" },
		{ "a\x01z/", "{\"a\":\"a\\u0001z\\/\"}", "{\"a\":\"" M "\"}" },
		{ "\xc2\x85\xe2\x80\xa8", "{\"a\":\"\\u0085\\u2028\"}",
		  "{\"a\":\"" M "\"}" },
		{ "\\\\\\\\", "{\"a\":\"\\\\\\\\\\\\\\\\\"}", "{\"a\":\"" M "\"}" },
		{ "\",\"b", "{\"a\":\"a\",\"b\":\"b\"}", "{\"a\":\"a\",\"b\":\"b\"}" },
		{ "xxxx", "", "" },
		{ "xxxx", "{\"a\":\"xxxx", "{\"a\":\"" M },
		{ "xxxx", "{\"a\":\"xxxx\\", "{\"a\":\"" M },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct redact m = { 0 };
		char *text = text_copy(rows[i].line);
		assert_int_equal(redact_add(&m, rows[i].secret, NULL, NULL), 0);
		redact_json_text(&m, &text);
		assert_string_equal(text, rows[i].want);
		free(text);
		redact_done(&m);
	}
}

static void test_without_secrets_a_line_is_not_touched(void **state)
{
	const struct redact none = { 0 };
	char *text = text_copy("{\"a\":\"b\"}"), *before = text;

	(void)state;
	redact_json_text(&none, &text);
	assert_ptr_equal(text, before);
	free(text);
}

/* For any text: decoding the redacted line gives the text with its secrets masked. */
static void test_random_texts_survive(void **state)
{
	static const char letters[] = "ab\"\\\n\x01\x7f\x85u01\xc3\xa9{}:,";
	unsigned seed = 7;

	(void)state;
	for (int n = 0; n < 5000; n++) {
		struct redact m = { 0 };
		char text[64] = "";
		const char *got;
		struct buffer line;
		struct json_at root, a;
		size_t len = (size_t)rand_r(&seed) % 60;
		for (size_t i = 0; i < len; i++)
			text[i] = letters[(size_t)rand_r(&seed) % (sizeof(letters) - 1)];
		assert_int_equal(redact_add(&m, "ab\"\\", NULL, NULL), 0);
		assert_int_equal(redact_add(&m, "u0001", NULL, NULL), 0);
		buffer_init(&line, 4096);
		json_write_open(&line, NULL, "{");
		json_write_bytes(&line, "a", text, strlen(text));
		json_write_close(&line, "}");
		AUTO_JSON struct json *plain = json_parse(
			(const char *)buffer_data(&line), buffer_len(&line), NULL);
		assert_non_null(plain);
		json_root(plain, "plain", &root);
		assert_true(json_member(&root, "a", &a));
		assert_int_equal(json_string(&a, &got, NULL), 0);
		AUTO_FREE char *want = redact_copy(&m, got);
		redact_json_line(&m, &line);
		AUTO_JSON struct json *veiled = json_parse(
			(const char *)buffer_data(&line), buffer_len(&line), NULL);
		assert_non_null(veiled);
		json_root(veiled, "veiled", &root);
		assert_true(json_member(&root, "a", &a));
		assert_int_equal(json_string(&a, &got, NULL), 0);
		assert_string_equal(got, want);
		buffer_done(&line);
		redact_done(&m);
	}
}

static void test_a_text_that_does_not_fit_is_cut(void **state)
{
	struct redact m = { 0 };
	struct buffer line;

	(void)state;
	assert_int_equal(redact_add(&m, "abcd", NULL, NULL), 0);
	buffer_init(&line, 16);
	json_write_raw(&line, NULL, "{\"a\":\"abcd abc\"}");
	assert_false(line.is_cut);
	redact_json_line(&m, &line);
	assert_true(line.is_cut);
	buffer_done(&line);
	redact_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts_are_masked_and_nothing_else),
		cmocka_unit_test(test_without_secrets_a_line_is_not_touched),
		cmocka_unit_test(test_random_texts_survive),
		cmocka_unit_test(test_a_text_that_does_not_fit_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
