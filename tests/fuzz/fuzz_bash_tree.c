/* A text for bash is arbitrary bytes.  Its tree is whole, wherever the parser stopped: every
 * node, word and substitution is there, texts end with a 0 byte, and lines of the text
 * begin in order. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/bash/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_nodes(const struct bash_node *n, unsigned depth);

static void check_words(const struct bash_word *w, unsigned depth)
{
	for (; w; w = w->next) {
		if (strlen(w->text) > w->len || w->text[w->len] ||
		    w->computed > w->len + 1)
			abort();
		for (const struct bash_nest *n = w->nests; n; n = n->next)
			check_nodes(n->list, depth + 1);
	}
}

static void check_nodes(const struct bash_node *n, unsigned depth)
{
	if (depth > 8 * BASH_DEPTH)
		abort();
	for (; n; n = n->next) {
		if (n->kind > BASH_TEST || n->join > BASH_JOIN_AMPERSAND)
			abort();
		check_words(n->words, depth);
		for (const struct bash_assign *a = n->assigns; a; a = a->next) {
			if (!a->name)
				abort();
			check_words(a->subscript, depth);
			check_words(a->values, depth);
		}
		for (const struct bash_redirect *r = n->redirects; r; r = r->next)
			check_words(r->word ? r->word : (abort(), r->word), depth);
		check_nodes(n->parts, depth + 1);
	}
}

static void check_lines(const struct bash_tree *t, size_t size)
{
	size_t at = 0;

	for (const struct bash_node *n = t->list->parts; n; n = n->next) {
		if (n->start < at || n->end > size)
			abort();
		at = n->start;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bash_tree t;

	bash_parse(&t, (const char *)data, size);
	check_nodes(t.list, 0);
	check_lines(&t, size);
	if (t.is_open && !t.why)
		abort();
	if (t.why_at > size)
		abort();
	bash_tree_done(&t);
	return 0;
}
