/* redact: secrets are hidden wherever they occur, and no other text is. */
#include "base/redact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "base/utf8.h"
#include "tests/unit/cost.h"
#include "tests/unit/naive_redact.h"

#define M REDACT_TEXT

static void add(struct redact *m, const char *value, bool is_hidden)
{
	struct err e;
	bool got = !is_hidden;

	assert_int_equal(redact_add(m, value, &got, &e), 0);
	assert_int_equal(got, is_hidden);
}

static char *text_of(struct buffer *b)
{
	assert_false(b->is_cut);
	char *text = text_format("%.*s", (int)buffer_len(b),
				 buffer_len(b) ? (const char *)buffer_data(b) : "");
	buffer_done(b);
	return text;
}

static char *masked(const struct redact *m, const char *text)
{
	struct buffer out;

	buffer_init(&out, 1 << 20);
	if (redact_text(m, text, strlen(text), &out))
		return text_of(&out);
	assert_int_equal(buffer_len(&out), 0);
	buffer_done(&out);
	return text_copy(text);
}

#define BAD UTF8_REPLACEMENT

static void test_secrets_are_hidden(void **state)
{
	static const struct {
		const char *values[4], *text, *want;
	} rows[] = {
		{ { "secret" }, "a secret.", "a " M "." },
		{ { "secret" }, "secret", M },
		{ { "secret" }, "secretsecret", M },
		{ { "secret" }, "secret secret", M " " M },
		{ { "secret" }, "secre", "secre" },
		{ { "secret" }, "sesecret", "se" M },
		{ { "secret" }, "", "" },
		{ { "secret" }, "SECRET", "SECRET" },
		{ { "abcd", "bcdef" }, "abcdef", M },
		{ { "abcd", "cdef" }, "xabcdefx", "x" M "x" },
		{ { "abcdefgh", "cdef" }, "abcdefg", "ab" M "g" },
		{ { "abcdefgh", "cdef" }, "abcdefgh!", M "!" },
		{ { "aaaa" }, "aaaaaaa", M },
		{ { "aaaa" }, "aaa", "aaa" },
		{ { "abc" }, "abc", "abc" },
		{ { "" }, "x", "x" },
		{ { "  secret \n" }, "secret", M },
		{ { "first\nsecond\n}" }, "x first y second z }", "x " M " y " M " z }" },
		{ { "first\nsecond\n}" }, "first\nsecond\n}", M },
		{ { "first\r\nsecond" }, "first\r\r\nsecond", M "\r\r\n" M },
		{ { "\xc3\xa9\xc3\xa9" }, "\xc3\xa9\xc3\xa9 \xc3\xa9", M " \xc3\xa9" },
		{ { "\xff\xfe\xfd\xfc" }, "a\xff\xfe\xfd\xfc", "a" M },
		{ { "p\xe4ss\xe2\x82" }, "p\xe4ss\xe2\x82.", M "." },
		{ { "p\xe4ss\xe2\x82" }, "p" BAD "ss" BAD "x", M "x" },
		{ { "p\xe4ss\xe2\x82" }, "p" BAD "ss" BAD BAD "x", M "x" },
		{ { "p\xe2\x82ss" }, "p" BAD "ss p" BAD BAD "ss", M " " M },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct redact m = { 0 };
		struct err e;
		for (size_t v = 0; v < 4 && rows[i].values[v]; v++)
			assert_int_equal(redact_add(&m, rows[i].values[v], NULL, &e), 0);
		AUTO_FREE char *got = masked(&m, rows[i].text);
		assert_string_equal(got, rows[i].want);
		redact_done(&m);
	}
	redact_done(NULL);
}

static void test_a_short_value_is_not_hidden_and_that_is_told(void **state)
{
	struct redact m = { 0 };

	(void)state;
	add(&m, "", false);
	add(&m, "abc", false);
	add(&m, "\n ab \n", false);
	assert_true(redact_is_empty(&m));
	add(&m, "abcd", true);
	assert_false(redact_is_empty(&m));
	redact_done(&m);
}

static void test_there_is_room_for_so_much(void **state)
{
	struct redact m = { 0 };
	char *value = mem_zeroed(1, REDACT_BYTES + 1);
	struct err e;

	(void)state;
	/* The value counts twice against the bound: as a whole, and as a line of it. */
	memset(value, 'x', REDACT_BYTES / 2);
	assert_int_equal(redact_add(&m, value, NULL, &e), 0);
	memset(value, 'y', REDACT_BYTES / 2 + 1);
	assert_int_equal(redact_add(&m, value, NULL, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	add(&m, "small", true);
	AUTO_FREE char *got = masked(&m, "small yyyy");
	assert_string_equal(got, M " yyyy");
	free(value);
	redact_done(&m);
}

static void feed(const struct redact *m, struct redact_stream *s, const char *text,
		 const char *want)
{
	struct buffer out;

	buffer_init(&out, 1 << 16);
	if (text)
		redact_feed(m, s, text, strlen(text), &out);
	else
		redact_flush(s, &out);
	AUTO_FREE char *got = text_of(&out);
	assert_string_equal(got, want);
}

/* NULL as a piece: the bytes that were held back are flushed. */
static void test_a_secret_in_pieces_is_hidden(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "a sec", "a " },    { "ret b", M " b" },   { "sec", "" },
		{ "tor", "sector" },  { "s", "" },	     { NULL, "s" },
		{ NULL, "" },	      { "ecre", "" },	     { "t", M },
		{ "secret", M },      { "sec", "" },	     { NULL, "sec" },
		{ "urity", "urity" }, { "s", "" },	     { "e", "" },
		{ "c", "" },	      { "secret", "sec" M }, { "the", "the" },
	};
	struct redact m = { 0 };
	struct redact_stream s = { 0 };

	(void)state;
	add(&m, "secret", true);
	/* Secrets side by side are masked as one, also over pieces: the tenth row's
	 * secret follows that of the ninth, and adds no mask. */
	for (size_t i = 0; i < 9; i++)
		feed(&m, &s, rows[i].text, rows[i].want);
	feed(&m, &s, "secret", "");
	for (size_t i = 10; i < ARRAY_LEN(rows); i++)
		feed(&m, &s, rows[i].text, rows[i].want);
	redact_stream_done(&s);
	redact_done(&m);
}

static void test_a_value_that_is_added_is_hidden_from_then_on(void **state)
{
	struct redact m = { 0 };
	struct redact_stream s = { 0 };

	(void)state;
	feed(&m, &s, "first", "first");
	add(&m, "first", true);
	feed(&m, &s, "first sec", M " sec");
	feed(&m, &s, "fir", "");
	add(&m, "firm", true);
	add(&m, "second", true);
	feed(&m, &s, "m second.", M " " M ".");
	redact_stream_done(&s);
	redact_done(&m);
}

static unsigned seed = 1;

static size_t below(size_t n)
{
	return (size_t)rand_r(&seed) % n;
}

/* Returns a random text of a few letters, so that many parts of it are equal. */
static char *random_text(size_t max, const char *letters)
{
	size_t len = below(max + 1);
	char *text = mem_zeroed(1, len + 1);

	for (size_t i = 0; i < len; i++)
		text[i] = letters[below(strlen(letters))];
	return text;
}

static void try_once(bool has_flushes)
{
	struct redact m = { 0 };
	struct redact_stream s = { 0 };
	char *values[5];
	size_t count = 1 + below(5), flushes[40], flush_count = 0, at = 0;
	struct buffer out;
	struct err e;

	buffer_init(&out, 1 << 16);
	for (size_t i = 0; i < count; i++) {
		values[i] = random_text(9, "ab\nc");
		assert_int_equal(redact_add(&m, values[i], NULL, &e), 0);
	}
	char *text = random_text(200, "aaabbbc\n");
	size_t len = strlen(text);
	while (at < len) {
		size_t n = 1 + below(len - at);
		redact_feed(&m, &s, text + at, n, &out);
		at += n;
		if (has_flushes && flush_count < 40 && below(2)) {
			redact_flush(&s, &out);
			flushes[flush_count++] = at;
		}
	}
	redact_flush(&s, &out);
	struct naive naive = { (const char *const *)values, count, text, len, flushes,
			       flush_count, NULL };
	size_t want_len;
	char *want = naive_redact(&naive, &want_len);
	assert_int_equal(buffer_len(&out), want_len);
	assert_memory_equal(want_len ? buffer_data(&out) : (const uint8_t *)"", want,
			    want_len);
	for (size_t i = 0; i < count; i++)
		free(values[i]);
	free(want);
	free(text);
	buffer_done(&out);
	redact_stream_done(&s);
	redact_done(&m);
}

static void test_the_output_is_that_of_a_naive_search(void **state)
{
	(void)state;
	for (int i = 0; i < 20000; i++)
		try_once(i % 2);
}

/* 4 MiB of text that almost matches at each place: comparing with memcmp at
 * each place would take 2^38 steps for the long value, and 2^24 for the short
 * one. */
#define HOSTILE_LEN	  (4u << 20)
#define HOSTILE_VALUE_LEN 100000u

/* Returns the time to search a text of only letters a for the value of `len`
 * letters, of which the last is b. */
static int64_t cost_of_masking(char *value, size_t value_len, const char *text)
{
	struct redact m = { 0 };
	struct redact_stream s = { 0 };
	struct buffer out;

	memset(value, 'a', value_len);
	value[value_len - 1] = 'b';
	value[value_len] = '\0';
	add(&m, value, true);
	int64_t began = cost_us();
	buffer_init(&out, 4 * HOSTILE_LEN);
	redact_feed(&m, &s, text, HOSTILE_LEN, &out);
	assert_true(buffer_len(&s.held) < HOSTILE_VALUE_LEN);
	redact_flush(&s, &out);
	assert_int_equal(buffer_len(&out), HOSTILE_LEN);
	int64_t cost = cost_us() - began;
	buffer_done(&out);
	redact_stream_done(&s);
	redact_done(&m);
	return cost;
}

static void test_a_long_value_costs_no_more_than_a_short_one(void **state)
{
	AUTO_FREE char *value = mem_zeroed(1, HOSTILE_VALUE_LEN + 1);
	AUTO_FREE char *text = mem_zeroed(1, HOSTILE_LEN + 1);

	(void)state;
	memset(text, 'a', HOSTILE_LEN);
	int64_t one = cost_of_masking(value, REDACT_MIN, text);
	int64_t other = cost_of_masking(value, HOSTILE_VALUE_LEN, text);
	if (other > 20 * one)
		fail_msg("%lld us for a short value, %lld us for a long one",
			 (long long)one, (long long)other);
}

static void test_an_error_is_masked_in_place(void **state)
{
	struct redact m = { 0 };
	struct err e;

	(void)state;
	add(&m, "hunter22", true);
	(void)err_set(&e, ERR_USAGE, "'hunter22' is no file");
	(void)err_remedy(&e, "try not hunter22");
	redact_err(&m, &e);
	assert_string_equal(e.text, "'" M "' is no file");
	assert_string_equal(e.remedy, "try not " M);
	add(&m, "aaaa", true);
	memset(e.text, ' ', sizeof(e.text));
	for (size_t i = 0; i + 5 < sizeof(e.text); i += 5)
		memcpy(e.text + i, "aaaa", 4);
	e.text[sizeof(e.text) - 1] = '\0';
	redact_err(&m, &e);
	assert_true(strlen(e.text) == sizeof(e.text) - 1);
	assert_null(strstr(e.text, "aaaa"));
	redact_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_secrets_are_hidden),
		cmocka_unit_test(test_a_short_value_is_not_hidden_and_that_is_told),
		cmocka_unit_test(test_there_is_room_for_so_much),
		cmocka_unit_test(test_a_secret_in_pieces_is_hidden),
		cmocka_unit_test(test_a_value_that_is_added_is_hidden_from_then_on),
		cmocka_unit_test(test_the_output_is_that_of_a_naive_search),
		cmocka_unit_test(test_a_long_value_costs_no_more_than_a_short_one),
		cmocka_unit_test(test_an_error_is_masked_in_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
