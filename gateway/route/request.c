#include "gateway/route/request.h"

#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/own.h"

void request_init(struct request *r, const struct http_head *head, const uint8_t *bytes)
{
	const char *target = (const char *)bytes + head->target_at;
	const char *mark = memchr(target, '?', head->target_len);
	const size_t len = mark ? (size_t)(mark - target) : head->target_len;

	*r = (struct request){ .head = head,
			       .bytes = (const char *)bytes,
			       .path = { target, len } };
	if (mark)
		r->query = (struct span){ mark + 1, head->target_len - len - 1 };
}

bool span_is(struct span s, const char *text)
{
	return s.at && s.len == strlen(text) && !memcmp(s.at, text, s.len);
}

static bool is_word(struct span s, const char *word)
{
	return s.at && s.len == strlen(word) && !strncasecmp(s.at, word, s.len);
}

/* --- fields ------------------------------------------------------------------- */

struct line {
	struct span name, value, all; /* all: with its line end */
};

/* Takes the next line behind `*at`; false: the head's end.  The head is well-formed. */
static bool next_line(const struct request *r, size_t *at, struct line *ret)
{
	const char *text = r->bytes + *at, *end = r->bytes + r->head->len;
	const char *stop = memchr(text, '\n', (size_t)(end - text));

	if (!stop || *text == '\r')
		return false;
	const char *colon = memchr(text, ':', (size_t)(stop - text));
	*at += (size_t)(stop + 1 - text);
	ret->all = (struct span){ text, (size_t)(stop + 1 - text) };
	ret->name = (struct span){ text, colon ? (size_t)(colon - text) : 0 };
	const char *value = colon ? colon + 1 : stop - 1;
	const char *last = stop - 1; /* the CR */
	while (value < last && (*value == ' ' || *value == '\t'))
		value++;
	while (last > value && (last[-1] == ' ' || last[-1] == '\t'))
		last--;
	ret->value = (struct span){ value, (size_t)(last - value) };
	return true;
}

/* The offset of the first field. */
static size_t fields_at(const struct request *r)
{
	const char *stop = memchr(r->bytes, '\n', r->head->len);

	return stop ? (size_t)(stop + 1 - r->bytes) : r->head->len;
}

struct span request_field(const struct request *r, const char *name)
{
	size_t at = fields_at(r);
	struct line line;

	while (next_line(r, &at, &line))
		if (is_word(line.name, name))
			return line.value;
	return (struct span){ 0 };
}

struct span request_component(struct span *path)
{
	if (path->len == 0 || path->at[0] != '/')
		return (struct span){ path->at, 0 };
	const char *from = path->at + 1, *end = path->at + path->len;
	const char *slash = memchr(from, '/', (size_t)(end - from));
	const char *stop = slash ? slash : end;

	*path = (struct span){ stop, (size_t)(end - stop) };
	return (struct span){ from, (size_t)(stop - from) };
}

/* --- heads for pods ------------------------------------------------------------- */

/* Whether a field Connection names this one. */
static bool is_listed(const struct request *r, struct span name)
{
	size_t at = fields_at(r);
	struct line line;

	while (next_line(r, &at, &line)) {
		if (!is_word(line.name, "connection"))
			continue;
		const char *text = line.value.at, *end = text + line.value.len;
		while (text < end) {
			const char *comma = memchr(text, ',', (size_t)(end - text));
			const char *stop = comma ? comma : end,
				   *next = comma ? stop + 1 : end;

			while (text < stop && *text == ' ')
				text++;
			while (stop > text && stop[-1] == ' ')
				stop--;
			if ((size_t)(stop - text) == name.len &&
			    !strncasecmp(text, name.at, name.len))
				return true;
			text = next;
		}
	}
	return false;
}

static bool is_passed_on(const struct request *r, struct span name, bool has_body)
{
	static const char *const own[] = { "connection", "keep-alive", "proxy-connection",
					   "upgrade", "te" };

	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (is_word(name, own[i]))
			return false;
	if (has_body && is_word(name, "expect"))
		return false;
	return !is_listed(r, name);
}

static void put(struct buffer *to, const char *text)
{
	(void)buffer_append(to, text, strlen(text)); /* a head has a bound, and so fits */
}

static void put_span(struct buffer *to, struct span s)
{
	(void)buffer_append(to, s.at, s.len);
}

void request_write(const struct request *r, bool has_body, struct buffer *to)
{
	size_t at = fields_at(r);
	struct line line;

	put_span(to, (struct span){ r->bytes, at });
	while (next_line(r, &at, &line))
		if (is_passed_on(r, line.name, has_body))
			put_span(to, line.all);
	put(to, "Connection: close\r\n\r\n");
}

void request_write_question(const struct request *r, struct span target,
			    struct buffer *to)
{
	static const char *const kept[] = {
		"host",	 "origin", "x-api-key", "authorization", "x-session-api-key",
		"accept"
	};
	size_t at = fields_at(r);
	struct line line;

	put(to, "GET ");
	put_span(to, target);
	put(to, " HTTP/1.1\r\n");
	while (next_line(r, &at, &line))
		for (size_t i = 0; i < ARRAY_LEN(kept); i++)
			if (is_word(line.name, kept[i]) && !is_listed(r, line.name))
				put_span(to, line.all);
	put(to, "Connection: close\r\n\r\n");
}
