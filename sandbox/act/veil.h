/* veil -- lines of JSON that hutch made, with the secrets hidden that are in them.
 *
 * One place for all that is told, so that no kind of observation can be forgotten:
 * the line is whole already, and each text in it is masked as what it stands for, so
 * that it is JSON afterwards too.  Keys stay, and so do texts that are words of
 * hutch's own, by their keys. */
#pragma once
#include "base/mask.h"

struct buffer;

/* A line of put.h's or quote.h's.  What does not fit is cut (put_is_whole()). */
void veil_line(const struct mask *m, struct buffer *line);

/* The same of an allocated text. */
void veil_text(const struct mask *m, char **json);
