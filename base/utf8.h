/* utf8 -- finds characters in bytes that may be anything (RFC 3629). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of U+FFFD, the replacement character. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

/* Returns the length of the character at `at`, of which `len` > 0 bytes are there; 0
 * if the end cuts the character.  Negative: that many bytes are no part of a
 * character. */
int utf8_char(const uint8_t *at, size_t len);

/* Returns how many bytes at the start are ASCII; in most texts, all of them. */
size_t utf8_ascii(const uint8_t *at, size_t len);

/* Returns true when all bytes are UTF-8; `may_be_cut`: the last character need not
 * be whole. */
bool utf8_is_valid(const uint8_t *at, size_t len, bool may_be_cut);

/* Returns the number of characters in valid UTF-8. */
size_t utf8_count(const uint8_t *at, size_t len);

/* Returns the offset of character number `n`, counted from 0; `len` when there are
 * fewer. */
size_t utf8_skip(const uint8_t *at, size_t len, size_t n);

/* Returns the length of the character at `at`, where `left` bytes are there; 0 when
 * they begin no whole character. */
size_t utf8_length(const void *at, size_t left);

/* Returns the code point of the character whose `len` bytes are at `at`. */
uint32_t utf8_code(const uint8_t *at, size_t len);

/* Returns the length of the white space character at `at`, by the rule of Python's
 * str.isspace(); 0 when there is none. */
size_t utf8_blank(const uint8_t *at, size_t left);

/* utf8_trimmed() returns the length without the white space at the end;
 * utf8_blanks() returns the length of the white space at the start. */
size_t utf8_trimmed(const uint8_t *at, size_t len);
size_t utf8_blanks(const uint8_t *at, size_t len);
