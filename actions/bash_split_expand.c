#include <string.h>

#include "actions/bash_split_parts.h"

/* A word that is expanded as bashlex does it; only the commands in the word, and
 * bashlex's failures, matter here.  bashlex goes byte by byte and ignores quotes, with
 * two exceptions: a word that begins and ends with ' is left alone, and in a word that
 * begins with " no <( counts. */
struct word {
	struct splitter *s;
	const char *text; /* the word's bytes, borrowed from the arena */
	size_t len, at;
};

static int byte_at(const struct word *w, size_t at)
{
	return at < w->len ? (unsigned char)w->text[at] : -1;
}

/* Reads the text of a command that is nested in a word.  *ret_end counts from the
 * start of that text. */
static bool read_inner(struct word *w, size_t from, size_t len, enum ending ending,
		       size_t *ret_end)
{
	struct extent x;

	if (++w->s->depth > SPLIT_DEPTH)
		w->s->is_lost = true;
	else if (!grammar_read(w->s, w->text + from, len, ending, &x))
		w->s->is_lost = true; /* bashlex fails if no command is in the brackets */
	else
		*ret_end = x.end;
	w->s->depth--;
	return !w->s->is_lost;
}

/* Reads from behind the bracket of $( or <(.  If the command ends at a newline,
 * bashlex looks at the further lines as if they were part of the word. */
static void substitution(struct word *w, size_t from)
{
	size_t end;

	if (from >= w->len)
		w->s->is_lost = true;
	else if (read_inner(w, from, w->len - from, ENDS_CLOSED, &end)) {
		if (from + end >= w->len)
			w->s->is_lost = true;
		else if (w->text[from + end] != ')')
			while (end > 0 && w->text[from + end - 1] == '\n')
				end--;
		w->at = from + end + 1;
	}
}

static bool is_name(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c >= 0x80;
}

static void braces(struct word *w)
{
	const char *close = memchr(w->text + w->at, '}', w->len - w->at);

	if (close)
		w->at = (size_t)(close - w->text) + 1;
	else
		w->s->is_lost = true; /* bashlex would loop for ever on this text */
}

static void dollar(struct word *w)
{
	int c = byte_at(w, w->at + 1);

	if (w->len == 1) {
		w->at++;
	} else if (is_in(c, "0123456789$#?-!*@")) {
		w->at += 2;
	} else if (c == '{') {
		braces(w);
	} else if (c == '[' || (c == '(' && byte_at(w, w->at + 2) == '(')) {
		w->s->is_lost = true; /* arithmetic: bashlex has no reader for it */
	} else if (c == '(') {
		substitution(w, w->at + 2);
	} else {
		w->at++;
		while (is_name(byte_at(w, w->at)))
			w->at++;
	}
}

static void backquotes(struct word *w)
{
	size_t from = w->at + 1, end;
	const char *close = memchr(w->text + from, '`', w->len - from);

	if (!close) {
		w->s->is_lost = true;
		return;
	}
	size_t len = (size_t)(close - w->text) - from;
	if (len == 0 || read_inner(w, from, len, ENDS_ALONE, &end))
		w->at = from + len + 1;
}

/* Skips ~NAME, up to the next / or quote. */
static void tilde(struct word *w)
{
	do
		w->at++;
	while (w->at < w->len && !is_in(w->text[w->at], "/\\'\""));
}

static void look(struct word *w)
{
	bool is_double = w->text[0] == '"';

	switch (w->text[w->at]) {
	case '$':
		return dollar(w);
	case '`':
		return backquotes(w);
	case '<':
	case '>':
		if (byte_at(w, w->at + 1) == '(' && !is_double)
			return substitution(w, w->at + 2);
		w->at++;
		return;
	case '~':
		if (w->at == 0)
			return tilde(w);
		w->at++;
		return;
	case '\\':
		w->at += 2;
		return;
	default:
		w->at++;
	}
}

void expand(struct splitter *s, const char *word, size_t len)
{
	struct word w = { .s = s, .text = word, .len = len };

	if (len > 0 && word[0] == '\'' && word[len - 1] == '\'')
		return;
	while (w.at < len && !s->is_lost)
		look(&w);
	if (w.at > len)
		s->is_lost = true;
}
