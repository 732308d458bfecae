#include "gateway/fields.h"

#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "policy/json/json.h"

int fields_words(const struct json_at *root, const char *key, size_t max, struct list *to,
		 struct err *e)
{
	struct json_at list, item = { 0 };
	const char *text;

	if (!json_member(root, key, &list))
		return 0;
	if (json_expect(&list, JSON_ARRAY, e) < 0)
		return -1;
	while (json_step(&list, &item)) {
		if (json_string(&item, &text, e) < 0)
			return -1;
		if (to->count == max)
			return err_set(e, ERR_LIMIT, "%s: more than %zu items", key,
				       max);
		list_add(to, text);
	}
	return 0;
}

int fields_variables(const struct json_at *root, const char *key, size_t max, struct list *to,
		     struct err *e)
{
	struct json_at all, item = { 0 };
	const char *name, *value;

	if (!json_member(root, key, &all))
		return 0;
	if (json_expect(&all, JSON_OBJECT, e) < 0)
		return -1;
	while (json_step_key(&all, &item, &name)) {
		if (json_string(&item, &value, e) < 0)
			return -1;
		if (!*name || strchr(name, '='))
			return err_set(e, ERR_USAGE, "%s: '%.60s' is no name of a variable",
				       key, name);
		if (to->count == max)
			return err_set(e, ERR_LIMIT, "%s: more than %zu variables", key,
				       max);
		list_addf(to, "%s=%s", name, value);
	}
	return 0;
}
