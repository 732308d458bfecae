/* diff -- the lines in which two texts differ, as a unified diff without context.
 *
 * The result is that of Python's
 *
 *	difflib.unified_diff(old.split("\n"), new.split("\n"), path, path, n=0)
 *
 * with white space taken off each line's end and a newline between the lines: the
 * clients that show the diff compare with that (docs/actions.md). difflib looks for the
 * longest run of lines that both texts have (of several the first in the old text, then
 * the first in the new one), then does the same before and behind it; in a new text of
 * 200 lines or more, a line that makes up over 1 % of it begins no run.
 *
 * This search is quadratic, and slower still for crafted texts.  Therefore it is
 * limited to DIFF_LINES lines of both texts together and to DIFF_STEPS steps.  Beyond
 * either limit the equal lines at both ends are left out and all others are one hunk,
 * which is a valid diff too.  Memory is about 60 bytes a line.  Lines that do not fit
 * into `to` are left out, and the last line is DIFF_NOTICE. */
#pragma once
#include <stdint.h>

#include "base/frame.h"

#define DIFF_LINES  (256u << 10)
#define DIFF_STEPS  (32u << 20)
#define DIFF_MAX    (4u << 20)
#define DIFF_NOTICE "\\ The diff is too large; it is cut here."

struct buffer;

/* Appends the diff to `to`, whose limit bounds it; appends nothing when the texts are
 * equal. */
void diff_put(struct buffer *to, const char *path, struct bytes old, struct bytes new);

/* Like diff_put(), with `steps` in place of DIFF_STEPS, for tests. */
void diff_put_in(struct buffer *to, const char *path, struct bytes old, struct bytes new,
		 uint32_t steps);
