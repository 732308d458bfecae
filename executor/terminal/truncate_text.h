/* truncate_text -- shortens a text for an observation.
 *
 * As in the reference: no blanks (as Python's str.strip() defines them) at the end of a
 * line or at either end of the whole; a text longer than TRUNCATE_TEXT_CHARS characters keeps
 * its first and its last half of that number. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define TRUNCATE_TEXT_CHARS  30000
#define TRUNCATE_TEXT_NOTICE "\n[... Observation truncated due to length ...]\n"

/* Strips blanks from valid UTF-8 in place; returns the new length. */
size_t truncate_text_strip(uint8_t *bytes, size_t len);

/* Returns how many lines the text has. */
size_t truncate_text_lines(const uint8_t *bytes, size_t len);

/* Replaces the middle of a text of more than TRUNCATE_TEXT_CHARS characters by the
 * notice; returns how many bytes were cut. *len becomes the new length. The buffer needs
 * TRUNCATE_TEXT_ROOM bytes behind the text, in case the notice is longer than the part
 * that it replaces. */
#define TRUNCATE_TEXT_ROOM (sizeof(TRUNCATE_TEXT_NOTICE) - 1)
size_t truncate_text_clip(uint8_t *bytes, size_t *len);
