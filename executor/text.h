/* text -- what a command printed, as its reader gets it.
 *
 * Of the bytes that come from the terminal the first and the last TEXT_SIDE are
 * kept, so a command may print for ever; memory follows what was printed up to
 * that.  text_take() makes of them what an observation shows:
 *
 *  - CR LF is LF; escape sequences and other control characters but tab and
 *    newline are left out; what is not UTF-8 becomes U+FFFD;
 *  - trailing blanks of each line, blank lines at both ends are left out;
 *  - of more than TEXT_CHARS characters the first and the last half are there,
 *    and TEXT_NOTICE between them.
 *
 * This is no terminal: what a carriage return or the cursor overwrites stays. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_SIDE   (64u << 10)
#define TEXT_CHARS  30000
#define TEXT_NOTICE "\n[... Observation truncated due to length ...]\n"

/* A zeroed struct is an empty text. */
struct text {
	uint8_t *bytes; /* owned: the first side, then a ring of the last */
	size_t room;
	uint64_t total; /* came so far, kept or not */
};

struct text_taken {
	uint8_t *bytes; /* the caller frees it; NULL when empty */
	size_t len;
	uint64_t cut; /* bytes left out of the middle */
};

void text_done(struct text *t);
void text_add(struct text *t, const void *data, size_t len);

/* The result, and an empty text again. */
struct text_taken text_take(struct text *t);

/* Copies valid UTF-8 into `to`, which has room for 3 * len bytes, U+FFFD for
 * what is not; returns how much that is.  *ret_used: a character that is cut
 * by the end is left for the next time, unless `is_end`. */
size_t text_to_utf8(const uint8_t *from, size_t len, bool is_end, uint8_t *to,
		    size_t *ret_used);
