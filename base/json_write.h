/* json_write -- writes JSON into a buffer, one value after another.
 *
 *	struct buffer b;
 *
 *	json_write_begin(&b);
 *	json_write_open(&b, NULL, "{");
 *	json_write_text(&b, "name", name);
 *	json_write_open(&b, "ports", "[");
 *	json_write_number(&b, NULL, 80);
 *	json_write_close(&b, "]}");
 *	AUTO_FREE char *text = json_write_end(&b);
 *
 * `key` is the name of an object's member; it is NULL for an item of an array and for
 * an outermost value.  Keys are constants that need no escape.  A comma is put in
 * front of a value unless the last byte in the buffer is an opening bracket or a line
 * end, or the buffer is empty.  So members can also be built without their braces.
 *
 * Strings may hold any bytes.  Control characters are escaped, also those that terminals
 * obey (U+0080 to U+009F) and the line ends U+2028 and U+2029, so that a value is always
 * on one line.  Once a piece exceeds the buffer's bound, that piece and all behind it are
 * left out, and the buffer's `is_cut` says so. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* Initialises a buffer without a bound; the functions here take any other buffer, too. */
void json_write_begin(struct buffer *b);
/* Frees the buffer and returns its text, allocated. */
char *json_write_end(struct buffer *b);

/* json_write_open() opens an object or array: `bracket` is "{" or "[".
 * json_write_close() writes the brackets that close it and, in one call, others
 * around it, with "\n" behind the last bracket of a line. */
void json_write_open(struct buffer *b, const char *key, const char *bracket);
void json_write_close(struct buffer *b, const char *brackets);

/* Writes a string of hutch's own words or of names on the host.  A byte that is no
 * UTF-8 is written \u00xx, so that the byte is not lost.  NULL, which stands for
 * unknown, becomes null. */
void json_write_text(struct buffer *b, const char *key, const char *text);
/* Returns the text as a JSON string with its quotes, allocated. */
char *json_write_quoted(const char *text);

/* Writes a string of bytes from inside a sandbox in the form that programs for agents
 * use: a line end is escaped as \n, and a byte that is no UTF-8 becomes U+FFFD. */
void json_write_bytes(struct buffer *b, const char *key, const void *bytes, size_t len);
/* Writes a part of a string that is too long for json_write_bytes(), between
 * json_write_open(b, key, "\"") and json_write_close(b, "\""). */
void json_write_part(struct buffer *b, const void *bytes, size_t len);

void json_write_number(struct buffer *b, const char *key, int64_t value);
/* json_write_count() writes a number; 0, which stands for none, becomes null. */
void json_write_count(struct buffer *b, const char *key, uint64_t count);
void json_write_bool(struct buffer *b, const char *key, bool value);
/* Writes a value of at most 255 bytes that is JSON already, such as a number with a
 * fraction. */
void json_write_format(struct buffer *b, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Writes a value that is JSON already; or, with `key` NULL, complete members of an
 * object. */
void json_write_raw(struct buffer *b, const char *key, const char *json);
