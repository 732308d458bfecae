/* scrollback -- the lines that scrolled up out of a terminal, as text.
 *
 * The last SCROLLBACK_LINES lines are kept, and of these the last SCROLLBACK_MAX bytes. A
 * place in this text is a number: how many bytes were ever added before it, including
 * dropped ones. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most lines that are kept. Together with the rows that are still on the terminal
 * that makes 10,001 to 11,000 lines of scrolling output; tests of clients require about
 * that number. */
#define SCROLLBACK_LINES 10000
#define SCROLLBACK_ROOM	 (4u << 20)
/* the kept text may be longer than this by one row */
#define SCROLLBACK_MAX	 (SCROLLBACK_ROOM / 2 - (64u << 10))

struct row;

/* A zeroed struct is an empty scrollback. */
struct scrollback {
	uint8_t *data; /* owned; at most SCROLLBACK_ROOM */
	size_t start, end, room;
	size_t lines;  /* how many of the kept lines are complete */
	uint64_t gone; /* how many bytes of old lines were dropped */
};

void scrollback_done(struct scrollback *b);
void scrollback_add(struct scrollback *b, const struct row *r);
/* Drops all lines. Places are still counted from the very first byte. */
void scrollback_clear(struct scrollback *b);

/* Returns the place after the last byte. */
uint64_t scrollback_end(const struct scrollback *b);
/* Returns the text from this place on, without the part that was dropped. */
const uint8_t *scrollback_from(const struct scrollback *b, uint64_t place,
			       size_t *ret_len);
/* Returns the place where the line begins that contains `place`. */
uint64_t scrollback_line(const struct scrollback *b, uint64_t place);
