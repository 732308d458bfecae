/* json_write -- writes JSON into a buffer.
 *
 * Strings may hold any bytes: invalid UTF-8 becomes U+FFFD, and control
 * characters are escaped, so that a line is always one valid line.  Bytes
 * beyond the buffer's bound are left out, and json_write_is_whole() says so. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct buffer;

void json_write_raw(struct buffer *b, const char *json);
void json_write_format(struct buffer *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A string with its quotes, from a C string or from bytes; NULL is null. */
void json_write_text(struct buffer *b, const char *text);
void json_write_bytes(struct buffer *b, const void *bytes, size_t len);

/* The inside of a string, without quotes: for strings that are written in
 * parts. */
void json_write_part(struct buffer *b, const void *bytes, size_t len);

/* "key": with its colon, and a comma in front unless it is the first. */
void json_write_key(struct buffer *b, const char *key, bool is_first);

bool json_write_is_whole(const struct buffer *b);
