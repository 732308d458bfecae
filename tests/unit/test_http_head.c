/* http_head: request heads of clients, and of guests that want two readers to differ. */
#include "egress/http_head.h"

#include <ctype.h>
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
#include "tests/unit/http_cases.h"

static const struct http_expect first = { "example.com", 80, true };
static const struct http_expect later = { "example.com", 80, false };

static enum http_verdict parse(struct http_head *h, const void *bytes, size_t len,
			       const struct http_expect *expect)
{
	AUTO_FREE uint8_t *copy = exact_copy(bytes, len);

	return http_head_parse(h, copy, len, expect);
}

/* Parses the whole. */
static struct http_head whole(const void *bytes, size_t len,
			      const struct http_expect *expect)
{
	struct http_head h = { 0 };
	enum http_verdict verdict = parse(&h, bytes, len, expect);

	assert_int_equal(verdict == HTTP_REFUSED, h.why != HTTP_FINE);
	if (verdict == HTTP_NEED_MORE)
		fail_msg("needs more: %.*s", (int)len, (const char *)bytes);
	return h;
}

static void test_each_case(void **state)
{
	unsigned ways[HTTP_WHY_COUNT] = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(http_cases); i++) {
		const struct http_case *c = &http_cases[i];
		struct http_head h = whole(c->bytes, c->len, &first);
		if (h.why != c->why)
			fail_msg("'%s', not '%s': %s", http_why_text(h.why),
				 http_why_text(c->why), c->bytes);
		if (h.why == HTTP_FINE)
			assert_int_equal(h.len, c->len);
		ways[c->why]++;
	}
	for (unsigned why = 0; why < HTTP_WHY_COUNT; why++) {
		bool is_elsewhere = why == HTTP_TOO_LARGE || why == HTTP_LATE_UPGRADE ||
				    why == HTTP_BAD_CHUNK || why == HTTP_BAD_TRAILER;
		if (!is_elsewhere && ways[why] < 5)
			fail_msg("%s: %u cases", http_why_text(why), ways[why]);
	}
}

/* Feeds a case byte by byte, from memory of exactly as many bytes. */
static void test_each_case_byte_by_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(http_cases); i++) {
		const struct http_case *c = &http_cases[i];
		struct http_head all = whole(c->bytes, c->len, &first), h = { 0 };
		enum http_verdict verdict = HTTP_NEED_MORE;
		size_t len = 0;
		while (verdict == HTTP_NEED_MORE && len <= c->len)
			verdict = parse(&h, c->bytes, len++, &first);
		if (memcmp(&h, &all, sizeof(h)) != 0)
			fail_msg("differs: %s", c->bytes);
		assert_int_equal(verdict, c->why ? HTTP_REFUSED : HTTP_DONE);
		if (verdict == HTTP_DONE)
			assert_int_equal(len - 1, c->len);
	}
}

static void test_each_prefix_needs_more_or_is_refused_alike(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(http_cases); i++)
		for (size_t len = 0; len < http_cases[i].len; len++) {
			struct http_head h = { 0 };
			enum http_verdict got =
				parse(&h, http_cases[i].bytes, len, &first);
			if (got == HTTP_DONE ||
			    (got == HTTP_REFUSED && h.why != http_cases[i].why))
				fail_msg("%zu bytes: %s", len, http_cases[i].bytes);
		}
}

static void test_bytes_behind_a_head_are_not_looked_at(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(http_cases); i++) {
		const struct http_case *c = &http_cases[i];
		struct http_head alone = whole(c->bytes, c->len, &first);
		AUTO_FREE char *more = malloc(c->len + 40);
		assert_non_null(more);
		memcpy(more, c->bytes, c->len);
		memset(more + c->len, '\n', 40);
		struct http_head h = whole(more, c->len + 40, &first);
		if (memcmp(&h, &alone, sizeof(h)) != 0)
			fail_msg("differs: %s", c->bytes);
	}
}

static const char *const framing_fields[][2] = { { "Transfer-Encoding", "chunked" },
						 { "Content-Length", "5" },
						 { "Host", "example.com" } };
enum { CODING, LENGTHS, ROUTE };

/* Where some reader skips a blank. */
enum place { BEFORE_NAME, BEHIND_NAME, BEHIND_COLON, BEFORE_VALUE, BEHIND_VALUE, PLACES };

/* Makes a head whose last field has the byte `c` at a place. */
static size_t make_odd(char *to, size_t room, unsigned field, unsigned place, unsigned c)
{
	const char *name = framing_fields[field][0], *value = framing_fields[field][1];
	char at[PLACES][2] = { 0 };

	at[place][0] = c ? (char)c : '?';
	int len = snprintf(to, room, "POST / HTTP/1.1\r\n%s%s%s%s:%s%s%s%s%s\r\n\r\n",
			   field == ROUTE ? "" : HOST, at[BEFORE_NAME], name,
			   at[BEHIND_NAME], at[BEHIND_COLON],
			   place == BEHIND_COLON ? "" : " ", at[BEFORE_VALUE], value,
			   at[BEHIND_VALUE]);
	if (c == 0)
		*strchr(to, '?') = '\0';
	return (size_t)len;
}

/* Whether the byte may stand there. */
static bool may_stand(unsigned field, unsigned place, unsigned c)
{
	if (place == BEHIND_COLON || place == BEFORE_VALUE)
		return c == ' ' || (field == LENGTHS && c >= '1' && c <= '9');
	if (place == BEHIND_VALUE)
		return (field == LENGTHS && c >= '0' && c <= '9') ||
		       (field == ROUTE && c == '.');
	/* It makes another name; a colon makes another value, which is none. */
	return field != ROUTE && c &&
	       (strchr("!#$%&'*+-.^_`|~", (int)c) || (c < 0x80 && isalnum((int)c)));
}

static void test_no_byte_hides_a_field(void **state)
{
	(void)state;
	for (unsigned field = 0; field < ARRAY_LEN(framing_fields); field++)
		for (unsigned i = 0; i < PLACES * 256; i++) {
			unsigned place = i / 256, c = i % 256;
			bool is_other = place == BEFORE_NAME || place == BEHIND_NAME;
			char head[200];
			size_t len = make_odd(head, sizeof(head), field, place, c);
			struct http_head h = whole(head, len, &first);
			if (!h.why != may_stand(field, place, c) ||
			    (is_other && h.framing != HTTP_NO_BODY))
				fail_msg("field %u, place %u, byte %02x: %s", field,
					 place, c, http_why_text(h.why));
		}
}

static void test_results(void **state)
{
	static const struct {
		const char *head, *method, *target;
		enum http_framing framing;
		uint64_t length;
		bool is_websocket;
	} rows[] = {
#define PLAIN HTTP_NO_BODY, 0, false
		{ "GET / HTTP/1.1\r\n" HOST "\r\n", "GET", "/", PLAIN },
		{ "OPTIONS * HTTP/1.0\r\n" HOST "\r\n", "OPTIONS", "*", PLAIN },
		{ "HEAD http://example.com/a HTTP/1.1\r\n" HOST "\r\n", "HEAD",
		  "http://example.com/a", PLAIN },
		{ "POST /a?b HTTP/1.1\r\n" HOST LENGTH "\r\n", "POST", "/a?b",
		  HTTP_LENGTH, 5, false },
		{ "POST / HTTP/1.0\r\n" HOST "Content-Length: 0\r\n\r\n", "POST", "/",
		  HTTP_LENGTH, 0, false },
		{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: 999999999999999999\r\n\r\n",
		  "PUT", "/", HTTP_LENGTH, UINT64_C(999999999999999999), false },
		{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: 1234567890\r\n\r\n", "PUT",
		  "/", HTTP_LENGTH, 1234567890, false },
		{ "PATCH / HTTP/1.1\r\n" HOST CHUNKED "\r\n", "PATCH", "/", HTTP_CHUNKED,
		  0, false },
		{ "GET /ws HTTP/1.1\r\n" HOST WS CONN "\r\n", "GET", "/ws", HTTP_NO_BODY,
		  0, true },
		{ "GET /ws HTTP/1.1\r\n" HOST CONN "\r\n", "GET", "/ws", PLAIN },
#undef PLAIN
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct http_head h = whole(rows[i].head, strlen(rows[i].head), &first);
		assert_int_equal(h.why, HTTP_FINE);
		assert_int_equal(h.len, strlen(rows[i].head));
		assert_string_equal(h.method, rows[i].method);
		assert_int_equal(h.target_len, strlen(rows[i].target));
		assert_memory_equal(rows[i].head + h.target_at, rows[i].target,
				    h.target_len);
		assert_int_equal(h.framing, rows[i].framing);
		assert_int_equal(h.length, rows[i].length);
		assert_int_equal(h.is_websocket, rows[i].is_websocket);
	}
}

static void test_names_and_ports(void **state)
{
	static const struct {
		const char *name;
		uint16_t port;
		const char *host;
		enum http_why why;
	} rows[] = {
		{ "example.com", 8080, "example.com:8080", HTTP_FINE },
		{ "example.com", 8080, "example.com", HTTP_FINE },
		{ "example.com", 8080, "example.com:80", HTTP_OTHER_HOST },
		{ "example.com", 8080, "example.com:808", HTTP_OTHER_HOST },
		{ "example.com", 8080, "example.com:80800", HTTP_OTHER_HOST },
		{ "example.com", 65535, "example.com.:65535", HTTP_FINE },
		{ "example.com", 1, "example.com:1", HTTP_FINE },
		{ "example.com", 1, "example.com:65537", HTTP_OTHER_HOST },
		{ "example.com", 443, "EXAMPLE.com:443", HTTP_FINE },
		{ "a_b.xn--bcher-kva.example", 80, "A_b.XN--BCHER-kva.example",
		  HTTP_FINE },
		{ "a", 80, "a", HTTP_FINE },
		{ "a", 80, "b", HTTP_OTHER_HOST },
		{ "a", 80, "a.b", HTTP_OTHER_HOST },
		{ "10.1.2.3", 80, "10.1.2.3", HTTP_FINE },
		{ "10.1.2.3", 80, "10.1.2.33", HTTP_OTHER_HOST },
		{ "10.1.2.3", 80, "10.1.2", HTTP_OTHER_HOST },
		/* A connection without a name has no host that fits. */
		{ "", 80, "", HTTP_OTHER_HOST },
		{ "", 80, ".", HTTP_OTHER_HOST },
		{ "", 80, ":80", HTTP_OTHER_HOST },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct http_expect expect = { rows[i].name, rows[i].port, true };
		char head[200];
		int len = snprintf(head, sizeof(head),
				   "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", rows[i].host);
		assert_int_equal(whole(head, (size_t)len, &expect).why, rows[i].why);
		len = snprintf(head, sizeof(head),
			       "GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n",
			       rows[i].host, rows[i].name);
		assert_int_equal(whole(head, (size_t)len, &expect).why, rows[i].why);
	}
}

static void test_only_the_first_request_upgrades(void **state)
{
	static const struct http_case rows[] = {
		GET(HTTP_LATE_UPGRADE, WS CONN),
		GET(HTTP_LATE_UPGRADE, CONN WS),
		GET(HTTP_LATE_UPGRADE, WS "Connection: keep-alive, upgrade\r\n"),
		TARGET(HTTP_LATE_UPGRADE, "/ HTTP/1.1\r\n" WS CONN "A:"),
		GET(HTTP_UPGRADE, WS),
		POST(HTTP_UPGRADE, WS CONN),
		GET(HTTP_UPGRADE_H2C, "Upgrade: h2c\r\n" CONN),
		GET(HTTP_FINE, CONN),
		GET(HTTP_FINE, ""),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(whole(rows[i].bytes, rows[i].len, &later).why,
				 rows[i].why);
}

struct text {
	char bytes[60000];
	size_t len;
};

static void add(struct text *to, const char *text)
{
	assert_true(to->len + strlen(text) < sizeof(to->bytes));
	memcpy(to->bytes + to->len, text, strlen(text));
	to->len += strlen(text);
}

/* Makes a head of `fields` fields, whose last one fills it up to `len` bytes where that
 * is not 0. */
static void make_large(struct text *to, unsigned fields, size_t len)
{
	to->len = 0;
	add(to, "GET / HTTP/1.1\r\n" HOST);
	for (unsigned i = 1; i < fields; i++)
		add(to, i + 1 < fields || !len ? "A: b\r\n" : "A: ");
	while (len && to->len + 4 < len)
		add(to, "x");
	add(to, len ? "\r\n\r\n" : "\r\n");
}

static void test_limits(void **state)
{
	static const struct {
		unsigned fields;
		size_t len;
		enum http_why why;
	} rows[] = {
		{ 1, 0, HTTP_FINE },	      { 99, 0, HTTP_FINE },
		{ 100, 0, HTTP_FINE },	      { 101, 0, HTTP_TOO_LARGE },
		{ 200, 0, HTTP_TOO_LARGE },   { 5000, 0, HTTP_TOO_LARGE },
		{ 2, 16383, HTTP_FINE },      { 2, 16384, HTTP_FINE },
		{ 2, 16385, HTTP_TOO_LARGE }, { 2, 16386, HTTP_TOO_LARGE },
		{ 2, 16388, HTTP_TOO_LARGE }, { 2, 40000, HTTP_TOO_LARGE },
		{ 100, 16384, HTTP_FINE },    { 101, 16384, HTTP_TOO_LARGE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		static struct text head;
		make_large(&head, rows[i].fields, rows[i].len);
		assert_int_equal(whole(head.bytes, head.len, &first).why, rows[i].why);
	}
	static uint8_t line[20000];
	struct http_head h = { 0 };
	memset(line, 'A', sizeof(line));
	assert_int_equal(parse(&h, line, 16383, &first), HTTP_NEED_MORE);
	assert_int_equal(parse(&h, line, 16384, &first), HTTP_REFUSED);
	assert_int_equal(h.why, HTTP_TOO_LARGE);
	/* A refusal stays. */
	assert_int_equal(parse(&h, line, 20000, &first), HTTP_REFUSED);
	assert_int_equal(h.why, HTTP_TOO_LARGE);
}

/* Feeds a head byte by byte, and shows the parser NULs, which it refuses, for each byte
 * that it has looked at, but for the last one: of these and of whole lines it can read
 * none again.  A line's bytes are there once more at its end, when the line is read. */
static void test_each_byte_is_searched_once(void **state)
{
	static const size_t sizes[][2] = { { 100, 0 }, { 2, 16384 }, { 50, 9000 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		static struct text head;
		struct http_head h = { 0 };
		make_large(&head, (unsigned)sizes[i][0], sizes[i][1]);
		AUTO_FREE uint8_t *shown = calloc(1, head.len);
		assert_non_null(shown);
		size_t line = 0;
		for (size_t len = 1; len <= head.len; len++) {
			bool is_end = head.bytes[len - 1] == '\n';
			if (is_end)
				memcpy(shown + line, head.bytes + line, len - line);
			shown[len - 1] = (uint8_t)head.bytes[len - 1];
			enum http_verdict got = http_head_parse(&h, shown, len, &first);
			assert_int_equal(got,
					 len < head.len ? HTTP_NEED_MORE : HTTP_DONE);
			memset(shown + line, 0, len - line - !is_end);
			line = is_end ? len : line;
		}
	}
}

/* --- several requests ----------------------------------------------------------- */

static void test_a_pipeline(void **state)
{
	static const char *const good[] = {
		"GET /1 HTTP/1.1\r\n" HOST "\r\n",
		"POST /2 HTTP/1.1\r\n" HOST LENGTH "\r\nGET /",
		"POST /3 HTTP/1.1\r\n" HOST CHUNKED "\r\n3\r\n\r\n0\r\n0\r\nA: b\r\n\r\n",
		"PUT /4 HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n",
		"GET /5 HTTP/1.0\r\n" HOST "\r\n",
	};
	static const struct http_case last[] = {
		CASE(HTTP_FINE, "GET / HTTP/1.1\r\n" HOST "\r\n"),
		CASE(HTTP_OTHER_HOST, "GET / HTTP/1.1\r\nHost: other.example\r\n\r\n"),
		CASE(HTTP_BAD_REQUEST_LINE, "\r\nGET / HTTP/1.1\r\n" HOST "\r\n"),
		CASE(HTTP_LATE_UPGRADE, "GET / HTTP/1.1\r\n" HOST WS CONN "\r\n"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(last); i++) {
		char all[1000] = "";
		for (size_t j = 0; j < ARRAY_LEN(good); j++)
			strcat(all, good[j]);
		strcat(all, last[i].bytes);
		size_t at = 0, len = strlen(all);
		for (size_t j = 0; j < ARRAY_LEN(good); j++) {
			struct http_head h =
				whole(all + at, len - at, j ? &later : &first);
			struct http_body body;
			size_t taken = 0;
			assert_int_equal(h.why, HTTP_FINE);
			assert_int_equal(all[at + h.target_at + 1], '1' + j);
			http_body_init(&body, &h);
			assert_int_equal(http_body_take(&body,
							(uint8_t *)all + at + h.len,
							len - at - h.len, &taken),
					 HTTP_DONE);
			assert_int_equal(h.len + taken, strlen(good[j]));
			at += h.len + taken;
		}
		assert_int_equal(whole(all + at, len - at, &later).why, last[i].why);
	}
}

/* --- HTTP/2 ----------------------------------------------------------------------- */

static void test_an_upgrade_is_hidden(void **state)
{
	static const char *const rows[][2] = {
		{ "GET / HTTP/1.1\r\n" HOST "Upgrade: h2c\r\n" CONN
		  "\r\nUpgrade: h2c\r\n",
		  "GET / HTTP/1.1\r\n" HOST "Xpgrade: h2c\r\n" CONN
		  "\r\nUpgrade: h2c\r\n" },
		{ "GET / HTTP/1.1\r\nUPGRADE:h2c\r\n" HOST "\r\n",
		  "GET / HTTP/1.1\r\nXPGRADE:h2c\r\n" HOST "\r\n" },
		{ "GET / HTTP/1.1\r\nupgrade: a\r\nUpgrade: b\r\n\r\n",
		  "GET / HTTP/1.1\r\nXpgrade: a\r\nXpgrade: b\r\n\r\n" },
		{ "GET /upgrade: HTTP/1.1\r\nUpgrades: a\r\nA: Upgrade: b\r\n\r\n",
		  "GET /upgrade: HTTP/1.1\r\nUpgrades: a\r\nA: Upgrade: b\r\n\r\n" },
		{ "GET / HTTP/1.1\r\nUpgrade", "GET / HTTP/1.1\r\nUpgrade" },
		{ "GET / HTTP/1.1\r\nUpgrade:", "GET / HTTP/1.1\r\nXpgrade:" },
		{ "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\n" },
		{ "\r\nUpgrade: h2c\r\n", "\r\nUpgrade: h2c\r\n" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t len = strlen(rows[i][0]);
		AUTO_FREE uint8_t *bytes = exact_copy(rows[i][0], len);
		http_head_hide_upgrade(bytes, len);
		assert_memory_equal(bytes, rows[i][1], len);
	}
}

static void test_each_hidden_upgrade_is_valid(void **state)
{
	unsigned hidden = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(http_cases); i++) {
		if (http_cases[i].why != HTTP_UPGRADE_H2C)
			continue;
		size_t len = http_cases[i].len;
		AUTO_FREE uint8_t *bytes = exact_copy(http_cases[i].bytes, len);
		http_head_hide_upgrade(bytes, len);
		struct http_head h = whole(bytes, len, &first);
		assert_int_equal(h.why, HTTP_FINE);
		assert_false(h.is_websocket);
		hidden++;
	}
	assert_true(hidden >= 5);
}

/* --- answers ---------------------------------------------------------------------- */

static void test_answers(void **state)
{
#define OK(status, bytes)                                   \
	{                                                   \
		bytes, sizeof(bytes) - 1, HTTP_DONE, status \
	}
#define NO(bytes)                                         \
	{                                                 \
		bytes, sizeof(bytes) - 1, HTTP_REFUSED, 0 \
	}
	static const struct {
		const char *bytes;
		size_t len;
		enum http_verdict verdict;
		unsigned status;
	} rows[] = {
		OK(101, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"),
		OK(101, "HTTP/1.1 101\r\n\r\n"),
		OK(101, "HTTP/1.1 101 \r\n\r\n"),
		OK(100, "HTTP/1.1 100 Continue\r\n\r\n"),
		OK(103, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
		OK(200, "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"),
		OK(400, "HTTP/1.1 400 Bad Request\r\nA: b\r\n c\r\n\r\n"),
		OK(426, "HTTP/1.1 426 \xc3\xa4\r\nA:\tb\r\n\r\n"),
		OK(999, "HTTP/1.1 999 x\r\n\r\n"),
		NO("HTTP/1.1 099 x\r\n\r\n"),
		NO("HTTP/1.1 000 x\r\n\r\n"),
		NO("HTTP/1.1 1010 x\r\n\r\n"),
		NO("HTTP/1.1 10 x\r\n\r\n"),
		NO("HTTP/1.1 10\r\n\r\n"),
		NO("HTTP/1.1  101 x\r\n\r\n"),
		NO("HTTP/1.1\t101 x\r\n\r\n"),
		NO("HTTP/1.1 101\tx\r\n\r\n"),
		NO("HTTP/1.1 1x1 x\r\n\r\n"),
		NO("HTTP/1.1 +10 x\r\n\r\n"),
		NO("HTTP/1.1 101x\r\n\r\n"),
		NO("HTTP/2.0 101 x\r\n\r\n"),
		NO("HTTP/1. 101 x\r\n\r\n"),
		NO("http/1.1 101 x\r\n\r\n"),
		NO("ICY 200 OK\r\n\r\n"),
		NO("\r\nHTTP/1.1 101 x\r\n\r\n"),
		NO(" HTTP/1.1 101 x\r\n\r\n"),
		NO("<html>"),
		NO("\0\0\0\x12\4\0\0\0\0\0"), /* HTTP/2's SETTINGS */
		NO("HTTP/1.1 101 x\n\n"),
		NO("HTTP/1.1 101 x\r\nA: b\n\r\n"),
		NO("HTTP/1.1 101 x\r\nA: b\rc\r\n\r\n"),
		NO("HTTP/1.1 101 x\r\nA: \0\r\n\r\n"),
		NO("HTTP/1.1 101\rx\r\n\r\n"),
	};
#undef OK
#undef NO

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		unsigned status = 0;
		size_t len = 0;
		AUTO_FREE uint8_t *all = exact_copy(rows[i].bytes, rows[i].len);
		enum http_verdict got =
			http_answer_parse(all, rows[i].len, &status, &len);
		if (got != rows[i].verdict || status != rows[i].status)
			fail_msg("row %zu: %d, status %u", i, got, status);
		assert_int_equal(len, got == HTTP_DONE ? rows[i].len : 0);
		for (size_t part = 0; part < rows[i].len; part++) {
			AUTO_FREE uint8_t *copy = exact_copy(rows[i].bytes, part);
			got = http_answer_parse(copy, part, &status, &len);
			if (got != HTTP_NEED_MORE && got != rows[i].verdict)
				fail_msg("row %zu, %zu bytes: %d", i, part, got);
			assert_int_equal(got == HTTP_DONE, false);
		}
	}
}

static void test_answers_with_more_behind_them(void **state)
{
	static const char bytes[] =
		"HTTP/1.1 103 x\r\n\r\nHTTP/1.1 101 y\r\n\r\n\x81\x00";
	const uint8_t *at = (const uint8_t *)bytes;
	unsigned status;
	size_t len;

	(void)state;
	assert_int_equal(http_answer_parse(at, sizeof(bytes) - 1, &status, &len),
			 HTTP_DONE);
	assert_int_equal(status, 103);
	assert_int_equal(len, 18);
	assert_int_equal(
		http_answer_parse(at + len, sizeof(bytes) - 1 - len, &status, &len),
		HTTP_DONE);
	assert_int_equal(status, 101);
	assert_int_equal(len, 18);
}

static void test_an_answer_has_a_limit(void **state)
{
	static uint8_t bytes[20000];
	unsigned status = 0;
	size_t len = 0;

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	memcpy(bytes, "HTTP/1.1 101 ", 13);
	assert_int_equal(http_answer_parse(bytes, 16383, &status, &len), HTTP_NEED_MORE);
	assert_int_equal(http_answer_parse(bytes, 16384, &status, &len), HTTP_REFUSED);
	memcpy(bytes + 16380, "\r\n\r\n", 4);
	assert_int_equal(http_answer_parse(bytes, 20000, &status, &len), HTTP_DONE);
	assert_int_equal(len, 16384);
}

static void test_each_reason_has_words_of_its_own(void **state)
{
	(void)state;
	for (unsigned i = 0; i < HTTP_WHY_COUNT; i++) {
		assert_true(strlen(http_why_text(i)) > 10);
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(http_why_text(i), http_why_text(j));
	}
	assert_string_equal(http_why_text(HTTP_OTHER_HOST),
			    "Host is not the connection's name");
	assert_string_equal(http_why_text(HTTP_WHY_COUNT), "the reason is unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_case),
		cmocka_unit_test(test_each_case_byte_by_byte),
		cmocka_unit_test(test_each_prefix_needs_more_or_is_refused_alike),
		cmocka_unit_test(test_bytes_behind_a_head_are_not_looked_at),
		cmocka_unit_test(test_no_byte_hides_a_field),
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_names_and_ports),
		cmocka_unit_test(test_only_the_first_request_upgrades),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_each_byte_is_searched_once),
		cmocka_unit_test(test_a_pipeline),
		cmocka_unit_test(test_an_upgrade_is_hidden),
		cmocka_unit_test(test_each_hidden_upgrade_is_valid),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_answers_with_more_behind_them),
		cmocka_unit_test(test_an_answer_has_a_limit),
		cmocka_unit_test(test_each_reason_has_words_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
