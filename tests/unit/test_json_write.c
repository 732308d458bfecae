/* json_write: writes valid JSON, whatever the bytes are. */
#include "base/json_write.h"

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
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x87", 9,
		  "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x87\"" },
		{ "\xc2\x9b\xc2\x85\xc2\xa0", 6, "\"\\u009b\\u0085\xc2\xa0\"" },
		{ "\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa", 9,
		  "\"\\u2028\\u2029\xe2\x80\xaa\"" },
		{ "a\xff"
		  "b",
		  3,
		  "\"a\xef\xbf\xbd"
		  "b\"" },
		{ "\xc0\xaf", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xe2\x82", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		struct buffer b;
		buffer_init(&b, 1000);
		json_write_bytes(&b, NULL, samples[i].bytes, samples[i].len);
		assert_int_equal(buffer_len(&b), strlen(samples[i].json));
		assert_memory_equal(buffer_data(&b), samples[i].json, buffer_len(&b));
		assert_false(b.is_cut);
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
		json_write_bytes(&b, NULL, pair, 2);
		AUTO_JSON struct json *doc =
			json_parse((const char *)buffer_data(&b), buffer_len(&b), &e);
		if (!doc)
			fail_msg("%04x: %s", n, e.text);
		buffer_done(&b);
	}
}

static size_t written(const char *bytes, size_t len, char to[64])
{
	struct buffer b;

	buffer_init(&b, 64);
	json_write_part(&b, bytes, len);
	assert_false(b.is_cut);
	size_t size = buffer_len(&b);
	memcpy(to, buffer_data(&b), size);
	buffer_done(&b);
	return size;
}

/* Eight bytes are looked at in one step, and a byte alone in another way. */
static void test_a_byte_is_written_alike_at_each_place(void **state)
{
	enum { LEN = 17 };

	(void)state;
	for (int n = 0; n < 256 * LEN; n++) {
		const size_t place = (size_t)n / 256;
		const char byte = (char)n;
		char text[LEN], whole[64], alone[64];
		memset(text, 'x', LEN);
		text[place] = byte;
		size_t size = written(text, LEN, whole), len = written(&byte, 1, alone);
		assert_int_equal(size, LEN - 1 + len);
		assert_memory_equal(whole, text, place);
		assert_memory_equal(whole + place, alone, len);
		assert_memory_equal(whole + place + len, text + place + 1,
				    LEN - 1 - place);
	}
}

static void test_a_text_that_does_not_fit_is_known(void **state)
{
	struct buffer b;

	(void)state;
	buffer_init(&b, 4);
	json_write_text(&b, NULL, "long");
	assert_true(b.is_cut);
	buffer_done(&b);
	buffer_init(&b, 1000);
	json_write_format(&b, NULL, "%255d", 1);
	assert_false(b.is_cut);
	json_write_format(&b, NULL, "%256d", 1);
	assert_true(b.is_cut);
	buffer_done(&b);
}

/* Writes one line with every kind of value; the test compares it with `line`. */
static void put_all(struct buffer *b)
{
	json_write_open(b, NULL, "{");
	json_write_text(b, "a", NULL);
	json_write_count(b, "none", 0);
	json_write_count(b, "most", UINT64_MAX);
	json_write_open(b, "list", "[");
	json_write_close(b, "]");
	json_write_open(b, "more", "[");
	json_write_number(b, NULL, -7);
	json_write_text(b, NULL, "{");
	json_write_bool(b, NULL, true);
	json_write_open(b, NULL, "{");
	json_write_raw(b, NULL, "\"x\":1,\"y\":[]");
	json_write_format(b, "z", "%.3f", 0.5);
	json_write_close(b, "}]");
	json_write_open(b, "parts", "\"");
	json_write_part(b, "one[", 4);
	json_write_part(b, "\"two", 4);
	json_write_close(b, "\"");
	json_write_bytes(b, "end", NULL, 0);
	json_write_close(b, "}\n");
}

static const char line[] =
	"{\"a\":null,\"none\":null,\"most\":18446744073709551615,\"list\":[],"
	"\"more\":[-7,\"{\",true,{\"x\":1,\"y\":[],\"z\":0.500}],"
	"\"parts\":\"one[\\\"two\",\"end\":\"\"}\n";

static void test_commas_stand_between_values_and_nowhere_else(void **state)
{
	struct buffer b;

	(void)state;
	json_write_begin(&b);
	put_all(&b);
	put_all(&b);
	AUTO_FREE char *text = json_write_end(&b);
	assert_int_equal(strlen(text), 2 * strlen(line));
	assert_memory_equal(text, line, strlen(line));
	assert_string_equal(text + strlen(line), line);
}

static void test_members_are_written_without_braces_too(void **state)
{
	struct buffer b;

	(void)state;
	json_write_begin(&b);
	AUTO_FREE char *nothing = json_write_end(&b);
	assert_string_equal(nothing, "");
	json_write_begin(&b);
	json_write_text(&b, "a", "1");
	json_write_number(&b, "b", INT64_MIN);
	AUTO_FREE char *text = json_write_end(&b);
	assert_string_equal(text, "\"a\":\"1\",\"b\":-9223372036854775808");
}

static void test_no_byte_of_a_text_is_lost(void **state)
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
		{ "\xe2\x80\xa8", "\"\\u2028\"" },
		{ "\xff\xc3(", "\"\\u00ff\\u00c3(\"" },	      /* no UTF-8 */
		{ "\xc0\xaf", "\"\\u00c0\\u00af\"" },	      /* overlong */
		{ "\xed\xa0\x80", "\"\\u00ed\\u00a0\\u0080\"" }, /* a surrogate */
		{ "cut \xe2\x82", "\"cut \\u00e2\\u0082\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_FREE char *quoted = json_write_quoted(cases[i].text);
		assert_string_equal(quoted, cases[i].quoted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_every_pair_of_bytes_is_a_valid_string),
		cmocka_unit_test(test_a_byte_is_written_alike_at_each_place),
		cmocka_unit_test(test_a_text_that_does_not_fit_is_known),
		cmocka_unit_test(test_commas_stand_between_values_and_nowhere_else),
		cmocka_unit_test(test_members_are_written_without_braces_too),
		cmocka_unit_test(test_no_byte_of_a_text_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
