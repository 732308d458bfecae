#include "policy/label.h"

#include <string.h>

#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "base/utf8.h"

static bool has_blank(const char *key, size_t len)
{
	const uint8_t *at = (const uint8_t *)key;

	for (size_t i = 0; i < len; i += utf8_length(at + i, len - i))
		if (utf8_blank(at + i, len - i))
			return true;
	return false;
}

static int check_word(const char *word, struct err *e)
{
	const size_t len = strcspn(word, "=");

	if (!len) {
		(void)err_set(e, ERR_USAGE, "--label '%.60s': the key is missing", word);
		return err_remedy(e, "--label KEY=VALUE, or --label KEY");
	}
	if (len > LABEL_KEY_MAX)
		return err_set(e, ERR_LIMIT, "--label %.60s...: a key has up to %d bytes",
			       word, LABEL_KEY_MAX);
	if (!utf8_is_valid((const uint8_t *)word, strlen(word), false))
		return err_set(e, ERR_USAGE, "--label '%.60s': a label is UTF-8", word);
	if (has_blank(word, len))
		return err_set(e, ERR_USAGE,
			       "--label '%.60s': the key has a blank in it", word);
	return 0;
}

int label_add(struct list *labels, const char *word, struct err *e)
{
	if (check_word(word, e) < 0)
		return -1;
	AUTO_FREE char *pair = text_format("%s%s", word, strchr(word, '=') ? "" : "=");
	list_set_env(labels, pair);
	if (labels->count > LABELS_MAX)
		return err_set(e, ERR_LIMIT, "--label: %d labels are the most",
			       LABELS_MAX);
	AUTO_FREE char *object = label_print(labels);
	if (strlen(object) > LABELS_BYTES_MAX)
		return err_set(e, ERR_LIMIT,
			       "--label: all labels together have more than %d bytes in "
			       "JSON",
			       LABELS_BYTES_MAX);
	return 0;
}

char *label_print(const struct list *labels)
{
	struct buffer b;

	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	for (size_t i = 0; i < labels->count; i++) {
		const char *pair = labels->items[i];
		AUTO_FREE char *key = text_format("%.*s", (int)strcspn(pair, "="), pair);
		AUTO_FREE char *name = json_write_quoted(key);
		AUTO_FREE char *value = json_write_quoted(pair + strlen(key) + 1);
		AUTO_FREE char *member = text_format("%s:%s", name, value);
		json_write_raw(&b, NULL, member);
	}
	json_write_close(&b, "}");
	return json_write_end(&b);
}
