#include <ctype.h>
#include <stdlib.h>

#include "base/mem.h"
#include "policy/bash/ansi_c.h"
#include "policy/commands_parts.h"

void text_put(struct text *t, const char *bytes, size_t len)
{
	if (t->len + len + 1 > t->room) {
		t->room = 2 * (t->len + len + 1);
		t->at = mem_resize(t->at, t->room, 1);
	}
	if (len)
		memcpy(t->at + t->len, bytes, len);
	t->len += len;
	t->at[t->len] = '\0';
}

/* Passes the closing character at r->at.  False: the text has ended before it. */
static bool pass_end(struct reader *r)
{
	bool is_there = r->at < r->end;

	r->at += is_there;
	r->into->is_open |= !is_there;
	return is_there;
}

/* --- quotes ----------------------------------------------------------------------- */

static void read_part(struct reader *r, struct text *to);
static void read_dollar(struct reader *r, struct text *to, bool is_quoted);
static void read_backticks(struct reader *r, struct text *to, bool is_quoted);

/* Reads a quoted part of a word from its single quote on. */
static void read_single(struct reader *r, struct text *to)
{
	const char *from = ++r->at;
	const char *stop = memchr(from, '\'', (size_t)(r->end - from));

	r->at = stop ? stop : r->end;
	text_put(to, from, (size_t)(r->at - from));
	(void)pass_end(r);
}

/* Reads a quoted part of a word from its double quote on. */
static void read_double(struct reader *r, struct text *to)
{
	for (r->at++; r->at < r->end && *r->at != '"';) {
		if (reader_is_at(r, '$')) {
			read_dollar(r, to, true);
		} else if (reader_is_at(r, '`')) {
			read_backticks(r, to, true);
		} else if (reader_is_next(r, "\\\n")) {
			r->at += 2;
		} else {
			if (reader_is_at(r, '\\') && r->at + 1 < r->end &&
			    strchr("$`\"\\", r->at[1]))
				r->at++;
			text_put(to, r->at++, 1);
		}
	}
	(void)pass_end(r);
}

/* Reads $'...' from its quote on.  An escape for a 0 byte ends the text. */
static void read_ansi_c(struct reader *r, struct text *to)
{
	char bytes[ANSI_C_MAX];
	bool is_over = false;

	for (r->at++; r->at < r->end && *r->at != '\'';) {
		int len = ansi_c_next(&r->at, r->end, bytes);
		is_over |= len < 0;
		if (!is_over)
			text_put(to, bytes, (size_t)len);
	}
	(void)pass_end(r);
}

/* --- expansions ------------------------------------------------------------------- */

/* Reads a command in backticks from "`" on.  Inside, a backslash quotes "`", "\" and
 * "$", and in double quotes a double quote, too. */
static void read_backticks(struct reader *r, struct text *to, bool is_quoted)
{
	const char *from = r->at, *escaped = is_quoted ? "`\\$\"" : "`\\$";
	struct text inner = { 0 };

	text_put(&inner, "", 0);
	for (r->at++; r->at < r->end && *r->at != '`'; r->at++) {
		if (*r->at == '\\' && r->at + 1 < r->end && strchr(escaped, r->at[1]))
			r->at++;
		text_put(&inner, r->at, 1);
	}
	(void)pass_end(r);
	if (commands_may_read(r->into, inner.len, r->depth + 1))
		commands_read_more(r->into, inner.at, inner.len, r->depth + 1);
	free(inner.at);
	text_put(to, from, (size_t)(r->at - from));
}

/* Reads "<(" or ">(" and the list in it. */
static void read_process(struct reader *r)
{
	r->at += 2;
	commands_read_group(r, GROUP_INNER);
}

static bool is_process(const struct reader *r)
{
	return reader_is_next(r, "<(") || reader_is_next(r, ">(");
}

/* Reads arithmetic from behind "[" to its "]". */
static void read_brackets(struct reader *r)
{
	struct text none = { 0 };
	size_t open = 1;

	while (r->at < r->end && open > 0) {
		if (reader_is_one_of(r, "$`'\"\\")) {
			read_part(r, &none);
			continue;
		}
		open += *r->at == '[';
		open -= *r->at++ == ']';
	}
	r->into->is_open |= open > 0;
	free(none.at);
}

/* Reads an expansion from behind "${" to its "}".  In double quotes, a single quote
 * quotes only where a pattern is (bash(1), Parameter Expansion); a pattern is assumed
 * everywhere behind "#", "%" and "/". */
static void read_braces(struct reader *r, bool is_quoted)
{
	struct text none = { 0 };
	bool has_pattern = !is_quoted;

	while (r->at < r->end && *r->at != '}') {
		has_pattern |= reader_is_one_of(r, "#%/");
		if (reader_is_at(r, '$'))
			read_dollar(r, &none, is_quoted);
		else if (reader_is_at(r, '`'))
			read_backticks(r, &none, is_quoted);
		else if (reader_is_at(r, '"'))
			read_double(r, &none);
		else if (reader_is_at(r, '\'') && has_pattern)
			read_single(r, &none);
		else if (!is_quoted && is_process(r))
			read_process(r);
		else
			r->at += *r->at == '\\' && r->at + 1 < r->end ? 2 : 1;
	}
	(void)pass_end(r);
	free(none.at);
}

static bool is_name(const struct reader *r)
{
	return r->at < r->end && (isalnum((unsigned char)*r->at) || *r->at == '_');
}

/* Reads an expansion from its "$" on, in double quotes or not. */
static void read_dollar(struct reader *r, struct text *to, bool is_quoted)
{
	const char *from = r->at++;

	while (reader_is_next(r, "\\\n"))
		r->at += 2;
	if (!is_quoted && reader_is_at(r, '\''))
		return read_ansi_c(r, to);
	if (!is_quoted && reader_is_at(r, '"'))
		return; /* $"..." is a text to be translated */
	if (reader_is_at(r, '(')) {
		r->at++;
		commands_read_group(r, GROUP_INNER);
	} else if (reader_is_at(r, '[')) {
		r->at++;
		read_brackets(r);
	} else if (reader_is_one_of(r, "$!?#*@-")) {
		r->at++;
	} else if (reader_is_at(r, '{')) {
		r->at++;
		if (commands_may_read(r->into, 0, ++r->depth))
			read_braces(r, is_quoted);
		else
			r->at = r->end;
		r->depth--;
	} else {
		while (is_name(r))
			r->at++;
	}
	text_put(to, from, (size_t)(r->at - from));
}

void commands_expansion(struct reader *r)
{
	struct text none = { 0 };

	if (reader_is_at(r, '$'))
		read_dollar(r, &none, true);
	else
		read_backticks(r, &none, true);
	free(none.at);
}

/* --- words ------------------------------------------------------------------------ */

static void read_escaped(struct reader *r, struct text *to)
{
	r->at++;
	r->into->is_open |= r->at == r->end;
	if (r->at < r->end && *r->at++ != '\n')
		text_put(to, r->at - 1, 1);
}

static void read_part(struct reader *r, struct text *to)
{
	const char *from = r->at;

	switch (*r->at) {
	case '\'':
		return read_single(r, to);
	case '"':
		return read_double(r, to);
	case '$':
		return read_dollar(r, to, false);
	case '`':
		return read_backticks(r, to, false);
	case '\\':
		return read_escaped(r, to);
	case '<': /* with a "(" behind it */
	case '>':
		read_process(r);
		break;
	default:
		r->at++;
	}
	text_put(to, from, (size_t)(r->at - from));
}

/* Returns whether a word ends here. */
static bool is_end(const struct reader *r, bool is_plain)
{
	if (is_plain && reader_is_one_of(r, "<>"))
		return false;
	return reader_is_one_of(r, META) && (is_plain || !is_process(r));
}

static char *read_rest(struct reader *r, bool is_plain, const char *from)
{
	struct text word = { 0 };

	text_put(&word, from, (size_t)(r->at - from));
	while (r->at < r->end && !is_end(r, is_plain))
		if (is_plain && reader_is_one_of(r, "<>"))
			text_put(&word, r->at++, 1);
		else
			read_part(r, &word);
	if (r->at > from)
		return word.at;
	free(word.at);
	return NULL;
}

char *commands_word(struct reader *r, bool is_plain)
{
	return read_rest(r, is_plain, r->at);
}

/* Returns the place behind the closing quote, or behind the opening one if there is
 * none. */
static const char *behind_quote(const char *at, const char *end)
{
	const char *stop = memchr(at + 1, *at, (size_t)(end - at - 1));

	return stop ? stop + 1 : at + 1;
}

size_t commands_subscript(const char *at, const char *end)
{
	const char *from = at;
	size_t open = 0;

	while (at < end) {
		if (*at == '\\' && at + 1 < end) {
			at += 2;
			continue;
		}
		if (*at == '\'' || *at == '"') {
			at = behind_quote(at, end);
			continue;
		}
		open += *at == '[';
		open -= *at++ == ']';
		if (open == 0)
			return (size_t)(at - from);
	}
	return 0;
}

/* Returns whether the word has the form NAME[...]= or NAME[...]+=. */
static bool has_subscript(const struct reader *r)
{
	const char *at = r->at;

	while (at < r->end && (isalnum((unsigned char)*at) || *at == '_'))
		at++;
	if (at == r->at || at == r->end || *at != '[')
		return false;
	size_t len = commands_subscript(at, r->end);
	at += len;
	return len && at < r->end &&
	       (*at == '=' || (*at == '+' && at + 1 < r->end && at[1] == '='));
}

char *commands_first_word(struct reader *r)
{
	const char *from = r->at;

	if (!has_subscript(r))
		return commands_word(r, false);
	r->at = (const char *)memchr(from, '[', (size_t)(r->end - from)) + 1;
	read_brackets(r);
	return read_rest(r, false, from);
}
