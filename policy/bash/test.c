#include "policy/bash/parse.h"

/* Returns whether the operator evaluates its operands as arithmetic, or as a name. */
static bool is_evaluating(const char *word)
{
	static const char *const words[] = { "-eq", "-ne", "-lt", "-le", "-gt",
					     "-ge", "-v",  "-R",  NULL };

	for (const char *const *w = words; *w; w++)
		if (!strcmp(word, *w))
			return true;
	return false;
}

/* Passes an operator of the shell's grammar. */
static bool take_operator(struct parser *p)
{
	if (scan_is_next(p, "<(") || scan_is_next(p, ">("))
		return false;
	return scan_take(p, "&&") || scan_take(p, "||") || scan_take(p, "(") ||
	       scan_take(p, ")") || scan_take(p, "<") || scan_take(p, ">");
}

struct bash_node *parse_test(struct parser *p)
{
	struct bash_node *n = parse_node(p, BASH_TEST);
	struct bash_word **last = &n->words;
	enum word_place place = WORD_TEST;

	for (scan_newlines(p); !scan_take_keyword(p, "]]"); scan_newlines(p)) {
		if (place == WORD_TEST && take_operator(p))
			continue;
		if (!(*last = parse_word(p, place))) {
			(void)(p->at == p->end
				       ? parse_stop_open(p)
				       : parse_stop(p, "a [[ ]] of an unknown form"));
			return n;
		}
		place = strcmp((*last)->text, "=~") == 0 ? WORD_REGEX : WORD_TEST;
		if (is_evaluating((*last)->text))
			p->tree->constructs |= BASH_HAS_EVALUATION;
		last = &(*last)->next;
	}
	return n;
}
