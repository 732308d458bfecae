/* excerpt -- shortens a text for an observation.
 *
 * As in the reference: no blanks (as Python's str.strip() defines them) at the end of a
 * line or at either end of the whole; a text longer than EXCERPT_CHARS characters keeps
 * its first and its last half of that number. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define EXCERPT_CHARS  30000
#define EXCERPT_NOTICE "\n[... Observation truncated due to length ...]\n"

/* Strips blanks from valid UTF-8 in place; returns the new length. */
size_t excerpt_strip(uint8_t *bytes, size_t len);

/* How many lines the text has. */
size_t excerpt_lines(const uint8_t *bytes, size_t len);

/* Replaces the middle of a long text by the notice; returns how many bytes were cut.
 * *len becomes the new length.  The buffer needs EXCERPT_ROOM bytes behind the text, in
 * case the notice is longer than the part that it replaces. */
#define EXCERPT_ROOM (sizeof(EXCERPT_NOTICE) - 1)
size_t excerpt_clip(uint8_t *bytes, size_t *len);
