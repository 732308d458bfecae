#include "actions/bash_split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actions/bash_split_parts.h"
#include "base/buffer.h"
#include "base/mem.h"

#define BLANKS " \t\r\n\v\f"

static void splitter_init(struct splitter *s, size_t len)
{
	*s = (struct splitter){
		.work = SPLIT_WORK(len),
		.arena = mem_new(SPLIT_ARENA(len)),
		.room = SPLIT_ARENA(len),
		.nesting = mem_new(SPLIT_NESTING),
		.pairs = pairs_new(),
	};
}

static void splitter_done(struct splitter *s)
{
	free(s->arena);
	free(s->nesting);
	free(s->pairs);
}

static void add(struct bash_split *to, size_t start, size_t end)
{
	if (to->count < BASH_SPLIT_MAX)
		to->pieces[to->count] = (struct bash_split_piece){ start, end };
	else if (to->count == BASH_SPLIT_MAX)
		to->last_start = start;
	to->count++;
}

static void read_all(struct splitter *s, struct bash_split *to)
{
	struct extent x;

	for (size_t at = 0; at < to->len; at += x.next) {
		if (!grammar_read(s, to->text + at, to->len - at, ENDS_ALONE, &x))
			return;
		add(to, at + x.start, at + x.end);
	}
}

void bash_split_init(struct bash_split *ret, const char *text, size_t len)
{
	struct splitter s;

	*ret = (struct bash_split){ .text = text, .len = len, .last_start = len };
	if (!memchr(text, '\n', len))
		return; /* a text of one line is one command */
	ret->pieces = mem_new(BASH_SPLIT_MAX * sizeof(*ret->pieces));
	splitter_init(&s, len);
	read_all(&s, ret);
	if (s.is_lost)
		ret->count = 0;
	splitter_done(&s);
}

void bash_split_done(struct bash_split *s)
{
	if (!s)
		return;
	free(s->pieces);
	*s = (struct bash_split){ 0 };
}

/* --- the list -------------------------------------------------------------- */

/* Appends the text to `out` without the blanks at the text's end. */
static void append(struct buffer *out, const char *text, size_t len)
{
	while (len > 0 && strchr(BLANKS, text[len - 1]))
		len--;
	(void)buffer_append(out, text, len); /* if `out` is full, the reader of the
					      * list sees that it is cut */
}

static void append_number(struct buffer *out, size_t number)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "%s(%zu) ", number > 1 ? "\n" : "",
			   number);

	(void)buffer_append(out, text, (size_t)len);
}

static void append_rest(struct buffer *out, size_t count)
{
	char text[48];
	int len = snprintf(text, sizeof(text), "\n(and %zu more)", count);

	if (count > 0)
		(void)buffer_append(out, text, (size_t)len);
}

void bash_split_list(const struct bash_split *s, struct buffer *out)
{
	size_t listed = s->count < BASH_SPLIT_MAX ? s->count : BASH_SPLIT_MAX, number = 0;
	size_t before = listed > 0 ? s->pieces[0].start : 0;

	if (strspn(s->text, BLANKS) < before) {
		append_number(out, ++number);
		append(out, s->text, before);
	}
	for (size_t i = 0; i < listed; i++) {
		const struct bash_split_piece *p = &s->pieces[i];
		size_t next = i + 1 < listed ? p[1].start : s->last_start;
		append_number(out, ++number);
		append(out, s->text + p->start, p->end - p->start);
		append(out, s->text + p->end, next - p->end);
	}
	append_rest(out, s->count - listed);
}
