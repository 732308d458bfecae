#include <ctype.h>
#include <stdlib.h>

#include "policy/bash/parse.h"

#define FD_MAX 1000000

/* --- redirections ----------------------------------------------------------------- */

static const struct redirect_op {
	const char *token;
	enum bash_redirect_kind kind;
	int fd; /* the descriptor if none stands in front */
	bool is_bashism;
} redirect_ops[] = {
	/* a token stands behind those that begin with it */
	{ "<<<", BASH_HERESTRING, 0, true }, { "<<", BASH_HEREDOC, 0, false },
	{ "<&", BASH_DUPLICATE, 0, false },  { "<>", BASH_INOUT, 0, false },
	{ "<", BASH_IN, 0, false },	     { "&>>", BASH_OUT, 1, true },
	{ "&>", BASH_OUT, 1, true },	     { ">>", BASH_OUT, 1, false },
	{ ">&", BASH_DUPLICATE, 1, false },  { ">|", BASH_OUT, 1, false },
	{ ">", BASH_OUT, 1, false },	     { NULL, BASH_OUT, 0, false },
};

/* Returns the operator that is next, or NULL. */
static const struct redirect_op *find_operator(struct parser *p)
{
	if (scan_is_next(p, "<(") || scan_is_next(p, ">("))
		return NULL;
	for (const struct redirect_op *o = redirect_ops; o->token; o++)
		if (scan_is_next(p, o->token))
			return o;
	return NULL;
}

/* Passes digits or {NAME}; returns the descriptor, -1 for {NAME}, or -2: neither is
 * here. */
static int take_descriptor(struct parser *p)
{
	bool has_brace = scan_take(p, "{");
	int fd = 0, c = scan_peek(p);

	if (has_brace ? !scan_is_name_start(c) : !isdigit(c))
		return -2;
	for (; has_brace ? scan_is_name(c) : isdigit(c); c = scan_peek(p)) {
		fd = has_brace || fd > FD_MAX ? fd : 10 * fd + c - '0';
		p->at++;
	}
	if (has_brace)
		return scan_take(p, "}") ? -1 : -2;
	return fd;
}

/* Parses a redirection from its operator on. */
static bool take_operator(struct parser *p, const struct redirect_op *o, int fd,
			  struct bash_redirect ***to)
{
	struct bash_redirect *r = parse_memory(p, sizeof(*r));

	r->word = parse_empty_word(p); /* if the parser stops, it stays */
	(void)scan_take(p, o->token);  /* it was found */
	r->kind = o->kind;
	r->fd = fd == -2 ? o->fd : fd;
	**to = r;
	*to = &r->next;
	/* Some shells read "10>F" as the word "10" and ">F". */
	if (o->is_bashism || fd == -1 || fd > 9)
		parse_note_bashism(p);
	if (o->kind == BASH_HEREDOC)
		return parse_heredoc(p, r);
	scan_blanks(p);
	struct bash_word *word = parse_word(p, WORD_USUAL);
	if (word)
		r->word = word;
	if (word || parse_has_stopped(p))
		return word != NULL;
	return p->at == p->end ? parse_stop_open(p)
			       : parse_stop(p, "a redirection without a file");
}

bool parse_redirect(struct parser *p, struct bash_redirect ***to)
{
	struct parser ahead = *p;
	int fd = take_descriptor(&ahead);
	const struct redirect_op *o = find_operator(&ahead);
	/* Without a blank between, a "&" belongs to the word in front of it. */
	bool is_behind = fd != -2 && o && *o->token != '&';

	if (is_behind)
		p->at = ahead.at;
	else
		o = find_operator(p);
	if (!o)
		return false;
	if (fd > FD_MAX)
		return parse_stop(p, "a descriptor with too many digits");
	return take_operator(p, o, is_behind ? fd : -2, to);
}

static const struct brackets square = { '[', ']', "" };

/* --- assignments ------------------------------------------------------------------ */

/* Parses one element of an array: WORD, or [SUBSCRIPT]=WORD. */
static struct bash_word *parse_element(struct parser *p)
{
	struct word_out w;
	const char *from = p->at;

	word_begin(p, &w);
	if (scan_take(p, "[")) {
		if (parse_arithmetic(p, &w, &square))
			word_put_expansion(p, &w, from);
	}
	parse_word_rest(p, &w, WORD_USUAL);
	return word_end(p, &w);
}

/* Parses the words of an array behind its "(". */
static bool parse_array(struct parser *p, struct bash_assign *a)
{
	struct bash_word **last = &a->values;

	p->tree->constructs |= BASH_HAS_ARRAY | BASH_HAS_BASHISM;
	a->is_array = true;
	for (scan_newlines(p); !scan_take(p, ")"); scan_newlines(p)) {
		int c = scan_peek(p);
		if (c < 0)
			return parse_stop_open(p);
		if (scan_is_meta(c) && !scan_is_next(p, "<(") && !scan_is_next(p, ">("))
			return parse_stop(p, "an array with an operator in it");
		if (!(*last = parse_element(p)))
			return false;
		last = &(*last)->next;
	}
	return !parse_has_stopped(p);
}

/* Parses the value behind "=". */
static bool parse_value(struct parser *p, struct bash_assign *a)
{
	struct word_out w;

	if (scan_take(p, "("))
		return parse_array(p, a);
	word_begin(p, &w);
	parse_word_rest(p, &w, WORD_VALUE);
	a->values = word_end(p, &w);
	return a->values != NULL;
}

/* Parses a subscript from behind its "[". */
static struct bash_word *parse_subscript(struct parser *p)
{
	struct word_out w;

	word_begin(p, &w);
	if (parse_arithmetic(p, &w, &square))
		word_put_expansion(p, &w, p->at); /* only bash can know the value */
	return word_end(p, &w);
}

/* Passes a name, perhaps on joined lines, and returns it; NULL: none is here. */
static const char *take_name(struct parser *p)
{
	struct bytes_out name = { 0 };

	for (int c = scan_peek(p); name.len ? scan_is_name(c) : scan_is_name_start(c);
	     c = scan_peek(p))
		bytes_put(&name, p->at++, 1);
	const char *mine = name.len ? parse_copy(p, name.at, name.len) : NULL;
	free(name.at);
	return mine;
}

/* Parses an assignment.  False without a reason to stop: a word is here, of which
 * nothing was passed. */
static bool parse_assign(struct parser *p, struct bash_assign ***to)
{
	const char *from = p->at;
	struct bash_assign a = { .name = take_name(p) };

	if (!a.name)
		return false;
	/* Bash reads a subscript here whether "=" follows or not. */
	if (scan_take(p, "[")) {
		parse_note_bashism(p);
		a.subscript = parse_subscript(p);
		if (!a.subscript)
			return false;
	}
	bool appends = scan_take(p, "+=");
	if (appends)
		parse_note_bashism(p);
	if (!appends && !scan_take(p, "=")) {
		if (a.subscript)
			return parse_stop(p, "a command's name with a \"[\" in it");
		p->at = from;
		return false;
	}
	**to = parse_memory(p, sizeof(a));
	***to = a;
	bool is_whole = parse_value(p, **to);
	*to = &(**to)->next;
	return is_whole;
}

/* --- simple commands -------------------------------------------------------------- */

/* A simple command that is being read. */
struct simple {
	struct bash_node *node;
	struct bash_word **last_word;
	struct bash_assign **last_assign;
	struct bash_redirect **last_redirect;
};

/* Returns whether the command takes NAME=( ) among its words. */
static bool is_declaration(const struct bash_word *first)
{
	static const char *const names[] = { "declare",	 "typeset", "local",
					     "readonly", "export",  NULL };

	for (const char *const *name = names; first && *name; name++)
		if (!strcmp(first->text, *name))
			return !(first->qualities & BASH_QUOTED);
	return false;
}

/* Parses NAME=( ) among the words of a declaration.  The word has its name. */
static bool take_declared_array(struct parser *p, struct simple *s,
				const struct bash_word *word)
{
	const char *equals = strchr(word->text, '=');
	struct bash_assign *a = parse_memory(p, sizeof(*a));

	if (!equals || equals[1] || (word->qualities & BASH_QUOTED) ||
	    !is_declaration(s->node->words) || !scan_take(p, "("))
		return parse_stop(p, "a \"(\" behind a word");
	a->name = parse_copy(p, word->text, strcspn(word->text, "+=["));
	*s->last_assign = a;
	s->last_assign = &a->next;
	return parse_array(p, a);
}

/* Returns whether the command so far can be the name of a function, with "( )" behind. */
static bool is_function(const struct simple *s)
{
	const struct bash_word *w = s->node->words;

	/* "?(", "+(" and their like open a part of a pattern. */
	return w && !w->next && !s->node->assigns && !s->node->redirects &&
	       !w->qualities && !strchr("?*+@!", w->text[w->len - 1]);
}

static bool take_function(struct parser *p, struct simple *s)
{
	(void)scan_take(p, "("); /* it was seen */
	scan_blanks(p);
	if (!scan_take(p, ")"))
		return parse_stop(p, "a \"(\" behind a word");
	s->node = parse_function(p, s->node);
	return false;
}

static bool take_word(struct parser *p, struct simple *s)
{
	/* Within $( ), bash 5.2 prints what it has parsed and parses that again; then the
	 * redirections stand last, and a keyword is first. */
	if (!s->node->words && scan_is_reserved(p))
		return parse_stop(p, "a keyword behind a redirection or an assignment");
	struct bash_word *word = parse_word(p, WORD_USUAL);
	if (!word)
		return parse_has_stopped(p) ? false : parse_stop(p, "a syntax error");
	bool is_brace = word->text[0] == '{' && word->text[word->len - 1] == '}';
	if (is_brace && p->at < p->end && (*p->at == '<' || *p->at == '>'))
		return parse_stop(p, "a descriptor of an unknown form");
	*s->last_word = word;
	s->last_word = &word->next;
	if (scan_peek(p) == '(' && s->node->words->next)
		return take_declared_array(p, s, word);
	return true;
}

/* Parses the next part of a simple command.  False: the command has ended. */
static bool take_part(struct parser *p, struct simple *s)
{
	scan_blanks(p);
	if (parse_redirect(p, &s->last_redirect))
		return true;
	int c = scan_peek(p);
	bool is_process = scan_is_next(p, "<(") || scan_is_next(p, ">(");
	if (c == '(' && is_function(s))
		return take_function(p, s);
	if (c == '(')
		return parse_stop(p, "a \"(\" behind a word");
	if (parse_has_stopped(p) || (scan_is_meta(c) && !is_process))
		return false;
	if (!s->node->words && parse_assign(p, &s->last_assign))
		return true;
	return !parse_has_stopped(p) && take_word(p, s);
}

struct bash_node *parse_simple(struct parser *p)
{
	struct bash_node *n = parse_node(p, BASH_SIMPLE);
	struct simple s = { n, &n->words, &n->assigns, &n->redirects };

	while (take_part(p, &s))
		;
	if (!n->words && !n->assigns && !n->redirects && !parse_has_stopped(p))
		(void)(p->at == p->end ? parse_stop_open(p)
				       : parse_stop(p, "a syntax error"));
	return s.node;
}
