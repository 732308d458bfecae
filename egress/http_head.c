#include "egress/http_head.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "egress/http_field.h"

/* Bytes of a head. */
struct part {
	const uint8_t *at, *end;
};

static size_t size(struct part part)
{
	return (size_t)(part.end - part.at);
}

static bool is_text(struct part part, const char *text)
{
	return size(part) == strlen(text) && memcmp(part.at, text, size(part)) == 0;
}

/* In letters of any case. */
static bool is_word(struct part part, const char *word)
{
	return size(part) == strlen(word) &&
	       strncasecmp((const char *)part.at, word, size(part)) == 0;
}

static bool is_token(struct part part)
{
	if (part.at == part.end)
		return false;
	for (; part.at < part.end; part.at++)
		if (!http_is_token(*part.at))
			return false;
	return true;
}

/* Takes the bytes up to `c`, and `c`; all if there is none. */
static struct part take_until(struct part *from, uint8_t c)
{
	const uint8_t *found = size(*from) ? memchr(from->at, c, size(*from)) : NULL;
	struct part part = { from->at, found ? found : from->end };

	from->at = found ? found + 1 : from->end;
	return part;
}

/* --- lines ------------------------------------------------------------------ */

static enum http_verdict refuse(struct http_head *h, enum http_why why)
{
	h->why = why;
	return HTTP_REFUSED;
}

/* Looks for the end of the line that begins at h->at.  h->len counts the bytes that were
 * looked at, until the head is whole, so that none is searched twice. */
static enum http_verdict find_line(struct http_head *h, const uint8_t *bytes, size_t len,
				   struct part *ret)
{
	size_t end = len < HTTP_HEAD_MAX ? len : HTTP_HEAD_MAX;

	while (h->len < end) {
		uint8_t c = bytes[h->len];
		bool is_after_cr = h->len > h->at && bytes[h->len - 1] == '\r';
		h->len++;
		if (is_after_cr != (c == '\n'))
			return refuse(h, HTTP_BAD_LINE_END);
		if (http_is_control(c))
			return refuse(h, HTTP_BAD_BYTE);
		if (c == '\n') {
			*ret = (struct part){ bytes + h->at, bytes + h->len - 2 };
			h->at = h->len;
			return HTTP_DONE;
		}
	}
	return end == HTTP_HEAD_MAX ? refuse(h, HTTP_TOO_LARGE) : HTTP_NEED_MORE;
}

/* --- the request line --------------------------------------------------------- */

/* Whether the text is the connection's name, perhaps with a final dot, and perhaps with
 * the connection's port. */
static bool is_host(struct part text, const struct http_expect *expect)
{
	size_t len = strlen(expect->name);
	char port[8];

	if (len == 0 || size(text) < len ||
	    strncasecmp((const char *)text.at, expect->name, len) != 0)
		return false;
	text.at += len;
	if (size(text) && *text.at == '.')
		text.at++;
	(void)snprintf(port, sizeof(port), ":%u", expect->port); /* fits: 5 digits */
	return size(text) == 0 || is_text(text, port);
}

static enum http_why read_version(struct http_head *h, struct part version)
{
	h->is_1_0 = is_text(version, "HTTP/1.0");
	if (h->is_1_0 || is_text(version, "HTTP/1.1"))
		return HTTP_FINE;
	if (size(version) < 5 || memcmp(version.at, "HTTP/", 5) != 0)
		return HTTP_BAD_REQUEST_LINE;
	return HTTP_BAD_VERSION;
}

/* Reads what follows `http://`: a server takes the target's host before the field Host
 * (RFC 9112, section 3.2.2). */
static enum http_why check_absolute(struct part target, const struct http_expect *expect)
{
	struct part rest = target;

	while (size(rest) && *rest.at != '/' && *rest.at != '?')
		rest.at++;
	target.end = rest.at;
	return expect->name && is_host(target, expect) ? HTTP_FINE : HTTP_OTHER_HOST;
}

static enum http_why check_target(const struct http_head *h, struct part target,
				  const struct http_expect *expect)
{
	static const char scheme[] = "http://";
	size_t len = sizeof(scheme) - 1;

	/* A fragment is no part of a target; servers that find one differ. */
	if (memchr(target.at, '#', size(target)))
		return HTTP_BAD_TARGET;
	if (*target.at == '/')
		return HTTP_FINE;
	if (is_text(target, "*"))
		return strcmp(h->method, "OPTIONS") == 0 ? HTTP_FINE : HTTP_BAD_TARGET;
	if (size(target) < len || strncasecmp((const char *)target.at, scheme, len) != 0)
		return HTTP_BAD_TARGET;
	target.at += len;
	return check_absolute(target, expect);
}

static enum http_why read_request_line(struct http_head *h, struct part line,
				       const struct http_expect *expect)
{
	struct part rest = line;
	struct part method = take_until(&rest, ' ');
	struct part target = take_until(&rest, ' ');

	/* A tab is a blank for some servers. */
	if (!is_token(method) || size(method) >= HTTP_METHOD_SIZE || size(target) == 0 ||
	    memchr(line.at, '\t', size(line)))
		return HTTP_BAD_REQUEST_LINE;
	enum http_why why = read_version(h, rest);
	if (why)
		return why;
	memcpy(h->method, method.at, size(method));
	h->target_at = (size_t)(target.at - line.at);
	h->target_len = size(target);
	if (is_word(method, "CONNECT"))
		return HTTP_CONNECT;
	return check_target(h, target, expect);
}

/* --- fields ------------------------------------------------------------------- */

static enum http_why read_host(struct http_head *h, struct part value,
			       const struct http_expect *expect)
{
	if (h->has_host)
		return HTTP_TWO_HOSTS;
	h->has_host = true;
	return !expect->name || is_host(value, expect) ? HTTP_FINE : HTTP_OTHER_HOST;
}

/* 18 digits fit into each server's 64 bits.  A leading zero makes an octal number for
 * strtol(3) with base 0. */
static enum http_why read_length(struct http_head *h, struct part value)
{
	bool is_odd = size(value) == 0 || size(value) > 18 ||
		      (size(value) > 1 && *value.at == '0');

	if (h->has_length || is_odd)
		return HTTP_BAD_LENGTH;
	h->has_length = true;
	for (; value.at < value.end; value.at++) {
		if (*value.at < '0' || *value.at > '9')
			return HTTP_BAD_LENGTH;
		h->length = h->length * 10 + (uint64_t)(*value.at - '0');
	}
	return HTTP_FINE;
}

/* Servers that compare letters exactly would not know `Chunked`. */
static enum http_why read_coding(struct http_head *h, struct part value)
{
	if (h->has_coding || h->is_1_0 || !is_text(value, "chunked"))
		return HTTP_BAD_CODING;
	h->has_coding = true;
	return HTTP_FINE;
}

/* A proxy in front of the server drops the fields that are named here (RFC 9110, section
 * 7.6.1), so these must not be ones that the gate has relied on. */
static enum http_why read_connection(struct http_head *h, struct part value)
{
	while (size(value)) {
		struct part word = take_until(&value, ',');
		while (size(word) && *word.at == ' ')
			word.at++;
		while (size(word) && word.end[-1] == ' ')
			word.end--;
		if (size(word) == 0)
			continue;
		enum http_field field = http_field_of(word.at, size(word));
		if (!is_token(word) ||
		    (field != HTTP_FIELD_OTHER && field != HTTP_FIELD_UPGRADE))
			return HTTP_BAD_FIELD;
		h->is_upgrading |= field == HTTP_FIELD_UPGRADE;
	}
	return HTTP_FINE;
}

static enum http_why read_upgrade(struct http_head *h, struct part value)
{
	h->is_h2c = is_word(value, "h2c");
	if (h->has_upgrade || (!h->is_h2c && !is_word(value, "websocket")))
		return HTTP_UPGRADE;
	h->has_upgrade = true;
	return HTTP_FINE;
}

/* Blanks before the value are skipped, as every server does; not a tab, nor blanks behind
 * it, so these make a value that is refused. */
static enum http_why read_field(struct http_head *h, struct part line,
				const struct http_expect *expect)
{
	struct part value = line, name;

	if (*line.at == ' ' || *line.at == '\t')
		return HTTP_FOLDED;
	name = take_until(&value, ':');
	if (!is_token(name) || name.end == line.end)
		return HTTP_BAD_FIELD;
	if (++h->fields > HTTP_FIELDS_MAX)
		return HTTP_TOO_LARGE;
	while (size(value) && *value.at == ' ')
		value.at++;
	switch (http_field_of(name.at, size(name))) {
	case HTTP_FIELD_HOST:
		return read_host(h, value, expect);
	case HTTP_FIELD_LENGTH:
		return read_length(h, value);
	case HTTP_FIELD_CODING:
		return read_coding(h, value);
	case HTTP_FIELD_CONNECTION:
		return read_connection(h, value);
	case HTTP_FIELD_UPGRADE:
		return read_upgrade(h, value);
	case HTTP_FIELD_MIMIC:
		return HTTP_BAD_FIELD;
	case HTTP_FIELD_OTHER:
		break;
	}
	return HTTP_FINE;
}

/* --- the whole head ------------------------------------------------------------- */

/* A server that finds a handshake malformed goes on with HTTP, and then the gate must
 * not have become opaque. */
static enum http_why check_upgrade(struct http_head *h, const struct http_expect *expect)
{
	if (!h->has_upgrade)
		return HTTP_FINE;
	if (h->is_h2c)
		return HTTP_UPGRADE_H2C;
	if (!h->is_upgrading || h->is_1_0 || h->has_length || h->has_coding ||
	    strcmp(h->method, "GET") != 0)
		return HTTP_UPGRADE;
	if (!expect->is_first)
		return HTTP_LATE_UPGRADE;
	h->is_websocket = true;
	return HTTP_FINE;
}

static enum http_verdict finish(struct http_head *h, const struct http_expect *expect)
{
	if (!h->has_host)
		return refuse(h, HTTP_NO_HOST);
	if (h->has_length && h->has_coding)
		return refuse(h, HTTP_LENGTH_AND_CODING);
	enum http_why why = check_upgrade(h, expect);
	if (why)
		return refuse(h, why);
	h->framing = h->has_coding   ? HTTP_CHUNKED
		     : h->has_length ? HTTP_LENGTH
				     : HTTP_NO_BODY;
	return HTTP_DONE;
}

static enum http_verdict read_line(struct http_head *h, struct part line,
				   const struct http_expect *expect)
{
	bool is_first = h->method[0] == '\0';

	if (!is_first && size(line) == 0)
		return finish(h, expect);
	enum http_why why = is_first ? read_request_line(h, line, expect)
				     : read_field(h, line, expect);
	return why ? refuse(h, why) : HTTP_NEED_MORE;
}

enum http_verdict http_head_parse(struct http_head *h, const uint8_t *bytes, size_t len,
				  const struct http_expect *expect)
{
	struct part line;

	if (h->why)
		return HTTP_REFUSED;
	for (;;) {
		enum http_verdict verdict = find_line(h, bytes, len, &line);
		if (verdict != HTTP_DONE)
			return verdict;
		verdict = read_line(h, line, expect);
		if (verdict != HTTP_NEED_MORE)
			return verdict;
	}
}

void http_head_hide_upgrade(uint8_t *bytes, size_t len)
{
	static const char field[] = "upgrade:";
	size_t field_len = sizeof(field) - 1;
	uint8_t *at = bytes, *end = bytes + len;

	while (at < end && *at != '\r') {
		if ((size_t)(end - at) >= field_len &&
		    strncasecmp((const char *)at, field, field_len) == 0)
			*at = 'X';
		uint8_t *line_end = memchr(at, '\n', (size_t)(end - at));
		at = line_end ? line_end + 1 : end;
	}
}

/* --- answers -------------------------------------------------------------------- */

/* Whether the bytes may begin a status line; the text after the status may be missing. */
static bool is_status_line(const uint8_t *bytes, size_t len)
{
	static const char form[] = "HTTP/1.d ndd_";

	for (size_t i = 0; i < len && i < sizeof(form) - 1; i++) {
		uint8_t c = bytes[i];
		bool is_fine = c == (uint8_t)form[i];
		if (form[i] == 'd')
			is_fine = c >= '0' && c <= '9';
		if (form[i] == 'n')
			is_fine = c >= '1' && c <= '9';
		if (form[i] == '_')
			is_fine = c == ' ' || c == '\r';
		if (!is_fine)
			return false;
	}
	return true;
}

enum http_verdict http_answer_parse(const uint8_t *bytes, size_t len,
				    unsigned *ret_status, size_t *ret_len)
{
	struct http_head h = { 0 };
	struct part line;
	enum http_verdict verdict;

	if (!is_status_line(bytes, len))
		return HTTP_REFUSED;
	do
		verdict = find_line(&h, bytes, len, &line);
	while (verdict == HTTP_DONE && size(line) > 0);
	if (verdict != HTTP_DONE)
		return verdict;
	*ret_status = (bytes[9] - '0') * 100u + (bytes[10] - '0') * 10u + bytes[11] - '0';
	*ret_len = h.len;
	return HTTP_DONE;
}

/* --- words ---------------------------------------------------------------------- */

const char *http_why_text(enum http_why why)
{
	static const char *const texts[] = {
		[HTTP_FINE] = "the request is valid",
		[HTTP_BAD_REQUEST_LINE] = "the request line is malformed",
		[HTTP_BAD_VERSION] = "the version is not HTTP/1.0 or HTTP/1.1",
		[HTTP_BAD_LINE_END] = "a line does not end with CR and LF",
		[HTTP_BAD_BYTE] = "a line has a control character",
		[HTTP_BAD_FIELD] = "a header field is malformed",
		[HTTP_FOLDED] = "a header field goes on in the next line",
		[HTTP_TOO_LARGE] = "the header has too many bytes or fields",
		[HTTP_NO_HOST] = "Host is missing",
		[HTTP_TWO_HOSTS] = "Host stands twice",
		[HTTP_OTHER_HOST] = "Host is not the connection's name",
		[HTTP_CONNECT] = "CONNECT is not allowed",
		[HTTP_BAD_TARGET] = "the target is no path",
		[HTTP_BAD_LENGTH] = "Content-Length is malformed",
		[HTTP_BAD_CODING] = "Transfer-Encoding is not one `chunked`",
		[HTTP_LENGTH_AND_CODING] =
			"there are both Content-Length and Transfer-Encoding",
		[HTTP_UPGRADE] = "only an upgrade to websocket is allowed",
		[HTTP_UPGRADE_H2C] = "an upgrade to HTTP/2 is not allowed",
		[HTTP_LATE_UPGRADE] = "only the first request may upgrade to websocket",
		[HTTP_BAD_CHUNK] = "a chunk of the body is malformed",
		[HTTP_BAD_TRAILER] =
			"a trailer would change where the request goes or ends",
	};
	static_assert(ARRAY_LEN(texts) == HTTP_WHY_COUNT, "a reason has no words");

	return why < HTTP_WHY_COUNT ? texts[why] : "the reason is unknown";
}
