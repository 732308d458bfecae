#include "oci/fields.h"

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "policy/json/json.h"

int fields_text(const struct json_at *object, const char *key, const char **ret,
		struct err *e)
{
	struct json_at at;

	return json_member(object, key, &at) ? json_string(&at, ret, e) : 0;
}

int fields_bool(const struct json_at *object, const char *key, bool *ret, struct err *e)
{
	struct json_at at;

	return json_member(object, key, &at) ? json_bool(&at, ret, e) : 0;
}

int fields_int(const struct json_at *object, const char *key, int64_t *ret, struct err *e)
{
	struct json_at at;
	bool is_negative;
	uint64_t amount;

	if (!json_member(object, key, &at))
		return 0;
	if (json_wide(&at, &is_negative, &amount, e))
		return -1;
	if (amount > INT64_MAX)
		return err_set(e, ERR_USAGE, "%s: a number of 63 bits was expected",
			       at.place);
	*ret = is_negative ? -(int64_t)amount : (int64_t)amount;
	return 0;
}

int fields_u64(const struct json_at *object, const char *key, uint64_t *ret,
	       struct err *e)
{
	struct json_at at;
	bool is_negative;
	uint64_t amount;

	if (!json_member(object, key, &at))
		return 0;
	if (json_wide(&at, &is_negative, &amount, e))
		return -1;
	if (is_negative && amount > 1)
		return err_set(e, ERR_USAGE, "%s: a number below -1", at.place);
	*ret = is_negative ? -amount : amount;
	return 0;
}

int fields_u32(const struct json_at *object, const char *key, uint32_t *ret,
	       struct err *e)
{
	uint64_t wide = *ret;

	if (fields_u64(object, key, &wide, e))
		return -1;
	if (wide > UINT32_MAX)
		return err_set(e, ERR_USAGE, "%s.%s: not a number of 32 bits",
			       object->place, key);
	*ret = (uint32_t)wide;
	return 0;
}

int fields_object(const struct json_at *object, const char *key, struct json_at *ret,
		  struct err *e)
{
	if (!json_member(object, key, ret))
		return 0;
	return json_expect(ret, JSON_OBJECT, e) ? -1 : 1;
}

/* Counts the items of an array. */
static int count_items(const struct json_at *array, size_t *ret, struct err *e)
{
	struct json_at item = { 0 };

	if (json_expect(array, JSON_ARRAY, e))
		return -1;
	for (*ret = 0; json_step(array, &item); (*ret)++)
		if (*ret == FIELDS_ITEMS_MAX)
			return err_set(e, ERR_LIMIT, "%s: more than %d items",
				       array->place, FIELDS_ITEMS_MAX);
	return 0;
}

int64_t fields_array(const struct json_at *object, const char *key, struct json_at *ret,
		     void *ret_items, size_t size, struct err *e)
{
	size_t count;

	*(void **)ret_items = NULL;
	if (!json_member(object, key, ret))
		return 0;
	if (count_items(ret, &count, e))
		return -1;
	if (count)
		*(void **)ret_items = mem_zeroed(count, size);
	return (int64_t)count;
}

int fields_list(const struct json_at *object, const char *key, struct list *ret,
		struct err *e)
{
	struct json_at array, item = { 0 };
	const char *text;
	size_t count;

	if (!json_member(object, key, &array))
		return 0;
	if (count_items(&array, &count, e))
		return -1;
	while (json_step(&array, &item)) {
		if (json_string(&item, &text, e))
			return -1;
		list_add(ret, text);
	}
	return 0;
}
