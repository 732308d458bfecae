#include <stdlib.h>

#include "policy/bash/parse.h"

#define HEREDOC_MAX 16 /* bash has the same limit */

bool parse_heredoc(struct parser *p, struct bash_redirect *r)
{
	struct heredoc *h = parse_memory(p, sizeof(*h)), **last = &p->heredocs;

	h->strips_tabs = scan_take(p, "-");
	scan_blanks(p);
	struct bash_word *end = parse_word(p, WORD_USUAL);
	if (!end)
		return p->at == p->end ? parse_stop_open(p)
				       : parse_stop(p, "a here-document without a name");
	/* Within $( ), bash 5.2 prints "<< -E" as "<<-E", and parses that again. */
	if ((end->qualities & BASH_EXPANDS) || strchr(end->text, '\n') ||
	    end->text[0] == '-')
		return parse_stop(p, "a here-document with an unusual name");
	h->end = end->text;
	h->end_len = end->len;
	h->is_quoted = end->qualities & BASH_QUOTED;
	h->redirect = r;
	if (h->is_quoted)
		p->tree->constructs |= BASH_HAS_QUOTED_HEREDOC;
	for (size_t count = 1; *last; count++) {
		if (count == HEREDOC_MAX)
			return parse_stop(p, "too many here-documents on a line");
		last = &(*last)->next;
	}
	*last = h;
	return true;
}

/* Reads a line, with the lines that a backslash joins to it.  False: the text ends in
 * it. */
static bool read_joined(struct parser *p, const struct heredoc *h, struct bytes_out *to)
{
	for (bool goes_on = true; goes_on;) {
		const char *from = p->at;
		const char *stop = memchr(from, '\n', (size_t)(p->end - from));
		if (!stop) {
			bytes_put(to, from, (size_t)(p->end - from));
			p->at = p->end;
			return false;
		}
		size_t slashes = 0;
		while (stop - slashes > from && stop[-1 - (ptrdiff_t)slashes] == '\\')
			slashes++;
		goes_on = !h->is_quoted && slashes % 2 == 1;
		bytes_put(to, from, (size_t)(stop - from) + !goes_on - goes_on);
		p->at = stop + 1;
	}
	return true;
}

/* Reads a line as read_joined() does, without the tabs in front if the document strips
 * them. */
static bool read_line(struct parser *p, const struct heredoc *h, struct bytes_out *to)
{
	const size_t begin = to->len;
	const bool goes_on = read_joined(p, h, to);
	size_t tabs = 0;

	while (h->strips_tabs && begin + tabs < to->len && to->at[begin + tabs] == '\t')
		tabs++;
	if (tabs)
		memmove(to->at + begin, to->at + begin + tabs, to->len - begin - tabs);
	to->len -= tabs;
	return goes_on;
}

/* Reads the lines up to the one that ends the document. */
static bool read_lines(struct parser *p, const struct heredoc *h, struct bytes_out *to)
{
	for (bool goes_on = true; goes_on;) {
		const size_t begin = to->len;
		goes_on = read_line(p, h, to);
		const size_t len = to->len - begin - goes_on;
		bool begins_so = len >= h->end_len &&
				 (!len || !memcmp(to->at + begin, h->end, h->end_len));
		if (begins_so && len == h->end_len) {
			to->len = begin;
			return true;
		}
		/* Within $( ), bash 5.2 may end the document at such a line. */
		if (begins_so && p->substitutions)
			return parse_stop(p,
					  "a here-document with a line that begins like "
					  "its last one");
	}
	return parse_stop_open(p);
}

/* Parses the expansions of a document whose name is not quoted. */
static void expand(struct parser *p, struct word_out *w)
{
	for (int c = scan_peek(p); c >= 0; c = scan_peek(p)) {
		if (c == '$') {
			(void)parse_dollar(p, w, IN_HEREDOC); /* stops the loop, too */
		} else if (c == '`') {
			(void)parse_backticks(p, w, IN_HEREDOC); /* the same */
		} else {
			p->at += c == '\\' && p->end - p->at > 1 &&
				 strchr("$`\\", p->at[1]);
			word_put(w, p->at++, 1);
		}
	}
}

static void read_one(struct parser *p, const struct heredoc *h)
{
	struct bytes_out lines = { 0 };
	struct word_out w;

	word_begin(p, &w);
	if (read_lines(p, h, &lines) && h->is_quoted) {
		w.word->qualities |= BASH_QUOTED;
		word_put(&w, lines.at, lines.len);
	} else if (!parse_has_stopped(p)) {
		const char *text = parse_copy(p, lines.at, lines.len);
		struct parser inner = { .at = text,
					.end = text + lines.len,
					.text = text,
					.tree = p->tree,
					.depth = p->depth,
					.is_inner = true };
		expand(&inner, &w);
	}
	free(lines.at);
	struct bash_word *word = word_end(p, &w);
	if (word)
		h->redirect->word = word;
	else
		p->at = p->end;
}

void parse_heredoc_lines(struct parser *p)
{
	for (struct heredoc *h = p->heredocs; h && !parse_has_stopped(p); h = h->next)
		read_one(p, h);
	p->heredocs = NULL;
}
