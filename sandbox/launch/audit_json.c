#include "sandbox/launch/audit_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "base/redact.h"
#include "store/sha256.h"

void audit_json_begin(struct audit_json *n, const struct redact *secrets, size_t max)
{
	*n = (struct audit_json){ .secrets = secrets };
	buffer_init(&n->text, max);
}

char *audit_json_end(struct audit_json *n)
{
	return json_write_end(&n->text);
}

void audit_json_json(struct audit_json *n, const char *key, const char *json)
{
	json_write_raw(&n->text, key, json);
}

void audit_json_number(struct audit_json *n, const char *key, uint64_t value)
{
	json_write_format(&n->text, key, "%llu", (unsigned long long)value);
}

void audit_json_yes(struct audit_json *n, const char *key, bool value)
{
	json_write_bool(&n->text, key, value);
}

/* --- texts ------------------------------------------------------------------------ */

/* Returns a copy of `text` in which secrets are hidden; allocated. */
static char *shown(const struct audit_json *n, const char *text)
{
	return n->secrets ? redact_copy(n->secrets, text) : text_copy(text);
}

/* Writes at most `max` bytes of `text`, cut between characters. */
static void put_some(struct audit_json *n, const char *key, const char *text, size_t max)
{
	size_t len = strlen(text);

	if (len > max) {
		len = max;
		while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
	}
	AUTO_FREE char *some = text_format("%.*s", (int)len, text);
	json_write_text(&n->text, key, some);
}

static void put_digest(struct audit_json *n, const char *key, size_t len,
		       struct sha256 *h)
{
	AUTO_FREE char *bytes = text_format("%s_bytes", key);
	AUTO_FREE char *sha256 = text_format("%s_sha256", key);
	struct digest digest;

	sha256_end(h, &digest);
	audit_json_number(n, bytes, len);
	json_write_text(&n->text, sha256, digest.hex);
}

void audit_json_bytes(struct audit_json *n, const char *key, const char *bytes)
{
	struct sha256 h;

	if (!bytes)
		return;
	sha256_begin(&h);
	sha256_add(&h, bytes, strlen(bytes));
	put_digest(n, key, strlen(bytes), &h);
}

void audit_json_text(struct audit_json *n, const char *key, const char *value)
{
	if (!value)
		return json_write_raw(&n->text, key, "null");
	AUTO_FREE char *text = shown(n, value);
	put_some(n, key, text, AUDIT_JSON_TEXT_MAX);
	if (strlen(text) > AUDIT_JSON_TEXT_MAX)
		audit_json_bytes(n, key, text);
}

void audit_json_words(struct audit_json *n, const char *key, char *const *words,
		      size_t count)
{
	size_t len = 0;
	struct sha256 h;

	json_write_open(&n->text, key, "[");
	sha256_begin(&h);
	for (size_t i = 0; i < count; i++) {
		AUTO_FREE char *text = shown(n, words[i]);
		if (len < AUDIT_JSON_TEXT_MAX)
			put_some(n, NULL, text, AUDIT_JSON_TEXT_MAX - len);
		sha256_add(&h, text, strlen(text) + 1);
		len += strlen(text) + 1;
	}
	json_write_close(&n->text, "]");
	if (len > AUDIT_JSON_TEXT_MAX)
		put_digest(n, key, len, &h);
}

void audit_json_list(struct audit_json *n, const char *key, const struct list *l)
{
	json_write_open(&n->text, key, "[");
	for (size_t i = 0; i < l->count; i++) {
		AUTO_FREE char *text = shown(n, l->items[i]);
		json_write_text(&n->text, NULL, text);
	}
	json_write_close(&n->text, "]");
}
