/* redact_json -- redacts secrets in JSON lines that hutch made.
 *
 * All output passes through here, so that no kind of observation can be
 * forgotten.  The line is complete already; each string in it is decoded,
 * redacted and encoded again, so that the line is valid JSON afterwards too.
 * Keys stay, and so do values that are hutch's own words, told by their keys. */
#pragma once
#include "base/redact.h"

struct buffer;

/* Redacts a line that json_write.h wrote.  A result that does not fit is
 * cut (json_write_is_whole()). */
void redact_json_line(const struct redact *m, struct buffer *line);

/* Redacts an allocated text of JSON, as redact_json_line() does a line. */
void redact_json_text(const struct redact *m, char **json);
