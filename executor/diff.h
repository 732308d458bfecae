/* diff -- the lines in which two texts differ, as a unified diff without context.
 *
 * The result is that of Python's
 *
 *	difflib.unified_diff(old.split("\n"), new.split("\n"), path, path, n=0)
 *
 * with white space taken off each line's end and a newline between the lines: the
 * clients that show it compare with that (docs/actions.md).  difflib looks for the
 * longest run of lines that both have (of several the first in the old text, then
 * the first in the new one), then does the same before and behind it; in a new text
 * of 200 lines or more, a line that makes up over 1 % of it begins no run.
 *
 * That is quadratic and worse for texts that were made for it.  So it is done for
 * DIFF_LINES lines of both together and in DIFF_STEPS steps; beyond either, the
 * lines at both ends that are the same are left out and all others are one hunk,
 * which is a right diff too.  Memory is about 60 bytes a line.  What does not fit
 * into `to` is left out, whole lines of it, and the last line is DIFF_NOTICE. */
#pragma once
#include <stdint.h>

#include "base/frame.h"

#define DIFF_LINES  (256u << 10)
#define DIFF_STEPS  (32u << 20)
#define DIFF_MAX    (4u << 20)
#define DIFF_NOTICE "\\ The diff is too large; it is cut here."

struct buffer;

/* Appends to `to`, of which the bound is the diff's; nothing when they are the same. */
void diff_put(struct buffer *to, const char *path, struct bytes old, struct bytes new);

/* The same with another bound, for tests. */
void diff_put_in(struct buffer *to, const char *path, struct bytes old, struct bytes new,
		 uint32_t steps);
