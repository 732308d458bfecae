/* json_string -- decodes a string of JSON into UTF-8.
 *
 * json and cli/common/json_view use this to decode escapes.  The text has been accepted
 * by json_scan(), but the functions do not rely on that: they stop at the end of any
 * text. */
#pragma once
#include <stddef.h>

/* Decodes the character or escape at *at of `text`, and moves *at past it.  Returns the
 * number of bytes in `ret`; 0 at the closing quote or at the end of the text. */
size_t json_decode(const char *text, size_t len, size_t *at, char ret[4]);

/* Decodes everything up to the closing quote into `to`, and adds a NUL.  A buffer as
 * long as the source is large enough, since no escape is shorter than the character
 * that it stands for.  *at is then after the quote.  Returns the address of the NUL. */
char *json_decode_all(const char *text, size_t len, size_t *at, char *to);
