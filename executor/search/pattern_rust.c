#include "executor/search/pattern.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "executor/search/charset.h"

/* The limit of a translated pattern, in bytes. Every set is written as ranges, with both
 * cases of a letter if need be, so the result does not depend on the tables and options
 * of Rust's regex. */
#define TEXT_MAX ((size_t)4 << 20)

static void put(struct buffer *b, const char *text)
{
	/* fails if the text does not fit; then the buffer's is_cut is set */
	(void)buffer_append(b, text, strlen(text));
}

static void put_codepoint(struct buffer *b, uint32_t c)
{
	char text[16];
	bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
			(c >= 'a' && c <= 'z') || c == ' ' || c == '_';

	snprintf(text, sizeof(text), is_plain ? "%c" : "\\x{%x}", c);
	put(b, text);
}

/* Writes a set of characters. False: the set is empty, which Rust's regex refuses. */
static bool put_set(struct buffer *b, const struct charset *s)
{
	bool is_one = s->count == 1 && s->ranges[0].first == s->ranges[0].last;

	if (is_one)
		return put_codepoint(b, s->ranges[0].first), true;
	put(b, "[");
	for (size_t i = 0; i < s->count; i++) {
		put_codepoint(b, s->ranges[i].first);
		put(b, "-");
		put_codepoint(b, s->ranges[i].last);
	}
	put(b, "]");
	return s->count > 0;
}

static bool put_node(struct buffer *b, const struct pattern *p, uint32_t at);

/* Writes a node's children in the order of the pattern, with `between` between them.
 * (They are linked from the last to the first.) */
static bool put_children(struct buffer *b, const struct pattern *p, uint32_t last,
			 const char *between)
{
	uint32_t before = pattern_node(p, last)->before;

	if (before != 0) {
		if (!put_children(b, p, before, between))
			return false;
		put(b, between);
	}
	return put_node(b, p, last);
}

static bool put_repeat(struct buffer *b, const struct pattern *p,
		       const struct pattern_node *n)
{
	char text[32];

	put(b, "(?:");
	if (!put_node(b, p, n->last))
		return false;
	if (n->max == PATTERN_ENDLESS)
		snprintf(text, sizeof(text), "){%u,}", n->min);
	else
		snprintf(text, sizeof(text), "){%u,%u}", n->min, n->max);
	put(b, text);
	return true;
}

static bool put_group(struct buffer *b, const struct pattern *p, uint32_t last,
		      const char *between)
{
	put(b, "(?:");
	bool can = put_children(b, p, last, between);
	put(b, ")");
	return can;
}

static bool put_node(struct buffer *b, const struct pattern *p, uint32_t at)
{
	static const char *const words[] = {
		[PATTERN_EMPTY] = "(?:)",
		[PATTERN_LINE_BEGIN] = "^",
		[PATTERN_LINE_END] = "(?:\\r?$)",
		[PATTERN_WORD_EDGE] = "(?-u:\\b)",
		[PATTERN_NO_EDGE] = "(?-u:\\B)",
	};
	const struct pattern_node *n = pattern_node(p, at);

	if (n->kind == PATTERN_SET)
		return put_set(b, n->set);
	if (n->kind == PATTERN_CAT)
		return put_children(b, p, n->last, "");
	if (n->kind == PATTERN_ALT)
		return put_group(b, p, n->last, "|");
	if (n->kind == PATTERN_REPEAT)
		return put_repeat(b, p, n);
	put(b, words[n->kind]);
	return true;
}

char *pattern_in_rust(const struct pattern *p)
{
	struct buffer b;
	char *text = NULL;

	buffer_init(&b, TEXT_MAX);
	if (put_node(&b, p, pattern_root(p)) && buffer_append(&b, "", 1) && !b.is_cut)
		text = mem_copy(buffer_data(&b), buffer_len(&b));
	buffer_done(&b);
	return text;
}
