/* http_head: a request is read in the one way in which every server reads it, or refused;
 * bodies end where the next head begins. */
#include "egress/http_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROWS(a) (sizeof(a) / sizeof((a)[0]))
#define HOST	"Host: a.org\r\n"
#define GET	"GET / HTTP/1.1\r\n"
#define POST	"POST / HTTP/1.1\r\n"
#define WS	"Upgrade: websocket\r\nConnection: Upgrade\r\n"

static const struct http_expect expect = { .name = "a.org", .port = 80, .is_first = true };

/* Parses a copy that ends where its memory does. */
static enum http_verdict parse(struct http_head *h, const char *text, size_t len,
			       const struct http_expect *e)
{
	uint8_t *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, text, len);
	enum http_verdict verdict = http_head_parse(h, copy, len, e);
	free(copy);
	return verdict;
}

static void test_heads(void **state)
{
	static const struct {
		const char *text;
		enum http_why why; /* HTTP_FINE: it is accepted */
	} rows[] = {
		{ GET HOST "\r\n", HTTP_FINE },
		{ GET "host:a.org\r\n\r\n", HTTP_FINE },
		{ GET "HOST:\t a.ORG. \t\r\n\r\n", HTTP_FINE },
		{ GET "Host: a.org:80\r\n\r\n", HTTP_FINE },
		{ GET "Host: a.org:080\r\n\r\n", HTTP_FINE },
		{ "GET http://a.org/x HTTP/1.1\r\n" HOST "\r\n", HTTP_FINE },
		{ "GET HTTP://A.org:80 HTTP/1.1\r\n" HOST "\r\n", HTTP_FINE },
		{ "GET http://a.org?x HTTP/1.1\r\n" HOST "\r\n", HTTP_FINE },
		{ "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", HTTP_FINE },
		{ "GET / HTTP/1.0\r\n" HOST "\r\n", HTTP_FINE },
		{ "M-SEARCH / HTTP/1.1\r\n" HOST "\r\n", HTTP_FINE },
		{ GET HOST "X: \x80\xff\t~\r\n\r\n", HTTP_FINE },
		{ GET HOST "X:\r\n\r\n", HTTP_FINE },
		{ POST HOST "Content-Length: 5\r\n\r\n", HTTP_FINE },
		{ POST HOST "Content-Length:0005 \r\n\r\n", HTTP_FINE },
		{ POST HOST "Transfer-Encoding: Chunked\r\n\r\n", HTTP_FINE },
		{ GET HOST WS "\r\n", HTTP_FINE },
		{ GET HOST "Upgrade: WebSocket\r\nConnection: keep-alive, upgrade\r\n\r\n", HTTP_FINE },
		{ GET HOST "Connection: Upgrade\r\n\r\n", HTTP_FINE },

		{ "\r\n" GET HOST "\r\n", HTTP_BAD_REQUEST_LINE },
		{ "GET /\r\n" HOST "\r\n", HTTP_BAD_REQUEST_LINE },
		{ "GET  / HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_REQUEST_LINE },
		{ " GET / HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_REQUEST_LINE },
		{ "G(T / HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_REQUEST_LINE },
		{ "GET\t/ HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_REQUEST_LINE },
		{ "GET / http/1.1\r\n" HOST "\r\n", HTTP_BAD_REQUEST_LINE },
		{ "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJ / HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_REQUEST_LINE },
		{ "GET / HTTP/1.1 \r\n" HOST "\r\n", HTTP_BAD_VERSION },
		{ "GET / x HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_REQUEST_LINE },
		{ "GET / HTTP/2.0\r\n" HOST "\r\n", HTTP_BAD_VERSION },
		{ "GET / HTTP/1.2\r\n" HOST "\r\n", HTTP_BAD_VERSION },
		{ "GET / HTTP/1.10\r\n" HOST "\r\n", HTTP_BAD_VERSION },
		{ "GET / HTTP/1.1\n" HOST "\r\n", HTTP_BAD_LINE_END },
		{ GET "Host: a.org\n\r\n", HTTP_BAD_LINE_END },
		{ GET HOST "\n", HTTP_BAD_LINE_END },
		{ GET "Host: a.org\rX: y\r\n\r\n", HTTP_BAD_LINE_END },
		{ GET "Host: a.org\r\r\n\r\n", HTTP_BAD_LINE_END },
		{ GET HOST "X: \x01\r\n\r\n", HTTP_BAD_BYTE },
		{ GET HOST "X: \x7f\r\n\r\n", HTTP_BAD_BYTE },
		{ GET HOST "X\r\n\r\n", HTTP_BAD_FIELD },
		{ GET HOST ": x\r\n\r\n", HTTP_BAD_FIELD },
		{ GET HOST "X : y\r\n\r\n", HTTP_BAD_FIELD },
		{ POST HOST "Transfer-Encoding : chunked\r\n\r\n", HTTP_BAD_FIELD },
		{ POST HOST "Transfer-Encoding\t: chunked\r\n\r\n", HTTP_BAD_FIELD },
		{ GET HOST "X: y\r\n z\r\n\r\n", HTTP_FOLDED },
		{ GET HOST "X: y\r\n\tz\r\n\r\n", HTTP_FOLDED },
		{ GET " Host: a.org\r\n\r\n", HTTP_FOLDED },
		{ GET "\r\n", HTTP_NO_HOST },
		{ "GET / HTTP/1.0\r\n\r\n", HTTP_NO_HOST },
		{ GET HOST HOST "\r\n", HTTP_TWO_HOSTS },
		{ GET "Host: b.org\r\n\r\n", HTTP_OTHER_HOST },
		{ GET "Host: a.org.b.org\r\n\r\n", HTTP_OTHER_HOST },
		{ GET "Host: x.a.org\r\n\r\n", HTTP_OTHER_HOST },
		{ GET "Host: a.org:81\r\n\r\n", HTTP_OTHER_HOST },
		{ GET "Host: a.org:\r\n\r\n", HTTP_OTHER_HOST },
		{ GET "Host: a.org:65616\r\n\r\n", HTTP_OTHER_HOST },
		{ GET "Host: u@a.org\r\n\r\n", HTTP_OTHER_HOST },
		{ GET "Host: a.org, b.org\r\n\r\n", HTTP_OTHER_HOST },
		{ GET "Host: a.org..\r\n\r\n", HTTP_OTHER_HOST },
		{ GET "Host:\r\n\r\n", HTTP_OTHER_HOST },
		{ "GET http://b.org/ HTTP/1.1\r\n" HOST "\r\n", HTTP_OTHER_HOST },
		{ "GET http://a.org/ HTTP/1.1\r\nHost: b.org\r\n\r\n", HTTP_OTHER_HOST },
		{ "GET http://u@a.org/ HTTP/1.1\r\n" HOST "\r\n", HTTP_OTHER_HOST },
		{ "GET http:// HTTP/1.1\r\n" HOST "\r\n", HTTP_OTHER_HOST },
		{ "CONNECT a.org:443 HTTP/1.1\r\n" HOST "\r\n", HTTP_CONNECT },
		{ "GET x HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_TARGET },
		{ "GET https://a.org/ HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_TARGET },
		{ "GET * HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_TARGET },
		{ "GET /\xc3\xa4 HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_TARGET },
		{ "GET /\t HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD_TARGET },
		{ POST HOST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", HTTP_BAD_LENGTH },
		{ POST HOST "Content-Length: 5, 5\r\n\r\n", HTTP_BAD_LENGTH },
		{ POST HOST "Content-Length: +5\r\n\r\n", HTTP_BAD_LENGTH },
		{ POST HOST "Content-Length: -5\r\n\r\n", HTTP_BAD_LENGTH },
		{ POST HOST "Content-Length: 0x5\r\n\r\n", HTTP_BAD_LENGTH },
		{ POST HOST "Content-Length:\r\n\r\n", HTTP_BAD_LENGTH },
		{ POST HOST "Content-Length: 1234567890123456789\r\n\r\n", HTTP_BAD_LENGTH },
		{ POST HOST "Transfer-Encoding: gzip, chunked\r\n\r\n", HTTP_BAD_CODING },
		{ POST HOST "Transfer-Encoding: identity\r\n\r\n", HTTP_BAD_CODING },
		{ POST HOST "Transfer-Encoding: xchunked\r\n\r\n", HTTP_BAD_CODING },
		{ POST HOST "Transfer-Encoding: \x0b" "chunked\r\n\r\n", HTTP_BAD_BYTE },
		{ POST HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n", HTTP_BAD_CODING },
		{ "POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", HTTP_BAD_CODING },
		{ POST HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP_LENGTH_AND_CODING },
		{ POST HOST "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n", HTTP_LENGTH_AND_CODING },
		{ GET HOST "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n\r\n", HTTP_UPGRADE_H2C },
		{ GET HOST "Upgrade: TLS/1.0\r\nConnection: Upgrade\r\n\r\n", HTTP_UPGRADE },
		{ GET HOST "Upgrade: websocket, h2c\r\nConnection: Upgrade\r\n\r\n", HTTP_UPGRADE },
		{ GET HOST "Upgrade: websocket\r\n" WS "\r\n", HTTP_UPGRADE },
		{ GET HOST "Upgrade: websocket\r\n\r\n", HTTP_UPGRADE },
		{ POST HOST WS "\r\n", HTTP_UPGRADE },
		{ GET HOST WS "Content-Length: 3\r\n\r\n", HTTP_UPGRADE },
		{ "GET / HTTP/1.0\r\n" HOST WS "\r\n", HTTP_UPGRADE },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct http_head h = { 0 };
		enum http_verdict verdict =
			parse(&h, rows[i].text, strlen(rows[i].text), &expect);
		if (verdict != (rows[i].why ? HTTP_REFUSED : HTTP_DONE) || h.why != rows[i].why)
			print_message("%s: %s\n", rows[i].text, http_why_text(h.why));
		assert_int_equal(h.why, rows[i].why);
		assert_int_equal(verdict, rows[i].why ? HTTP_REFUSED : HTTP_DONE);
		if (!rows[i].why)
			assert_int_equal(h.len, strlen(rows[i].text));
	}
}

/* A NUL is no part of a C string, so that it has no row. */
static void test_a_nul_is_refused(void **state)
{
	static const char text[] = GET "Host: a.org\0.b.org\r\n\r\n";
	struct http_head h = { 0 };

	(void)state;
	assert_int_equal(parse(&h, text, sizeof(text) - 1, &expect), HTTP_REFUSED);
	assert_int_equal(h.why, HTTP_BAD_BYTE);
}

static void test_a_head_in_pieces_is_the_same(void **state)
{
	static const char *const texts[] = {
		GET HOST "\r\n",
		POST HOST "Content-Length: 5\r\nX: y\r\n\r\n",
		GET HOST WS "Sec-WebSocket-Key: x\r\n\r\n",
	};

	(void)state;
	for (size_t t = 0; t < ROWS(texts); t++) {
		struct http_head whole = { 0 }, pieces = { 0 };
		const size_t len = strlen(texts[t]);
		assert_int_equal(parse(&whole, texts[t], len, &expect), HTTP_DONE);
		for (size_t i = 0; i < len; i++)
			assert_int_equal(parse(&pieces, texts[t], i, &expect), HTTP_NEED_MORE);
		assert_int_equal(parse(&pieces, texts[t], len, &expect), HTTP_DONE);
		assert_memory_equal(&whole, &pieces, sizeof(whole));
	}
}

static void test_results(void **state)
{
	static const char text[] = "PUT /x?y HTTP/1.1\r\n" HOST "Content-Length: 12\r\n\r\nrest";
	const struct http_expect later = { "a.org", 80, false }, other = { "a.org", 8080, true };
	struct http_head h = { 0 };

	(void)state;
	assert_int_equal(parse(&h, text, sizeof(text) - 1, &expect), HTTP_DONE);
	assert_string_equal(h.method, "PUT");
	assert_memory_equal(text + h.target_at, "/x?y", h.target_len);
	assert_int_equal(h.target_len, 4);
	assert_true(h.framing == HTTP_LENGTH && h.length == 12);
	assert_string_equal(text + h.len, "rest");
	h = (struct http_head){ 0 };
	assert_int_equal(parse(&h, GET HOST WS "\r\n", strlen(GET HOST WS "\r\n"), &expect), HTTP_DONE);
	assert_true(h.is_websocket && h.framing == HTTP_NO_BODY);
	h = (struct http_head){ 0 };
	assert_int_equal(parse(&h, GET HOST WS "\r\n", strlen(GET HOST WS "\r\n"), &later), HTTP_REFUSED);
	assert_int_equal(h.why, HTTP_LATE_UPGRADE);
	h = (struct http_head){ 0 };
	assert_int_equal(parse(&h, GET HOST "\r\n", strlen(GET HOST "\r\n"), &other), HTTP_REFUSED);
	h = (struct http_head){ 0 };
	assert_int_equal(parse(&h, GET "Host: a.org:8080\r\n\r\n", strlen(GET "Host: a.org:8080\r\n\r\n"), &other),
			 HTTP_DONE);
}

static void test_limits(void **state)
{
	static char text[2 * HTTP_HEAD_MAX];
	struct http_head h = { 0 };
	size_t len = 0;

	(void)state;
	memset(text, 'x', sizeof(text));
	assert_int_equal(parse(&h, text, HTTP_HEAD_MAX, &expect), HTTP_NEED_MORE);
	assert_int_equal(parse(&h, text, HTTP_HEAD_MAX + 1, &expect), HTTP_REFUSED);
	assert_int_equal(h.why, HTTP_TOO_LARGE);
	for (unsigned fields = HTTP_FIELDS_MAX - 1; fields <= HTTP_FIELDS_MAX; fields++) {
		len = (size_t)sprintf(text, GET HOST);
		for (unsigned i = 0; i < fields; i++)
			len += (size_t)sprintf(text + len, "X: y\r\n");
		len += (size_t)sprintf(text + len, "\r\n");
		h = (struct http_head){ 0 };
		assert_int_equal(parse(&h, text, len, &expect),
				 fields < HTTP_FIELDS_MAX ? HTTP_DONE : HTTP_REFUSED);
	}
	assert_int_equal(h.why, HTTP_TOO_LARGE);
}

static void test_an_upgrade_can_be_hidden(void **state)
{
	char text[] = GET HOST "X-Upgrade: a\r\nupgrade: h2c\r\nConnection: Upgrade\r\n\r\nupgrade: b\r\n";
	struct http_head h = { 0 };

	(void)state;
	http_head_hide_upgrade((uint8_t *)text, sizeof(text) - 1);
	assert_string_equal(text, GET HOST "X-Upgrade: a\r\nXpgrade: h2c\r\nConnection: Upgrade\r\n\r\nupgrade: b\r\n");
	assert_int_equal(parse(&h, text, sizeof(text) - 1, &expect), HTTP_DONE);
}

static void test_answers(void **state)
{
	static const struct {
		const char *text;
		enum http_verdict verdict;
		unsigned status;
	} rows[] = {
		{ "HTTP/1.1 101 Switching Protocols\r\nX: y\r\n\r\nrest", HTTP_DONE, 101 },
		{ "HTTP/1.0 200\r\n\r\n", HTTP_DONE, 200 },
		{ "HTTP/1.1 100 Continue\r\n\r\n", HTTP_DONE, 100 },
		{ "", HTTP_NEED_MORE, 0 },
		{ "HTTP/1.1 200 OK\r\n", HTTP_NEED_MORE, 0 },
		{ "HTTP/2 200\r\n\r\n", HTTP_REFUSED, 0 },
		{ "SSH-2.0-x\r\n", HTTP_REFUSED, 0 },
		{ "HTTP/1.1 020 x\r\n\r\n", HTTP_REFUSED, 0 },
		{ "HTTP/1.1 2x0 x\r\n\r\n", HTTP_REFUSED, 0 },
		{ "HTTP/1.1\r\n\r\n", HTTP_REFUSED, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		const char *end = strstr(rows[i].text, "\r\n\r\n");
		unsigned status = 0;
		size_t len = 0;
		assert_int_equal(http_answer_parse((const uint8_t *)rows[i].text,
						   strlen(rows[i].text), &status, &len),
				 rows[i].verdict);
		assert_int_equal(status, rows[i].status);
		if (status)
			assert_int_equal(len, end - rows[i].text + 4);
	}
}

/* --- bodies ------------------------------------------------------------------------- */

static void test_bodies(void **state)
{
	static const struct {
		enum http_framing framing;
		uint64_t length;
		const char *text;
		size_t taken; /* of a body that is whole */
		enum http_why why;
	} rows[] = {
		{ HTTP_NO_BODY, 0, "GET", 0, HTTP_FINE },
		{ HTTP_LENGTH, 3, "abcGET", 3, HTTP_FINE },
		{ HTTP_CHUNKED, 0, "0\r\n\r\nGET", 5, HTTP_FINE },
		{ HTTP_CHUNKED, 0, "3\r\nabc\r\n0\r\n\r\nGET", 13, HTTP_FINE },
		{ HTTP_CHUNKED, 0, "A\r\n0123456789\r\n00\r\nX: y\r\nZ:\r\n\r\n", 31, HTTP_FINE },
		{ HTTP_CHUNKED, 0, "\r\n", 0, HTTP_BAD_CHUNK },
		{ HTTP_CHUNKED, 0, "g\r\n", 0, HTTP_BAD_CHUNK },
		{ HTTP_CHUNKED, 0, " 3\r\nabc\r\n", 0, HTTP_BAD_CHUNK },
		{ HTTP_CHUNKED, 0, "0x3\r\nabc\r\n", 0, HTTP_BAD_CHUNK },
		{ HTTP_CHUNKED, 0, "3;a=b\r\nabc\r\n", 0, HTTP_BAD_CHUNK },
		{ HTTP_CHUNKED, 0, "3 \r\nabc\r\n", 0, HTTP_BAD_CHUNK },
		{ HTTP_CHUNKED, 0, "3\nabc\r\n", 0, HTTP_BAD_CHUNK },
		{ HTTP_CHUNKED, 0, "3\r\nabcd\r\n", 0, HTTP_BAD_CHUNK },
		{ HTTP_CHUNKED, 0, "3\r\nabc\n0\r\n\r\n", 0, HTTP_BAD_CHUNK },
		{ HTTP_CHUNKED, 0, "1234567890123456\r\n", 0, HTTP_BAD_CHUNK },
		{ HTTP_CHUNKED, 0, "0\r\nContent-Length: 5\r\n\r\n", 0, HTTP_BAD_TRAILER },
		{ HTTP_CHUNKED, 0, "0\r\nHOST: b\r\n\r\n", 0, HTTP_BAD_TRAILER },
		{ HTTP_CHUNKED, 0, "0\r\nTransfer-Encoding: x\r\n\r\n", 0, HTTP_BAD_TRAILER },
		{ HTTP_CHUNKED, 0, "0\r\n X: y\r\n\r\n", 0, HTTP_FOLDED },
		{ HTTP_CHUNKED, 0, "0\r\nX : y\r\n\r\n", 0, HTTP_BAD_FIELD },
		{ HTTP_CHUNKED, 0, "0\r\nX\r\n\r\n", 0, HTTP_BAD_FIELD },
		{ HTTP_CHUNKED, 0, "0\r\nX: y\n\r\n", 0, HTTP_BAD_LINE_END },
		{ HTTP_CHUNKED, 0, "0\r\n\rX", 0, HTTP_BAD_LINE_END },
		{ HTTP_CHUNKED, 0, "0\r\nX: \x02\r\n\r\n", 0, HTTP_BAD_BYTE },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		const struct http_head head = { .framing = rows[i].framing,
						.length = rows[i].length };
		const uint8_t *text = (const uint8_t *)rows[i].text;
		const size_t len = strlen(rows[i].text);
		struct http_body whole, pieces;
		size_t taken, all = 0, n;
		enum http_verdict verdict, last = HTTP_NEED_MORE;

		http_body_init(&whole, &head);
		verdict = http_body_take(&whole, text, len, &taken);
		assert_int_equal(whole.why, rows[i].why);
		assert_int_equal(verdict, rows[i].why ? HTTP_REFUSED : HTTP_DONE);
		if (!rows[i].why)
			assert_int_equal(taken, rows[i].taken);
		/* byte by byte it is the same */
		http_body_init(&pieces, &head);
		while (last == HTTP_NEED_MORE && all < len) {
			last = http_body_take(&pieces, text + all, 1, &n);
			all += n;
		}
		assert_int_equal(last, verdict);
		assert_int_equal(pieces.why, whole.why);
		assert_int_equal(all, taken);
	}
}

static void test_trailers_have_bounds(void **state)
{
	const struct http_head head = { .framing = HTTP_CHUNKED };
	struct http_body b;
	unsigned fields = 0;
	size_t n;

	(void)state;
	http_body_init(&b, &head);
	assert_int_equal(http_body_take(&b, (const uint8_t *)"0\r\n", 3, &n), HTTP_NEED_MORE);
	while (http_body_take(&b, (const uint8_t *)"X: y\r\n", 6, &n) == HTTP_NEED_MORE)
		fields++;
	assert_int_equal(fields, HTTP_FIELDS_MAX);
	assert_int_equal(b.why, HTTP_TOO_LARGE);
	http_body_init(&b, &head);
	assert_int_equal(http_body_take(&b, (const uint8_t *)"0\r\nX:", 5, &n), HTTP_NEED_MORE);
	for (n = 0; n < HTTP_HEAD_MAX && b.why == HTTP_FINE; n++) {
		size_t one;
		(void)http_body_take(&b, (const uint8_t *)"y", 1, &one);
	}
	assert_int_equal(b.why, HTTP_TOO_LARGE);
}

static void test_each_reason_has_words(void **state)
{
	(void)state;
	for (enum http_why why = HTTP_FINE; why < HTTP_WHY_COUNT; why++)
		assert_true(*http_why_text(why));
	assert_string_equal(http_why_text(HTTP_WHY_COUNT), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_a_nul_is_refused),
		cmocka_unit_test(test_a_head_in_pieces_is_the_same),
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_an_upgrade_can_be_hidden),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_trailers_have_bounds),
		cmocka_unit_test(test_each_reason_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
