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
	char *text = text_format("%.*s", (int)buffer_len(&n->text),
				 (const char *)buffer_data(&n->text));

	buffer_done(&n->text);
	return text;
}

static void put(struct audit_json *n, const char *text)
{
	if (!n->text.is_cut && !buffer_append(&n->text, text, strlen(text)))
		n->text.is_cut = true;
}

void audit_json_json(struct audit_json *n, const char *key, const char *json)
{
	AUTO_FREE char *front = text_format("%s\"%s\":", buffer_len(&n->text) ? "," : "", key);

	put(n, front);
	put(n, json);
}

void audit_json_number(struct audit_json *n, const char *key, uint64_t value)
{
	AUTO_FREE char *text = text_format("%llu", (unsigned long long)value);

	audit_json_json(n, key, text);
}

void audit_json_yes(struct audit_json *n, const char *key, bool value)
{
	audit_json_json(n, key, value ? "true" : "false");
}

/* --- texts ------------------------------------------------------------------------ */

/* A copy of `text` in which secrets are hidden; allocated. */
static char *shown(const struct audit_json *n, const char *text)
{
	return n->secrets ? redact_copy(n->secrets, text) : text_copy(text);
}

/* At most `max` bytes of `text`, cut between characters; allocated and
 * quoted. */
static char *quote_some(const char *text, size_t max)
{
	size_t len = strlen(text);

	if (len > max) {
		len = max;
		while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
	}
	AUTO_FREE char *some = text_format("%.*s", (int)len, text);
	return json_write_quoted(some);
}

static void put_digest(struct audit_json *n, const char *key, size_t len, struct sha256 *h)
{
	AUTO_FREE char *bytes = text_format("%s_bytes", key);
	AUTO_FREE char *sha256 = text_format("%s_sha256", key);
	struct digest digest;

	sha256_end(h, &digest);
	AUTO_FREE char *quoted = json_write_quoted(digest.hex);
	audit_json_number(n, bytes, len);
	audit_json_json(n, sha256, quoted);
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
	AUTO_FREE char *text = value ? shown(n, value) : NULL;
	AUTO_FREE char *quoted = text ? quote_some(text, AUDIT_JSON_TEXT_MAX) : text_copy("null");

	audit_json_json(n, key, quoted);
	if (text && strlen(text) > AUDIT_JSON_TEXT_MAX)
		audit_json_bytes(n, key, text);
}

void audit_json_words(struct audit_json *n, const char *key, char *const *words, size_t count)
{
	AUTO_FREE char *front = text_format("%s\"%s\":[", buffer_len(&n->text) ? "," : "", key);
	size_t len = 0;
	struct sha256 h;

	put(n, front);
	sha256_begin(&h);
	for (size_t i = 0; i < count; i++) {
		AUTO_FREE char *text = shown(n, words[i]);
		if (len < AUDIT_JSON_TEXT_MAX) {
			AUTO_FREE char *quoted = quote_some(text, AUDIT_JSON_TEXT_MAX - len);
			put(n, i ? "," : "");
			put(n, quoted);
		}
		sha256_add(&h, text, strlen(text) + 1);
		len += strlen(text) + 1;
	}
	put(n, "]");
	if (len > AUDIT_JSON_TEXT_MAX)
		put_digest(n, key, len, &h);
}

void audit_json_list(struct audit_json *n, const char *key, const struct list *l)
{
	AUTO_FREE char *front = text_format("%s\"%s\":[", buffer_len(&n->text) ? "," : "", key);

	put(n, front);
	for (size_t i = 0; i < l->count; i++) {
		AUTO_FREE char *text = shown(n, l->items[i]);
		AUTO_FREE char *quoted = json_write_quoted(text);
		put(n, i ? "," : "");
		put(n, quoted);
	}
	put(n, "]");
}
