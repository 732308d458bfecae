#include "policy/bash/parse.h"

bool scan_is_blank(int c)
{
	return c == ' ' || c == '\t';
}

bool scan_is_meta(int c)
{
	return c < 0 || scan_is_blank(c) || strchr("\n;&|()<>", c);
}

bool scan_is_name_start(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool scan_is_name(int c)
{
	return scan_is_name_start(c) || (c >= '0' && c <= '9');
}

/* Passes backslashes with a newline behind them. */
static const char *behind_joins(const char *at, const char *end)
{
	while (end - at >= 2 && at[0] == '\\' && at[1] == '\n')
		at += 2;
	return at;
}

int scan_peek(struct parser *p)
{
	p->at = behind_joins(p->at, p->end);
	return p->at < p->end ? (unsigned char)*p->at : -1;
}

/* Returns the place behind the token, or NULL if another text is at `at`. */
static const char *behind(const char *at, const char *end, const char *token)
{
	for (; *token; token++, at++) {
		at = behind_joins(at, end);
		if (at == end || *at != *token)
			return NULL;
	}
	return at;
}

bool scan_is_next(struct parser *p, const char *token)
{
	return behind(p->at, p->end, token) != NULL;
}

bool scan_take(struct parser *p, const char *token)
{
	const char *at = behind(p->at, p->end, token);

	if (at)
		p->at = at;
	return at != NULL;
}

void scan_blanks(struct parser *p)
{
	while (scan_is_blank(scan_peek(p)))
		p->at++;
	if (scan_peek(p) != '#')
		return;
	/* A backslash does not join lines in a comment. */
	const char *stop = memchr(p->at, '\n', (size_t)(p->end - p->at));
	p->at = stop ? stop : p->end;
}

void scan_newlines(struct parser *p)
{
	scan_blanks(p);
	while (scan_peek(p) == '\n') {
		p->at++;
		parse_heredoc_lines(p);
		scan_blanks(p);
	}
}

/* --- keywords --------------------------------------------------------------------- */

/* Returns the place behind the keyword, or NULL: another word is here. */
static const char *behind_keyword(const struct parser *p, const char *word)
{
	const char *at = behind(p->at, p->end, word);

	if (!at)
		return NULL;
	const char *next = behind_joins(at, p->end);
	if (next == p->end)
		return at;
	if (!scan_is_meta((unsigned char)*next))
		return NULL;
	/* "<(" and ">(" go on with a word. */
	bool is_angle = *next == '<' || *next == '>';
	return is_angle && behind(next + 1, p->end, "(") ? NULL : at;
}

bool scan_is_keyword(struct parser *p, const char *word)
{
	return behind_keyword(p, word) != NULL;
}

bool scan_take_keyword(struct parser *p, const char *word)
{
	const char *at = behind_keyword(p, word);

	if (at)
		p->at = at;
	return at != NULL;
}

static bool is_one_of(struct parser *p, const char *const *words)
{
	for (; *words; words++)
		if (scan_is_keyword(p, *words))
			return true;
	return false;
}

bool scan_is_closing(struct parser *p)
{
	static const char *const words[] = { "then", "do",   "done", "fi", "else",
					     "elif", "esac", "}",    NULL };

	return is_one_of(p, words);
}

bool scan_is_reserved(struct parser *p)
{
	static const char *const words[] = { "!", "time", "coproc", NULL };

	return scan_is_closing(p) || is_one_of(p, words) ||
	       (scan_peek(p) != '(' && scan_is_compound(p));
}

bool scan_is_compound(struct parser *p)
{
	static const char *const words[] = {
		"{",	  "if",	  "while", "until",    "for",
		"select", "case", "[[",	   "function", NULL
	};

	return scan_peek(p) == '(' || is_one_of(p, words);
}
