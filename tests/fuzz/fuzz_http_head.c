/* Requests of a connection, one behind the other: read at once and byte by byte they are
 * the same, and what was accepted has a Host that is the connection's. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "egress/http_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct http_expect expect = { .name = "a.org", .port = 80, .is_first = true };

static void claim(int is_so)
{
	if (!is_so)
		abort();
}

/* Returns the bytes of the body, or SIZE_MAX if it is not whole. */
static size_t read_body(const struct http_head *head, const uint8_t *data, size_t size,
			size_t piece)
{
	enum http_verdict verdict;
	struct http_body b;
	size_t at = 0, taken;

	http_body_init(&b, head);
	do {
		size_t len = size - at < piece ? size - at : piece;
		verdict = http_body_take(&b, data + at, len, &taken);
		claim(taken <= len && (verdict != HTTP_NEED_MORE || taken == len));
		at += taken;
	} while (verdict == HTTP_NEED_MORE && at < size);
	claim((verdict == HTTP_REFUSED) == (b.why != HTTP_FINE));
	return verdict == HTTP_DONE ? at : SIZE_MAX;
}

/* Returns the bytes of the request, or 0 if it is refused or not whole. */
static size_t read_request(const uint8_t *data, size_t size)
{
	struct http_head whole = { 0 }, pieces = { 0 };
	enum http_verdict verdict = http_head_parse(&whole, data, size, &expect), last;
	size_t len = 0;

	do {
		last = http_head_parse(&pieces, data, len, &expect);
	} while (last == HTTP_NEED_MORE && ++len <= size);
	if (verdict != HTTP_DONE) {
		claim(last == verdict);
		return 0;
	}
	claim(last == HTTP_DONE && !memcmp(&whole, &pieces, sizeof(whole)));
	claim(whole.len <= size && whole.len <= HTTP_HEAD_MAX && whole.has_host);
	claim(!(whole.has_length && whole.has_coding));
	size_t body = read_body(&whole, data + whole.len, size - whole.len, SIZE_MAX);
	claim(body == read_body(&whole, data + whole.len, size - whole.len, 1));
	return body == SIZE_MAX ? 0 : whole.len + body;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned status = 0;
	size_t len, at = 0;

	if (size > 4096)
		return 0;
	uint8_t *copy = malloc(size ? size : 1);
	claim(copy != NULL);
	memcpy(copy, data, size);
	while (at < size && (len = read_request(copy + at, size - at)) > 0)
		at += len;
	if (http_answer_parse(copy, size, &status, &len) == HTTP_DONE)
		claim(status >= 100 && status <= 999 && len <= size);
	http_head_hide_upgrade(copy, size);
	free(copy);
	return 0;
}
