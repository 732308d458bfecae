/* json_build -- a text that is put together piece by piece, such as a request.
 *
 * Errors are remembered and reported at the end, so that the calls can be written in
 * the order of the text.  Unlike base/buffer.h it does not abort without memory,
 * since the library runs inside another program. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct json_build {
	char *bytes; /* owned; a NUL stands behind the bytes only after
		      * json_build_end() */
	size_t len, room;
	bool is_short; /* a piece is missing, since memory ran out */
	bool is_bad;   /* a text that was to be quoted is no UTF-8 */
};

void json_build_done(struct json_build *d);

void json_build_add(struct json_build *d, const void *bytes, size_t len);
void json_build_put(struct json_build *d, const char *text);
/* Appends a formatted text of at most 200 bytes. */
void json_build_putf(struct json_build *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Appends the text as a string of JSON. */
void json_build_quote(struct json_build *d, const char *text);
/* Appends the bytes as base64, without quotes. */
void json_build_base64(struct json_build *d, const void *bytes, size_t len);

/* Ends the text with a NUL.  Returns false if a piece is missing or was invalid. */
bool json_build_end(struct json_build *d);
