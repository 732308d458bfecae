#include "actions/args.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "policy/json/json.h"

int args_text(const struct json_at *at, const char *key, char **ret, struct err *e)
{
	struct json_at item;
	const char *text;

	if (!json_member(at, key, &item))
		return 0;
	if (json_string(&item, &text, e) < 0)
		return -1;
	free(*ret);
	*ret = text_copy(text);
	return 0;
}

int args_bool(const struct json_at *at, const char *key, bool *ret, struct err *e)
{
	struct json_at item;

	return json_member(at, key, &item) ? json_bool(&item, ret, e) : 0;
}

int args_require(const struct json_at *args, const char *key, char **ret, struct err *e)
{
	if (args_text(args, key, ret, e) < 0)
		return -1;
	return *ret ? 0 : err_set(e, ERR_USAGE, "args.%s is missing", key);
}

int args_path(const char *text, const char *key, struct err *e)
{
	if (*text && strlen(text) < 4096)
		return 0;
	return err_set(e, ERR_USAGE, "args.%s: a path of 1 to 4095 bytes was expected",
		       key);
}

int args_count(const struct json_at *args, const char *key, uint32_t most, uint32_t *ret,
	       struct err *e)
{
	struct json_at item;
	double number;

	if (!json_member(args, key, &item))
		return 0;
	if (json_number(&item, &number, e) < 0)
		return -1;
	if (!(number >= 1 && number <= most) || number != (double)(uint32_t)number)
		return err_set(e, ERR_USAGE, "args.%s: not a whole number from 1 to %u",
			       key, most);
	*ret = (uint32_t)number;
	return 0;
}
