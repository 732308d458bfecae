/* note -- the members of a JSON object, one behind the other, for an entry of the audit
 * log (audit.h).
 *
 * Texts are anybody's: secrets in them are hidden first, then they are cut to NOTE_TEXT_MAX
 * bytes, and written so that a line stays a line.  Of one that was cut follow, as members
 * KEY_bytes and KEY_sha256, how long it was and the SHA-256 of all of it, as it is without
 * the secrets.
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
	struct buffer text;	 /* is_cut: more than there was room for */
};

void note_begin(struct note *n, const struct mask *mask, size_t max);
/* The members, allocated; "" for none. */
char *note_end(struct note *n);

/* NULL is null. */
void note_text(struct note *n, const char *key, const char *value);
/* An array of texts that are cut together, as one of them would be; each counts a byte
 * more, the 0 behind it, which is in the digest too. */
void note_words(struct note *n, const char *key, char *const *words, size_t count);
/* An array of all of them, uncut. */
void note_list(struct note *n, const char *key, const struct list *l);
void note_number(struct note *n, const char *key, uint64_t value);
void note_yes(struct note *n, const char *key, bool value);
/* Bytes, of which only how many they are and their SHA-256 are told; NULL: nothing is. */
void note_bytes(struct note *n, const char *key, const char *bytes);
/* What is JSON already, on one line. */
void note_json(struct note *n, const char *key, const char *json);
