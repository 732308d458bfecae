/* redact -- finds secrets in text that is shown to others, and hides them.
 *
 * Every byte that belongs to an occurrence of a value is hidden, whichever values
 * overlap; a run of hidden bytes becomes one REDACT_TEXT.  If a value has several
 * lines, each line is hidden on its own, too, without the white space around it: a
 * terminal and an editor put something in front of lines.  A value that is no UTF-8
 * is searched for as it is, and as it is shown, with U+FFFD in it.  Values and lines
 * shorter than REDACT_MIN would hide too much, and are ignored.
 *
 * Theory of operation.  All values are in one automaton (Aho and Corasick, 1975), so
 * that a byte costs the same however many values there are and however much of them a
 * hostile text repeats.  A state stands for the longest suffix of the text so far
 * that is a prefix of a value: for the bytes before that suffix it is known whether
 * they are hidden, so they can be passed on.
 *
 * Values are added as long as there is room, and never removed: a value that was
 * secret once stays secret. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct err;

#define REDACT_TEXT "<secret-hidden>"
#define REDACT_MIN  4
/* The most bytes that all values and their lines may have together; bytes of common
 * prefixes count once. */
#define REDACT_BYTES (256u << 10)
/* The factor by which masking may lengthen a text, at most. */
#define REDACT_GROWTH ((sizeof(REDACT_TEXT) - 1 + REDACT_MIN - 1) / REDACT_MIN)

struct redact_node {
	uint32_t child, sibling; /* indices of nodes; 0: there is none */
	uint32_t fail;		 /* the node of the longest proper suffix of this node's
				  * text that is a node, too */
	uint32_t depth, longest; /* depth: the length of the node's text; longest: the
				  * length of the longest value that ends here, 0: none
				  * does */
	uint8_t byte;
};

/* All values that are to be hidden.  The zero object hides nothing. */
struct redact {
	struct redact_node *nodes; /* owned: the nodes; the first one is the root */
	size_t count, room;
	uint32_t first[256]; /* the children of the root, by their byte */
};

void redact_done(struct redact *m);

/* Adds a value.  Returns -1 if there is no room for the value, and then adds
 * nothing. *ret_is_hidden, unless NULL, tells whether a part of the value is long
 * enough to be hidden. */
int redact_add(struct redact *m, const char *value, bool *ret_is_hidden, struct err *e);

static inline bool redact_is_empty(const struct redact *m)
{
	return m->count == 0;
}

/* A run of hidden bytes, as offsets in a text that comes in pieces.  A zeroed struct
 * redact_stream is the start of such a text. */
struct redact_run {
	uint64_t from, to; /* the offset of the first hidden byte, and the one behind
			    * the last */
};

struct redact_stream {
	uint32_t node;
	struct buffer held; /* bytes for which it is not yet known whether they belong to
			     * a value */
	uint64_t begin, end; /* offsets in the text of the held bytes' beginning and
			      * end */
	struct redact_run *runs; /* owned: hidden runs in the held bytes, in order */
	size_t run_first, run_count, run_room;
	bool was_hidden; /* the last byte that was passed on was hidden */
};

void redact_stream_done(struct redact_stream *s);

/* Adds to `out` all bytes for which it is known whether they are hidden, masked.
 * `out` must have room for REDACT_GROWTH times the held and the new bytes, and for
 * one REDACT_TEXT. */
void redact_feed(const struct redact *m, struct redact_stream *s, const void *data,
		 size_t len, struct buffer *out);
/* Passes the held bytes on, because the text ends here or because its reader is not
 * to wait any longer.  If the rest of the text then completes a value, that rest is
 * hidden. */
void redact_flush(struct redact_stream *s, struct buffer *out);

/* Masks a whole text.  Returns true if something was hidden, and *out then has the
 * masked text; else nothing was added to *out. */
bool redact_text(const struct redact *m, const void *data, size_t len,
		 struct buffer *out);

/* Masks a text like redact_text(), where lines were cut and have REDACT_CUT in place
 * of their rest: in front of REDACT_CUT, the first REDACT_MIN or more bytes of a
 * value are hidden, too. */
#define REDACT_CUT "[... "
bool redact_cut_text(const struct redact *m, const void *data, size_t len,
		     struct buffer *out);

/* Masks a text like redact_text(), and returns the result, allocated. */
char *redact_copy(const struct redact *m, const char *text);

/* Masks the texts of an error in place. */
void redact_err(const struct redact *m, struct err *e);
