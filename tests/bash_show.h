/* bash_show -- prints a syntax tree of policy/bash/tree.h in one line, for tests:
 *
 *	ls -l | wc; x=1 a >f &	[ls,-l | wc ; x= [1] a 1>[f] &]
 *
 * Words stand between commas; a word with substitutions is "$" and their trees. */
#pragma once
#include <stdio.h>

#include "policy/bash/tree.h"

static void bash_show(FILE *out, const struct bash_node *n);

static inline void bash_show_words(FILE *out, const struct bash_word *w,
				   const char *before)
{
	for (; w; w = w->next, before = ",") {
		(void)fprintf(out, "%s%s", before, w->nests ? "$" : w->text);
		for (const struct bash_nest *n = w->nests; n; n = n->next)
			bash_show(out, n->list);
	}
}

static inline void bash_show_assigns(FILE *out, const struct bash_assign *a)
{
	for (; a; a = a->next) {
		(void)fprintf(out, "%s", a->name);
		bash_show_words(out, a->subscript, "[");
		(void)fprintf(out, "=%s", a->is_array ? "(" : "");
		bash_show_words(out, a->values, "");
		(void)fprintf(out, "%s ", a->is_array ? ")" : "");
	}
}

static inline void bash_show_redirects(FILE *out, const struct bash_redirect *r)
{
	static const char *const marks[] = {
		[BASH_IN] = "<",	[BASH_OUT] = ">",      [BASH_INOUT] = "<>",
		[BASH_DUPLICATE] = "&", [BASH_HEREDOC] = "<<", [BASH_HERESTRING] = "<<<",
	};

	for (; r; r = r->next) {
		(void)fprintf(out, " %d%s", r->fd, marks[r->kind]);
		bash_show_words(out, r->word, "");
	}
}

static inline void bash_show(FILE *out, const struct bash_node *n)
{
	static const char *const names[] = {
		[BASH_LIST] = "",
		[BASH_PIPELINE] = "",
		[BASH_SIMPLE] = "",
		[BASH_GROUP] = "group",
		[BASH_SUBSHELL] = "sub",
		[BASH_IF] = "if",
		[BASH_LOOP] = "loop",
		[BASH_FOR] = "for",
		[BASH_CASE] = "case",
		[BASH_CLAUSE] = "clause",
		[BASH_FUNCTION] = "function",
		[BASH_COPROC] = "coproc",
		[BASH_ARITHMETIC] = "sum",
		[BASH_TEST] = "test",
	};
	static const char *const joins[] = { [BASH_JOIN_END] = "",
					     [BASH_JOIN_AND_OR] = " && ",
					     [BASH_JOIN_SEMICOLON] = "; ",
					     [BASH_JOIN_AMPERSAND] = " & " };

	for (; n; n = n->next) {
		bool has_own = *names[n->kind] != '\0';
		(void)fprintf(out, "%s%s", names[n->kind],
			      n->kind == BASH_LIST ? "{"
			      : has_own		   ? "("
						   : "");
		bash_show_assigns(out, n->assigns);
		bash_show_words(out, n->words, "");
		bash_show(out, n->parts);
		(void)fprintf(out, "%s", n->kind == BASH_LIST ? "}" : has_own ? ")" : "");
		bash_show_redirects(out, n->redirects);
		(void)fprintf(out, "%s", joins[n->join]);
		if (n->next && n->kind == BASH_PIPELINE && n->join == BASH_JOIN_END)
			(void)fprintf(out, "; ");
		else if (n->next && n->kind != BASH_PIPELINE && n->kind != BASH_LIST)
			(void)fprintf(out, "|");
	}
}
