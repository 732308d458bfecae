/* json_view: finds a member's text in a line of JSON, and no other. */
#include "cli/common/json_view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"

static struct json_view scan(const char *line)
{
	struct json_view r = { 0 };
	struct err e;

	assert_int_equal(json_view_scan(&r, line, strlen(line), &e), 0);
	return r;
}

/* The text of a member as it is in the line; NULL: the line has no such member. */
static const struct {
	const char *line, *path, *raw;
} members[] = {
	{ "{\"a\":1}", "a", "1" },
	{ " { \"a\" : 1 } ", "a", "1" },
	{ "{\"a\":{\"b\":{\"c\":\"x\"}}}", "a.b.c", "\"x\"" },
	{ "{\"a\":{\"b\":2},\"b\":3}", "b", "3" },
	{ "{\"a\":[{\"b\":2}],\"b\":[3 , 4]}", "b", "[3 , 4]" },
	{ "{\"x\":\"}\\\"]{\",\"b\":true}", "b", "true" },
	{ "{\"x\":\"\\\\\",\"b\":null}", "b", "null" },
	{ "{\"\\u0061b\":5}", "ab", "5" },
	{ "{\"\xc3\xa9\":6}", "\xc3\xa9", "6" },
	{ "{\"\\u00e9\":6}", "\xc3\xa9", "6" },
	{ "{\"\":7}", "", "7" },
	{ "{\"a\":{\"\":8}}", "a.", "8" },
	{ "{\"a\":1}", "b", NULL },
	{ "{\"ab\":1}", "a", NULL },
	{ "{\"a\":1}", "ab", NULL },
	{ "{\"a\":1}", "a.b", NULL },
	{ "{\"a\":[1]}", "a.0", NULL },
	{ "{\"a\":1,\"a\":2}", "a", NULL },
	{ "{\"a\":1,\"\\u0061\":2}", "a", NULL },
	{ "{\"a\":1,\"b\":2,\"a\":2}", "b", "2" },
	{ "[1]", "a", NULL },
	{ "\"a\"", "a", NULL },
	{ "{}", "a", NULL },
	{ "{\"a\":\"\\\"a\\\":1\"}", "a", "\"\\\"a\\\":1\"" },
};

static void test_members_are_found_by_their_path(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		struct json_view r =
			json_view_get(scan(members[i].line), members[i].path);
		if (!members[i].raw) {
			assert_null(r.text);
			assert_int_equal(json_view_type(r), JSON_NONE);
			continue;
		}
		assert_int_equal(r.len, strlen(members[i].raw));
		assert_memory_equal(r.text, members[i].raw, r.len);
	}
}

static const struct {
	const char *line, *text;
} strings[] = {
	{ "\"\"", "" },
	{ "\"plain\"", "plain" },
	{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t" },
	{ "\"\\u0041\\u00E9\\u20ac\\uD83D\\ude00\"",
	  "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
	{ "\"\xf0\x9f\x98\x80\"", "\xf0\x9f\x98\x80" },
	{ "\"\\u0001\\u007f\\uffff\"", "\x01\x7f\xef\xbf\xbf" },
	{ "\"\\udbff\\udfff\"", "\xf4\x8f\xbf\xbf" },
	{ "1", NULL },
	{ "null", NULL },
	{ "[\"a\"]", NULL },
};

/* One walk gets each of several members, or none of those that json_view_get() does not
 * get. */
static void test_several_members_are_found_in_one_walk(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		struct json_view_member m[] = { { .key = "none" },
						{ .key = members[i].path },
						{ .key = "" } };
		if (strchr(members[i].path, '.') || !*members[i].path)
			continue;
		const struct json_view line = scan(members[i].line);
		const struct json_view one = json_view_get(line, members[i].path);
		json_view_members(line, m, ARRAY_LEN(m));
		if (m[1].value.text != one.text || m[1].value.len != one.len)
			fail_msg("row %zu", i);
		assert_null(m[0].value.text);
	}
	struct json_view_member m[] = {
		{ .key = "b" }, { .key = "a" }, { .key = "c" }, { .key = "d" }
	};
	json_view_members(
		scan("{\"a\":1,\"b\":[2],\"c\":3,\"c\":4,\"c\":5,\"x\":{\"d\":6}}"), m,
		ARRAY_LEN(m));
	assert_true(json_view_type(m[0].value) == JSON_ARRAY);
	assert_true(json_view_type(m[1].value) == JSON_NUMBER);
	assert_null(m[2].value.text);
	assert_null(m[3].value.text);
	json_view_members((struct json_view){ 0 }, m, ARRAY_LEN(m));
	assert_null(m[0].value.text);
}

static void test_strings_are_decoded(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(strings); i++) {
		struct json_view r = scan(strings[i].line);
		AUTO_FREE char *text = json_view_string(r);
		if (!strings[i].text) {
			assert_null(text);
			assert_false(json_view_is(r, ""));
			continue;
		}
		assert_string_equal(text, strings[i].text);
		assert_true(json_view_is(r, strings[i].text));
		assert_false(json_view_is(r, "plain and more"));
		assert_false(json_view_is(r, "pla"));
	}
}

static void test_a_string_that_is_another_is_told_from_it(void **state)
{
	(void)state;
	assert_false(json_view_is(scan("\"started\""), "start"));
	assert_false(json_view_is(scan("\"start\""), "started"));
	assert_false(json_view_is(scan("\"\\u20ac\""), "\xe2\x82"));
}

static void test_numbers_and_claims(void **state)
{
	int64_t n = 42;
	double d = 42;
	bool is = true;

	(void)state;
	assert_true(json_view_integer(scan("-9007199254740992"), &n));
	assert_true(n == -9007199254740992);
	assert_true(json_view_integer(scan(" 0 "), &n));
	assert_int_equal(n, 0);
	n = 42;
	assert_false(json_view_integer(scan("1.0"), &n));
	assert_false(json_view_integer(scan("1e2"), &n));
	assert_false(json_view_integer(scan("\"1\""), &n));
	assert_false(json_view_integer(scan("null"), &n));
	assert_false(json_view_integer((struct json_view){ 0 }, &n));
	assert_int_equal(n, 42);
	assert_true(json_view_number(scan("-12.5e-1"), &d));
	assert_true(d == -1.25);
	assert_false(json_view_number(scan("true"), &d));
	assert_true(d == -1.25);
	assert_true(json_view_bool(scan("false"), &is));
	assert_false(is);
	assert_true(json_view_bool(scan("true"), &is));
	assert_true(is);
	assert_false(json_view_bool(scan("0"), &is));
	assert_true(is);
}

static void test_the_members_of_a_container_come_in_order(void **state)
{
	struct json_view_place place = { 0 };
	struct json_view list = scan("[ 1,\"a,]\" , [2,3],{\"b\":4} ,null ]");
	static const char *const items[] = { "1", "\"a,]\"", "[2,3]", "{\"b\":4}",
					     "null" };
	size_t count = 0;

	(void)state;
	while (json_view_step(list, &place)) {
		assert_null(place.key.text);
		assert_int_equal(place.value.len, strlen(items[count]));
		assert_memory_equal(place.value.text, items[count], place.value.len);
		count++;
	}
	assert_int_equal(count, ARRAY_LEN(items));
	place = (struct json_view_place){ 0 };
	struct json_view object = scan("{ \"a\" : 1 , \"a\":{} }");
	assert_true(json_view_step(object, &place));
	assert_true(json_view_is(place.key, "a"));
	assert_int_equal(json_view_type(place.value), JSON_NUMBER);
	assert_true(json_view_step(object, &place));
	assert_int_equal(json_view_type(place.value), JSON_OBJECT);
	assert_false(json_view_step(object, &place));
	place = (struct json_view_place){ 0 };
	assert_false(json_view_step(scan("[ ]"), &place));
	assert_false(json_view_step(scan("{}"), &place));
	assert_false(json_view_step(scan("7"), &place));
	assert_false(json_view_step((struct json_view){ 0 }, &place));
}

static void test_an_escaped_quote_ends_no_string(void **state)
{
	static const char *const items[] = {
		"\"\"",
		"\"\\\"\"",
		"\"\\\\\"",
		"\"\\\\\\\"]\"",
		"\"a\\nb\\\"c,\\\\\"",
		"\"\\u0022]\"",
		"7",
	};
	AUTO_FREE char *text = mem_zeroed(1, 200);
	struct json_view_place place = { 0 };
	size_t count = 0;
	char *to = text;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(items); i++)
		to += sprintf(to, "%c%s", i ? ',' : '[', items[i]);
	strcpy(to, "]");
	const struct json_view list = scan(text);
	while (json_view_step(list, &place)) {
		assert_int_equal(place.value.len, strlen(items[count]));
		assert_memory_equal(place.value.text, items[count], place.value.len);
		count++;
	}
	assert_int_equal(count, ARRAY_LEN(items));
	/* Texts that no scan has checked, and that end early. */
	assert_int_equal(json_view_get((struct json_view){ "{\"a\\", 4 }, "a").len, 0);
	assert_int_equal(json_view_get((struct json_view){ "{\"\\\"", 4 }, "a").len, 0);
}

/* Many escapes take linear time: no byte is read again for each escape before it. */
static void test_many_escapes_cost_what_they_are(void **state)
{
	enum { MANY = 8 << 20 };
	AUTO_FREE char *text = mem_new(2 * MANY + 16);
	char *to = text;

	(void)state;
	to += sprintf(to, "{\"a\":\"");
	for (int i = 0; i < MANY; i++, to += 2)
		memcpy(to, i % 2 ? "\\\"" : "\\n", 2);
	strcpy(to, "\",\"b\":5}");
	int64_t b = 0;
	assert_true(json_view_integer(json_view_get(scan(text), "b"), &b));
	assert_int_equal(b, 5);
}

static const struct {
	const char *line, *bytes;
	size_t len;
} base64s[] = {
	{ "\"\"", "", 0 },
	{ "\"Zg==\"", "f", 1 },
	{ "\"Zm8=\"", "fo", 2 },
	{ "\"Zm9v\"", "foo", 3 },
	{ "\"Zm9vYmFy\"", "foobar", 6 },
	{ "\"AP+\\/AA==\"", "\0\xff\xbf\0", 4 },
	{ "\"Zg=\"", NULL, 0 },
	{ "\"Zg\"", NULL, 0 },
	{ "\"Z===\"", NULL, 0 },
	{ "\"====\"", NULL, 0 },
	{ "\"Zg==Zg==\"", NULL, 0 },
	/* Not valid: it encodes no byte, and its unused last bits are not 0. */
	{ "\"Zh==\"", NULL, 0 },
	{ "\"Zm 9v==\"", NULL, 0 },
	{ "\"Zm9-\"", NULL, 0 },
	{ "1", NULL, 0 },
};

static void test_base64(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(base64s); i++) {
		size_t len = 99;
		AUTO_FREE uint8_t *bytes = json_view_base64(scan(base64s[i].line), &len);
		if (!base64s[i].bytes) {
			assert_null(bytes);
			assert_int_equal(len, 99);
			continue;
		}
		assert_non_null(bytes);
		assert_int_equal(len, base64s[i].len);
		assert_memory_equal(bytes, base64s[i].bytes, len);
	}
}

static void test_invalid_json_is_refused(void **state)
{
	static const char *const bad[] = { "", "{", "{\"a\":1}x", "{\"a\":1,}", "{'a':1}",
					   "\"\\ud800\"", "\"\\u0000\"", "\"\xff\"" };
	struct json_view r = { "before", 6 };
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(json_view_scan(&r, bad[i], strlen(bad[i]), &e), -1);
		assert_string_equal(r.text, "before");
		assert_string_not_equal(e.text, "");
	}
}

/* A text that is 60 levels deep and has a hundred thousand members: neither uses up
 * the stack. */
static void test_depth_and_width_cost_no_stack(void **state)
{
	enum { DEEP = 60, WIDE = 100000 };
	AUTO_FREE char *text = mem_zeroed(1, 2 * DEEP + 2 * WIDE + 32);
	struct json_view_place place = { 0 };
	size_t count = 0;
	char *to = text;

	(void)state;
	to += sprintf(to, "{\"a\":");
	for (int i = 0; i < DEEP; i++)
		*to++ = '[';
	for (int i = 0; i < DEEP; i++)
		*to++ = ']';
	to += sprintf(to, ",\"b\":[0");
	for (int i = 0; i < WIDE; i++)
		to += sprintf(to, ",1");
	to += sprintf(to, "]}");
	struct json_view wide = json_view_get(scan(text), "b");
	while (json_view_step(wide, &place))
		count++;
	assert_int_equal(count, WIDE + 1);
	assert_int_equal(json_view_get(scan(text), "a").len, 2 * DEEP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members_are_found_by_their_path),
		cmocka_unit_test(test_several_members_are_found_in_one_walk),
		cmocka_unit_test(test_strings_are_decoded),
		cmocka_unit_test(test_a_string_that_is_another_is_told_from_it),
		cmocka_unit_test(test_numbers_and_claims),
		cmocka_unit_test(test_the_members_of_a_container_come_in_order),
		cmocka_unit_test(test_an_escaped_quote_ends_no_string),
		cmocka_unit_test(test_many_escapes_cost_what_they_are),
		cmocka_unit_test(test_base64),
		cmocka_unit_test(test_invalid_json_is_refused),
		cmocka_unit_test(test_depth_and_width_cost_no_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
