#include "docker/template_call.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/own.h"
#include "docker/template_printf.h"

static struct json_view made_view(struct list *made)
{
	const char *text = made->items[made->count - 1];

	return (struct json_view){ text, strlen(text) };
}

struct json_view template_call_text(struct list *made, const char *text)
{
	AUTO_FREE char *quoted = json_write_quoted(text);

	list_add(made, quoted);
	return made_view(made);
}

static struct json_view made_bool(bool value)
{
	return value ? (struct json_view){ "true", 4 } : (struct json_view){ "false", 5 };
}

static struct json_view made_number(struct list *made, size_t number)
{
	list_addf(made, "%zu", number);
	return made_view(made);
}

struct json_view template_call_member(struct json_view object, const char *name)
{
	struct json_view_place place = { 0 };

	while (json_view_type(object) == JSON_OBJECT && json_view_step(object, &place))
		if (json_view_is(place.key, name))
			return place.value;
	return (struct json_view){ 0 };
}

static size_t count_of(struct json_view value)
{
	struct json_view_place place = { 0 };
	size_t count = 0;

	while (json_view_step(value, &place))
		count++;
	return count;
}

bool template_call_holds(struct json_view value)
{
	double number = 0;

	switch (json_view_type(value)) {
	case JSON_STRING:
		return value.len > 2;
	case JSON_NUMBER:
		return json_view_number(value, &number) && (number < 0 || number > 0);
	case JSON_ARRAY:
	case JSON_OBJECT:
		return count_of(value) > 0;
	case JSON_NONE:
	case JSON_NULL:
	case JSON_BOOL:
	default:
		return value.text && value.text[0] == 't';
	}
}

/* --- printing ---------------------------------------------------------------- */

static void put(struct buffer *out, const char *text)
{
	(void)buffer_append(out, text, strlen(text)); /* the caller looks at the bound */
}

static void print_one(struct buffer *out, struct json_view value)
{
	AUTO_FREE char *text = json_view_string(value);

	if (text)
		put(out, text);
	else if (!value.text || json_view_type(value) == JSON_NULL)
		put(out, "<no value>");
	else
		(void)buffer_append(out, value.text, value.len);
}

/* Arrays are printed as [a b], objects as map[k:v]; what is in those of a second level is
 * printed as JSON, whose depth the scan has bounded. */
void template_call_print(struct buffer *out, struct json_view value)
{
	const enum json_type type = json_view_type(value);
	struct json_view_place place = { 0 };
	bool is_first = true;

	if (type != JSON_ARRAY && type != JSON_OBJECT) {
		print_one(out, value);
		return;
	}
	put(out, type == JSON_ARRAY ? "[" : "map[");
	while (json_view_step(value, &place)) {
		put(out, is_first ? "" : " ");
		if (place.key.text) {
			print_one(out, place.key);
			put(out, ":");
		}
		print_one(out, place.value);
		is_first = false;
	}
	put(out, "]");
}

/* --- functions --------------------------------------------------------------- */

static int call_json(struct template_args *a, struct json_view *ret, struct err *e)
{
	const struct json_view value = a->items[0];

	(void)e;
	AUTO_FREE char *text = value.text ? strndup(value.text, value.len)
					  : strdup("null");
	if (!text)
		abort();
	*ret = template_call_text(a->made, text);
	return 0;
}

static int index_one(struct json_view of, struct json_view by, struct json_view *ret,
		     struct err *e)
{
	struct json_view_place place = { 0 };
	AUTO_FREE char *name = json_view_string(by);
	int64_t number;

	if (name && json_view_type(of) == JSON_OBJECT) {
		*ret = template_call_member(of, name);
		return 0;
	}
	if (json_view_type(of) != JSON_ARRAY || !json_view_integer(by, &number))
		return err_set(e, ERR_USAGE,
			       "error calling index: the value has no such item");
	if (number < 0)
		return err_set(e, ERR_USAGE, "error calling index: index out of range");
	for (int64_t i = 0; json_view_step(of, &place); i++)
		if (i == number) {
			*ret = place.value;
			return 0;
		}
	return err_set(e, ERR_USAGE, "error calling index: index out of range");
}

/* Gives an empty text for a member that is not there, as Go does for a map of texts. */
static int call_index(struct template_args *a, struct json_view *ret, struct err *e)
{
	*ret = a->items[0];
	for (size_t i = 1; i < a->count; i++)
		if (index_one(*ret, a->items[i], ret, e) < 0)
			return -1;
	if (!ret->text)
		*ret = (struct json_view){ "\"\"", 2 };
	return 0;
}

static int call_len(struct template_args *a, struct json_view *ret, struct err *e)
{
	AUTO_FREE char *text = json_view_string(a->items[0]);
	const enum json_type type = json_view_type(a->items[0]);

	if (!text && type != JSON_ARRAY && type != JSON_OBJECT)
		return err_set(e, ERR_USAGE,
			       "error calling len: the value has no length");
	*ret = made_number(a->made, text ? strlen(text) : count_of(a->items[0]));
	return 0;
}

static bool is_equal(struct json_view one, struct json_view two)
{
	AUTO_FREE char *text = json_view_string(one), *other = json_view_string(two);

	if (text && other)
		return !strcmp(text, other);
	return !text && !other && one.len == two.len && one.text && two.text &&
	       !memcmp(one.text, two.text, one.len);
}

static int call_eq(struct template_args *a, struct json_view *ret, struct err *e)
{
	bool is = false;

	(void)e;
	for (size_t i = 1; i < a->count; i++)
		is |= is_equal(a->items[0], a->items[i]);
	*ret = made_bool(is);
	return 0;
}

static int call_ne(struct template_args *a, struct json_view *ret, struct err *e)
{
	(void)e;
	*ret = made_bool(!is_equal(a->items[0], a->items[1]));
	return 0;
}

static int call_not(struct template_args *a, struct json_view *ret, struct err *e)
{
	(void)e;
	*ret = made_bool(!template_call_holds(a->items[0]));
	return 0;
}

/* The first value that decides, else the last one, as in Go. */
static int call_and(struct template_args *a, struct json_view *ret, struct err *e)
{
	size_t i = 0;

	(void)e;
	while (i + 1 < a->count && template_call_holds(a->items[i]))
		i++;
	*ret = a->items[i];
	return 0;
}

static int call_or(struct template_args *a, struct json_view *ret, struct err *e)
{
	size_t i = 0;

	(void)e;
	while (i + 1 < a->count && !template_call_holds(a->items[i]))
		i++;
	*ret = a->items[i];
	return 0;
}

static int print_all(struct template_args *a, const char *between, const char *end,
		     struct json_view *ret)
{
	struct buffer b;

	json_write_begin(&b);
	for (size_t i = 0; i < a->count; i++) {
		put(&b, i > 0 ? between : "");
		template_call_print(&b, a->items[i]);
	}
	put(&b, end);
	AUTO_FREE char *text = json_write_end(&b);
	*ret = template_call_text(a->made, text);
	return 0;
}

static int call_print(struct template_args *a, struct json_view *ret, struct err *e)
{
	(void)e;
	return print_all(a, "", "", ret);
}

static int call_println(struct template_args *a, struct json_view *ret, struct err *e)
{
	(void)e;
	return print_all(a, " ", "\n", ret);
}

/* Returns the second character of a text; NULL: it has one at most. */
static const char *next_character(const char *at)
{
	if (!*at)
		return NULL;
	do
		at++;
	while (((unsigned char)*at & 0xc0) == 0x80); /* UTF-8 */
	return *at ? at : NULL;
}

static int call_join(struct template_args *a, struct json_view *ret, struct err *e)
{
	struct json_view_place place = { 0 };
	AUTO_FREE char *between = json_view_string(a->items[1]);
	bool is_first = true;
	struct buffer b;

	if (json_view_type(a->items[0]) != JSON_ARRAY || !between)
		return err_set(e, ERR_USAGE,
			       "error calling join: join takes an array and a "
			       "text");
	json_write_begin(&b);
	while (json_view_step(a->items[0], &place)) {
		put(&b, is_first ? "" : between);
		template_call_print(&b, place.value);
		is_first = false;
	}
	AUTO_FREE char *text = json_write_end(&b);
	*ret = template_call_text(a->made, text);
	return 0;
}

/* Gives an array of the texts between the separators; with an empty separator, of the
 * characters. */
static int call_split(struct template_args *a, struct json_view *ret, struct err *e)
{
	AUTO_FREE char *text = json_view_string(a->items[0]);
	AUTO_FREE char *between = json_view_string(a->items[1]);
	struct buffer b;

	if (!text || !between)
		return err_set(e, ERR_USAGE,
			       "error calling split: split takes two texts");
	json_write_begin(&b);
	json_write_open(&b, NULL, "[");
	for (const char *at = text; at;) {
		const char *end = *between ? strstr(at, between) : next_character(at);
		AUTO_FREE char *part = end ? strndup(at, (size_t)(end - at)) : strdup(at);
		if (!part)
			abort();
		json_write_text(&b, NULL, part);
		at = end ? end + strlen(between) : NULL;
	}
	json_write_close(&b, "]");
	AUTO_FREE char *array = json_write_end(&b);
	list_add(a->made, array);
	*ret = made_view(a->made);
	return 0;
}

static int change_case(struct template_args *a, int (*change)(int), struct json_view *ret,
		       struct err *e)
{
	AUTO_FREE char *text = json_view_string(a->items[0]);

	if (!text)
		return err_set(e, ERR_USAGE, "lower and upper take a text");
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < 0x80)
			*c = (char)change(*c);
	*ret = template_call_text(a->made, text);
	return 0;
}

static int call_lower(struct template_args *a, struct json_view *ret, struct err *e)
{
	return change_case(a, tolower, ret, e);
}

static int call_upper(struct template_args *a, struct json_view *ret, struct err *e)
{
	return change_case(a, toupper, ret, e);
}

/* Makes the first letter of each word a capital. */
static int call_title(struct template_args *a, struct json_view *ret, struct err *e)
{
	AUTO_FREE char *text = json_view_string(a->items[0]);
	bool is_first = true;

	if (!text)
		return err_set(e, ERR_USAGE, "title takes a text");
	for (char *c = text; *c; c++) {
		if (is_first && (unsigned char)*c < 0x80)
			*c = (char)toupper(*c);
		is_first = isspace((unsigned char)*c);
	}
	*ret = template_call_text(a->made, text);
	return 0;
}

static const struct {
	const char *name;
	int (*call)(struct template_args *a, struct json_view *ret, struct err *e);
	size_t min, max;
} functions[] = {
	{ "json", call_json, 1, 1 },
	{ "index", call_index, 1, TEMPLATE_ARGS_MAX },
	{ "len", call_len, 1, 1 },
	{ "eq", call_eq, 2, TEMPLATE_ARGS_MAX },
	{ "ne", call_ne, 2, 2 },
	{ "not", call_not, 1, 1 },
	{ "and", call_and, 1, TEMPLATE_ARGS_MAX },
	{ "or", call_or, 1, TEMPLATE_ARGS_MAX },
	{ "print", call_print, 0, TEMPLATE_ARGS_MAX },
	{ "println", call_println, 0, TEMPLATE_ARGS_MAX },
	{ "printf", template_printf, 1, TEMPLATE_ARGS_MAX },
	{ "join", call_join, 2, 2 },
	{ "split", call_split, 2, 2 },
	{ "lower", call_lower, 1, 1 },
	{ "upper", call_upper, 1, 1 },
	{ "title", call_title, 1, 1 },
};

static size_t find(const char *name, size_t len)
{
	size_t i = 0;

	while (i < ARRAY_LEN(functions) && (strlen(functions[i].name) != len ||
					    strncmp(functions[i].name, name, len) != 0))
		i++;
	return i;
}

bool template_call_has(const char *name, size_t len)
{
	return find(name, len) < ARRAY_LEN(functions);
}

int template_call(const char *name, size_t len, struct template_args *args,
		  struct json_view *ret, struct err *e)
{
	const size_t i = find(name, len);

	if (i == ARRAY_LEN(functions))
		return err_set(e, ERR_USAGE, "function \"%.*s\" not defined",
			       (int)(len < 60 ? len : 60), name);
	if (args->count < functions[i].min || args->count > functions[i].max)
		return err_set(e, ERR_USAGE, "wrong number of args for %s",
			       functions[i].name);
	return functions[i].call(args, ret, e);
}
