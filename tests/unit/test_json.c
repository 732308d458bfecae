#include "policy/json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"

/* A text, which may contain a 0 byte, and its length. */
#define TEXT(s) (s), sizeof(s) - 1

struct sample {
	const char *text;
	size_t len;
	const char *says; /* part of the error */
};

static const struct sample good[] = {
	{ TEXT("0"), NULL },
	{ TEXT(" \t\r\n-0 "), NULL },
	{ TEXT("-12.5e-3"), NULL },
	{ TEXT("1E+2"), NULL },
	{ TEXT("9007199254740992"), NULL },
	{ TEXT("-9007199254740992"), NULL },
	{ TEXT("null"), NULL },
	{ TEXT("[true,false,null,\"\",{},[]]"), NULL },
	{ TEXT("{\"a\":1,\"A\":2}"), NULL },
	{ TEXT("\"\\u0001\\ud83d\\ude00\\/\\\"\\\\\\b\\f\\n\\r\\t\""), NULL },
	{ TEXT("\"\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xef\xbf\xbf\""), NULL },
	{ TEXT("\"\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf \x7f\""), NULL },
};

static const struct sample bad[] = {
	{ TEXT(""), "line 1, column 1: a value was expected" },
	{ TEXT("[1,\n 2,]"), "line 2, column 4: a value was expected" },
	{ TEXT("{} x"), "column 4: something follows the value" },
	{ TEXT("{}{}"), "something follows" },
	{ TEXT("{}\0"), "something follows" },
	{ TEXT("\0"), "a value was expected" },
	{ TEXT("\xef\xbb\xbf{}"), "a value was expected" },
	{ TEXT("// no\n1"), "a value was expected" },
	{ TEXT("nul"), "a value was expected" },
	{ TEXT("nulll"), "something follows" },
	{ TEXT("True"), "a value was expected" },
	{ TEXT("NaN"), "a value was expected" },
	{ TEXT("-Infinity"), "a value was expected" },
	{ TEXT("'a'"), "a value was expected" },
	{ TEXT("+1"), "a value was expected" },
	{ TEXT(".5"), "a value was expected" },
	{ TEXT("-"), "a value was expected" },
	{ TEXT("01"), "can't begin with 0" },
	{ TEXT("-00"), "can't begin with 0" },
	{ TEXT("1."), "a digit was expected" },
	{ TEXT("1e"), "a digit was expected" },
	{ TEXT("1e+"), "a digit was expected" },
	{ TEXT("0x10"), "something follows" },
	{ TEXT("9007199254740993"), "beyond 2^53" },
	{ TEXT("-9007199254740993"), "beyond 2^53" },
	{ TEXT("18446744073709551616"), "beyond 2^53" },
	{ TEXT("1e309"), "out of range" },
	{ TEXT("1.00000000000000000000000000000000000000000000000000000000000000"),
	  "more than 63 characters" },
	{ TEXT("[1"), "',' or ']' was expected" },
	{ TEXT("[1 2]"), "',' or ']' was expected" },
	{ TEXT("[,1]"), "a value was expected" },
	{ TEXT("{\"a\":1"), "',' or '}' was expected" },
	{ TEXT("{\"a\" 1}"), "':' was expected" },
	{ TEXT("{\"a\":}"), "a value was expected" },
	{ TEXT("{\"a\":1,}"), "a string was expected" },
	{ TEXT("{a:1}"), "a string was expected" },
	{ TEXT("{1:1}"), "a string was expected" },
	{ TEXT("[1}"), "',' or ']' was expected" },
	{ TEXT("\"a"), "ends inside a string" },
	{ TEXT("\"a\nb\""), "control character" },
	{ TEXT("\"a\0b\""), "control character" },
	{ TEXT("\"\\x41\""), "no such escape" },
	{ TEXT("\"\\"), "no such escape" },
	{ TEXT("\"\\u12"), "four hexadecimal digits" },
	{ TEXT("\"\\u12g4\""), "four hexadecimal digits" },
	{ TEXT("\"\\u0000\""), "\\u0000" },
	{ TEXT("\"\\ud800\""), "half of a surrogate pair" },
	{ TEXT("\"\\udc00\""), "half of a surrogate pair" },
	{ TEXT("\"\\ud800\\u0041\""), "half of a surrogate pair" },
	{ TEXT("\"\x80\""), "not valid UTF-8" },
	{ TEXT("\"\xc0\x80\""), "not valid UTF-8" },
	{ TEXT("\"\xc1\xbf\""), "not valid UTF-8" },
	{ TEXT("\"\xc2\""), "not valid UTF-8" },
	{ TEXT("\"\xe0\x9f\xbf\""), "not valid UTF-8" },
	{ TEXT("\"\xed\xa0\x80\""), "not valid UTF-8" },
	{ TEXT("\"\xe2\x82"), "not valid UTF-8" },
	{ TEXT("\"\xe2\x82\x20\""), "not valid UTF-8" },
	{ TEXT("\"\xf0\x8f\xbf\xbf\""), "not valid UTF-8" },
	{ TEXT("\"\xf4\x90\x80\x80\""), "not valid UTF-8" },
	{ TEXT("\"\xf5\x80\x80\x80\""), "not valid UTF-8" },
	{ TEXT("{\"a\":1,\"b\":2,\"a\":3}"), "the key 'a' stands twice" },
	{ TEXT("{\"a\":1,\"\\u0061\":3}"), "the key 'a' stands twice" },
	{ TEXT("[{\"x\":{\"k\":1,\"k\":1}}]"), "the key 'k' stands twice" },
};

static void what_is_json_is_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct err e = { 0 };
		AUTO_JSON struct json *doc = json_parse(good[i].text, good[i].len, &e);

		if (!doc)
			fail_msg("%s: %s", good[i].text, e.text);
	}
}

/* Each text is copied to its exact size, so that a sanitizer sees a read beyond
 * it. */
static void what_is_not_json_is_refused_with_its_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err e = { 0 };
		AUTO_FREE char *copy = malloc(bad[i].len + !bad[i].len);

		memcpy(copy, bad[i].text, bad[i].len);
		AUTO_JSON struct json *doc = json_parse(copy, bad[i].len, &e);
		if (doc || !strstr(e.text, bad[i].says))
			fail_msg("sample %zu, %s: '%s'", i, bad[i].text, e.text);
	}
}

static char *nested(unsigned depth)
{
	char *text = malloc(2 * depth + 1);

	memset(text, '[', depth);
	memset(text + depth, ']', depth);
	text[2 * depth] = '\0';
	return text;
}

static void depth_is_bounded(void **state)
{
	struct err e = { 0 };
	AUTO_FREE char *deep = nested(JSON_DEPTH_MAX);
	AUTO_FREE char *deeper = nested(JSON_DEPTH_MAX + 1);
	AUTO_FREE char *abyss = nested(1000000);
	AUTO_JSON struct json *doc = json_parse(deep, strlen(deep), &e);

	(void)state;
	assert_non_null(doc);
	assert_null(json_parse(deeper, strlen(deeper), &e));
	assert_string_equal(e.text, "line 1, column 66: nested more than 64 deep");
	assert_null(json_parse(abyss, strlen(abyss), &e));
}

/* Makes "[1,1,...,1]"; the array itself counts as a value, too. */
static char *ones(size_t count)
{
	char *text = malloc(2 * count + 2);

	for (size_t i = 0; i < count; i++)
		memcpy(text + 2 * i, ",1", 2);
	text[0] = '[';
	memcpy(text + 2 * count, "]", 2);
	return text;
}

static void the_number_of_values_is_bounded(void **state)
{
	struct err e = { 0 };
	AUTO_FREE char *many = ones(JSON_VALUES_MAX - 1);
	AUTO_FREE char *more = ones(JSON_VALUES_MAX);
	AUTO_JSON struct json *doc = json_parse(many, strlen(many), &e);

	(void)state;
	assert_non_null(doc);
	assert_null(json_parse(more, strlen(more), &e));
	assert_non_null(strstr(e.text, "more than 262144 values"));
}

static void readers_know_where_they_are(void **state)
{
	static const char text[] =
		"{\"list\":[1,\"two\",-3,1.5],\"none\":null,\"List\":[]}";
	static const char *const keys[] = { "list", "none", NULL };
	struct err e = { 0 };
	AUTO_JSON struct json *doc = json_parse(text, strlen(text), &e);
	struct json_at root, list, item = { 0 };
	const char *string;
	uint64_t number = 7;

	(void)state;
	json_root(doc, "file", &root);
	assert_false(json_member(&root, "none", &item));
	assert_null(item.value);
	/* A lookup that fails leaves `item` without a value. */
	assert_false(json_member(&item, "none", &list));
	assert_false(json_member(&root, "LIST", &item));
	assert_true(json_member(&root, "list", &list));
	assert_string_equal(list.place, "file.list");
	assert_int_equal(json_only(&root, keys, &e), -1);
	assert_string_equal(e.text, "file: unknown key 'List'");

	assert_true(json_step(&list, &item));
	assert_int_equal(json_uint(&item, &number, &e), 0);
	assert_int_equal(number, 1);
	assert_int_equal(json_string(&item, &string, &e), -1);
	assert_string_equal(e.text, "file.list[0]: a string was expected, not a number");
	assert_true(json_step(&list, &item));
	assert_int_equal(json_string(&item, &string, &e), 0);
	assert_string_equal(string, "two");
	for (size_t i = 2; i < 4; i++) {
		assert_true(json_step(&list, &item));
		assert_int_equal(item.index, i);
		assert_int_equal(json_uint(&item, &number, &e), -1);
	}
	assert_string_equal(e.text, "file.list[3]: not a whole number from 0 to 2^53");
	assert_false(json_step(&list, &item));
	assert_int_equal(number, 1);
}

static void a_member_that_is_not_as_expected_has_the_other_value(void **state)
{
	static const char text[] = "{\"t\":\"a\",\"n\":7,\"part\":1.5,\"null\":null}";
	static const struct {
		const char *key, *text;
		uint64_t number;
	} rows[] = {
		{ "t", "a", 9 },	{ "n", "other", 7 },	  { "part", "other", 9 },
		{ "null", "other", 9 }, { "absent", "other", 9 },
	};
	AUTO_JSON struct json *doc = json_parse(text, strlen(text), NULL);
	struct json_at root, none = { 0 };

	(void)state;
	json_root(doc, "x", &root);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_string_equal(json_member_string(&root, rows[i].key, "other"),
				    rows[i].text);
		assert_int_equal(json_member_uint(&root, rows[i].key, 9), rows[i].number);
	}
	assert_null(json_member_string(&none, "t", NULL));
}

static void members_are_stepped_through_in_order(void **state)
{
	static const char text[] = "{\"b\":1,\"a\":[]}";
	struct err e = { 0 };
	AUTO_JSON struct json *doc = json_parse(text, strlen(text), &e);
	struct json_at root, item = { 0 };
	const char *key;

	(void)state;
	json_root(doc, "x", &root);
	assert_false(json_step(&root, &item)); /* it is no array */
	assert_true(json_step_key(&root, &item, &key));
	assert_string_equal(key, "b");
	assert_true(json_step_key(&root, &item, &key));
	assert_string_equal(item.place, "x.a");
	assert_int_equal(json_type(&item), JSON_ARRAY);
	assert_false(json_step_key(&root, &item, &key));
}

static void a_value_that_is_absent_has_no_type(void **state)
{
	static const char text[] = "{\"n\":null}";
	struct err e = { 0 };
	AUTO_JSON struct json *doc = json_parse(text, strlen(text), &e);
	struct json_at root, absent, item = { 0 };
	const char *key;

	(void)state;
	json_root(doc, "x", &root);
	assert_false(json_member(&root, "n", &absent));
	assert_int_equal(json_type(&absent), JSON_NONE);
	assert_false(json_step(&absent, &item));
	assert_false(json_step_key(&absent, &item, &key));
	assert_int_equal(json_expect(&absent, JSON_OBJECT, &e), -1);
	assert_string_equal(e.text, ": an object was expected, not no value");
}

static void a_long_place_is_cut_not_overrun(void **state)
{
	char text[1200];
	struct err e = { 0 };
	struct json_at root, item = { 0 };
	const char *key, *string;

	(void)state;
	(void)snprintf(text, sizeof(text), "{\"%0*d\":1}", 1000, 0);
	AUTO_JSON struct json *doc = json_parse(text, strlen(text), &e);
	json_root(doc, "profile", &root);
	assert_true(json_step_key(&root, &item, &key));
	assert_int_equal(json_string(&item, &string, &e), -1);
	assert_int_equal(strlen(item.place), strlen("profile.") + 40);
	json_root(doc, text, &root); /* a name that is longer than a place */
	assert_int_equal(strlen(root.place), JSON_PLACE_MAX - 1);
	item = (struct json_at){ 0 };
	assert_true(json_step_key(&root, &item, &key));
	assert_int_equal(strlen(item.place), JSON_PLACE_MAX - 42 + 1 + 40);
	json_free(NULL);
}

static void integers_of_64_bits_are_read_where_asked_for(void **state)
{
	static const char text[] = "[18446744073709551615,-9223372036854775808,7]";
	static const char *const too_large[] = { "18446744073709551616",
						 "-9223372036854775809" };
	struct json_at root, item = { 0 };
	struct err e = { 0 };
	bool is_negative;
	uint64_t amount;

	(void)state;
	AUTO_JSON struct json *doc = json_parse_wide(text, sizeof(text) - 1, &e);
	assert_non_null(doc);
	json_root(doc, "file", &root);
	assert_true(json_step(&root, &item));
	assert_int_equal(json_wide(&item, &is_negative, &amount, &e), 0);
	assert_true(!is_negative && amount == UINT64_MAX);
	assert_true(json_step(&root, &item));
	assert_int_equal(json_wide(&item, &is_negative, &amount, &e), 0);
	assert_true(is_negative && amount == 1ull << 63);
	for (size_t i = 0; i < ARRAY_LEN(too_large); i++) {
		assert_null(json_parse_wide(too_large[i], strlen(too_large[i]), &e));
		assert_non_null(strstr(e.text, "beyond 64 bits"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_json_is_read),
		cmocka_unit_test(integers_of_64_bits_are_read_where_asked_for),
		cmocka_unit_test(what_is_not_json_is_refused_with_its_place),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(the_number_of_values_is_bounded),
		cmocka_unit_test(readers_know_where_they_are),
		cmocka_unit_test(a_member_that_is_not_as_expected_has_the_other_value),
		cmocka_unit_test(members_are_stepped_through_in_order),
		cmocka_unit_test(a_value_that_is_absent_has_no_type),
		cmocka_unit_test(a_long_place_is_cut_not_overrun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
