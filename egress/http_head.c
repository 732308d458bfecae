#include "egress/http_head.h"

#include <string.h>
#include <strings.h>

/* A part of a line; it does not end with a NUL. */
struct part {
	const char *at;
	size_t len;
};

static bool is_word(struct part p, const char *word)
{
	return p.len == strlen(word) && !strncasecmp(p.at, word, p.len);
}

/* A character of a token (RFC 9110, section 5.6.2). */
static bool is_token_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_token(struct part p)
{
	for (size_t i = 0; i < p.len; i++)
		if (!is_token_char(p.at[i]))
			return false;
	return p.len > 0;
}

static bool is_digits(struct part p)
{
	for (size_t i = 0; i < p.len; i++)
		if (p.at[i] < '0' || p.at[i] > '9')
			return false;
	return p.len > 0;
}

/* Takes the part before the first `c` off `p`; returns false if there is no `c`. */
static bool take_until(struct part *p, char c, struct part *ret)
{
	const char *found = p->len ? memchr(p->at, c, p->len) : NULL;

	if (!found)
		return false;
	*ret = (struct part){ p->at, (size_t)(found - p->at) };
	p->len -= ret->len + 1;
	p->at = found + 1;
	return true;
}

static struct part trim(struct part p)
{
	while (p.len && (*p.at == ' ' || *p.at == '\t'))
		p = (struct part){ p.at + 1, p.len - 1 };
	while (p.len && (p.at[p.len - 1] == ' ' || p.at[p.len - 1] == '\t'))
		p.len--;
	return p;
}

static enum http_verdict refuse(struct http_head *h, enum http_why why)
{
	h->why = why;
	return HTTP_REFUSED;
}

/* --- hosts -------------------------------------------------------------------------- */

/* Returns whether HOST[:PORT] is the connection's.  One dot may stand at the name's end,
 * as in DNS. */
static bool is_host(struct part p, const struct http_expect *expect)
{
	struct part name = p, port = p;

	if (take_until(&port, ':', &name)) {
		unsigned number = 0;
		if (!is_digits(port) || port.len > 5)
			return false;
		for (size_t i = 0; i < port.len; i++)
			number = number * 10 + (unsigned)(port.at[i] - '0');
		if (number != expect->port)
			return false;
	} else if (expect->port != 80)
		return false; /* 80 is what a missing port stands for (RFC 9110, 4.2.1) */
	if (name.len && name.at[name.len - 1] == '.')
		name.len--;
	return is_word(name, expect->name);
}

/* --- the request line ---------------------------------------------------------------- */

static enum http_why check_target(const struct http_head *h, struct part target,
				  const struct http_expect *expect)
{
	static const char scheme[] = "http://";
	const size_t len = sizeof(scheme) - 1;

	for (size_t i = 0; i < target.len; i++)
		if (target.at[i] <= ' ' || target.at[i] >= 0x7f)
			return HTTP_BAD_TARGET;
	if (!strcmp(h->method, "CONNECT"))
		return HTTP_CONNECT;
	if (is_word(target, "*"))
		return strcmp(h->method, "OPTIONS") ? HTTP_BAD_TARGET : HTTP_FINE;
	if (target.len && *target.at == '/')
		return HTTP_FINE;
	if (target.len < len || strncasecmp(target.at, scheme, len) != 0)
		return HTTP_BAD_TARGET;
	struct part host = { target.at + len, target.len - len }, rest = host;
	size_t end = 0;
	while (end < rest.len && !strchr("/?#", rest.at[end]))
		end++;
	host.len = end;
	return is_host(host, expect) ? HTTP_FINE : HTTP_OTHER_HOST;
}

static enum http_why read_request_line(struct http_head *h, struct part line,
				       const char *begin,
				       const struct http_expect *expect)
{
	struct part method, target;

	if (!take_until(&line, ' ', &method) || !take_until(&line, ' ', &target) ||
	    !is_token(method) || method.len >= HTTP_METHOD_SIZE || !target.len)
		return HTTP_BAD_REQUEST_LINE;
	if (line.len < 5 || memcmp(line.at, "HTTP/", 5) != 0)
		return HTTP_BAD_REQUEST_LINE;
	if (line.len != 8 || memcmp(line.at, "HTTP/1.", 7) != 0 ||
	    (line.at[7] != '0' && line.at[7] != '1'))
		return HTTP_BAD_VERSION;
	h->is_1_0 = line.at[7] == '0';
	memcpy(h->method, method.at, method.len);
	h->method[method.len] = '\0';
	h->target_at = (size_t)(target.at - begin);
	h->target_len = target.len;
	return check_target(h, target, expect);
}

/* --- fields -------------------------------------------------------------------------- */

static enum http_why take_host(struct http_head *h, struct part value,
			       const struct http_expect *expect)
{
	if (h->has_host)
		return HTTP_TWO_HOSTS;
	h->has_host = true;
	return is_host(value, expect) ? HTTP_FINE : HTTP_OTHER_HOST;
}

static enum http_why take_length(struct http_head *h, struct part value,
				 const struct http_expect *expect)
{
	(void)expect;
	if (h->has_length || !is_digits(value) || value.len > 18)
		return HTTP_BAD_LENGTH;
	h->has_length = true;
	for (size_t i = 0; i < value.len; i++)
		h->length = h->length * 10 + (uint64_t)(value.at[i] - '0');
	return HTTP_FINE;
}

static enum http_why take_coding(struct http_head *h, struct part value,
				 const struct http_expect *expect)
{
	(void)expect;
	if (h->has_coding || h->is_1_0 || !is_word(value, "chunked"))
		return HTTP_BAD_CODING;
	h->has_coding = true;
	return HTTP_FINE;
}

static enum http_why take_upgrade(struct http_head *h, struct part value,
				  const struct http_expect *expect)
{
	(void)expect;
	if (h->has_upgrade)
		return HTTP_UPGRADE;
	h->has_upgrade = true;
	h->is_h2c = is_word(value, "h2c");
	return h->is_h2c || is_word(value, "websocket") ? HTTP_FINE : HTTP_UPGRADE;
}

/* A list of words; `upgrade` among them is what counts here. */
static enum http_why take_connection(struct http_head *h, struct part value,
				     const struct http_expect *expect)
{
	struct part word;

	(void)expect;
	while (take_until(&value, ',', &word))
		h->is_upgrading |= is_word(trim(word), "upgrade");
	h->is_upgrading |= is_word(trim(value), "upgrade");
	return HTTP_FINE;
}

static const struct {
	const char *name;
	enum http_why (*take)(struct http_head *h, struct part value,
			      const struct http_expect *expect);
} fields[] = {
	{ "host", take_host },
	{ "content-length", take_length },
	{ "transfer-encoding", take_coding },
	{ "upgrade", take_upgrade },
	{ "connection", take_connection },
};

static enum http_why read_field(struct http_head *h, struct part line,
				const struct http_expect *expect)
{
	struct part name;

	if (++h->fields > HTTP_FIELDS_MAX)
		return HTTP_TOO_LARGE;
	if (*line.at == ' ' || *line.at == '\t')
		return HTTP_FOLDED;
	if (!take_until(&line, ':', &name) || !is_token(name))
		return HTTP_BAD_FIELD;
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (is_word(name, fields[i].name))
			return fields[i].take(h, trim(line), expect);
	return HTTP_FINE;
}

/* --- the whole ----------------------------------------------------------------------- */

static enum http_why check_upgrade(const struct http_head *h,
				   const struct http_expect *expect)
{
	if (!h->has_upgrade)
		return HTTP_FINE;
	if (h->is_h2c)
		return HTTP_UPGRADE_H2C;
	if (!h->is_upgrading || h->is_1_0 || strcmp(h->method, "GET") != 0 ||
	    h->has_coding || h->length)
		return HTTP_UPGRADE;
	return expect->is_first ? HTTP_FINE : HTTP_LATE_UPGRADE;
}

static enum http_verdict finish(struct http_head *h, const struct http_expect *expect)
{
	if (!h->has_host)
		return refuse(h, HTTP_NO_HOST);
	if (h->has_length && h->has_coding)
		return refuse(h, HTTP_LENGTH_AND_CODING);
	enum http_why why = check_upgrade(h, expect);
	if (why != HTTP_FINE)
		return refuse(h, why);
	h->framing = h->has_coding ? HTTP_CHUNKED
		     : h->length   ? HTTP_LENGTH
				   : HTTP_NO_BODY;
	h->is_websocket = h->has_upgrade;
	h->len = h->at;
	return HTTP_DONE;
}

/* Looks for the end of the line at h->at.  HTTP_DONE: *ret is the line without its CR and
 * LF, and h->at stands behind it. */
static enum http_verdict next_line(struct http_head *h, const char *bytes, size_t len,
				   struct part *ret)
{
	const char *begin = bytes + h->at;
	const char *end = len > h->at ? memchr(begin, '\n', len - h->at) : NULL;

	if (!end)
		return len > HTTP_HEAD_MAX ? refuse(h, HTTP_TOO_LARGE) : HTTP_NEED_MORE;
	if (end == begin || end[-1] != '\r')
		return refuse(h, HTTP_BAD_LINE_END);
	*ret = (struct part){ begin, (size_t)(end - begin) - 1 };
	h->at = (size_t)(end - bytes) + 1;
	if (h->at > HTTP_HEAD_MAX)
		return refuse(h, HTTP_TOO_LARGE);
	for (size_t i = 0; i < ret->len; i++) {
		const unsigned char c = (unsigned char)ret->at[i];
		if (c == '\r')
			return refuse(h, HTTP_BAD_LINE_END);
		if ((c < ' ' && c != '\t') || c == 0x7f)
			return refuse(h, HTTP_BAD_BYTE);
	}
	return HTTP_DONE;
}

enum http_verdict http_head_parse(struct http_head *h, const uint8_t *bytes, size_t len,
				  const struct http_expect *expect)
{
	const char *text = (const char *)bytes;
	enum http_verdict verdict;
	struct part line;

	if (h->why != HTTP_FINE)
		return HTTP_REFUSED;
	while ((verdict = next_line(h, text, len, &line)) == HTTP_DONE) {
		enum http_why why;
		if (!*h->method)
			why = read_request_line(h, line, text, expect);
		else if (!line.len)
			return finish(h, expect);
		else
			why = read_field(h, line, expect);
		if (why != HTTP_FINE)
			return refuse(h, why);
	}
	return verdict;
}

void http_head_hide_upgrade(uint8_t *bytes, size_t len)
{
	static const char name[] = "upgrade:";
	const size_t size = sizeof(name) - 1;

	for (size_t at = 0; at + size <= len; at++) {
		const bool is_first = at && bytes[at - 1] == '\n';
		if (is_first && !strncasecmp((const char *)bytes + at, name, size))
			bytes[at] = 'X';
		/* the head's end: bytes behind it are another request's */
		if (is_first && bytes[at] == '\r')
			return;
	}
}

enum http_verdict http_answer_parse(const uint8_t *bytes, size_t len,
				    unsigned *ret_status, size_t *ret_len)
{
	static const char begin[] = "HTTP/1.";
	const size_t shown = len < sizeof(begin) - 1 ? len : sizeof(begin) - 1;
	const char *text = (const char *)bytes;

	if (memcmp(text, begin, shown) != 0)
		return HTTP_REFUSED;
	const char *end = memmem(text, len, "\r\n\r\n", 4);
	if (!end)
		return len >= HTTP_HEAD_MAX ? HTTP_REFUSED : HTTP_NEED_MORE;
	const struct part code = { text + 9, 3 };
	if (end - text < 12 || text[8] != ' ' || !is_digits(code) || code.at[0] == '0')
		return HTTP_REFUSED;
	*ret_status = (unsigned)((code.at[0] - '0') * 100 + (code.at[1] - '0') * 10 +
				 (code.at[2] - '0'));
	*ret_len = (size_t)(end - text) + 4;
	return HTTP_DONE;
}

const char *http_why_text(enum http_why why)
{
	static const char *const texts[HTTP_WHY_COUNT] = {
		[HTTP_FINE] = "nothing",
		[HTTP_BAD_REQUEST_LINE] = "the first line is no request",
		[HTTP_BAD_VERSION] = "the version is not HTTP/1.0 or HTTP/1.1",
		[HTTP_BAD_LINE_END] = "a line does not end with CR and LF",
		[HTTP_BAD_BYTE] = "a control character is in the head",
		[HTTP_BAD_FIELD] = "a line is no field",
		[HTTP_FOLDED] = "a field goes on in the next line",
		[HTTP_TOO_LARGE] = "the head is too large",
		[HTTP_NO_HOST] = "there is no Host",
		[HTTP_TWO_HOSTS] = "there are two Hosts",
		[HTTP_OTHER_HOST] = "Host is not the connection's name",
		[HTTP_CONNECT] = "the method is CONNECT",
		[HTTP_BAD_TARGET] = "the target is neither a path nor an address of http",
		[HTTP_BAD_LENGTH] = "Content-Length is not one number",
		[HTTP_BAD_CODING] = "Transfer-Encoding is not `chunked` alone",
		[HTTP_LENGTH_AND_CODING] =
			"there are Content-Length and Transfer-Encoding",
		[HTTP_UPGRADE] = "an upgrade is not to websocket",
		[HTTP_UPGRADE_H2C] = "an upgrade is to HTTP/2",
		[HTTP_LATE_UPGRADE] = "an upgrade is not in the first request",
		[HTTP_BAD_CHUNK] = "a chunk has a wrong size or end",
		[HTTP_BAD_TRAILER] = "a trailer has a field that frames or routes",
	};

	return why < HTTP_WHY_COUNT ? texts[why] : "unknown";
}
