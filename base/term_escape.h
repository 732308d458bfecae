/* term_escape -- foreign text made safe for a terminal.
 *
 * Text from a sandbox, and names that another user chose, may contain escape
 * sequences that set a terminal's title, fill its clipboard (OSC 52) or make it type.
 * Here every control character becomes printable: ESC is ^[, DEL is ^?, a C1 control
 * (U+0080 to U+009F) is M-^X.  Newline and tab stay, and carriage return in front of
 * a newline. */
#pragma once
#include <stddef.h>

struct buffer;

/* Appends the visible form of `data`, at most 4 bytes for each byte; bytes that do
 * not fit into the buffer's bound are dropped. */
void term_escape_append(struct buffer *to, const void *data, size_t len);

/* Returns the visible form of one line, allocated: newlines and tabs are made
 * visible, too. */
char *term_escape_line(const char *text);
