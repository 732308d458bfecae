#include "base/redact.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/utf8.h"

#define BLANKS " \t\r\n\v\f"

/* --- the automaton --------------------------------------------------------- */

void redact_done(struct redact *m)
{
	if (!m)
		return;
	if (m->nodes)
		explicit_bzero(m->nodes, m->count * sizeof(*m->nodes));
	free(m->nodes);
	*m = (struct redact){ 0 };
}

static uint32_t child_of(const struct redact *m, uint32_t node, uint8_t byte)
{
	if (node == 0)
		return m->first[byte];
	uint32_t child = m->nodes[node].child;
	while (child && m->nodes[child].byte != byte)
		child = m->nodes[child].sibling;
	return child;
}

static uint32_t step(const struct redact *m, uint32_t node, uint8_t byte)
{
	uint32_t child;

	while (!(child = child_of(m, node, byte)) && node)
		node = m->nodes[node].fail;
	return child;
}

static uint32_t add_child(struct redact *m, uint32_t node, uint8_t byte)
{
	const uint32_t new = (uint32_t)m->count;

	if (m->count == m->room) {
		m->room *= 2;
		m->nodes = mem_resize(m->nodes, m->room, sizeof(*m->nodes));
	}
	m->nodes[new] = (struct redact_node){ .sibling = node ? m->nodes[node].child : 0,
					    .depth = m->nodes[node].depth + 1,
					    .byte = byte };
	if (node == 0)
		m->first[byte] = new;
	else
		m->nodes[node].child = new;
	m->count++;
	return new;
}

/* Adds a value to the automaton.  Returns false if the value was there already. */
static bool add_value(struct redact *m, const char *value, size_t len)
{
	const size_t before = m->count;
	uint32_t node = 0;

	for (size_t i = 0; i < len; i++) {
		uint32_t child = child_of(m, node, (uint8_t)value[i]);
		node = child ? child : add_child(m, node, (uint8_t)value[i]);
	}
	bool is_new = m->count > before || m->nodes[node].longest != m->nodes[node].depth;
	m->nodes[node].longest = m->nodes[node].depth;
	return is_new;
}

/* Sets `fail` of a node, the node where the search goes on if the next byte leads to
 * no child (Aho and Corasick).  The nodes of smaller depth must have theirs; for a
 * node of depth 1 it is the root. */
static void link_child(struct redact *m, uint32_t node, uint32_t child)
{
	struct redact_node *n = &m->nodes[child];

	n->fail = step(m, m->nodes[node].fail, n->byte);
	if (n->longest != n->depth)
		n->longest = m->nodes[n->fail].longest;
}

static void link_all(struct redact *m)
{
	uint32_t *queue = mem_zeroed(m->count, sizeof(*queue));
	size_t put = 0;

	for (int byte = 0; byte < 256; byte++)
		if (m->first[byte])
			queue[put++] = m->first[byte];
	for (size_t at = 0; at < put; at++)
		for (uint32_t c = m->nodes[queue[at]].child; c; c = m->nodes[c].sibling) {
			link_child(m, queue[at], c);
			queue[put++] = c;
		}
	free(queue);
}

/* --- values ---------------------------------------------------------------- */

struct part {
	const char *at;
	size_t len;
};

static struct part trimmed(const char *at, size_t len)
{
	while (len > 0 && strchr(BLANKS, at[len - 1]))
		len--;
	while (len > 0 && strchr(BLANKS, *at))
		at++, len--;
	return (struct part){ at, len };
}

/* Gets the next line of a value; returns false if there is none.  *at moves behind
 * the line. */
static bool next_line(const char **at, struct part *ret)
{
	if (!**at)
		return false;
	size_t len = strcspn(*at, "\n");
	*ret = trimmed(*at, len);
	*at += len + ((*at)[len] == '\n');
	return true;
}

static size_t size_of(const char *value)
{
	size_t size = trimmed(value, strlen(value)).len;
	struct part line;

	while (next_line(&value, &line))
		size += line.len;
	return size;
}

/* Returns the value as it looks in a text that was converted to UTF-8: U+FFFD stands
 * for each invalid byte (json_write.h), or for each sequence of bytes that begin a
 * character together (text.h).  The caller frees the result. */
static char *as_printed(const char *value, bool by_byte)
{
	size_t left = strlen(value);
	char *printed = mem_zeroed(3, left + 1), *to = printed;

	for (const uint8_t *at = (const uint8_t *)value; left > 0;) {
		int n = utf8_char(at, left);
		size_t len = n > 0 ? (size_t)n : by_byte ? 1 : n < 0 ? (size_t)-n : left;
		to = mempcpy(to, n > 0 ? (const char *)at : UTF8_REPLACEMENT,
			     n > 0 ? len : 3);
		at += len;
		left -= len;
	}
	return printed;
}

static bool add_all(struct redact *m, const char *value)
{
	struct part part = trimmed(value, strlen(value));
	bool is_new = add_value(m, part.at, part.len);

	while (next_line(&value, &part))
		if (part.len >= REDACT_MIN && add_value(m, part.at, part.len))
			is_new = true;
	return is_new;
}

static int add_forms(struct redact *m, const char *const forms[], size_t count,
		     struct err *e)
{
	size_t size = m->count;
	bool is_new = false;

	for (size_t i = 0; i < count; i++)
		size += size_of(forms[i]);
	if (size > REDACT_BYTES)
		return err_set(e, ERR_LIMIT,
			       "the values of secrets have more than %u bytes "
			       "together, each line counted again",
			       REDACT_BYTES);
	if (m->count == 0) {
		m->room = 256;
		m->nodes = mem_zeroed(m->room, sizeof(*m->nodes));
		m->count = 1;
	}
	for (size_t i = 0; i < count; i++)
		is_new = add_all(m, forms[i]) || is_new;
	if (is_new)
		link_all(m);
	return 0;
}

int redact_add(struct redact *m, const char *value, bool *ret_is_hidden, struct err *e)
{
	size_t len = trimmed(value, strlen(value)).len;

	if (ret_is_hidden)
		*ret_is_hidden = len >= REDACT_MIN;
	if (len < REDACT_MIN)
		return 0;
	if (utf8_is_valid((const uint8_t *)value, strlen(value), false))
		return add_forms(m, &value, 1, e);
	AUTO_FREE char *printed = as_printed(value, false),
		       *by_byte = as_printed(value, true);
	return add_forms(m, (const char *const[]){ value, printed, by_byte }, 3, e);
}

/* --- text ------------------------------------------------------------------ */

void redact_stream_done(struct redact_stream *s)
{
	buffer_done(&s->held);
	free(s->runs);
	*s = (struct redact_stream){ 0 };
}

static void put(struct buffer *out, const void *data, size_t len)
{
	if (len > 0 && !buffer_append(out, data, len))
		out->is_cut = true;
}

/* Adds a run of hidden bytes that ends behind all earlier runs; runs that touch are
 * merged.  The beginning of the run may have been passed on already. */
static void add_run(struct redact_stream *s, uint64_t from, uint64_t to)
{
	while (s->run_count > s->run_first && s->runs[s->run_count - 1].to >= from) {
		s->run_count--;
		if (s->runs[s->run_count].from < from)
			from = s->runs[s->run_count].from;
	}
	if (s->run_count == s->run_room) {
		s->run_room = s->run_room ? 2 * s->run_room : 4;
		s->runs = mem_resize(s->runs, s->run_room, sizeof(*s->runs));
	}
	s->runs[s->run_count++] = (struct redact_run){ from, to };
}

static void pass(struct redact_stream *s, uint64_t to, bool is_hidden, struct buffer *out)
{
	size_t len = (size_t)(to - s->begin);

	if (len == 0)
		return;
	if (!is_hidden)
		put(out, buffer_data(&s->held), len);
	else if (!s->was_hidden)
		put(out, REDACT_TEXT, sizeof(REDACT_TEXT) - 1);
	s->was_hidden = is_hidden;
	buffer_consume(&s->held, len);
	s->begin = to;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Passes on the held bytes before offset `to`. */
static void release(struct redact_stream *s, uint64_t to, struct buffer *out)
{
	while (s->begin < to && s->run_first < s->run_count) {
		const struct redact_run run = s->runs[s->run_first];
		pass(s, sooner(to, run.from > s->begin ? run.from : s->begin), false,
		     out);
		if (s->begin < run.from)
			return;
		pass(s, sooner(to, run.to), true, out);
		s->run_first += s->begin == run.to;
	}
	if (s->run_first == s->run_count)
		s->run_first = s->run_count = 0;
	if (s->begin < to)
		pass(s, to, false, out);
}

static void take(const struct redact *m, struct redact_stream *s, uint8_t byte,
		 struct buffer *out)
{
	(void)buffer_append(&s->held, &byte, 1); /* the byte fits: the held bytes are at
						  * most as long as the longest value */
	s->end++;
	s->node = step(m, s->node, byte);
	if (m->nodes[s->node].longest)
		add_run(s, s->end - m->nodes[s->node].longest, s->end);
	while (s->node && !m->nodes[s->node].child) /* the node has no children: no longer
						     * value begins with its text */
		s->node = m->nodes[s->node].fail;
	if (s->end - m->nodes[s->node].depth > s->begin)
		release(s, s->end - m->nodes[s->node].depth, out);
}

/* Returns whether a value may begin at `at`.  Two bytes of the text are looked at,
 * since one byte alone begins too many words. */
static bool begins_value(const struct redact *m, const uint8_t *at, size_t left)
{
	uint32_t first = m->first[*at];

	return first && (left == 1 || child_of(m, first, at[1]));
}

/* Returns the length of the text's beginning in which no value begins; in most texts
 * that is the whole length. */
static size_t harmless(const struct redact *m, const uint8_t *at, size_t len)
{
	size_t n = 0;

	while (n < len && !begins_value(m, at + n, len - n))
		n++;
	return n;
}

void redact_feed(const struct redact *m, struct redact_stream *s, const void *data,
		 size_t len, struct buffer *out)
{
	const uint8_t *at = data, *end = at + len;

	if (redact_is_empty(m)) {
		put(out, data, len);
		return;
	}
	if (s->held.max == 0)
		buffer_init(&s->held, REDACT_BYTES + 1);
	while (at < end) {
		size_t n = s->node == 0 ? harmless(m, at, (size_t)(end - at)) : 0;
		put(out, at, n);
		s->begin += n;
		s->end += n;
		s->was_hidden = n > 0 ? false : s->was_hidden;
		at += n;
		if (at < end)
			take(m, s, *at++, out);
	}
}

void redact_flush(struct redact_stream *s, struct buffer *out)
{
	release(s, s->end, out);
}

static bool is_cut(const uint8_t *at, size_t left)
{
	return left >= strlen(REDACT_CUT) && !memcmp(at, REDACT_CUT, strlen(REDACT_CUT));
}

static bool hides(const struct redact *m, const uint8_t *at, size_t len, bool cuts)
{
	uint32_t node = 0;

	for (size_t i = 0; i < len;) {
		node = step(m, node, at[i++]);
		if (m->nodes[node].longest)
			return true;
		if (cuts && m->nodes[node].depth >= REDACT_MIN && is_cut(at + i, len - i))
			return true;
	}
	return false;
}

bool redact_text(const struct redact *m, const void *data, size_t len, struct buffer *out)
{
	if (redact_is_empty(m) || !hides(m, data, len, false))
		return false;
	struct redact_stream s = { 0 };
	redact_feed(m, &s, data, len, out);
	redact_flush(&s, out);
	redact_stream_done(&s);
	return true;
}

/* Ends a line whose rest was cut off: if the line's last bytes are the beginning of a
 * value, and at least REDACT_MIN bytes of it, hides them. */
static void end_cut(const struct redact *m, struct redact_stream *s, struct buffer *out)
{
	uint32_t depth = m->nodes[s->node].depth;

	if (depth < REDACT_MIN)
		return;
	add_run(s, s->end - depth, s->end);
	redact_flush(s, out);
}

bool redact_cut_text(const struct redact *m, const void *data, size_t len,
		     struct buffer *out)
{
	const uint8_t *at = data, *end = at + len, *cut;

	if (redact_is_empty(m) || !hides(m, data, len, true))
		return false;
	struct redact_stream s = { 0 };
	while ((cut = memmem(at, (size_t)(end - at), REDACT_CUT, strlen(REDACT_CUT)))) {
		redact_feed(m, &s, at, (size_t)(cut - at), out);
		end_cut(m, &s, out);
		redact_feed(m, &s, cut, strlen(REDACT_CUT), out);
		at = cut + strlen(REDACT_CUT);
	}
	redact_feed(m, &s, at, (size_t)(end - at), out);
	redact_flush(&s, out);
	redact_stream_done(&s);
	return true;
}

char *redact_copy(const struct redact *m, const char *text)
{
	size_t len = strlen(text);
	struct buffer out;

	buffer_init(&out, REDACT_GROWTH * len + 1);
	if (!redact_text(m, text, len, &out)) {
		buffer_done(&out);
		return mem_copy(text, len + 1);
	}
	char *copy = mem_zeroed(1, buffer_len(&out) + 1);
	memcpy(copy, buffer_data(&out), buffer_len(&out));
	buffer_done(&out);
	return copy;
}

static void redact_words(const struct redact *m, char *words, size_t room)
{
	struct buffer out;

	buffer_init(&out, REDACT_GROWTH * room);
	if (redact_text(m, words, strlen(words), &out)) {
		size_t len = buffer_len(&out) < room - 1 ? buffer_len(&out) : room - 1;
		memcpy(words, buffer_data(&out), len);
		words[len] = '\0';
	}
	buffer_done(&out);
}

void redact_err(const struct redact *m, struct err *e)
{
	redact_words(m, e->text, sizeof(e->text));
	redact_words(m, e->remedy, sizeof(e->remedy));
}
