#include "actions/redact_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

/* Keys whose values are words that programs compare, so these values are not redacted. */
static const char *const plain_keys[] = {
	"observation", "event",	 "error_id", "impl_source", "name",    "id",
	"state",       "status", "created",  "version",	    "network", "isolation",
	"confined",    "reason", "limit",    "time",	    "mode",    "form",
};

struct walk {
	const struct redact *secrets;
	struct buffer *out, raw, masked; /* buffers for one string's text: decoded, and
					  * redacted */
	const char *key; /* the key in front of the next string; NULL: the string has
			  * none */
	size_t key_len;
};

static bool is_plain(const struct walk *w)
{
	for (size_t i = 0; w->key && i < ARRAY_LEN(plain_keys); i++)
		if (strlen(plain_keys[i]) == w->key_len &&
		    !memcmp(plain_keys[i], w->key, w->key_len))
			return true;
	return false;
}

static void copy(struct buffer *to, const void *data, size_t len)
{
	if (len > 0 && !buffer_append(to, data, len))
		to->is_cut = true;
}

/* Decodes \uXXXX, which never is half of a surrogate pair in lines that hutch writes. */
static size_t put_unicode(struct buffer *to, const char *digits)
{
	char hex[5] = { digits[0], digits[1], digits[2], digits[3], '\0' };
	unsigned long c = strtoul(hex, NULL, 16);
	const char bytes[] = { (char)(0xe0 | c >> 12), (char)(0x80 | (c >> 6 & 0x3f)),
			       (char)(0x80 | (c & 0x3f)) };
	const char two[] = { (char)(0xc0 | c >> 6), (char)(0x80 | (c & 0x3f)) };

	if (c < 0x80)
		copy(to, (char[]){ (char)c }, 1);
	else if (c < 0x800)
		copy(to, two, 2);
	else
		copy(to, bytes, 3);
	return 4;
}

static size_t put_escape(struct buffer *to, const char *at, size_t left)
{
	static const char from[] = "bfnrt", means[] = "\b\f\n\r\t";
	const char *found = strchr(from, *at);

	if (*at == 'u' && left > 4)
		return 1 + put_unicode(to, at + 1);
	copy(to, found ? means + (found - from) : at, 1);
	return 1;
}

/* Decodes a JSON string, given without its quotes. */
static void decode(struct buffer *to, const char *at, size_t len)
{
	for (size_t i = 0; i < len;) {
		const char *stop = memchr(at + i, '\\', len - i);
		size_t n = stop ? (size_t)(stop - at) - i : len - i;
		copy(to, at + i, n);
		i += n;
		if (i + 1 < len)
			i += 1 + put_escape(to, at + i + 1, len - i - 1);
		else
			i = len;
	}
}

static void start_text(struct buffer *b, size_t max)
{
	buffer_consume(b, buffer_len(b));
	b->max = max;
}

/* Copies a string, given without its quotes, and redacts it. Most strings hold no
 * secret, and are copied unchanged. */
static void put_inside(struct walk *w, const char *at, size_t len)
{
	const char *raw = at;
	size_t raw_len = len;

	if (len > 0 && memchr(at, '\\', len)) {
		start_text(&w->raw, len);
		decode(&w->raw, at, len);
		raw = (const char *)buffer_data(&w->raw);
		raw_len = buffer_len(&w->raw);
	}
	start_text(&w->masked, REDACT_GROWTH * raw_len);
	if (!is_plain(w) && redact_cut_text(w->secrets, raw, raw_len, &w->masked))
		json_write_part(w->out, buffer_data(&w->masked), buffer_len(&w->masked));
	else
		copy(w->out, at, len);
}

/* Returns the length of a string up to its closing quote; `at` is behind the opening
 * quote. */
static size_t inside_length(const char *at, size_t left)
{
	size_t n = 0;

	while (n < left && at[n] != '"')
		n += at[n] == '\\' ? 2 : 1;
	return n < left ? n : left;
}

static void walk(struct walk *w, const char *at, size_t len)
{
	for (size_t i = 0; i < len;) {
		const char *quote = memchr(at + i, '"', len - i);
		size_t begin = quote ? (size_t)(quote - at) + 1 : len;
		copy(w->out, at + i, begin - i);
		size_t n = inside_length(at + begin, len - begin), end = begin + n;
		bool is_key = end + 1 < len && at[end + 1] == ':';
		if (is_key)
			copy(w->out, at + begin, n);
		else
			put_inside(w, at + begin, n);
		w->key = is_key ? at + begin : NULL;
		w->key_len = n;
		i = end;
		if (i < len) /* copy the closing quote, too */
			copy(w->out, at + i++, 1);
	}
}

void redact_json_line(const struct redact *m, struct buffer *line)
{
	struct buffer out;

	if (redact_is_empty(m) || line->is_cut)
		return;
	buffer_init(&out, line->max);
	struct walk w = { .secrets = m, .out = &out };
	walk(&w, (const char *)buffer_data(line), buffer_len(line));
	buffer_done(&w.raw);
	buffer_done(&w.masked);
	buffer_done(line);
	*line = out;
}

void redact_json_text(const struct redact *m, char **json)
{
	size_t len = strlen(*json);
	struct buffer line;

	if (redact_is_empty(m))
		return;
	buffer_init(&line, REDACT_GROWTH * len + 1);
	copy(&line, *json, len);
	redact_json_line(m, &line);
	copy(&line, "", 1);
	free(*json);
	*json = mem_copy(buffer_data(&line), buffer_len(&line));
	buffer_done(&line);
}
