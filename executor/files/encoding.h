/* encoding -- how the bytes of a text file stand for characters.
 *
 * A file is UTF-8, UTF-16 with a byte order mark in front, or of one byte a character;
 * the editor and its client see UTF-8. The first of these rules that holds for a file's
 * bytes tells its encoding:
 *
 *	FF FE or FE FF in front	UTF-16, little-endian or big-endian
 *	valid as UTF-8		UTF-8
 *	bytes above 0x7f stand together, and half of them are frequent Russian letters
 *				windows-1251 or KOI8-R, whichever has more of them
 *	else			windows-1252
 *
 * In the one-byte encodings every byte is a character, and no two are the same (a byte
 * that windows-1252 or -1251 leaves undefined is the control character of that number),
 * so a wrong guess shows wrong letters but loses nothing. Any other encoding
 * (Shift-JIS, GB18030) is read as windows-1252.
 *
 * The tables are our own: musl's iconv would add 156 KB of program, half of the
 * executor's size. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"

struct buffer;
struct encoding;

extern const struct encoding encoding_utf8;

/* Guesses the encoding.  `was` is the file's encoding before it was edited, or NULL: a
 * one-byte encoding stays, unless the file is now UTF-8 with non-ASCII characters. */
const struct encoding *encoding_guess(struct bytes raw, const struct encoding *was);

/* Returns the usual name of the encoding, such as "windows-1252". */
const char *encoding_name(const struct encoding *x);

/* Returns whether a file that begins with these bytes is text because its letters are
 * Russian and it has no control characters. The rules of binaryornot (files.c) would
 * take some such files for binary. */
bool encoding_is_russian(struct bytes raw);

/* Returns whether a file whose encoding was a one-byte one is still text: no byte is a
 * control character. After an edit, the rules of binaryornot (files.c) may take such a
 * file for binary. */
bool encoding_stays(const struct encoding *was, struct bytes raw);

/* Decodes the bytes to UTF-8, where a byte order mark is kept. *ret is the caller's to
 * free; NULL if the bytes are UTF-8 already. False: *ret_bad is the offset of the first
 * byte that is invalid in this encoding. */
bool encoding_decode(const struct encoding *x, struct bytes raw, uint8_t **ret,
		     size_t *ret_len, size_t *ret_bad);

/* Returns the offset in the file that corresponds to offset `at` in the decoded text;
 * `at` must be where a character begins. */
size_t encoding_place(const struct encoding *x, struct bytes raw, size_t at);

/* Appends UTF-8 text to `to` in this encoding. False: *ret_lacks is the first character
 * that the encoding does not have; then an undefined part was appended. */
bool encoding_put(const struct encoding *x, struct bytes text, struct buffer *to,
		  uint32_t *ret_lacks);
