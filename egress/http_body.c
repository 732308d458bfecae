#include "egress/http_head.h"

#include <string.h>

/* The kind of the next byte of a body. */
enum state {
	LENGTH, /* content, of which `left` bytes come */
	SIZE,	/* a digit of a chunk's size, or the CR behind it */
	SIZE_LF,
	DATA, /* content of a chunk, of which `left` bytes come */
	DATA_CR,
	DATA_LF,
	TRAILER,      /* the first byte of a line of the trailers */
	TRAILER_NAME, /* another one of its name */
	TRAILER_VALUE,
	TRAILER_LF,
	END_LF, /* the LF of the empty line at the end */
	DONE
};

#define DIGITS_MAX 15 /* of a chunk's size: fits in 63 bits */

void http_body_init(struct http_body *b, const struct http_head *head)
{
	*b = (struct http_body){ .state = DONE };
	if (head->framing == HTTP_LENGTH) {
		b->state = LENGTH;
		b->left = head->length;
	} else if (head->framing == HTTP_CHUNKED)
		b->state = SIZE;
}

static bool refuse(struct http_body *b, enum http_why why)
{
	b->why = why;
	return false;
}

static int hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool take_size(struct http_body *b, uint8_t c)
{
	const int digit = hex_digit(c);

	if (digit >= 0 && b->digits < DIGITS_MAX) {
		b->left = b->left << 4 | (unsigned)digit;
		b->digits++;
		return true;
	}
	if (c != '\r' || !b->digits)
		return refuse(b, HTTP_BAD_CHUNK);
	b->state = SIZE_LF;
	return true;
}

/* Takes a byte that can only be `want`, and goes on to another state. */
static bool take_one(struct http_body *b, uint8_t c, uint8_t want, enum state next)
{
	if (c != want)
		return refuse(b, HTTP_BAD_CHUNK);
	b->state = next;
	return true;
}

/* Fields that say where a message ends or goes, which trailers must not change (RFC 9110,
 * section 6.5.1). */
static bool is_framing(const struct http_body *b)
{
	static const char *const names[] = {
		"host", "content-length", "transfer-encoding", "connection", "upgrade",
		"te",	"trailer"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (b->word_len == strlen(names[i]) &&
		    !memcmp(b->word, names[i], b->word_len))
			return true;
	return false;
}

static bool is_name_char(uint8_t c)
{
	return c > ' ' && c < 0x7f && !strchr("\"(),/:;<=>?@[\\]{}", c);
}

static bool take_name(struct http_body *b, uint8_t c)
{
	if (c == ':' && b->word_len) {
		b->state = TRAILER_VALUE;
		return is_framing(b) ? refuse(b, HTTP_BAD_TRAILER) : true;
	}
	if (!is_name_char(c))
		return refuse(b, HTTP_BAD_FIELD);
	if (b->word_len < sizeof(b->word))
		b->word[b->word_len] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
	b->word_len++;
	b->state = TRAILER_NAME;
	return true;
}

static bool take_trailer(struct http_body *b, uint8_t c)
{
	if (++b->bytes > HTTP_HEAD_MAX)
		return refuse(b, HTTP_TOO_LARGE);
	switch ((enum state)b->state) {
	case TRAILER:
		b->word_len = 0;
		if (c == '\r') {
			b->state = END_LF;
			return true;
		}
		if (++b->fields > HTTP_FIELDS_MAX)
			return refuse(b, HTTP_TOO_LARGE);
		return c == ' ' || c == '\t' ? refuse(b, HTTP_FOLDED) : take_name(b, c);
	case TRAILER_NAME:
		return take_name(b, c);
	case TRAILER_VALUE:
		if (c == '\r')
			b->state = TRAILER_LF;
		else if ((c < ' ' && c != '\t') || c == 0x7f)
			return refuse(b, c == '\n' ? HTTP_BAD_LINE_END : HTTP_BAD_BYTE);
		return true;
	case TRAILER_LF:
	case END_LF:
		if (c != '\n')
			return refuse(b, HTTP_BAD_LINE_END);
		b->state = b->state == END_LF ? DONE : TRAILER;
		return true;
	case LENGTH:
	case SIZE:
	case SIZE_LF:
	case DATA:
	case DATA_CR:
	case DATA_LF:
	case DONE:
		break;
	}
	return true;
}

/* Takes one byte that is no content. */
static bool take_byte(struct http_body *b, uint8_t c)
{
	switch ((enum state)b->state) {
	case SIZE:
		return take_size(b, c);
	case SIZE_LF:
		return take_one(b, c, '\n', b->left ? DATA : TRAILER);
	case DATA_CR:
		return take_one(b, c, '\r', DATA_LF);
	case DATA_LF:
		b->digits = 0;
		return take_one(b, c, '\n', SIZE);
	case TRAILER:
	case TRAILER_NAME:
	case TRAILER_VALUE:
	case TRAILER_LF:
	case END_LF:
		return take_trailer(b, c);
	case LENGTH:
	case DATA:
	case DONE:
		break;
	}
	return true;
}

/* Takes content; returns how many bytes. */
static size_t take_content(struct http_body *b, size_t len)
{
	const size_t n = b->left < len ? (size_t)b->left : len;

	b->left -= n;
	if (!b->left)
		b->state = b->state == LENGTH ? DONE : DATA_CR;
	return n;
}

enum http_verdict http_body_take(struct http_body *b, const uint8_t *bytes, size_t len,
				 size_t *ret_taken)
{
	size_t at = 0;

	while (at < len && b->state != DONE && b->why == HTTP_FINE) {
		if (b->state == LENGTH || b->state == DATA)
			at += take_content(b, len - at);
		else if (take_byte(b, bytes[at]))
			at++;
	}
	*ret_taken = at;
	if (b->why != HTTP_FINE)
		return HTTP_REFUSED;
	return b->state == DONE ? HTTP_DONE : HTTP_NEED_MORE;
}
