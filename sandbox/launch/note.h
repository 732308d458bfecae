/* note -- builds the members of a JSON object, one after another, for an entry
 * of the audit log (audit.h).
 *
 * Texts may come from anywhere: secrets in them are hidden first, then they are
 * cut to NOTE_TEXT_MAX bytes, and written so that an entry stays on one line.
 * A text that was cut is followed by the members KEY_bytes and KEY_sha256: the
 * length and the SHA-256 of the whole text, with its secrets hidden.
 *
 *	note_begin, note_text ..., note_end */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct list;
struct mask;

#define NOTE_TEXT_MAX 4096

struct note {
	const struct mask *mask; /* borrowed; NULL: nothing is hidden */
	struct buffer text;	 /* is_cut: the members did not fit */
};

void note_begin(struct note *n, const struct mask *mask, size_t max);
/* Returns the members, allocated; "" if there are none. */
char *note_end(struct note *n);

/* Writes null for a NULL value. */
void note_text(struct note *n, const char *key, const char *value);
/* Writes an array of texts.  NOTE_TEXT_MAX bounds all of them together; each
 * text counts one byte more, for the 0 behind it, which the digest covers
 * too. */
void note_words(struct note *n, const char *key, char *const *words, size_t count);
/* Writes an array of all items, uncut. */
void note_list(struct note *n, const char *key, const struct list *l);
void note_number(struct note *n, const char *key, uint64_t value);
void note_yes(struct note *n, const char *key, bool value);
/* Writes only the number of bytes and their SHA-256; for NULL writes
 * nothing. */
void note_bytes(struct note *n, const char *key, const char *bytes);
/* Writes a value that is JSON already, on one line. */
void note_json(struct note *n, const char *key, const char *json);
