#include "policy/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/json_scan.h"

/* struct json has no members of its own: it is cJSON's node under a name that keeps
 * the library out of every header. */
static const cJSON *node(const struct json *value)
{
	return (const cJSON *)(const void *)value;
}

static const struct json *face(const cJSON *item)
{
	return (const struct json *)(const void *)item;
}

static int by_key(const void *a, const void *b)
{
	return strcmp((*(const cJSON *const *)a)->string,
		      (*(const cJSON *const *)b)->string);
}

/* Sorted, equal keys are neighbours: an object of many keys costs no square. */
static int check_keys(const cJSON *object, struct err *e)
{
	const size_t count = (size_t)cJSON_GetArraySize(object);
	AUTO_FREE const cJSON **members = mem_zeroed(count + 1, sizeof(const cJSON *));
	size_t n = 0;
	for (const cJSON *m = object->child; m; m = m->next)
		members[n++] = m;
	qsort(members, n, sizeof(const cJSON *), by_key);
	for (size_t i = 1; i < n; i++)
		if (by_key(&members[i - 1], &members[i]) == 0)
			return err_set(e, ERR_USAGE,
				       "the key '%.64s' stands twice in an object",
				       members[i]->string);
	return 0;
}

/* Recursion is bounded: the scanner has refused what is deeper than JSON_DEPTH_MAX. */
static int check_tree(const cJSON *item, struct err *e)
{
	if (cJSON_IsObject(item) && check_keys(item, e))
		return -1;
	for (const cJSON *c = item->child; c; c = c->next)
		if (check_tree(c, e))
			return -1;
	return 0;
}

struct json *json_parse(const char *text, size_t len, struct err *e)
{
	if (json_scan(text, len, e))
		return NULL;

	cJSON *doc = cJSON_ParseWithLength(text, len);
	if (!doc) {
		(void)err_set(e, ERR_INTERNAL, "the JSON library refuses this text");
		return NULL;
	}
	if (check_tree(doc, e)) {
		cJSON_Delete(doc);
		return NULL;
	}
	return (struct json *)(void *)doc;
}

void json_free(struct json *doc)
{
	cJSON_Delete((cJSON *)(void *)doc);
}

void json_root(const struct json *doc, const char *name, struct json_at *ret)
{
	*ret = (struct json_at){ .value = doc };
	(void)snprintf(ret->place, sizeof(ret->place), "%s", name); /* may be cut */
}

enum json_type json_type(const struct json_at *at)
{
	switch (node(at->value)->type & 0xff) {
	case cJSON_False:
	case cJSON_True:
		return JSON_BOOL;
	case cJSON_Number:
		return JSON_NUMBER;
	case cJSON_String:
		return JSON_STRING;
	case cJSON_Array:
		return JSON_ARRAY;
	case cJSON_Object:
		return JSON_OBJECT;
	default:
		return JSON_NULL;
	}
}

/* "OUTER.KEY"; a place that does not fit is cut, at the end. */
static void put_key_place(const struct json_at *outer, const char *key,
			  struct json_at *ret)
{
	(void)snprintf(ret->place, sizeof(ret->place), "%.*s.%.40s", JSON_PLACE_MAX - 42,
		       outer->place, key);
}

bool json_member(const struct json_at *at, const char *key, struct json_at *ret)
{
	const cJSON *found = cJSON_GetObjectItemCaseSensitive(node(at->value), key);

	*ret = (struct json_at){ 0 };
	if (!found || cJSON_IsNull(found))
		return false;
	ret->value = face(found);
	put_key_place(at, key, ret);
	return true;
}

static bool step(const struct json_at *outer, struct json_at *item)
{
	const bool is_first = !item->value;
	const cJSON *to = is_first ? node(outer->value)->child : node(item->value)->next;

	item->index = is_first ? 0 : item->index + 1;
	item->value = face(to);
	return to;
}

bool json_step(const struct json_at *list, struct json_at *item)
{
	if (json_type(list) != JSON_ARRAY || !step(list, item))
		return false;
	(void)snprintf(item->place, sizeof(item->place), "%.*s[%zu]", JSON_PLACE_MAX - 24,
		       list->place, item->index);
	return true;
}

bool json_step_key(const struct json_at *object, struct json_at *item, const char **ret)
{
	if (json_type(object) != JSON_OBJECT || !step(object, item))
		return false;
	*ret = node(item->value)->string;
	put_key_place(object, *ret, item);
	return true;
}

int json_expect(const struct json_at *at, enum json_type type, struct err *e)
{
	static const char *const names[] = {
		[JSON_NULL] = "null",	    [JSON_BOOL] = "true or false",
		[JSON_NUMBER] = "a number", [JSON_STRING] = "a string",
		[JSON_ARRAY] = "an array",  [JSON_OBJECT] = "an object",
	};

	if (json_type(at) == type)
		return 0;
	return err_set(e, ERR_USAGE, "%s: %s was expected, not %s", at->place,
		       names[type], names[json_type(at)]);
}

int json_only(const struct json_at *at, const char *const *keys, struct err *e)
{
	struct json_at item = { 0 };
	const char *key;

	if (json_expect(at, JSON_OBJECT, e))
		return -1;
	while (json_step_key(at, &item, &key)) {
		size_t i = 0;

		while (keys[i] && strcmp(keys[i], key) != 0)
			i++;
		if (!keys[i])
			return err_set(e, ERR_USAGE, "%s: unknown key '%.64s'", at->place,
				       key);
	}
	return 0;
}

int json_string(const struct json_at *at, const char **ret, struct err *e)
{
	if (json_expect(at, JSON_STRING, e))
		return -1;
	*ret = node(at->value)->valuestring;
	return 0;
}

int json_number(const struct json_at *at, double *ret, struct err *e)
{
	if (json_expect(at, JSON_NUMBER, e))
		return -1;
	*ret = node(at->value)->valuedouble;
	return 0;
}

int json_bool(const struct json_at *at, bool *ret, struct err *e)
{
	if (json_expect(at, JSON_BOOL, e))
		return -1;
	*ret = cJSON_IsTrue(node(at->value));
	return 0;
}

int json_uint(const struct json_at *at, uint64_t *ret, struct err *e)
{
	if (json_expect(at, JSON_NUMBER, e))
		return -1;

	const double d = node(at->value)->valuedouble;
	if (!(d >= 0 && d <= 9007199254740992.0) || d != (double)(uint64_t)d)
		return err_set(e, ERR_USAGE, "%s: not a whole number from 0 to 2^53",
			       at->place);
	*ret = (uint64_t)d;
	return 0;
}

char *json_text(const struct json_at *at)
{
	return mem_or_abort(cJSON_PrintUnformatted(node(at->value)));
}
