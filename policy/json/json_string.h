/* json_string -- decodes a string of JSON into UTF-8.
 *
 * json and cli/common/json_view use this to decode escapes.  The text has been accepted
 * by json_scan(), but the functions do not rely on that: they stop at the end of any
 * text. */
#pragma once
#include <stddef.h>

/* Decodes the character or escape at *at of `text`, and moves *at behind it.  Returns
 * how many bytes it gives: 0 at the closing quote, or at the end. */
size_t json_decode(const char *text, size_t len, size_t *at, char ret[4]);

/* Decodes everything up to the closing quote into `to`, with a NUL behind it.  The
 * room of the source is enough: no escape is shorter than its character.  *at is then
 * behind the quote.  Returns the place of the NUL. */
char *json_decode_all(const char *text, size_t len, size_t *at, char *to);
