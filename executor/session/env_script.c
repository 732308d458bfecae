#include "executor/session/env_script.h"

#include <string.h>

#include "base/buffer.h"
#include "base/variables.h"

static void put(struct buffer *to, const char *text, size_t len)
{
	(void)buffer_append(to, text, len); /* cannot fail: the text fits into
					     * ENV_SCRIPT_MAX bytes */
}

static void put_text(struct buffer *to, const char *text)
{
	put(to, text, strlen(text));
}

/* Writes the text in single quotes, in which each byte but ' stands for itself in every
 * locale; each run of ' is put in double quotes. */
static void put_quoted(struct buffer *to, const char *text)
{
	put_text(to, "'");
	while (*text) {
		size_t plain = strcspn(text, "'"), quotes = strspn(text + plain, "'");
		put(to, text, plain);
		if (quotes) {
			put_text(to, "'\"");
			put(to, text + plain, quotes);
			put_text(to, "\"'");
		}
		text += plain + quotes;
	}
	put_text(to, "'");
}

/* Writes one change of a variable as a line of its own, since bash parses and runs a line
 * before it parses the next one. */
static void put_change(struct buffer *to, const struct variable *one)
{
	put_text(to, one->value ? "__hutch_set " : "__hutch_unset ");
	put_text(to, one->name);
	if (one->value) {
		put_text(to, " ");
		put_quoted(to, one->value);
	}
	put_text(to, " || __hutch_kept ");
	put_text(to, one->name);
	put_text(to, "\n");
}

void env_script_write(struct buffer *to, const struct variables *v, uint64_t since)
{
	for (size_t i = 0; i < v->count; i++)
		if (v->all[i].number > since)
			put_change(to, &v->all[i]);
}
