#include <stdint.h>
#include <stdlib.h>

#include "policy/commands_parts.h"

static bool is_quoted(const char *from, const char *to)
{
	for (; from < to; from++)
		if (strchr("'\"\\", *from) && *from)
			return true;
	return false;
}

void commands_here_begin(struct reader *r)
{
	bool strips = reader_is_at(r, '-');

	r->at += strips;
	reader_pass_blanks(r);
	const char *from = r->at;
	char *end = commands_word(r, false);
	if (!end)
		return;
	if (r->here_count == HERE_MAX) {
		r->into->is_cut = true;
		free(end);
		return;
	}
	r->heres[r->here_count++] =
		(struct here){ end, strips, is_quoted(from, r->at), SIZE_MAX };
}

void commands_here_belong(struct reader *r, size_t from, size_t first)
{
	for (size_t i = from; i < r->here_count; i++)
		r->heres[i].first = first;
}

void commands_here_move(struct reader *from, struct reader *to)
{
	while (from->here_count > 0 && to->here_count + from->here_count <= HERE_MAX) {
		to->heres[to->here_count++] = from->heres[0];
		from->here_count--;
		memmove(from->heres, from->heres + 1,
			from->here_count * sizeof(from->heres[0]));
	}
	to->into->is_cut |= from->here_count > 0;
}

void commands_here_drop(struct reader *r)
{
	for (size_t i = 0; i < r->here_count; i++)
		free(r->heres[i].end);
	r->here_count = 0;
}

void commands_input(struct reader *r, const char *text, size_t len, size_t first,
		    size_t stop)
{
	for (size_t i = first; i < stop && i < r->into->count; i++)
		if (commands_is_shell(&r->into->items[i])) {
			if (commands_may_read(r->into, len, r->depth + 1))
				commands_read_more(r->into, text, len, r->depth + 1);
			return;
		}
}

/* Reads a line, without leading tabs if the document strips them, and with the lines
 * that a backslash joins to it.  r->at moves behind it. */
static void read_line(struct reader *r, const struct here *h, struct text *line)
{
	bool goes_on = true;

	line->len = 0;
	text_put(line, "", 0);
	while (h->strips && reader_is_at(r, '\t'))
		r->at++;
	while (goes_on && r->at < r->end) {
		const char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
		text_put(line, r->at, (size_t)((stop ? stop : r->end) - r->at));
		r->at = stop ? stop + 1 : r->end;
		size_t slashes = 0;
		while (slashes < line->len && line->at[line->len - 1 - slashes] == '\\')
			slashes++;
		goes_on = !h->is_quoted && slashes % 2 == 1;
		line->len -= goes_on;
	}
	line->at[line->len] = '\0';
}

/* Finds the end of the document's lines; r->at moves behind the line that ends it. */
static const char *pass_lines(struct reader *r, const struct here *h)
{
	struct text line = { 0 };
	const char *stop = NULL;

	while (r->at < r->end && !stop) {
		const char *from = r->at;
		read_line(r, h, &line);
		if (!strcmp(line.at, h->end))
			stop = from;
	}
	r->into->is_open |= !stop;
	free(line.at);
	return stop ? stop : r->end;
}

/* Reads one document.  Bash expands its text, unless the word behind "<<" is quoted. */
static void read_one(struct reader *r, const struct here *h)
{
	const char *from = r->at;
	const char *stop = pass_lines(r, h);
	struct reader inner = {
		.at = from, .end = stop, .into = r->into, .depth = r->depth
	};

	/* The text is also the input of the commands behind it on its line, which may
	 * form a pipe. */
	commands_input(r, from, (size_t)(stop - from), h->first, r->into->count);
	while (!h->is_quoted && inner.at < stop)
		if (reader_is_one_of(&inner, "$`"))
			commands_expansion(&inner);
		else
			inner.at += *inner.at == '\\' && inner.at + 1 < stop ? 2 : 1;
}

void commands_here_read(struct reader *r)
{
	for (size_t i = 0; i < r->here_count; i++)
		read_one(r, &r->heres[i]);
	commands_here_drop(r);
}
