/* members -- the JSON functions of hutch.h, with which a caller reads an answer or
 * writes an action. */
#include <stdlib.h>
#include <string.h>

#include "cli/common/json_view.h"
#include "hutch.h"
#include "lib/json_build.h"
#include "policy/json/json_string.h"

static struct json_view find(const char *json, const char *path)
{
	struct json_view all;

	if (!json || json_view_scan(&all, json, strlen(json), NULL) < 0)
		return (struct json_view){ 0 };
	return json_view_get(all, path);
}

int hutch_json_integer(const char *json, const char *path, int64_t *ret)
{
	return json_view_integer(find(json, path), ret);
}

int hutch_json_number(const char *json, const char *path, double *ret)
{
	return json_view_number(find(json, path), ret);
}

int hutch_json_bool(const char *json, const char *path, int *ret)
{
	bool value;

	if (!json_view_bool(find(json, path), &value))
		return 0;
	*ret = value;
	return 1;
}

char *hutch_json_string(const char *json, const char *path)
{
	const struct json_view value = find(json, path);
	size_t at = 1;
	char *text = json_view_type(value) == JSON_STRING ? malloc(value.len) : NULL;

	if (text)
		(void)json_decode_all(value.text, value.len, &at, text);
	return text;
}

char *hutch_json_quote(const char *text)
{
	struct json_build d = { 0 };

	json_build_quote(&d, text);
	if (!json_build_end(&d))
		json_build_done(&d);
	return d.bytes;
}
