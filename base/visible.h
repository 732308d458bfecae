/* visible -- foreign text made safe for a terminal.
 *
 * What comes from a sandbox, or names that somebody else chose, may hold
 * escape sequences that set a terminal's title, fill its clipboard (OSC 52) or
 * make it type.  Here every control character becomes something to look at:
 * ESC is ^[, DEL is ^?, a C1 control (U+0080 to U+009F) is M-^X.  Newline and
 * tab stay, and carriage return in front of a newline. */
#pragma once
#include <stddef.h>

struct buffer;

/* Appends the visible form, at most 4 bytes for each of `data`; what does not
 * fit into the buffer's bound is dropped. */
void visible_append(struct buffer *to, const void *data, size_t len);

/* The visible form of one line: newlines and tabs are made visible too.
 * Allocated. */
char *visible_line(const char *text);
