/* http_body: where a request's body ends, in pieces of any size. */
#include "egress/http_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"
#include "tests/unit/exact.h"

static struct http_body begin(enum http_framing framing, uint64_t length)
{
	struct http_head head = { .framing = framing, .length = length };
	struct http_body body;

	memset(&body, 0xff, sizeof(body));
	http_body_init(&body, &head);
	return body;
}

static enum http_verdict take(struct http_body *b, const void *bytes, size_t len,
			      size_t *ret_taken)
{
	AUTO_FREE uint8_t *copy = exact_copy(bytes, len);

	*ret_taken = len + 1;
	enum http_verdict verdict = http_body_take(b, copy, len, ret_taken);
	assert_true(*ret_taken <= len);
	assert_int_equal(verdict == HTTP_REFUSED, b->why != HTTP_FINE);
	if (verdict == HTTP_NEED_MORE)
		assert_int_equal(*ret_taken, len);
	return verdict;
}

static void test_a_body_of_no_bytes_is_done(void **state)
{
	static const struct {
		enum http_framing framing;
		uint64_t length;
	} rows[] = { { HTTP_NO_BODY, 0 }, { HTTP_NO_BODY, 5 }, { HTTP_LENGTH, 0 } };
	size_t taken;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct http_body b = begin(rows[i].framing, rows[i].length);
		assert_int_equal(take(&b, "", 0, &taken), HTTP_DONE);
		assert_int_equal(taken, 0);
		assert_int_equal(take(&b, "GET ", 4, &taken), HTTP_DONE);
		assert_int_equal(taken, 0);
	}
}

static void test_a_body_of_known_length(void **state)
{
	static const char bytes[] = "12345\r\nGET / HTTP/1.1\r\n";

	(void)state;
	for (size_t length = 1; length < sizeof(bytes) - 1; length++)
		for (size_t piece = 1; piece < sizeof(bytes); piece++) {
			struct http_body b = begin(HTTP_LENGTH, length);
			enum http_verdict verdict = HTTP_NEED_MORE;
			size_t at = 0, taken;
			while (verdict == HTTP_NEED_MORE) {
				size_t left = sizeof(bytes) - 1 - at;
				verdict = take(&b, bytes + at,
					       left < piece ? left : piece, &taken);
				at += taken;
			}
			assert_int_equal(verdict, HTTP_DONE);
			assert_int_equal(at, length);
		}
}

static void test_a_body_of_many_bytes(void **state)
{
	static uint8_t bytes[65536];
	struct http_body b = begin(HTTP_LENGTH, UINT64_C(999999999999999999));
	size_t taken;

	(void)state;
	assert_int_equal(http_body_take(&b, bytes, sizeof(bytes), &taken),
			 HTTP_NEED_MORE);
	assert_int_equal(taken, sizeof(bytes));
	assert_true(b.left == UINT64_C(999999999999999999) - sizeof(bytes));
	/* None of these bytes is looked at. */
	assert_int_equal(http_body_take(&b, NULL, SIZE_MAX / 32, &taken), HTTP_NEED_MORE);
}

/* --- chunked bodies -------------------------------------------------------------- */

struct chunked_case {
	const char *bytes;
	size_t len;
	enum http_why why;
};

#define ROW(why, bytes)                       \
	{                                     \
		bytes, sizeof(bytes) - 1, why \
	}
/* A body whose first size line is this one. */
#define SIZE(why, line) ROW(why, line "12345\r\n0\r\n\r\n")
/* A body with these trailers. */
#define LAST(why, trailers) ROW(why, "1\r\na\r\n0\r\n" trailers "\r\n")

static const struct chunked_case chunked_cases[] = {
	ROW(HTTP_FINE, "0\r\n\r\n"),
	ROW(HTTP_FINE, "00\r\n\r\n"),
	ROW(HTTP_FINE, "00000000\r\n\r\n"),
	ROW(HTTP_FINE, "1\r\na\r\n0\r\n\r\n"),
	ROW(HTTP_FINE, "1\r\n\r\r\n1\r\n\n\r\n0\r\n\r\n"),
	ROW(HTTP_FINE, "5\r\n0\r\n\r\n\r\n0\r\n\r\n"),
	ROW(HTTP_FINE, "a\r\n0123456789\r\n0\r\n\r\n"),
	ROW(HTTP_FINE, "A\r\n0123456789\r\n0\r\n\r\n"),
	ROW(HTTP_FINE, "0A\r\n0123456789\r\n0\r\n\r\n"),
	ROW(HTTP_FINE, "11\r\n0123456789abcdefg\r\n0\r\n\r\n"),
	ROW(HTTP_FINE, "5\r\n\0\1\2\xfe\xff\r\n00\r\n\r\n"),
	SIZE(HTTP_FINE, "5\r\n"),
	SIZE(HTTP_FINE, "05\r\n"),
	SIZE(HTTP_FINE, "00000005\r\n"),
	SIZE(HTTP_BAD_CHUNK, "000000005\r\n"),
	SIZE(HTTP_BAD_CHUNK, "0000000000000005\r\n"),
	SIZE(HTTP_BAD_CHUNK, "00000000000000005\r\n"),
	SIZE(HTTP_BAD_CHUNK, "100000005\r\n"),
	SIZE(HTTP_BAD_CHUNK, "10000000000000005\r\n"),
	SIZE(HTTP_BAD_CHUNK, "80000000\r\n"),
	SIZE(HTTP_BAD_CHUNK, "ffffffff\r\n"),
	SIZE(HTTP_BAD_CHUNK, "fffffffffffffffb\r\n"),
	SIZE(HTTP_BAD_CHUNK, "ffffffffffffffff5\r\n"),
	SIZE(HTTP_BAD_CHUNK, "\r\n"),
	SIZE(HTTP_BAD_CHUNK, "\n"),
	SIZE(HTTP_BAD_CHUNK, "\r"),
	SIZE(HTTP_BAD_CHUNK, " \r\n"),
	SIZE(HTTP_BAD_CHUNK, " 5\r\n"),
	SIZE(HTTP_BAD_CHUNK, "\t5\r\n"),
	SIZE(HTTP_BAD_CHUNK, "5 \r\n"),
	SIZE(HTTP_BAD_CHUNK, "5\t\r\n"),
	SIZE(HTTP_BAD_CHUNK, "5\n"),
	SIZE(HTTP_BAD_CHUNK, "5\r"),
	SIZE(HTTP_BAD_CHUNK, "5\r\r\n"),
	SIZE(HTTP_BAD_CHUNK, "5\n\r\n"),
	SIZE(HTTP_BAD_CHUNK, "5\rX\n"),
	SIZE(HTTP_BAD_CHUNK, "5\0\r\n"),
	SIZE(HTTP_BAD_CHUNK, "\0005\r\n"),
	SIZE(HTTP_BAD_CHUNK, "5\x0b\r\n"),
	SIZE(HTTP_BAD_CHUNK, "5\xa0\r\n"),
	SIZE(HTTP_BAD_CHUNK, "+5\r\n"),
	SIZE(HTTP_BAD_CHUNK, "-5\r\n"),
	SIZE(HTTP_BAD_CHUNK, "-0\r\n"),
	SIZE(HTTP_BAD_CHUNK, "0x5\r\n"),
	SIZE(HTTP_BAD_CHUNK, "0X5\r\n"),
	SIZE(HTTP_BAD_CHUNK, "x5\r\n"),
	SIZE(HTTP_BAD_CHUNK, "5h\r\n"),
	SIZE(HTTP_BAD_CHUNK, "g\r\n"),
	SIZE(HTTP_BAD_CHUNK, "G\r\n"),
	SIZE(HTTP_BAD_CHUNK, "5.0\r\n"),
	SIZE(HTTP_BAD_CHUNK, "5_0\r\n"),
	SIZE(HTTP_BAD_CHUNK, "5,5\r\n"),
	SIZE(HTTP_BAD_CHUNK, "\"5\"\r\n"),
	SIZE(HTTP_BAD_CHUNK, "/\r\n"),
	SIZE(HTTP_BAD_CHUNK, ":\r\n"),
	SIZE(HTTP_BAD_CHUNK, "@\r\n"),
	SIZE(HTTP_BAD_CHUNK, "`\r\n"),
	/* Extensions, and what public lists call TERM.EXT and EXT.TERM. */
	SIZE(HTTP_BAD_CHUNK, "5;\r\n"),
	SIZE(HTTP_BAD_CHUNK, "5;a\r\n"),
	SIZE(HTTP_BAD_CHUNK, "5;a=b\r\n"),
	SIZE(HTTP_BAD_CHUNK, "5;a=\"b\"\r\n"),
	SIZE(HTTP_BAD_CHUNK, "5 ;a=b\r\n"),
	SIZE(HTTP_BAD_CHUNK, "5;\n"),
	SIZE(HTTP_BAD_CHUNK, "5;a\nb\r\n"),
	SIZE(HTTP_BAD_CHUNK, "5;a\rb\r\n"),
	SIZE(HTTP_BAD_CHUNK, "5;a=\"\r\n0\r\n\r\nGET / HTTP/1.1\r\n\"\r\n"),
	ROW(HTTP_BAD_CHUNK, "0;a\r\n\r\n"),
	ROW(HTTP_BAD_CHUNK, "0 \r\n\r\n"),
	ROW(HTTP_BAD_CHUNK, "0\n\r\n"),
	ROW(HTTP_BAD_CHUNK, "0\n\n"),
	ROW(HTTP_BAD_CHUNK, "0\r\r\n\r\n"),
	ROW(HTTP_BAD_CHUNK, "000000000\r\n\r\n"),
	/* The end of a chunk: TERM.SPILL, ONE.TWO, ZERO.TWO. */
	ROW(HTTP_BAD_CHUNK, "5\r\n12345\n0\r\n\r\n"),
	ROW(HTTP_BAD_CHUNK, "5\r\n12345\r0\r\n\r\n"),
	ROW(HTTP_BAD_CHUNK, "5\r\n12345\r\r\n0\r\n\r\n"),
	ROW(HTTP_BAD_CHUNK, "5\r\n12345\n\r0\r\n\r\n"),
	ROW(HTTP_BAD_CHUNK, "5\r\n12345XX0\r\n\r\n"),
	ROW(HTTP_BAD_CHUNK, "5\r\n12345\rX0\r\n\r\n"),
	ROW(HTTP_BAD_CHUNK, "5\r\n123450\r\n\r\n"),
	ROW(HTTP_BAD_CHUNK, "5\r\n123456\r\n0\r\n\r\n"),
	ROW(HTTP_BAD_CHUNK, "5\r\n1234\r\n0\r\n\r\n"),
	ROW(HTTP_BAD_CHUNK, "5\r\n12345 \r\n0\r\n\r\n"),
	ROW(HTTP_BAD_CHUNK, "5\r\n12345\r\n\r\n0\r\n\r\n"),
	ROW(HTTP_BAD_CHUNK, "5\r\n12345\r\n 0\r\n\r\n"),
	ROW(HTTP_BAD_CHUNK, "5\r\n12345\r\n5;a\r\n12345\r\n0\r\n\r\n"),

	/* --- trailers --- */
	LAST(HTTP_FINE, ""),
	LAST(HTTP_FINE, "A: b\r\n"),
	LAST(HTTP_FINE, "A:\r\n"),
	LAST(HTTP_FINE, "A: \tb\t\xc3\xa4\r\nC:d\r\n"),
	LAST(HTTP_FINE, "X-Amz-Trailer-Signature: 0\r\nGrpc-Status: 0\r\n"),
	LAST(HTTP_FINE, "a-name-that-is-longer-than-each-that-counts: b\r\n"),
	LAST(HTTP_FINE, "Transfer-Encodings: b\r\nHosts: a\r\nHos: a\r\n"),
	LAST(HTTP_FINE, "Transfer-Encodingxyz: b\r\n"),
	LAST(HTTP_FINE, "X-Host: a\r\nTransfer: b\r\nLength: c\r\n"),
	LAST(HTTP_FINE, "A: Host: other.example\r\n"),
	LAST(HTTP_BAD_TRAILER, "Host: example.com\r\n"),
	LAST(HTTP_BAD_TRAILER, "host:other.example\r\n"),
	LAST(HTTP_BAD_TRAILER, "HOST:\r\n"),
	LAST(HTTP_BAD_TRAILER, "A: b\r\nHost: other.example\r\n"),
	LAST(HTTP_BAD_TRAILER, "Content-Length: 5\r\n"),
	LAST(HTTP_BAD_TRAILER, "content-length:0\r\n"),
	LAST(HTTP_BAD_TRAILER, "Content_Length: 5\r\n"),
	LAST(HTTP_BAD_TRAILER, "Transfer-Encoding: chunked\r\n"),
	LAST(HTTP_BAD_TRAILER, "TRANSFER-ENCODING: identity\r\n"),
	LAST(HTTP_BAD_TRAILER, "transfer_encoding: chunked\r\n"),
	LAST(HTTP_BAD_TRAILER, "Connection: close\r\n"),
	LAST(HTTP_BAD_TRAILER, "Upgrade: websocket\r\n"),
	LAST(HTTP_BAD_FIELD, "A\r\n"),
	LAST(HTTP_BAD_FIELD, "A b: c\r\n"),
	LAST(HTTP_BAD_FIELD, "A : b\r\n"),
	LAST(HTTP_BAD_FIELD, "Host : other.example\r\n"),
	LAST(HTTP_BAD_FIELD, "Content-Length\t: 5\r\n"),
	LAST(HTTP_BAD_FIELD, ": b\r\n"),
	LAST(HTTP_BAD_FIELD, "A\n: b\r\n"),
	LAST(HTTP_BAD_FIELD, "A\r: b\r\n"),
	LAST(HTTP_BAD_FIELD, "\"A\": b\r\n"),
	LAST(HTTP_BAD_FIELD, "\xc3\xa4: b\r\n"),
	LAST(HTTP_BAD_FIELD, "GET / HTTP/1.1\r\n"),
	LAST(HTTP_FOLDED, " \r\n"),
	LAST(HTTP_FOLDED, "\t\r\n"),
	LAST(HTTP_FOLDED, " A: b\r\n"),
	LAST(HTTP_FOLDED, "A: b\r\n c\r\n"),
	LAST(HTTP_FOLDED, "A: b\r\n\tc\r\n"),
	LAST(HTTP_BAD_BYTE, "A: \0\r\n"),
	LAST(HTTP_BAD_BYTE, "\0\r\n"),
	LAST(HTTP_BAD_BYTE, "A\0: b\r\n"),
	LAST(HTTP_BAD_BYTE, "A: b\x7f\r\n"),
	LAST(HTTP_BAD_BYTE, "A: b\x1b[m\r\n"),
	LAST(HTTP_BAD_BYTE, "A: b\r\0\n"),
	LAST(HTTP_BAD_LINE_END, "A: b\n"),
	LAST(HTTP_BAD_LINE_END, "A: b\nHost: c\r\n"),
	LAST(HTTP_BAD_LINE_END, "A: b\rHost: c\r\n"),
	LAST(HTTP_BAD_LINE_END, "A: b\r\r\n"),
	LAST(HTTP_BAD_LINE_END, "\n"),
	LAST(HTTP_BAD_LINE_END, "\r"),
	LAST(HTTP_BAD_LINE_END, "\rX"),
	LAST(HTTP_BAD_LINE_END, "A: b\r\n\n"),
};

static void test_chunked_bodies(void **state)
{
	unsigned ways[HTTP_WHY_COUNT] = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(chunked_cases); i++) {
		const struct chunked_case *c = &chunked_cases[i];
		struct http_body b = begin(HTTP_CHUNKED, 0);
		size_t taken;
		enum http_verdict got = take(&b, c->bytes, c->len, &taken);
		if (b.why != c->why || got == HTTP_NEED_MORE)
			fail_msg("row %zu '%s', not '%s': %s", i, http_why_text(b.why),
				 http_why_text(c->why), c->bytes);
		if (got == HTTP_DONE)
			assert_int_equal(taken, c->len);
		ways[c->why]++;
	}
	assert_true(ways[HTTP_BAD_CHUNK] > 40 && ways[HTTP_BAD_TRAILER] > 5);
}

/* Pieces of each size, in memory of exactly that size, with bytes behind the body. */
static void test_chunked_bodies_in_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(chunked_cases); i++) {
		const struct chunked_case *c = &chunked_cases[i];
		char bytes[200];
		memcpy(bytes, c->bytes, c->len);
		memcpy(bytes + c->len, "0\r\n\r\n", 5);
		for (size_t piece = 1; piece <= c->len + 5; piece++) {
			struct http_body b = begin(HTTP_CHUNKED, 0);
			enum http_verdict verdict = HTTP_NEED_MORE;
			size_t at = 0, taken = 0;
			while (verdict == HTTP_NEED_MORE && at < c->len + 5) {
				size_t left = c->len + 5 - at;
				verdict = take(&b, bytes + at,
					       left < piece ? left : piece, &taken);
				at += taken;
			}
			if (b.why != c->why || (!b.why && at != c->len))
				fail_msg("%zu bytes a piece: %s", piece, c->bytes);
			/* The verdict stays. */
			assert_int_equal(take(&b, "0\r\n\r\n", 5, &taken), verdict);
			assert_int_equal(taken, 0);
		}
	}
}

static void test_each_prefix_of_a_chunked_body_needs_more(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(chunked_cases); i++)
		for (size_t len = 0; len < chunked_cases[i].len; len++) {
			const struct chunked_case *c = &chunked_cases[i];
			struct http_body b = begin(HTTP_CHUNKED, 0);
			size_t taken;
			enum http_verdict got = take(&b, c->bytes, len, &taken);
			if (got == HTTP_DONE || (got == HTTP_REFUSED && b.why != c->why))
				fail_msg("%zu bytes: %s", len, c->bytes);
		}
}

static void test_each_byte_of_a_size(void **state)
{
	(void)state;
	for (unsigned c = 0; c < 256; c++) {
		struct http_body b = begin(HTTP_CHUNKED, 0);
		uint8_t line[] = { '0', (uint8_t)c, '\r', '\n' };
		const char *found = c ? strchr("0123456789abcdef0123456789ABCDEF", (int)c)
				      : NULL;
		size_t taken;
		enum http_verdict got = take(&b, line, sizeof(line), &taken);
		assert_int_equal(got, found ? HTTP_NEED_MORE : HTTP_REFUSED);
		if (!found)
			assert_int_equal(b.why, HTTP_BAD_CHUNK);
		else if (c > '0')
			assert_int_equal(b.left,
					 strtol((char[]){ (char)c, 0 }, NULL, 16));
	}
}

static void test_the_largest_chunk(void **state)
{
	static const char *const sizes[] = { "7fffffff\r\n", "7FFFFFFF\r\n" };
	size_t taken;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct http_body b = begin(HTTP_CHUNKED, 0);
		assert_int_equal(take(&b, sizes[i], 10, &taken), HTTP_NEED_MORE);
		assert_int_equal(b.left, INT32_MAX);
		/* None of these bytes is looked at. */
		assert_int_equal(http_body_take(&b, NULL, INT32_MAX, &taken),
				 HTTP_NEED_MORE);
		assert_int_equal(take(&b, "\r\n0\r\n\r\n", 7, &taken), HTTP_DONE);
	}
}

/* Feeds `count` times the text; returns the first verdict that is not to need more. */
static enum http_verdict feed(struct http_body *b, const char *text, unsigned count)
{
	enum http_verdict verdict = HTTP_NEED_MORE;
	size_t taken;

	while (count-- && verdict == HTTP_NEED_MORE)
		verdict = take(b, text, strlen(text), &taken);
	return verdict;
}

static void test_limits(void **state)
{
	static const struct {
		unsigned fields, bytes; /* of one more field's value */
		enum http_why why;
	} rows[] = {
		{ 0, 0, HTTP_FINE },
		{ 99, 0, HTTP_FINE },
		{ 100, 0, HTTP_TOO_LARGE },
		{ 5000, 0, HTTP_TOO_LARGE },
		{ 0, 16384 - 2 - 2 - 2, HTTP_FINE },
		{ 0, 16384 - 2 - 2 - 1, HTTP_TOO_LARGE },
		{ 10, 16384 - 60 - 2 - 2 - 2, HTTP_FINE },
		{ 10, 16384 - 60 - 2 - 2 - 1, HTTP_TOO_LARGE },
		{ 0, 100000, HTTP_TOO_LARGE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct http_body b = begin(HTTP_CHUNKED, 0);
		assert_int_equal(feed(&b, "1\r\na\r\n", 3000), HTTP_NEED_MORE);
		(void)feed(&b, "0\r\n", 1);
		(void)feed(&b, "A: b\r\n", rows[i].fields);
		(void)feed(&b, "A:", 1);
		(void)feed(&b, "x", rows[i].bytes);
		(void)feed(&b, "\r\n", 1);
		assert_int_equal(feed(&b, "\r\n", 1),
				 rows[i].why ? HTTP_REFUSED : HTTP_DONE);
		assert_int_equal(b.why, rows[i].why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_body_of_no_bytes_is_done),
		cmocka_unit_test(test_a_body_of_known_length),
		cmocka_unit_test(test_a_body_of_many_bytes),
		cmocka_unit_test(test_chunked_bodies),
		cmocka_unit_test(test_chunked_bodies_in_pieces),
		cmocka_unit_test(test_each_prefix_of_a_chunked_body_needs_more),
		cmocka_unit_test(test_each_byte_of_a_size),
		cmocka_unit_test(test_the_largest_chunk),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
