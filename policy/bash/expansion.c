#include <stdlib.h>

#include "policy/bash/ansi_c.h"
#include "policy/bash/parse.h"

static void add_nest(struct parser *p, struct word_out *w, struct bash_node *list)
{
	struct bash_nest *n = parse_memory(p, sizeof(*n));

	n->list = list;
	*w->last = n;
	w->last = &n->next;
}

/* --- commands --------------------------------------------------------------------- */

/* Parses a list up to its ")", and adds the list to the word. */
static bool take_commands(struct parser *p, struct word_out *w)
{
	struct heredoc *outer = p->heredocs;

	p->heredocs = NULL; /* their lines stand inside, too */
	p->substitutions++;
	add_nest(p, w, parse_list(p, true));
	p->substitutions--;
	if (parse_has_stopped(p))
		return false;
	if (!scan_take(p, ")"))
		return p->at == p->end
			       ? parse_stop_open(p)
			       : parse_stop(p, "a substitution with a syntax error");
	if (p->heredocs)
		return parse_stop(p, "a here-document without its lines");
	p->heredocs = outer;
	return true;
}

bool parse_process(struct parser *p, struct word_out *w)
{
	const char *from = p->at;

	parse_note_bashism(p);
	if (!scan_take(p, "<("))
		(void)scan_take(p, ">("); /* the caller has seen one of the two */
	if (!parse_enter(p) || !take_commands(p, w))
		return false;
	p->depth--;
	word_put_expansion(p, w, from);
	return true;
}

/* Finds the text between two "`", without the backslashes that protect it; lines are
 * joined in it whatever quotes the text has. */
static bool take_inside(struct parser *p, enum quoting quoting, struct bytes_out *inside)
{
	const char *escaped = quoting == IN_DOUBLE ? "`\\$\"" : "`\\$";

	p->at++;
	for (int c = scan_peek(p); c != '`'; c = scan_peek(p)) {
		if (c < 0)
			return parse_stop_open(p);
		if (c == '\\' && p->end - p->at > 1) {
			bytes_put(inside, p->at, !strchr(escaped, p->at[1]));
			p->at++;
		}
		bytes_put(inside, p->at++, 1);
	}
	p->at++;
	return true;
}

bool parse_backticks(struct parser *p, struct word_out *w, enum quoting quoting)
{
	const char *from = p->at;
	struct bytes_out inside = { 0 };

	if (take_inside(p, quoting, &inside) && parse_enter(p)) {
		add_nest(
			p, w,
			parse_inner(p, parse_copy(p, inside.at, inside.len), inside.len));
		p->depth--;
		if (!parse_has_stopped(p))
			word_put_expansion(p, w, from);
		if (quoting == UNQUOTED)
			w->word->qualities |= BASH_SPLITS;
	}
	free(inside.at);
	return !parse_has_stopped(p);
}

/* --- quoted expansions ------------------------------------------------------------ */

/* Parses an expansion that may stand in single quotes: bash expands it there, but finds
 * the closing quote first.  So the expansion must not have a quote in it. */
static bool take_quoted_expansion(struct parser *p, struct word_out *w, int c,
				  enum quoting quoting, bool is_in_single)
{
	const char *from = p->at;

	if (c == '$' ? !parse_dollar(p, w, quoting) : !parse_backticks(p, w, quoting))
		return false;
	if (is_in_single && memchr(from, '\'', (size_t)(p->at - from)))
		return parse_stop(p, "an expansion with a quote in it, in quotes");
	/* Whether bash removes this backslash depends on the quotes outside. */
	if (c == '`' && quoting != UNQUOTED &&
	    memmem(from, (size_t)(p->at - from), "\\\"", 2))
		return parse_stop(p, "a ` ` with quotes in quotes");
	return true;
}

/* --- arithmetic ------------------------------------------------------------------- */

bool parse_arithmetic(struct parser *p, struct word_out *w, const struct brackets *b)
{
	size_t depth = 0;
	int quote = 0; /* the quote that is open; 0: none is */

	/* Bash expands an expression as if it were in double quotes, and evaluates the
	 * values of the variables that it names. */
	for (;;) {
		int c = scan_peek(p);
		if (c < 0)
			return parse_stop_open(p);
		if (strchr(b->foreign, c) || (quote && (c == b->open || c == b->close)))
			return parse_stop(p,
					  "an expression with a bracket of another kind, "
					  "or in quotes");
		if (c == b->close && depth-- == 0)
			break;
		depth += c == b->open;
		if (c == '\'' || c == '"')
			quote = quote == c ? 0 : quote ? quote : c;
		if (scan_is_name_start(c) || c == '$' || c == '`')
			p->tree->constructs |= BASH_HAS_EVALUATION;
		if (c == '\\')
			return parse_stop(p, "an expression with a backslash in it");
		if ((c == '$' || c == '`') && p->at > p->text &&
		    scan_is_name((unsigned char)p->at[-1]))
			return parse_stop(p, "an expression with a computed name");
		if (c != '$' && c != '`')
			p->at++;
		else if (!take_quoted_expansion(p, w, c, IN_ARITHMETIC, quote == '\''))
			return false;
	}
	p->at++;
	return !quote || parse_stop(p, "an expression with an open quote");
}

/* Returns whether bash takes the text for an expression, which it decides by counting
 * parentheses outside of quotes: else $(( )) is a subshell in a substitution. */
static bool is_expression(const char *at, const char *stop)
{
	int depth = 0;
	char quote = 0;

	for (; at < stop && depth >= 0; at++) {
		if (*at == '\\' && quote != '\'')
			at++;
		else if (quote)
			quote = *at == quote ? 0 : quote;
		else if (*at == '\'' || *at == '"')
			quote = *at;
		else
			depth += (*at == '(') - (*at == ')');
	}
	return depth == 0 && !quote;
}

/* Parses $(( )) behind "$((". */
static bool take_sum(struct parser *p, struct word_out *w)
{
	static const struct brackets parentheses = { '(', ')', "" };
	const char *from = p->at;

	if (!parse_arithmetic(p, w, &parentheses))
		return false;
	if (!scan_take(p, ")") || !is_expression(from, p->at - 2))
		return parse_stop(p, "a \"$((\" that may begin a subshell");
	return true;
}

/* --- parameters ------------------------------------------------------------------- */

/* Parses the operand of ${NAME OPERATOR OPERAND} up to its "}".  In double quotes, bash
 * takes a single quote for a quote or not, by the operator; so there must be a pair of
 * them, and nothing between the two that would end the operand. */
static bool take_operand_part(struct parser *p, struct word_out *w, enum quoting quoting,
			      bool *is_in_single)
{
	int c = scan_peek(p);
	bool is_process = scan_is_next(p, "<(") || scan_is_next(p, ">(");

	if (c < 0)
		return parse_stop_open(p);
	if (*is_in_single && strchr("}\"\\", c))
		return parse_stop(p, "a ${ } with quotes in double quotes");
	if (c == '$' || c == '`')
		return take_quoted_expansion(p, w, c, quoting, *is_in_single);
	if (c == '"' && quoting != IN_HEREDOC)
		return parse_double(p, w);
	if (c == '\'' && quoting == UNQUOTED)
		return parse_single(p, w);
	if (c == '"' || is_process)
		return parse_stop(p, "a ${ } with quotes, or with a <( ), in it");
	*is_in_single ^= c == '\'';
	p->at += c == '\\' && p->end - p->at > 1;
	word_put(w, p->at++, 1);
	return true;
}

static bool take_operand(struct parser *p, struct word_out *w, enum quoting quoting)
{
	bool is_in_single = false;

	while (scan_peek(p) != '}' || is_in_single)
		if (!take_operand_part(p, w, quoting, &is_in_single))
			return false;
	p->at++;
	return true;
}

/* Passes a parameter: a name, a number, or one of the special ones. */
static bool take_parameter(struct parser *p)
{
	int c = scan_peek(p);

	if (scan_is_name_start(c)) {
		while (scan_is_name(scan_peek(p)))
			p->at++;
	} else if (c >= '0' && c <= '9') {
		while (scan_peek(p) >= '0' && scan_peek(p) <= '9')
			p->at++;
	} else if (c >= 0 && strchr("@*#?-$!", c)) {
		p->at++;
	} else {
		return false;
	}
	return true;
}

/* Passes a "#" or "!" in front of a parameter, as in ${#NAME}. */
static void take_prefix(struct parser *p)
{
	struct parser ahead = *p;
	int c = scan_peek(&ahead);

	if (c != '#' && c != '!')
		return;
	ahead.at++;
	int next = scan_peek(&ahead);
	if (!scan_is_name(next) && next != '@' && next != '*')
		return;
	if (c == '!') /* ${!NAME}: the value is a name */
		p->tree->constructs |= BASH_HAS_EVALUATION | BASH_HAS_BASHISM;
	p->at = ahead.at;
}

/* Passes "@LETTER}". */
static bool take_transformation(struct parser *p)
{
	parse_note_bashism(p);
	p->at++;
	int c = scan_peek(p);
	if (c == 'P')
		return parse_stop(p, "a ${ } that expands its value as a prompt");
	p->at += scan_is_name_start(c);
	return scan_take(p, "}") || parse_stop(p, "a ${ } of an unknown form");
}

/* Parses the operator behind a parameter, and its operand, up to the "}". */
static bool take_operator(struct parser *p, struct word_out *w, enum quoting quoting)
{
	static const struct brackets offset = { 0, '}', "{" };

	if (scan_take(p, "}") || scan_take(p, "*}")) /* ${!PREFIX*} */
		return true;
	if (scan_peek(p) == '@')
		return take_transformation(p);
	if (scan_take(p, ":")) {
		int c = scan_peek(p);
		if (c < 0 || !strchr("-=?+", c)) {
			parse_note_bashism(p);
			return parse_arithmetic(p, w, &offset);
		}
	}
	int c = scan_peek(p);
	if (c < 0)
		return parse_stop_open(p);
	if (!strchr("-=?+#%/^,~", c))
		return parse_stop(p, "a ${ } of an unknown form");
	if (strchr("/^,~", c))
		parse_note_bashism(p);
	p->at++;
	return take_operand(p, w, quoting);
}

/* Parses behind "${". */
static bool take_braces(struct parser *p, struct word_out *w, enum quoting quoting)
{
	/* Bash ends ${NAME[SUBSCRIPT]} at the first "}", even in quotes. */
	static const struct brackets subscript = { '[', ']', "{}" };

	take_prefix(p);
	if (!take_parameter(p))
		return p->at == p->end ? parse_stop_open(p)
				       : parse_stop(p, "a ${ } of an unknown form");
	if (scan_take(p, "[")) {
		parse_note_bashism(p);
		if (!parse_arithmetic(p, w, &subscript))
			return false;
	}
	return take_operator(p, w, quoting);
}

/* --- all -------------------------------------------------------------------------- */

/* Parses $'...' behind its opening quote.  The text ends at an escape for a 0 byte. */
static bool take_ansi_c(struct parser *p, struct word_out *w)
{
	const char *at = p->at, *stop = at;
	char bytes[ANSI_C_MAX];

	w->word->qualities |= BASH_QUOTED;
	while (stop < p->end && *stop != '\'')
		stop += *stop == '\\' && p->end - stop > 1 ? 2 : 1;
	if (stop == p->end)
		return parse_stop_open(p);
	p->at = stop + 1;
	/* Only in a UTF-8 locale \u gives the character, so bash alone knows it. */
	bool is_computed = false;
	while (at < stop) {
		size_t len = ansi_c_next(&at, stop, bytes);
		if (!len)
			break;
		is_computed |= len > 1 && (bytes[0] & 0x80);
		word_put(w, bytes, len);
	}
	if (is_computed)
		word_put_expansion(p, w, p->at);
	return true;
}

/* Parses ${ }, $( ), $(( )) or $[ ] behind the "$". */
static bool take_bracket(struct parser *p, struct word_out *w, enum quoting quoting)
{
	static const struct brackets square = { '[', ']', "" };

	if (scan_take(p, "{"))
		return take_braces(p, w, quoting);
	if (scan_is_next(p, "((") || scan_is_next(p, "["))
		p->tree->constructs |= BASH_HAS_ARITHMETIC_EXPANSION;
	if (scan_take(p, "[")) { /* of bash's early days */
		parse_note_bashism(p);
		return parse_arithmetic(p, w, &square);
	}
	if (scan_take(p, "(("))
		return take_sum(p, w);
	(void)scan_take(p, "("); /* the caller has seen it */
	return take_commands(p, w);
}

/* Parses an expansion with brackets.  The text inside is none of the word's. */
static bool take_inner(struct parser *p, struct word_out *w, enum quoting quoting)
{
	struct word_out inside;

	if (!parse_enter(p))
		return false;
	word_begin(p, &inside);
	inside.last = w->last;
	bool is_whole = take_bracket(p, &inside, quoting);
	w->last = inside.last;
	w->word->qualities |= inside.word->qualities & BASH_HIDES;
	free(inside.text.at);
	p->depth--;
	return is_whole;
}

/* Returns whether a parameter's value can be several words even in quotes, as "$@". */
static bool is_several(const char *from, const char *stop)
{
	/* ${!X}: the name that is X's value may be one with an "@". */
	return from[1] != '(' && (memchr(from, '@', (size_t)(stop - from)) ||
				  memchr(from, '!', (size_t)(stop - from)));
}

bool parse_dollar(struct parser *p, struct word_out *w, enum quoting quoting)
{
	const char *from = p->at++;
	int c = scan_peek(p);

	if (quoting == UNQUOTED && (c == '\'' || c == '"'))
		parse_note_bashism(p);
	if (quoting == UNQUOTED && c == '\'') {
		p->at++;
		return take_ansi_c(p, w);
	}
	if (quoting == UNQUOTED && c == '"')
		return true; /* $"..." is a text to be translated */
	if (c == '(' || c == '{' || c == '[') {
		if (!take_inner(p, w, quoting))
			return false;
	} else if (!take_parameter(p)) {
		word_put(w, from, 1);
		return true;
	}
	word_put_expansion(p, w, from);
	if (quoting == UNQUOTED || is_several(from, p->at))
		w->word->qualities |= BASH_SPLITS;
	return true;
}
