/* audit_json -- builds an entry of the audit log (audit.h): a JSON object, one member
 * after another.
 *
 * Texts are not trusted.  Secrets in a text are hidden, then the text is cut to
 * AUDIT_JSON_TEXT_MAX bytes and escaped, so that an entry stays on one line.  A text
 * that was cut is followed by the members KEY_bytes and KEY_sha256: the length and the
 * SHA-256 of the whole text, with its secrets hidden.
 *
 *	audit_json_begin, audit_json_text ..., audit_json_end */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct list;
struct redact;

#define AUDIT_JSON_TEXT_MAX 4096

struct audit_json {
	const struct redact *secrets; /* borrowed; the secrets to hide; NULL: nothing
				       * is hidden */
	struct buffer text;	 /* the members so far; text.is_cut: there was no room
				  * for all */
};

void audit_json_begin(struct audit_json *n, const struct redact *secrets, size_t max);
/* Returns the members that were added, as text; "" if there are none.  Allocated. */
char *audit_json_end(struct audit_json *n);

/* Writes a member whose value is a string; null if `value` is NULL. */
void audit_json_text(struct audit_json *n, const char *key, const char *value);
/* Writes an array of strings.  AUDIT_JSON_TEXT_MAX bounds all strings of the array
 * together; each string counts one byte more than its length, for the terminating 0,
 * which the digest covers too. */
void audit_json_words(struct audit_json *n, const char *key, char *const *words,
		      size_t count);
/* Writes an array of all items of a list, uncut. */
void audit_json_list(struct audit_json *n, const char *key, const struct list *l);
void audit_json_number(struct audit_json *n, const char *key, uint64_t value);
void audit_json_yes(struct audit_json *n, const char *key, bool value);
/* Writes, in place of a text, only its length and its SHA-256, as KEY_bytes and
 * KEY_sha256; writes nothing if `bytes` is NULL. */
void audit_json_bytes(struct audit_json *n, const char *key, const char *bytes);
/* Writes a member whose value is JSON already, on one line. */
void audit_json_json(struct audit_json *n, const char *key, const char *json);
