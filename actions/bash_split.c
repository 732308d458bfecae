#include "actions/bash_split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "policy/bash/tree.h"

#define BLANKS " \t\r\n\v\f"
/* The constructs of bash that the Python parser bashlex cannot read. */
#define NOT_READ                                                             \
	(BASH_HAS_CASE | BASH_HAS_SELECT | BASH_HAS_COPROC | BASH_HAS_TIME | \
	 BASH_HAS_TEST | BASH_HAS_ARITHMETIC_FOR | BASH_HAS_ARRAY |          \
	 BASH_HAS_ARITHMETIC_EXPANSION | BASH_HAS_QUOTED_HEREDOC)

static void add(struct bash_split *to, size_t start)
{
	if (to->count < BASH_SPLIT_MAX)
		to->starts[to->count] = start;
	else if (to->count == BASH_SPLIT_MAX)
		to->last_start = start;
	to->count++;
}

void bash_split_init(struct bash_split *ret, const char *text, size_t len)
{
	struct bash_tree tree;

	*ret = (struct bash_split){ .text = text, .len = len, .last_start = len };
	if (!memchr(text, '\n', len))
		return; /* a text of one line is one command */
	bash_parse(&tree, text, len);
	if (!tree.why && !(tree.constructs & NOT_READ)) {
		ret->starts = mem_new(BASH_SPLIT_MAX * sizeof(*ret->starts));
		for (const struct bash_node *n = tree.list->parts; n; n = n->next)
			if (n->begins_line)
				add(ret, n->start);
	}
	bash_tree_done(&tree);
}

void bash_split_done(struct bash_split *s)
{
	if (!s)
		return;
	free(s->starts);
	*s = (struct bash_split){ 0 };
}

/* --- the list -------------------------------------------------------------- */

/* Appends the text to `out`, without white space at its end. */
static void append(struct buffer *out, const char *text, size_t len)
{
	while (len > 0 && strchr(BLANKS, text[len - 1]))
		len--;
	(void)buffer_append(out, text, len); /* fails if `out` is full; then the list is
					      * cut */
}

static void append_number(struct buffer *out, size_t number)
{
	char text[32];
	int len =
		snprintf(text, sizeof(text), "%s(%zu) ", number > 1 ? "\n" : "", number);

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
	size_t before = listed > 0 ? s->starts[0] : 0;

	if (strspn(s->text, BLANKS) < before) {
		append_number(out, ++number);
		append(out, s->text, before);
	}
	for (size_t i = 0; i < listed; i++) {
		size_t next = i + 1 < listed ? s->starts[i + 1] : s->last_start;
		append_number(out, ++number);
		append(out, s->text + s->starts[i], next - s->starts[i]);
	}
	append_rest(out, s->count - listed);
}
