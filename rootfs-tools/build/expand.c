#include "rootfs-tools/build/expand.h"

#include <string.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

struct lexer {
	const struct expand *x;
	const char *at;
	struct buffer *out;
	bool has_quotes; /* quotes are interpreted; if false, they are plain characters */
	unsigned depth;
	struct err *e;
};

static int run(struct lexer *l, char stop);

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int put(struct lexer *l, const char *text, size_t len)
{
	if (buffer_append(l->out, text, len))
		return 0;
	return err_set(l->e, ERR_LIMIT, "a word becomes longer than %u bytes",
		       EXPAND_MAX);
}

/* --- variables ------------------------------------------------------------------ */

/* Returns the length of the variable's name at `at`; 0: no name begins there. */
static size_t name_len(const char *at)
{
	size_t len = 0;

	if (is_letter(*at))
		while (is_letter(at[len]) || is_digit(at[len]))
			len++;
	else if (is_digit(*at))
		while (is_digit(at[len]))
			len++;
	else if (*at && strchr("@*#?-$!", *at))
		len = 1;
	return len;
}

/* Expands the WORD of ${NAME:-WORD}, up to the closing '}'. */
static int read_word(struct lexer *l, struct buffer *to)
{
	struct lexer word = *l;

	word.out = to;
	word.depth++;
	word.has_quotes = true;
	if (word.depth > EXPAND_DEPTH)
		return err_set(l->e, ERR_LIMIT, "${} is nested deeper than %u",
			       EXPAND_DEPTH);
	if (run(&word, '}') < 0)
		return -1;
	if (*word.at != '}')
		return err_set(l->e, ERR_USAGE, "${ is not closed");
	l->at = word.at + 1;
	return 0;
}

static int put_value(struct lexer *l, const char *value)
{
	return value ? put(l, value, strlen(value)) : 0;
}

static int missing(struct lexer *l, const char *name, size_t len,
		   const struct buffer *word)
{
	size_t said = buffer_len(word) < 300 ? buffer_len(word) : 300;

	len = len < 100 ? len : 100;
	if (said == 0)
		return err_set(l->e, ERR_USAGE, "%.*s: it is not set", (int)len, name);
	return err_set(l->e, ERR_USAGE, "%.*s: %.*s", (int)len, name, (int)said,
		       (const char *)buffer_data(word));
}

/* Reads the rest of ${NAME:-WORD} and similar forms.  The lexer stands after NAME and
 * the optional ':'.  `how` is one of "-+?". */
static int with_word(struct lexer *l, const char *name, size_t len, bool empty_is_unset)
{
	const char *value = l->x->get(l->x->context, name, len);
	bool is_set = value && !(empty_is_unset && !*value);
	struct buffer word;
	char how = *l->at++;
	int rc;

	buffer_init(&word, EXPAND_MAX);
	rc = read_word(l, &word);
	bool takes_word = how == '-' ? !is_set : how == '+' && is_set;
	if (rc == 0 && how == '?' && !is_set)
		rc = missing(l, name, len, &word);
	else if (rc == 0 && takes_word)
		rc = put(l, (const char *)buffer_data(&word), buffer_len(&word));
	else if (rc == 0 && how != '+')
		rc = put_value(l, value);
	buffer_done(&word);
	return rc;
}

/* Reads a variable in braces.  The lexer stands after "${". */
static int braced(struct lexer *l)
{
	const char *name = l->at;
	size_t len = name_len(name);

	l->at += len;
	if (len == 0)
		return err_set(l->e, ERR_USAGE, "${%.20s has no name of a variable",
			       name);
	if (*l->at == '}') {
		l->at++;
		return put_value(l, l->x->get(l->x->context, name, len));
	}
	bool empty_is_unset = *l->at == ':';
	if (empty_is_unset)
		l->at++;
	if (*l->at && strchr("-+?", *l->at))
		return with_word(l, name, len, empty_is_unset);
	if (!*l->at)
		return err_set(l->e, ERR_USAGE, "${ is not closed");
	return err_set(l->e, ERR_UNSUPPORTED,
		       "${%.*s%s%c is not supported; ${NAME:-WORD}, ${NAME:+WORD} and "
		       "${NAME:?WORD} are",
		       (int)(len < 100 ? len : 100), name, empty_is_unset ? ":" : "",
		       *l->at);
}

static int dollar(struct lexer *l)
{
	l->at++;
	if (*l->at == '{') {
		l->at++;
		return braced(l);
	}
	const char *name = l->at;
	size_t len = name_len(name);
	if (len == 0)
		return put(l, "$", 1);
	l->at += len;
	return put_value(l, l->x->get(l->x->context, name, len));
}

/* --- quotes --------------------------------------------------------------------- */

static int single_quoted(struct lexer *l)
{
	const char *end = strchr(l->at + 1, '\'');

	if (!end)
		return err_set(l->e, ERR_USAGE, "a ' is not closed");
	int rc = put(l, l->at + 1, (size_t)(end - l->at) - 1);
	l->at = end + 1;
	return rc;
}

static int double_quoted(struct lexer *l)
{
	const char escape = l->x->escape;
	int rc = 0;

	for (l->at++; rc == 0 && *l->at != '"';) {
		if (!*l->at)
			return err_set(l->e, ERR_USAGE, "a \" is not closed");
		if (*l->at == '$') {
			rc = dollar(l);
			continue;
		}
		bool escapes = *l->at == escape && l->at[1] &&
			       (l->at[1] == '"' || l->at[1] == '$' || l->at[1] == escape);
		l->at += escapes;
		rc = put(l, l->at++, 1);
	}
	if (rc == 0)
		l->at++;
	return rc;
}

static int escaped(struct lexer *l)
{
	l->at++;
	if (!*l->at)
		return 0;
	return put(l, l->at++, 1);
}

/* Returns whether the escape character quotes the character after it.  In a text
 * without quotes, an escape quotes only '$' and the escape character. */
static bool escape_counts(const struct lexer *l)
{
	return l->has_quotes || l->at[1] == '$' || l->at[1] == l->x->escape;
}

static int step(struct lexer *l)
{
	if (*l->at == '$')
		return dollar(l);
	if (*l->at == l->x->escape && escape_counts(l))
		return escaped(l);
	if (l->has_quotes && *l->at == '\'')
		return single_quoted(l);
	if (l->has_quotes && *l->at == '"')
		return double_quoted(l);
	return put(l, l->at++, 1);
}

static int run(struct lexer *l, char stop)
{
	while (*l->at && *l->at != stop)
		if (step(l) < 0)
			return -1;
	return 0;
}

static int expand(const struct expand *x, const char *text, bool has_quotes, size_t max,
		  char **ret, struct err *e)
{
	struct buffer out;
	struct lexer l = {
		.x = x, .at = text, .out = &out, .has_quotes = has_quotes, .e = e
	};

	buffer_init(&out, max);
	int rc = run(&l, '\0');
	if (rc == 0) {
		size_t len = buffer_len(&out);
		char *copy = mem_new(len + 1);
		if (len)
			memcpy(copy, buffer_data(&out), len);
		copy[len] = '\0';
		*ret = copy;
	}
	buffer_done(&out);
	return rc;
}

int expand_word(const struct expand *x, const char *word, char **ret, struct err *e)
{
	return expand(x, word, true, EXPAND_MAX, ret, e);
}

int expand_text(const struct expand *x, const char *text, char **ret, struct err *e)
{
	return expand(x, text, false, strlen(text) + EXPAND_MAX, ret, e);
}

/* --- splitting ------------------------------------------------------------------ */

/* Returns the end of the quoted string at `at`, after its closing quote. */
static const char *past_quotes(char escape, const char *at)
{
	char quote = *at++;

	for (; *at && *at != quote; at++)
		if (quote == '"' && *at == escape && at[1])
			at++;
	return *at ? at + 1 : at;
}

static const char *past_word(char escape, const char *at)
{
	while (*at && !is_blank(*at))
		if (*at == '\'' || *at == '"')
			at = past_quotes(escape, at);
		else
			at += *at == escape && at[1] ? 2 : 1;
	return at;
}

void expand_split(char escape, const char *text, struct list *ret)
{
	for (const char *at = text;;) {
		while (is_blank(*at))
			at++;
		if (!*at)
			return;
		const char *end = past_word(escape, at);
		list_addf(ret, "%.*s", (int)(end - at), at);
		at = end;
	}
}
