/* utf8 -- characters in bytes that may be anything (RFC 3629). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What U+FFFD, the replacement character, is as bytes. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/* How many bytes the character at `at` has, of `len` > 0 that are there.  0: it
 * is cut by the end.  Negative: that many bytes are none. */
int utf8_char(const uint8_t *at, size_t len);

/* How many of the first bytes are ASCII: all of them, mostly. */
size_t utf8_ascii(const uint8_t *at, size_t len);

/* True when all is UTF-8; `may_be_cut`: the last character need not be whole. */
bool utf8_is_valid(const uint8_t *at, size_t len, bool may_be_cut);

/* How many characters are in valid UTF-8. */
size_t utf8_count(const uint8_t *at, size_t len);

/* Where the character number `n` begins, from 0; `len` when there are fewer. */
size_t utf8_skip(const uint8_t *at, size_t len, size_t n);

/* How many bytes long the character at `at` is, of which `left` bytes are there; 0
 * when there is none, or a part of one. */
size_t utf8_length(const void *at, size_t left);

/* Which character the `len` bytes at `at`, which are one, are. */
uint32_t utf8_code(const uint8_t *at, size_t len);

/* What Python's str.isspace() says of it: the length of the white space character at
 * `at`, 0 when there is none. */
size_t utf8_blank(const uint8_t *at, size_t left);

/* How much of it is left without white space at its end, and how much of it is white
 * space at its begin. */
size_t utf8_trimmed(const uint8_t *at, size_t len);
size_t utf8_blanks(const uint8_t *at, size_t len);
