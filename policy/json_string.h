/* json_string -- what a string of JSON says, as the bytes of UTF-8.
 *
 * The half of json and of sandbox/cli/reply that knows escapes.  The text has been
 * let pass by json_scan(); that alone does not keep these inside of it: they stop at
 * its end, whatever it holds. */
#pragma once
#include <stddef.h>

/* The character or escape that stands at *at of `text`, decoded; *at moves behind it.
 * Returns how many bytes it is: 0 at the closing quote, or at the end. */
size_t json_decode(const char *text, size_t len, size_t *at, char ret[4]);

/* All up to the closing quote, with a NUL behind it, at `to`, which has room: no escape
 * is shorter than what it stands for.  *at is then behind the quote.  Returns the NUL. */
char *json_decode_all(const char *text, size_t len, size_t *at, char *to);
