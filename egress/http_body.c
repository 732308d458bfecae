/* The bodies of requests, byte by byte where their framing is, and piece by piece where
 * their data is. */
#include <assert.h>
#include <string.h>

#include "base/hex.h"
#include "base/own.h"
#include "egress/http_field.h"
#include "egress/http_head.h"

enum state {
	DONE,
	BODY,  /* `left` bytes, and then the body ends */
	CHUNK, /* `left` bytes, and then the chunk ends */
	SIZE,  /* a chunk's size, which `left` grows to */
	SIZE_LF,
	DATA_CR,
	DATA_LF,
	TRAILER, /* the first byte of a trailer, or of the empty line */
	NAME,
	VALUE,
	TRAILER_LF,
	LAST_LF,
	STATE_COUNT
};

/* A chunk's size has 31 bits: servers exist that compute with as many.  Leading zeros
 * count as digits. */
enum { DIGITS_MAX = 8, CHUNK_MAX = INT32_MAX };

static_assert(HTTP_FIELD_NAME_MAX < sizeof((struct http_body){ 0 }.word),
	      "a name that is cut equals none");

void http_body_init(struct http_body *b, const struct http_head *head)
{
	*b = (struct http_body){ .state = DONE };
	if (head->framing == HTTP_CHUNKED)
		b->state = SIZE;
	if (head->framing == HTTP_LENGTH && head->length > 0) {
		b->state = BODY;
		b->left = head->length;
	}
}

/* --- chunks ------------------------------------------------------------------- */

/* Each step takes a byte, and sets the next state. */
static enum http_why go(struct http_body *b, enum state next)
{
	b->state = next;
	return HTTP_FINE;
}

static enum http_why take_size(struct http_body *b, uint8_t c)
{
	int value = hex_value((char)c);

	if (c == '\r' && b->digits)
		return go(b, SIZE_LF);
	if (value < 0 || ++b->digits > DIGITS_MAX)
		return HTTP_BAD_CHUNK;
	b->left = b->left << 4 | (uint64_t)value;
	return b->left > CHUNK_MAX ? HTTP_BAD_CHUNK : HTTP_FINE;
}

static enum http_why take_size_lf(struct http_body *b, uint8_t c)
{
	b->digits = 0;
	return c != '\n' ? HTTP_BAD_CHUNK : go(b, b->left ? CHUNK : TRAILER);
}

static enum http_why take_data_cr(struct http_body *b, uint8_t c)
{
	return c != '\r' ? HTTP_BAD_CHUNK : go(b, DATA_LF);
}

static enum http_why take_data_lf(struct http_body *b, uint8_t c)
{
	return c != '\n' ? HTTP_BAD_CHUNK : go(b, SIZE);
}

/* --- trailers ----------------------------------------------------------------- */

static enum http_why take_name(struct http_body *b, uint8_t c)
{
	if (c == ':') {
		enum http_field field =
			http_field_of((const uint8_t *)b->word, b->word_len);
		return field ? HTTP_BAD_TRAILER : go(b, VALUE);
	}
	if (!http_is_token(c))
		return HTTP_BAD_FIELD;
	if (b->word_len < sizeof(b->word))
		b->word[b->word_len++] = (char)c;
	return HTTP_FINE;
}

static enum http_why take_trailer(struct http_body *b, uint8_t c)
{
	if (c == '\r')
		return go(b, LAST_LF);
	if (c == '\n')
		return HTTP_BAD_LINE_END;
	if (c == ' ' || c == '\t')
		return HTTP_FOLDED;
	if (!http_is_token(c))
		return HTTP_BAD_FIELD;
	if (++b->fields > HTTP_FIELDS_MAX)
		return HTTP_TOO_LARGE;
	b->state = NAME;
	b->word_len = 0;
	return take_name(b, c);
}

static enum http_why take_value(struct http_body *b, uint8_t c)
{
	if (c == '\n')
		return HTTP_BAD_LINE_END;
	return c == '\r' ? go(b, TRAILER_LF) : HTTP_FINE;
}

static enum http_why take_trailer_lf(struct http_body *b, uint8_t c)
{
	return c != '\n' ? HTTP_BAD_LINE_END : go(b, TRAILER);
}

static enum http_why take_last_lf(struct http_body *b, uint8_t c)
{
	return c != '\n' ? HTTP_BAD_LINE_END : go(b, DONE);
}

/* --- the body ------------------------------------------------------------------- */

/* DONE, BODY and CHUNK take no single bytes. */
static enum http_why (*const steps[])(struct http_body *b, uint8_t c) = {
	[SIZE] = take_size,	  [SIZE_LF] = take_size_lf,
	[DATA_CR] = take_data_cr, [DATA_LF] = take_data_lf,
	[TRAILER] = take_trailer, [NAME] = take_name,
	[VALUE] = take_value,	  [TRAILER_LF] = take_trailer_lf,
	[LAST_LF] = take_last_lf,
};
static_assert(ARRAY_LEN(steps) == STATE_COUNT, "a state has no step");

static enum http_why take_byte(struct http_body *b, uint8_t c)
{
	if (b->state >= TRAILER) {
		if (http_is_control(c))
			return HTTP_BAD_BYTE;
		if (++b->bytes > HTTP_HEAD_MAX)
			return HTTP_TOO_LARGE;
	}
	return steps[b->state](b, c);
}

/* Takes the bytes of data that have come. */
static size_t take_data(struct http_body *b, size_t len)
{
	size_t taken = len < b->left ? len : (size_t)b->left;

	b->left -= taken;
	if (b->left == 0)
		b->state = b->state == CHUNK ? DATA_CR : DONE;
	return taken;
}

enum http_verdict http_body_take(struct http_body *b, const uint8_t *bytes, size_t len,
				 size_t *ret_taken)
{
	size_t at = 0;

	while (at < len && b->state != DONE && !b->why) {
		if (b->state == BODY || b->state == CHUNK) {
			at += take_data(b, len - at);
			continue;
		}
		b->why = take_byte(b, bytes[at]);
		at += b->why ? 0 : 1;
	}
	*ret_taken = at;
	if (b->why)
		return HTTP_REFUSED;
	return b->state == DONE ? HTTP_DONE : HTTP_NEED_MORE;
}
