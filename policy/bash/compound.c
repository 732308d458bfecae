#include "policy/bash/parse.h"

static bool stop_without(struct parser *p, const char *why)
{
	return p->at == p->end ? parse_stop_open(p) : parse_stop(p, why);
}

static bool want_keyword(struct parser *p, const char *word)
{
	if (parse_has_stopped(p))
		return false;
	scan_blanks(p);
	return scan_take_keyword(p, word) ||
	       stop_without(p, "a compound command without its end");
}

/* Parses a list up to a keyword, and adds the list to the parts. */
static bool take_list(struct parser *p, struct bash_node ***last)
{
	**last = parse_list(p, false);
	*last = &(**last)->next;
	return !parse_has_stopped(p);
}

/* --- groups ----------------------------------------------------------------------- */

static struct bash_node *parse_group(struct parser *p)
{
	struct bash_node *n = parse_node(p, BASH_GROUP);

	n->parts = parse_list(p, false);
	(void)want_keyword(p, "}");
	return n;
}

static struct bash_node *parse_subshell(struct parser *p)
{
	struct bash_node *n = parse_node(p, BASH_SUBSHELL);

	n->parts = parse_list(p, false);
	if (!parse_has_stopped(p) && !scan_take(p, ")"))
		(void)stop_without(p, "a subshell without its end");
	return n;
}

/* Parses an expression up to "))" and makes it the word of a node. */
static struct bash_node *parse_expression(struct parser *p)
{
	struct bash_node *n = parse_node(p, BASH_ARITHMETIC);
	static const struct brackets parentheses = { '(', ')', "" };
	struct word_out w;
	const char *from = p->at;

	parse_note_bashism(p);
	word_begin(p, &w);
	if (parse_arithmetic(p, &w, &parentheses))
		word_put_expansion(p, &w, from);
	n->words = word_end(p, &w);
	/* "((" that does not end in "))" is a subshell in a subshell. */
	if (n->words && !scan_take(p, ")"))
		(void)stop_without(p, "a \"((\" without a \"))\"");
	return n;
}

/* --- loops ------------------------------------------------------------------------ */

/* Parses the body of a loop: do LIST done, or { LIST }. */
static bool take_body(struct parser *p, struct bash_node ***last, bool may_brace)
{
	const char *end = may_brace && scan_take_keyword(p, "{") ? "}" : "done";

	if (*end == 'd' && !want_keyword(p, "do"))
		return false;
	return take_list(p, last) && want_keyword(p, end);
}

static struct bash_node *parse_while(struct parser *p)
{
	struct bash_node *n = parse_node(p, BASH_LOOP), **last = &n->parts;

	if (take_list(p, &last))
		(void)take_body(p, &last, false);
	return n;
}

/* Parses the words of a loop, or of a pattern's place, up to a ";" or a newline. */
static bool take_words(struct parser *p, struct bash_word **last)
{
	for (scan_blanks(p); !scan_is_meta(scan_peek(p)); scan_blanks(p)) {
		if (!(*last = parse_word(p, WORD_USUAL)))
			return false;
		last = &(*last)->next;
	}
	return true;
}

/* Parses behind "for ((". */
static struct bash_node *parse_for_arithmetic(struct parser *p)
{
	struct bash_node *n = parse_expression(p), **last = &n->parts;

	p->tree->constructs |= BASH_HAS_ARITHMETIC_FOR;
	scan_blanks(p);
	if (scan_take(p, ";"))
		scan_blanks(p);
	scan_newlines(p);
	(void)take_body(p, &last, true);
	return n;
}

/* Parses behind `for` or `select`. */
static struct bash_node *parse_for(struct parser *p)
{
	scan_blanks(p);
	if (scan_take(p, "(("))
		return parse_for_arithmetic(p);
	struct bash_node *n = parse_node(p, BASH_FOR), **last = &n->parts;
	struct bash_word *name = parse_word(p, WORD_USUAL);
	if (!name || name->qualities) {
		(void)stop_without(p, "a loop without a variable");
		return n;
	}
	n->assigns = parse_memory(p, sizeof(*n->assigns));
	n->assigns->name = name->text;
	scan_newlines(p);
	if (scan_take_keyword(p, "in") && !take_words(p, &n->words))
		return n;
	scan_blanks(p);
	if (scan_is_next(p, ";;") || scan_peek(p) == '(')
		(void)parse_stop(p, "a syntax error");
	(void)scan_take(p, ";"); /* a newline may stand in its place */
	scan_newlines(p);
	(void)take_body(p, &last, true);
	return n;
}

/* --- conditions ------------------------------------------------------------------- */

static struct bash_node *parse_if(struct parser *p)
{
	struct bash_node *n = parse_node(p, BASH_IF), **last = &n->parts;

	do {
		if (!take_list(p, &last) || !want_keyword(p, "then") ||
		    !take_list(p, &last))
			return n;
	} while (scan_take_keyword(p, "elif"));
	if (scan_take_keyword(p, "else") && !take_list(p, &last))
		return n;
	(void)want_keyword(p, "fi");
	return n;
}

/* Parses the patterns of a clause up to and including its ")". */
static bool take_patterns(struct parser *p, struct bash_word **last)
{
	scan_blanks(p);
	(void)scan_take(p, "("); /* it may be missing */
	do {
		scan_blanks(p);
		if (!(*last = parse_word(p, WORD_USUAL)))
			return stop_without(p, "a `case` without a pattern");
		last = &(*last)->next;
		scan_blanks(p);
	} while (!scan_is_next(p, "||") && scan_take(p, "|"));
	return scan_take(p, ")") ||
	       stop_without(p, "a pattern of `case` without a \")\"");
}

static bool take_clause_end(struct parser *p)
{
	scan_blanks(p);
	if (scan_is_next(p, ";;&") || scan_is_next(p, ";&"))
		parse_note_bashism(p);
	return scan_take(p, ";;&") || scan_take(p, ";;") || scan_take(p, ";&");
}

static bool take_clauses(struct parser *p, struct bash_node **last)
{
	bool has_end = true;

	for (scan_newlines(p); !scan_take_keyword(p, "esac"); scan_newlines(p)) {
		if (!has_end)
			return stop_without(p, "a `case` without its end");
		struct bash_node *n = *last = parse_node(p, BASH_CLAUSE);
		last = &n->next;
		if (!take_patterns(p, &n->words))
			return false;
		n->parts = parse_list(p, true);
		if (parse_has_stopped(p))
			return false;
		has_end = take_clause_end(p);
	}
	return true;
}

static struct bash_node *parse_case(struct parser *p)
{
	struct bash_node *n = parse_node(p, BASH_CASE);

	p->tree->constructs |= BASH_HAS_CASE;
	scan_blanks(p);
	if (!(n->words = parse_word(p, WORD_USUAL))) {
		(void)stop_without(p, "a `case` without a word");
		return n;
	}
	scan_newlines(p);
	if (want_keyword(p, "in"))
		(void)take_clauses(p, &n->parts);
	return n;
}

/* --- functions and coprocesses ---------------------------------------------------- */

struct bash_node *parse_function(struct parser *p, struct bash_node *f)
{
	p->tree->constructs |= BASH_HAS_FUNCTION;
	f->kind = BASH_FUNCTION;
	scan_newlines(p);
	if (!scan_is_compound(p))
		(void)stop_without(p, "a function without a body");
	else
		f->parts = parse_command(p);
	return f;
}

/* Parses behind `function`. */
static struct bash_node *parse_function_keyword(struct parser *p)
{
	struct bash_node *n = parse_node(p, BASH_FUNCTION);

	scan_blanks(p);
	n->words = parse_word(p, WORD_USUAL);
	if (!n->words || (n->words->qualities & ~BASH_HIDES)) {
		(void)stop_without(p, "a function without a name");
		return n;
	}
	scan_blanks(p);
	if (scan_take(p, "(")) {
		scan_blanks(p);
		if (!scan_take(p, ")"))
			(void)parse_stop(p, "a function with a \"(\" behind its name");
	}
	return parse_function(p, n);
}

/* Returns whether a word and a compound command are next, behind `coproc`. */
static bool has_name(const struct parser *p)
{
	struct parser ahead = *p;

	while (scan_is_name(scan_peek(&ahead)))
		ahead.at++;
	if (ahead.at == p->at || !scan_is_blank(scan_peek(&ahead)))
		return false;
	scan_blanks(&ahead);
	return scan_is_compound(&ahead);
}

/* Parses behind `coproc`: a command, or a name and a compound command. */
static struct bash_node *parse_coproc(struct parser *p)
{
	struct bash_node *n = parse_node(p, BASH_COPROC);

	p->tree->constructs |= BASH_HAS_COPROC;
	scan_blanks(p);
	if (!scan_is_compound(p) && has_name(p)) {
		(void)parse_word(p, WORD_USUAL); /* the name */
		scan_blanks(p);
	}
	n->parts = parse_command(p);
	return n;
}

/* --- all -------------------------------------------------------------------------- */

static const struct compound {
	const char *keyword;
	struct bash_node *(*parse)(struct parser *p);
	unsigned constructs;
	bool has_no_redirects; /* the redirections belong to an inner command */
} compounds[] = {
	{ "{", parse_group, 0, false },
	{ "if", parse_if, 0, false },
	{ "while", parse_while, 0, false },
	{ "until", parse_while, 0, false },
	{ "for", parse_for, 0, false },
	{ "select", parse_for, BASH_HAS_SELECT | BASH_HAS_BASHISM, false },
	{ "case", parse_case, 0, false },
	{ "[[", parse_test, BASH_HAS_TEST | BASH_HAS_BASHISM, false },
	{ "function", parse_function_keyword, BASH_HAS_BASHISM, true },
	{ "coproc", parse_coproc, BASH_HAS_BASHISM, true },
	{ NULL, NULL, 0, false },
};

static const struct compound *find_compound(struct parser *p)
{
	for (const struct compound *c = compounds; c->keyword; c++)
		if (scan_take_keyword(p, c->keyword))
			return c;
	return NULL;
}

static struct bash_node *parse_parentheses(struct parser *p)
{
	if (scan_take(p, "(("))
		return parse_expression(p);
	(void)scan_take(p, "("); /* the caller has seen it */
	return parse_subshell(p);
}

static void take_redirects(struct parser *p, struct bash_node *n)
{
	struct bash_redirect **last = &n->redirects;

	do
		scan_blanks(p);
	while (parse_redirect(p, &last));
}

/* Parses the compound command that begins here; NULL: none does. */
static struct bash_node *parse_compound(struct parser *p, bool *has_redirects)
{
	if (scan_peek(p) == '(')
		return parse_parentheses(p);
	const struct compound *c = find_compound(p);

	if (!c)
		return NULL;
	p->tree->constructs |= c->constructs;
	*has_redirects = !c->has_no_redirects;
	return c->parse(p);
}

struct bash_node *parse_command(struct parser *p)
{
	struct bash_node *n = NULL;
	bool has_redirects = true;

	if (!parse_enter(p))
		return NULL;
	if (scan_is_closing(p) || scan_is_keyword(p, "!")) {
		(void)parse_stop(p, "a syntax error");
		return NULL;
	}
	n = parse_compound(p, &has_redirects);
	if (!n)
		n = parse_simple(p);
	else if (has_redirects)
		take_redirects(p, n);
	p->depth--;
	return n;
}
