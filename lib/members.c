/* The JSON functions of hutch.h: the little that a caller needs to read an answer and
 * to write an action. */
#include <stdlib.h>
#include <string.h>

#include "cli/common/reply.h"
#include "hutch.h"
#include "lib/draft.h"
#include "policy/json/json_string.h"

static struct reply find(const char *json, const char *path)
{
	struct reply all;

	if (!json || reply_scan(&all, json, strlen(json), NULL) < 0)
		return (struct reply){ 0 };
	return reply_get(all, path);
}

int hutch_json_integer(const char *json, const char *path, int64_t *ret)
{
	return reply_integer(find(json, path), ret);
}

int hutch_json_number(const char *json, const char *path, double *ret)
{
	return reply_number(find(json, path), ret);
}

int hutch_json_bool(const char *json, const char *path, int *ret)
{
	bool value;

	if (!reply_bool(find(json, path), &value))
		return 0;
	*ret = value;
	return 1;
}

char *hutch_json_string(const char *json, const char *path)
{
	const struct reply value = find(json, path);
	size_t at = 1;
	char *text = reply_type(value) == REPLY_STRING ? malloc(value.len) : NULL;

	if (text)
		(void)json_decode_all(value.text, value.len, &at, text);
	return text;
}

char *hutch_json_quote(const char *text)
{
	struct draft d = { 0 };

	draft_quote(&d, text);
	if (!draft_end(&d))
		draft_done(&d);
	return d.bytes;
}
