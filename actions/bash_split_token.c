#include <string.h>

#include "actions/bash_split_parts.h"
#include "base/own.h"

void lexer_init(struct lexer *l, const char *text, size_t len)
{
	bool has_newline = len == 0 || text[len - 1] == '\n';

	*l = (struct lexer){ .text = text, .len = len + !has_newline, .real = len };
	l->now.leads = true;
}

static int byte_at(const struct lexer *l, size_t at)
{
	return at < l->real ? (unsigned char)l->text[at] : '\n';
}

int lexer_get(struct splitter *s, struct lexer *l, bool joins)
{
	while (l->at < l->len && !s->is_lost) {
		if (s->work-- <= 1)
			s->is_lost = true;
		int c = byte_at(l, l->at++);
		if (c != '\\' || !joins || byte_at(l, l->at) != '\n')
			return c;
		l->at++;
	}
	return LEXER_END;
}

/* Steps back one byte.  At the end of the text, the last byte then comes once
 * more, as in bashlex. */
void lexer_back(struct lexer *l)
{
	if (l->at > 0)
		l->at--;
}

/* --- here-documents -------------------------------------------------------- */

/* Reads one line of a here-document.  False: the text has ended.  *ret_ends:
 * the line ends the document. */
static bool read_line(struct splitter *s, struct lexer *l, const struct heredoc *h,
		      bool *ret_ends)
{
	size_t len = 0;
	bool is_same = true, is_leading = h->strips;
	int c = lexer_get(s, l, true);

	if (c == LEXER_END)
		return false;
	for (; c != LEXER_END && c != '\n'; c = lexer_get(s, l, true)) {
		is_leading = is_leading && c == '\t';
		if (is_leading)
			continue;
		is_same = is_same && len < h->len &&
			  (unsigned char)s->arena[h->word + len] == c;
		len++;
	}
	*ret_ends = is_same && len == h->len;
	return true;
}

static void read_heredoc(struct splitter *s, struct lexer *l, const struct heredoc *h)
{
	bool is_end = false;

	while (!is_end)
		if (!read_line(s, l, h, &is_end)) {
			s->is_lost = true;
			return;
		}
	l->heredoc_end = l->at - 1;
}

void lexer_heredocs(struct splitter *s, struct lexer *l)
{
	for (size_t i = 0; i < l->heredoc_count && !s->is_lost; i++)
		read_heredoc(s, l, &l->heredocs[i]);
	l->heredoc_count = 0;
}

/* --- operators ------------------------------------------------------------- */

static const struct operator {
	const char *text;
	enum token_kind kind;
	bool leads; /* a reserved word may follow the operator */
} operators[] = { /* the first match counts, so a longer operator stands before its own
		   * beginning */
	{ "<<-", TOKEN_HERE, false },	 { "<<<", TOKEN_TO, false },
	{ "<<", TOKEN_HERE, false },	 { "<&", TOKEN_DUP, false },
	{ "<>", TOKEN_TO, false },	 { "<", TOKEN_TO, false },
	{ ">>", TOKEN_TO, false },	 { ">&", TOKEN_DUP, false },
	{ ">|", TOKEN_TO, false },	 { ">", TOKEN_TO, false },
	{ "&&", TOKEN_AND_OR, true },	 { "&>>", TOKEN_BOTH, false },
	{ "&>", TOKEN_BOTH, false },	 { "&", TOKEN_AMPERSAND, true },
	{ "||", TOKEN_AND_OR, true },	 { "|&", TOKEN_PIPE, true },
	{ "|", TOKEN_PIPE, true },	 { ";;", TOKEN_HOLE, true },
	{ ";&", TOKEN_HOLE, true },	 { ";", TOKEN_SEMICOLON, true },
	{ "(", TOKEN_OPEN, true },	 { ")", TOKEN_CLOSE, true },
};

/* Reserved words count where a command may begin, and where a word is expected
 * after `for NAME`. */
static const struct reserved {
	const char *text;
	enum token_kind kind;
	bool leads;
} reserved[] = {
	{ "if", TOKEN_IF, true },	  { "then", TOKEN_THEN, true },
	{ "else", TOKEN_ELSE, true },	  { "elif", TOKEN_ELIF, true },
	{ "fi", TOKEN_FI, true },	  { "for", TOKEN_FOR, false },
	{ "while", TOKEN_LOOP, true },	  { "until", TOKEN_LOOP, true },
	{ "do", TOKEN_DO, true },	  { "done", TOKEN_DONE, true },
	{ "in", TOKEN_IN, false },	  { "function", TOKEN_FUNCTION, false },
	{ "{", TOKEN_OPEN_BRACE, true },  { "}", TOKEN_CLOSE_BRACE, true },
	{ "!", TOKEN_BANG, true },	  { "case", TOKEN_HOLE, false },
	{ "esac", TOKEN_HOLE, true },	  { "select", TOKEN_HOLE, false },
	{ "time", TOKEN_HOLE, true },	  { "coproc", TOKEN_HOLE, true },
	{ "[[", TOKEN_HOLE, false },	  { "]]", TOKEN_HOLE, false },
};

static const struct operator *find_operator(const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(operators); i++)
		if (!strcmp(operators[i].text, text))
			return &operators[i];
	return NULL;
}

/* Reads as many bytes as still make an operator; `text` begins with the first
 * one. */
static const struct operator *read_operator(struct splitter *s, struct lexer *l,
					     char text[4], int *ret_next)
{
	const struct operator *found = find_operator(text), *longer;
	size_t len = 1;

	do {
		*ret_next = lexer_get(s, l, true);
		text[len] = *ret_next == LEXER_END ? '\0' : (char)*ret_next;
		text[++len] = '\0';
		longer = *ret_next == LEXER_END ? NULL : find_operator(text);
		found = longer ? longer : found;
	} while (longer && len < 3);
	if (!longer)
		lexer_back(l);
	return found;
}

static bool took_operator(struct splitter *s, struct lexer *l, int c)
{
	char text[4] = { (char)c, '\0' };
	int next;
	const struct operator *o = read_operator(s, l, text, &next);

	if (is_in(c, "<>") && o->text[1] == '\0' && next == '(')
		return false; /* <( begins a word and is no redirection */
	if (c == ')' && l->last.kind == TOKEN_OPEN && l->before.kind == TOKEN_WORD)
		l->may_brace = true;
	l->now.kind = o->kind;
	l->now.leads = o->leads;
	l->now.strips = !strcmp(o->text, "<<-");
	l->now.end = l->at;
	return true;
}

/* --- words ----------------------------------------------------------------- */

static bool is_text(const struct splitter *s, const struct token *t, const char *text)
{
	return t->len == strlen(text) && !memcmp(s->arena + t->word, text, t->len);
}

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static bool is_number(const struct splitter *s, const struct lexer *l, int end)
{
	const struct token *t = &l->now;

	if (!is_in(end, "<>") && l->last.kind != TOKEN_DUP)
		return false;
	for (size_t i = 0; i < t->len; i++)
		if (!is_digit(s->arena[t->word + i]))
			return false;
	return t->len > 0;
}

static bool is_letter(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c & 0x80;
}

/* Returns whether the word begins with NAME= or NAME+=, as an assignment does. */
static bool is_assignment(const struct splitter *s, const struct token *t)
{
	const char *word = s->arena + t->word;
	size_t i = 0;

	while (i < t->len && (is_letter(word[i]) || (i > 0 && is_digit(word[i]))))
		i++;
	return i > 0 && ((i < t->len && word[i] == '=') ||
			 (i + 1 < t->len && word[i] == '+' && word[i + 1] == '='));
}

/* Returns whether a reserved word may stand behind the last token. */
static bool may_reserve(const struct lexer *l)
{
	return l->last.leads ||
	       (l->last.kind == TOKEN_WORD && l->before.kind == TOKEN_FUNCTION);
}

static bool take_reserved(struct lexer *l, const struct reserved *r)
{
	l->now.kind = r->kind;
	l->now.leads = r->leads;
	return true;
}

static bool took_reserved(const struct splitter *s, struct lexer *l)
{
	const struct token *t = &l->now;
	bool is_for = l->last.kind == TOKEN_WORD && l->before.kind == TOKEN_FOR;
	bool may_brace = l->may_brace;

	for (size_t i = 0; i < ARRAY_LEN(reserved); i++) {
		const struct reserved *r = &reserved[i];
		if (!is_text(s, t, r->text))
			continue;
		if (is_for && (r->kind == TOKEN_IN || r->kind == TOKEN_DO))
			return take_reserved(l, r);
		l->may_brace = false;
		if (may_brace && r->kind == TOKEN_OPEN_BRACE)
			return take_reserved(l, r);
		return may_reserve(l) && take_reserved(l, r);
	}
	l->may_brace = false;
	return false;
}

static void read_word(struct splitter *s, struct lexer *l, int c)
{
	struct token *t = &l->now;

	t->word = s->used;
	int end = word_read(s, l, c);
	t->len = s->used - t->word;
	t->end = l->at;
	if (is_number(s, l, end)) {
		t->kind = TOKEN_NUMBER;
		return;
	}
	if (took_reserved(s, l))
		return;
	t->kind = TOKEN_WORD;
	if (t->len == 0 || end == LEXER_END)
		s->is_lost = true; /* the word that ends a here-document is empty, or
				    * the text ends with it */
	else if (is_assignment(s, t) && (l->last.leads || may_reserve(l) ||
					 l->last.kind == TOKEN_ASSIGNMENT))
		t->kind = TOKEN_ASSIGNMENT;
	/* Behind a lone brace a reserved word may stand, wherever the brace is. */
	t->leads = is_text(s, t, "{") || is_text(s, t, "}");
	if (l->last.kind == TOKEN_FUNCTION)
		l->may_brace = true;
}

/* --- tokens ---------------------------------------------------------------- */

static void read_token(struct splitter *s, struct lexer *l)
{
	int c = lexer_get(s, l, true);

	while (is_blank(c))
		c = lexer_get(s, l, true);
	if (c == '#')
		while (c != LEXER_END && c != '\n')
			c = lexer_get(s, l, false);
	if (c == LEXER_END) {
		l->now.kind = TOKEN_END;
		return;
	}
	l->now.start = l->at - 1;
	if (c == '\n') {
		l->now.kind = TOKEN_NEWLINE;
		l->now.leads = true;
		lexer_heredocs(s, l);
		l->now.end = l->at;
	} else if (c == '-' && l->last.kind == TOKEN_DUP) {
		l->now.kind = TOKEN_DASH;
		l->now.end = l->at;
	} else if (!is_meta(c) || !took_operator(s, l, c)) {
		read_word(s, l, c);
	}
}

void lexer_next(struct splitter *s, struct lexer *l)
{
	l->before = l->last;
	l->last = l->now;
	l->now = (struct token){ 0 };
	read_token(s, l);
}
