/* A connection's requests, and its bytes as a server's answer: they are read the same in
 * one piece as in pieces; what is read keeps within its bounds; and a request that is
 * taken for valid has, for a reader that splits lines at each LF and ignores blanks and
 * the case of letters, one Host and one framing. */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "egress/http_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void claim(int is_so)
{
	if (!is_so)
		abort();
}

/* Parses the bytes in pieces of `piece`, each in memory of exactly its size. */
static enum http_verdict parse_in_pieces(struct http_head *h, const uint8_t *data,
					 size_t size, const struct http_expect *expect,
					 size_t piece)
{
	enum http_verdict verdict = HTTP_NEED_MORE;

	for (size_t len = 0; len < size && verdict == HTTP_NEED_MORE;) {
		len += size - len < piece ? size - len : piece;
		uint8_t *copy = malloc(len);
		claim(copy != NULL);
		memcpy(copy, data, len);
		verdict = http_head_parse(h, copy, len, expect);
		free(copy);
	}
	return verdict;
}

/* How many lines begin with this name, a colon behind it, and blanks anywhere. */
static unsigned count_fields(const uint8_t *data, size_t size, const char *name)
{
	unsigned count = 0;

	for (size_t at = 0; at < size; at++) {
		const char *want = name;
		if (at && data[at - 1] != '\n')
			continue;
		while (at < size && data[at] != '\n' && (*want || isspace(data[at]))) {
			if (tolower(data[at]) == *want)
				want++;
			else if (!isspace(data[at]))
				break;
			at++;
		}
		count += *want == '\0' && at < size && data[at] == ':';
	}
	return count;
}

static void check_valid(const struct http_head *h, const uint8_t *data)
{
	unsigned lengths = count_fields(data, h->len, "content-length");
	unsigned codings = count_fields(data, h->len, "transfer-encoding");

	claim(count_fields(data, h->len, "host") == 1);
	claim(lengths == (h->framing == HTTP_LENGTH));
	claim(codings == (h->framing == HTTP_CHUNKED));
	claim(!h->is_websocket || lengths + codings == 0);
	claim(h->target_len && h->target_at + h->target_len < h->len);
	claim(memchr(data, 0, h->len) == NULL);
	claim(memcmp(data + h->len - 4, "\r\n\r\n", 4) == 0);
	claim(strcasecmp(h->method, "CONNECT") != 0);
}

static size_t check_body(const struct http_head *h, const uint8_t *data, size_t size,
			 size_t piece)
{
	struct http_body whole, parts;
	size_t taken, at = 0, part = 0;

	http_body_init(&whole, h);
	http_body_init(&parts, h);
	enum http_verdict verdict = http_body_take(&whole, data, size, &taken);
	enum http_verdict got = http_body_take(&parts, data, 0, &part);
	while (got == HTTP_NEED_MORE && at < size) {
		size_t len = size - at < piece ? size - at : piece;
		got = http_body_take(&parts, data + at, len, &part);
		claim(part <= len && (got != HTTP_NEED_MORE || part == len));
		at += part;
	}
	claim(got == verdict && at == taken && taken <= size);
	claim(memcmp(&whole, &parts, sizeof(whole)) == 0);
	claim(verdict != HTTP_DONE || h->framing != HTTP_LENGTH || taken == h->length);
	return verdict == HTTP_DONE ? taken : size;
}

/* Hides an upgrade to HTTP/2; then the head is valid. */
static void check_hidden(const uint8_t *data, size_t size,
			 const struct http_expect *expect)
{
	struct http_head h = { 0 };
	uint8_t *copy = malloc(size);

	claim(copy != NULL);
	memcpy(copy, data, size);
	http_head_hide_upgrade(copy, size);
	claim(http_head_parse(&h, copy, size, expect) == HTTP_DONE);
	claim(!h.is_websocket && count_fields(copy, h.len, "upgrade") == 0);
	free(copy);
}

/* Checks one request; returns how many bytes it has. */
static size_t check_request(const uint8_t *data, size_t size, bool is_first, size_t piece)
{
	struct http_expect expect = { "example.com", 80, is_first };
	struct http_head whole = { 0 }, parts = { 0 };
	enum http_verdict verdict = http_head_parse(&whole, data, size, &expect);

	claim(parse_in_pieces(&parts, data, size, &expect, piece) == verdict);
	claim(memcmp(&whole, &parts, sizeof(whole)) == 0);
	claim((verdict == HTTP_REFUSED) == (whole.why != HTTP_FINE));
	claim(verdict != HTTP_NEED_MORE || size < HTTP_HEAD_MAX);
	claim(http_why_text(whole.why) != NULL);
	if (whole.why == HTTP_UPGRADE_H2C)
		check_hidden(data, size, &expect);
	if (verdict != HTTP_DONE)
		return size;
	claim(whole.len <= size && whole.len <= HTTP_HEAD_MAX);
	check_valid(&whole, data);
	return whole.len + check_body(&whole, data + whole.len, size - whole.len, piece);
}

static void check_answer(const uint8_t *data, size_t size)
{
	unsigned status = 0;
	size_t len = 0;
	enum http_verdict verdict = http_answer_parse(data, size, &status, &len);

	claim((verdict == HTTP_DONE) == (status != 0));
	claim(status == 0 || (status >= 100 && status <= 999 && len <= size));
	for (size_t part = 0; part < size; part += 1 + size / 16) {
		enum http_verdict got = http_answer_parse(data, part, &status, &len);
		claim(got == HTTP_NEED_MORE || got == verdict);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	/* The first byte says how large the pieces are. */
	size_t piece = 1 + data[0] % 64;
	data++, size--;
	if (size > 1024)
		piece += size / 64;
	check_answer(data, size);
	for (size_t at = 0; at < size;)
		at += check_request(data + at, size - at, at == 0, piece);
	return 0;
}
