/* excerpt -- what an observation shows of a text.
 *
 * As the reference has it: no blanks at the end of a line, none at either end of the
 * whole, where blanks are what Python's str.strip() takes for them; and of more
 * than EXCERPT_CHARS characters the first and the last half. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define EXCERPT_CHARS  30000
#define EXCERPT_NOTICE "\n[... Observation truncated due to length ...]\n"

/* Strips valid UTF-8 where it stands; returns how much is left. */
size_t excerpt_strip(uint8_t *bytes, size_t len);

/* How many lines that is. */
size_t excerpt_lines(const uint8_t *bytes, size_t len);

/* Cuts the middle out; returns how many bytes that are.  *len is what is left with
 * the notice in it, which needs no more room than what it stands for, or there are
 * EXCERPT_ROOM bytes behind it. */
#define EXCERPT_ROOM (sizeof(EXCERPT_NOTICE) - 1)
size_t excerpt_clip(uint8_t *bytes, size_t *len);
