#include "rootfs-tools/build/dockerfile_lines.h"

#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

/* A piece of the Dockerfile's text, borrowed. */
struct span {
	const char *at;
	size_t len;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* Takes the next line of the text with its newline; returns false if there are no
 * more. */
static bool take(struct lines *l, struct span *ret)
{
	if (l->at == l->end)
		return false;
	const char *end = memchr(l->at, '\n', (size_t)(l->end - l->at));
	*ret = (struct span){ l->at, (size_t)((end ? end + 1 : l->end) - l->at) };
	l->at += ret->len;
	l->number++;
	return true;
}

static struct span without_end(struct span s)
{
	while (s.len && (s.at[s.len - 1] == '\n' || s.at[s.len - 1] == '\r'))
		s.len--;
	return s;
}

static struct span without_indent(struct span s)
{
	while (s.len && is_blank(*s.at)) {
		s.at++;
		s.len--;
	}
	return s;
}

static struct span trimmed(struct span s)
{
	s = without_indent(without_end(s));
	while (s.len && is_blank(s.at[s.len - 1]))
		s.len--;
	return s;
}

static char *copy_of(struct span s)
{
	return text_format("%.*s", (int)s.len, s.len ? s.at : "");
}

/* --- directives ----------------------------------------------------------------- */

/* Reads a parser directive, a comment of the form "# NAME = VALUE". */
static bool read_directive(struct span line, struct span *ret_name,
			   struct span *ret_value)
{
	struct span s = trimmed(line);

	if (!s.len || *s.at != '#')
		return false;
	s = trimmed((struct span){ s.at + 1, s.len - 1 });
	const char *equals = s.len ? memchr(s.at, '=', s.len) : NULL;
	if (!equals)
		return false;
	*ret_name = trimmed((struct span){ s.at, (size_t)(equals - s.at) });
	*ret_value =
		trimmed((struct span){ equals + 1, s.len - (size_t)(equals - s.at) - 1 });
	return ret_name->len > 0;
}

static bool is_named(struct span s, const char *name)
{
	return s.len == strlen(name) && !strncasecmp(s.at, name, s.len);
}

static int set_escape(struct lines *l, struct span value, struct err *e)
{
	if (value.len != 1 || (*value.at != '\\' && *value.at != '`'))
		return err_set(e, ERR_USAGE, "line %u: escape must be \\ or `",
			       l->number);
	l->escape = *value.at;
	return 0;
}

/* Carries out a parser directive.  Returns 1 if the line was one, so that the next line
 * may be one, too. */
static int apply_directive(struct lines *l, struct span name, struct span value,
			   struct list *notes, struct err *e)
{
	if (is_named(name, "escape"))
		return set_escape(l, value, e) < 0 ? -1 : 1;
	if (is_named(name, "check"))
		return 1;
	if (!is_named(name, "syntax"))
		return 0;
	list_addf(notes, "line %u: syntax=%.*s is ignored, hutch reads the file itself",
		  l->number, (int)(value.len < 100 ? value.len : 100), value.at);
	return 1;
}

int lines_start(struct lines *l, const char *text, size_t len, struct list *notes,
		struct err *e)
{
	struct span line, name, value;

	*l = (struct lines){ .at = text, .end = text + len, .escape = '\\' };
	if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		l->at += 3; /* a byte order mark */
	for (;;) {
		const struct lines before = *l;
		int is_one = 0;
		if (take(l, &line) && read_directive(line, &name, &value))
			is_one = apply_directive(l, name, value, notes, e);
		if (is_one < 0)
			return -1;
		if (is_one == 0) {
			char escape = l->escape;
			*l = before;
			l->escape = escape;
			return 0;
		}
	}
}

/* --- instructions --------------------------------------------------------------- */

static bool is_comment(struct span line)
{
	struct span s = without_indent(line);

	return s.len && *s.at == '#';
}

/* Removes an escape at the end of a line, unless another escape stands before it.
 * Returns true if the next line continues this one. */
static bool continues(const struct lines *l, struct span *s)
{
	size_t len = s->len;

	while (len && (s->at[len - 1] == ' ' || s->at[len - 1] == '\t'))
		len--;
	if (!len || s->at[len - 1] != l->escape)
		return false;
	if (len >= 2 && s->at[len - 2] == l->escape)
		return false;
	s->len = len - 1;
	return true;
}

static void append(struct buffer *b, struct span s)
{
	(void)buffer_append(b, s.at, s.len); /* cannot fail: the buffer's limit is the
					      * text's length */
}

/* Appends the following lines of an instruction; comments and empty lines
 * between them are skipped. */
static void append_rest(struct lines *l, struct buffer *b)
{
	struct span line;

	while (take(l, &line)) {
		if (is_comment(line) || !trimmed(line).len)
			continue;
		line = without_end(line);
		bool goes_on = continues(l, &line);
		append(b, line);
		if (!goes_on)
			return;
	}
}

static char *text_of(struct buffer *b)
{
	size_t len = buffer_len(b);
	char *text = mem_new(len + 1);

	if (len)
		memcpy(text, buffer_data(b), len);
	text[len] = '\0';
	buffer_done(b);
	return text;
}

int lines_next(struct lines *l, char **ret, unsigned *ret_number)
{
	struct span line;

	while (take(l, &line)) {
		if (is_comment(line) || !trimmed(line).len)
			continue;
		*ret_number = l->number;
		line = without_indent(without_end(line));
		struct buffer b;
		buffer_init(&b, line.len + (size_t)(l->end - l->at) + 1);
		bool goes_on = continues(l, &line);
		append(&b, line);
		if (goes_on)
			append_rest(l, &b);
		AUTO_FREE char *whole = text_of(&b);
		struct span s = trimmed((struct span){ whole, strlen(whole) });
		if (!s.len)
			continue;
		*ret = copy_of(s);
		return 1;
	}
	return 0;
}

int lines_heredoc(struct lines *l, const char *name, bool chomps, char **ret)
{
	struct buffer b;
	struct span line;

	buffer_init(&b, (size_t)(l->end - l->at) + 1);
	while (take(l, &line)) {
		while (chomps && line.len && *line.at == '\t') {
			line.at++;
			line.len--;
		}
		struct span bare = without_end(line);
		if (bare.len == strlen(name) && !memcmp(bare.at, name, bare.len)) {
			*ret = text_of(&b);
			return 0;
		}
		append(&b, line);
	}
	buffer_done(&b);
	return -1;
}
