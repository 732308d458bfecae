/* redact_json -- redacts secrets in lines of JSON that hutch wrote.
 *
 * All output passes through here, so that no kind of observation can be forgotten. Each
 * string in the complete line is decoded, redacted and encoded again, so that the line
 * is still valid JSON. Keys are not changed, nor are the values of some keys, which are
 * words of hutch's own. */
#pragma once
#include "base/redact.h"

struct buffer;

/* Redacts a line that json_write.h wrote. If the result does not fit into the buffer, it
 * is cut (json_write_is_whole()). */
void redact_json_line(const struct redact *m, struct buffer *line);

/* Redacts an allocated text of JSON, as redact_json_line() does a line. */
void redact_json_text(const struct redact *m, char **json);
