/* encoding -- what the bytes of a text file stand for.
 *
 * A file is UTF-8, UTF-16 with a mark in front, or of one byte a character; everybody
 * sees it as UTF-8.  Which of those it is, the bytes say:
 *
 *	FF FE or FE FF in front	UTF-16, little or big end first
 *	valid as UTF-8		UTF-8
 *	the high bytes stand together, and half of them are frequent Russian letters
 *				windows-1251 or KOI8-R, whichever has more of them
 *	else			windows-1252
 *
 * In those of one byte every byte is a character, and no two are the same (what
 * windows-1252 and -1251 leave out is the control character of that number), so a wrong
 * guess shows wrong letters but loses nothing.  What is none of these (Shift-JIS, GB18030)
 * is seen as windows-1252.
 *
 * The tables are our own: musl's iconv would be 156 KB more of program, half of what the
 * executor is. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"

struct buffer;
struct encoding;

extern const struct encoding encoding_utf8;

/* `was` is what the file was before it was edited, or NULL: one of one byte a character
 * stays, unless the file is UTF-8 by now that is not ASCII alone. */
const struct encoding *encoding_guess(struct bytes raw, const struct encoding *was);

/* As everybody knows it: "windows-1252". */
const char *encoding_name(const struct encoding *x);

/* Whether a file that begins with these bytes is text by its letters alone: Russian,
 * without control characters.  The other rules would take some for binary. */
bool encoding_is_russian(struct bytes raw);

/* Whether it is still what it was, one of one byte a character, for all that can be seen
 * of that: the bytes have no control characters.  What an edit has put in may look like
 * no text otherwise. */
bool encoding_stays(const struct encoding *was, struct bytes raw);

/* The bytes as UTF-8, a mark too.  *ret is the caller's then; NULL when it is what the
 * bytes are already.  False: from *ret_bad on they are none of this encoding. */
bool encoding_decode(const struct encoding *x, struct bytes raw, uint8_t **ret,
		     size_t *ret_len, size_t *ret_bad);

/* Where in the bytes the byte `at` of what they were decoded to is; not within a
 * character. */
size_t encoding_place(const struct encoding *x, struct bytes raw, size_t at);

/* Appends UTF-8 in this encoding.  False: *ret_lacks is the first character that it does
 * not have; how much was appended is undefined then. */
bool encoding_put(const struct encoding *x, struct bytes text, struct buffer *to,
		  uint32_t *ret_lacks);
