/* mask -- secrets, found in text that is shown to others, and hidden there.
 *
 * Every byte that belongs to an occurrence of a value is hidden, whichever values
 * overlap; a run of such bytes becomes one MASK_TEXT.  Of a value of several lines
 * each line counts for itself as well, without the white space around it: a terminal
 * and an editor put something in front of lines.  What is no UTF-8 is looked for as it
 * is and as it is told, with U+FFFD in it.  What is shorter than MASK_MIN would hide too
 * much, and is passed over.
 *
 * Theory of operation.  All values are in one automaton (Aho and Corasick, 1975), so
 * that a byte costs the same however many values there are and however much of
 * them a hostile text repeats.  A state is the longest end of the text that is the
 * beginning of a value: what is before it is decided, and can be handed on.
 *
 * Values are added as long as there is room, and never taken away: what was secret
 * once stays so. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct err;

#define MASK_TEXT "<secret-hidden>"
#define MASK_MIN  4
/* Bytes of all values and their lines together, but for common beginnings. */
#define MASK_BYTES (256u << 10)
/* Text is longer by no more than this when it has been masked. */
#define MASK_GROWTH ((sizeof(MASK_TEXT) - 1 + MASK_MIN - 1) / MASK_MIN)

struct mask_node {
	uint32_t child, sibling; /* 0: none */
	uint32_t fail;		 /* the longest other state that is an end of this */
	uint32_t depth, longest; /* of the values that end here; 0: none does */
	uint8_t byte;
};

/* The zero object hides nothing. */
struct mask {
	struct mask_node *nodes; /* owned; the first is the beginning */
	size_t count, room;
	uint32_t first[256]; /* children of the beginning */
};

void mask_done(struct mask *m);

/* -1: there is no room for it, and nothing was added.  *ret_is_hidden, unless NULL: a
 * part of it was long enough. */
int mask_add(struct mask *m, const char *value, bool *ret_is_hidden, struct err *e);

static inline bool mask_is_empty(const struct mask *m)
{
	return m->count == 0;
}

/* A text that comes in pieces; the zero object is its beginning. */
struct mask_run {
	uint64_t from, to; /* of bytes that are hidden */
};

struct mask_stream {
	uint32_t node;
	struct buffer held; /* what is not decided yet */
	uint64_t begin, end; /* of what is held: numbers of bytes in the text */
	struct mask_run *runs; /* owned: in what is held, in order */
	size_t run_first, run_count, run_room;
	bool was_hidden; /* the last byte that was handed on */
};

void mask_stream_done(struct mask_stream *s);

/* Hands on to `out` what is decided, masked.  `out` is to have room for MASK_GROWTH times
 * of what was held and comes, and one MASK_TEXT. */
void mask_feed(const struct mask *m, struct mask_stream *s, const void *data, size_t len,
	       struct buffer *out);
/* Hands on what is held: the text ends here, or nobody is to wait for its rest any
 * longer.  If that makes it a value, the rest is hidden. */
void mask_flush(struct mask_stream *s, struct buffer *out);

/* A whole text.  True: something was hidden, and *out has what is to be shown; else
 * nothing was added to it. */
bool mask_text(const struct mask *m, const void *data, size_t len, struct buffer *out);

/* The same; in front of MASK_CUT, where the rest of a long line was left out, the first
 * MASK_MIN bytes or more of a value are hidden, too. */
#define MASK_CUT "[... "
bool mask_cut_text(const struct mask *m, const void *data, size_t len, struct buffer *out);

/* As mask_text(), allocated. */
char *mask_copy(const struct mask *m, const char *text);

/* In place. */
void mask_err(const struct mask *m, struct err *e);
