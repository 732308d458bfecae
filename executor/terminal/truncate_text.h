/* truncate_text -- shortens a command's output for an agent's observation.
 *
 * Blanks (as Python's str.strip() defines them) are removed at the end of each line and
 * at both ends of the text.  If the text has more than TRUNCATE_TEXT_CHARS characters,
 * only the first and the last TRUNCATE_TEXT_CHARS / 2 are kept. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define TRUNCATE_TEXT_CHARS  30000
#define TRUNCATE_TEXT_NOTICE "\n[... Observation truncated due to length ...]\n"

/* Removes blanks from valid UTF-8 in place, as described above. Returns the new
 * length. */
size_t truncate_text_strip(uint8_t *bytes, size_t len);

/* Returns how many lines the text has. */
size_t truncate_text_lines(const uint8_t *bytes, size_t len);

/* If the text has more than TRUNCATE_TEXT_CHARS characters, replaces its middle by
 * TRUNCATE_TEXT_NOTICE. Returns how many bytes were cut, and sets *len to the new length.
 * The buffer must have room for TRUNCATE_TEXT_ROOM more bytes after the text, since the
 * notice may be longer than the part that it replaces. */
#define TRUNCATE_TEXT_ROOM (sizeof(TRUNCATE_TEXT_NOTICE) - 1)
size_t truncate_text_clip(uint8_t *bytes, size_t *len);
