/* scrollback -- the lines that scrolled up out of a terminal, as text.
 *
 * The last SCROLLBACK_LINES lines are kept, and of these the last SCROLLBACK_MAX bytes.
 * A place is given as the number of bytes before it, kept or not. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The limit of lines. With the rows that are still on the terminal the limit makes
 * 10,001 to 11,000 lines of output that scrolls: clients' tests want no fewer and not
 * many more. */
#define SCROLLBACK_LINES 10000
#define SCROLLBACK_ROOM	 (4u << 20)
/* the kept text may exceed this by a row */
#define SCROLLBACK_MAX	 (SCROLLBACK_ROOM / 2 - (64u << 10))

struct row;

/* A zeroed struct is an empty scrollback. */
struct scrollback {
	uint8_t *data; /* owned; at most SCROLLBACK_ROOM */
	size_t start, end, room;
	size_t lines;  /* how many of the kept lines are complete */
	uint64_t gone; /* bytes of lines that are not kept any more */
};

void scrollback_done(struct scrollback *b);
void scrollback_add(struct scrollback *b, const struct row *r);
/* Drops all lines; the dropped bytes still count in later places. */
void scrollback_clear(struct scrollback *b);

/* Returns the place behind the last byte. */
uint64_t scrollback_end(const struct scrollback *b);
/* Returns the bytes from this place on, as far as they are kept. */
const uint8_t *scrollback_from(const struct scrollback *b, uint64_t place,
			       size_t *ret_len);
/* Returns the place where the line begins that contains `place`. */
uint64_t scrollback_line(const struct scrollback *b, uint64_t place);
