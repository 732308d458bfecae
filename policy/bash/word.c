#include <stdlib.h>

#include "policy/bash/parse.h"

void word_begin(struct parser *p, struct word_out *w)
{
	*w = (struct word_out){ .word = parse_memory(p, sizeof(*w->word)) };
	w->last = &w->word->nests;
}

struct bash_word *word_end(struct parser *p, struct word_out *w)
{
	w->word->text = parse_copy(p, w->text.at, w->text.len);
	w->word->len = w->text.len;
	free(w->text.at);
	return parse_has_stopped(p) ? NULL : w->word;
}

struct bash_word *parse_empty_word(struct parser *p)
{
	struct bash_word *word = parse_memory(p, sizeof(*word));

	word->text = "";
	return word;
}

/* Notes whether bash would find an expansion in the literal text if it evaluated that, or
 * a subscript with parts of one. */
static void note_hidden(struct word_out *w, const char *bytes, size_t len)
{
	bool hides = false;

	for (size_t i = 0; i < len; i++) {
		bool is_dollar = w->before == '$';
		hides |= bytes[i] == '`' ||
			 (is_dollar && (bytes[i] == '(' || bytes[i] == '{'));
		w->has_square |= bytes[i] == '[';
		w->has_code |= strchr("$\\(", bytes[i]) && bytes[i];
		w->before = bytes[i];
	}
	if (hides || (w->has_square && w->has_code))
		w->word->qualities |= BASH_HIDES;
}

void word_put(struct word_out *w, const char *bytes, size_t len)
{
	bytes_put(&w->text, bytes, len);
	note_hidden(w, bytes, len);
}

void word_put_expansion(struct parser *p, struct word_out *w, const char *from)
{
	bytes_put(&w->text, from, (size_t)(p->at - from));
	w->word->qualities |= BASH_EXPANDS;
	w->word->computed = w->text.len ? w->text.len : 1;
}

/* --- quotes ----------------------------------------------------------------------- */

bool parse_single(struct parser *p, struct word_out *w)
{
	const char *from = ++p->at;
	const char *stop = memchr(from, '\'', (size_t)(p->end - from));

	w->word->qualities |= BASH_QUOTED;
	if (!stop)
		return parse_stop_open(p);
	word_put(w, from, (size_t)(stop - from));
	p->at = stop + 1;
	return true;
}

/* Parses a backslash in double quotes. */
static bool take_escape(struct parser *p, struct word_out *w)
{
	if (p->end - p->at < 2)
		return parse_stop_open(p);
	p->at += strchr("$`\"\\", p->at[1]) != NULL;
	word_put(w, p->at++, 1);
	return true;
}

static bool take_double_part(struct parser *p, struct word_out *w, int c)
{
	switch (c) {
	case -1:
		return parse_stop_open(p);
	case '$':
		return parse_dollar(p, w, IN_DOUBLE);
	case '`':
		return parse_backticks(p, w, IN_DOUBLE);
	case '\\':
		return take_escape(p, w);
	default:
		word_put(w, p->at++, 1);
		return true;
	}
}

bool parse_double(struct parser *p, struct word_out *w)
{
	p->at++;
	w->word->qualities |= BASH_QUOTED;
	for (int c = scan_peek(p); c != '"'; c = scan_peek(p))
		if (!take_double_part(p, w, c))
			return false;
	p->at++;
	return true;
}

/* --- patterns and braces ---------------------------------------------------------- */

/* The bytes so far of a word that make it a pattern, or a list in braces. */
struct shape {
	bool has_bracket, has_brace, has_comma;
};

/* Notes an unquoted byte, which is the last one of the word. */
static void note_byte(struct word_out *w, struct shape *s, char c)
{
	bool is_range = c == '.' && w->text.len > 1 && w->text.at[w->text.len - 2] == '.';
	bool is_computed = c == '*' || c == '?' || (c == ']' && s->has_bracket) ||
			   (c == '}' && s->has_comma);

	s->has_bracket |= c == '[';
	s->has_brace |= c == '{';
	s->has_comma |= s->has_brace && (c == ',' || is_range);
	if (!is_computed)
		return;
	w->word->qualities |= BASH_SPLITS;
	w->word->computed = w->text.len;
}

/* Notes that bash replaces the "~" in front, up to this place. */
static void note_tilde(struct word_out *w)
{
	w->word->qualities |= BASH_EXPANDS;
	w->word->computed = w->text.len;
}

/* --- words ------------------------------------------------------------------------ */

static bool take_backslash(struct parser *p, struct word_out *w)
{
	w->word->qualities |= BASH_QUOTED;
	if (++p->at == p->end)
		return parse_stop_open(p);
	word_put(w, p->at++, 1);
	return true;
}

/* Parses a part of a pattern of [[ ]] from its "(" on to its ")". */
static bool take_parentheses(struct parser *p, struct word_out *w, enum word_place place);

static bool take_usual(struct parser *p, struct word_out *w, struct shape *s, int c,
		       enum word_place place)
{
	char before = w->text.len ? w->text.at[w->text.len - 1] : 0;
	word_put(w, p->at++, 1);
	if (place == WORD_USUAL)
		note_byte(w, s, (char)c);
	if (c == '~' && (before == '=' || before == ':')) /* as in an assignment */
		note_tilde(w);
	return true;
}

/* Parses the next part of a word, which begins with `c`. */
static bool take_part(struct parser *p, struct word_out *w, struct shape *s, int c,
		      enum word_place place)
{
	switch (c) {
	case '\'':
		return parse_single(p, w);
	case '"':
		return parse_double(p, w);
	case '$':
		return parse_dollar(p, w, UNQUOTED);
	case '`':
		return parse_backticks(p, w, UNQUOTED);
	case '\\':
		return take_backslash(p, w);
	case '<':
	case '>':
		return parse_process(p, w);
	case '(':
		return take_parentheses(p, w, place);
	default:
		return take_usual(p, w, s, c, place);
	}
}

static bool take_parentheses(struct parser *p, struct word_out *w, enum word_place place)
{
	struct shape s = { 0 };

	if (!parse_enter(p))
		return false;
	word_put(w, p->at++, 1);
	for (int c = scan_peek(p); c != ')'; c = scan_peek(p)) {
		bool is_process = scan_is_next(p, "<(") || scan_is_next(p, ">(");
		if (c < 0)
			return parse_stop_open(p);
		if (scan_is_meta(c) && c != '(' && !is_process)
			word_put(w, p->at++, 1);
		else if (!take_part(p, w, &s, c, place))
			return false;
	}
	word_put(w, p->at++, 1);
	p->depth--;
	return true;
}

/* Returns whether the word ends in front of the byte `c`. */
static bool is_end(struct parser *p, const struct word_out *w, int c,
		   enum word_place place)
{
	if (!scan_is_meta(c))
		return false;
	if (c == '<' || c == '>')
		return !scan_is_next(p, "<(") && !scan_is_next(p, ">(");
	if (place == WORD_REGEX)
		return c != '(' && c != '|';
	return place != WORD_TEST || c != '(' || w->text.len == 0 ||
	       !strchr("?*+@!", w->text.at[w->text.len - 1]);
}

void parse_word_rest(struct parser *p, struct word_out *w, enum word_place place)
{
	struct shape s = { 0 };
	bool has_tilde = p->at < p->end && *p->at == '~';

	for (int c = scan_peek(p); !is_end(p, w, c, place); c = scan_peek(p)) {
		if (has_tilde && c == '/') {
			note_tilde(w);
			has_tilde = false;
		}
		if (!take_part(p, w, &s, c, place))
			break;
	}
	if (has_tilde)
		note_tilde(w);
	if (place != WORD_USUAL)
		w->word->qualities &= ~(unsigned)BASH_SPLITS;
}

struct bash_word *parse_word(struct parser *p, enum word_place place)
{
	const char *from = p->at;
	struct word_out w;

	word_begin(p, &w);
	parse_word_rest(p, &w, place);
	bool is_there = p->at > from;
	struct bash_word *word = word_end(p, &w);
	return is_there ? word : NULL;
}
