/* veil -- redacts secrets in JSON lines that hutch made.
 *
 * All output passes through here, so that no kind of observation can be
 * forgotten.  The line is complete already; each string in it is decoded,
 * redacted and encoded again, so that the line is valid JSON afterwards too.
 * Keys stay, and so do values that are hutch's own words, told by their keys. */
#pragma once
#include "base/mask.h"

struct buffer;

/* Redacts a line that put.h or quote.h wrote.  A result that does not fit is
 * cut (put_is_whole()). */
void veil_line(const struct mask *m, struct buffer *line);

/* The same for an allocated text. */
void veil_text(const struct mask *m, char **json);
