#include "policy/json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/json/json_string.h"

struct json {
	enum json_type type;
	const char *key;    /* the decoded key of an object's member, else NULL */
	const char *string; /* the decoded text of a string, else NULL */
	double number;	    /* the value of a number; 1 for true */
	const char *source; /* the value's source, borrowed from the text that was
			     * parsed */
	size_t len;	    /* length of the source */
	const struct json *next, *child;
};

/* --- from text to tree ----------------------------------------------------------
 *
 * The scanner has checked the text and counted its values, so the text is valid here,
 * and one allocation has room for everything: first the values, of which the first is
 * the outermost, then the decoded strings, none of which is longer than its source
 * with the quotes. */

struct build {
	const char *text;
	size_t at, len;
	struct json *values;
	size_t count;
	char *chars;
};

static struct json *build_value(struct build *b);

static char peek(const struct build *b)
{
	return b->at < b->len ? b->text[b->at] : '\0';
}

static void skip_blanks(struct build *b)
{
	while (b->at < b->len && json_is_blank(b->text[b->at]))
		b->at++;
}

static const char *build_string(struct build *b)
{
	const char *start = b->chars;

	b->at++;
	b->chars = json_decode_all(b->text, b->len, &b->at, b->chars) + 1;
	return start;
}

/* Builds the items of an array or object, from its opening bracket to its closing one. */
static const struct json *build_items(struct build *b, bool has_keys)
{
	const struct json *first = NULL, **next = &first;

	b->at++;
	for (skip_blanks(b); !memchr("]}", peek(b), 3); skip_blanks(b)) {
		const char *key = has_keys ? build_string(b) : NULL;
		skip_blanks(b);
		b->at += has_keys; /* skip the colon */
		struct json *item = build_value(b);
		item->key = key;
		*next = item;
		next = &item->next;
		skip_blanks(b);
		b->at += peek(b) == ',';
	}
	b->at++;
	return first;
}

/* Builds a number, or true, false or null. */
static double build_word(struct build *b, enum json_type type)
{
	char digits[JSON_NUMBER_MAX]; /* a copy that ends with a NUL, which the number
				       * in the text does not */
	size_t start = b->at;

	b->at += json_word_length(b->text + start, b->len - start);
	if (type != JSON_NUMBER)
		return type == JSON_BOOL && b->text[start] == 't';
	(void)snprintf(digits, sizeof(digits), "%.*s", (int)(b->at - start),
		       b->text + start);
	return json_scan_number(digits);
}

/* Builds a value and the values in it.  The recursion is bounded, since the scanner has
 * refused nesting deeper than JSON_DEPTH_MAX. */
static struct json *build_value(struct build *b)
{
	struct json *value = &b->values[b->count++];

	skip_blanks(b);
	*value =
		(struct json){ .type = json_type_of(peek(b)), .source = b->text + b->at };
	if (value->type == JSON_OBJECT || value->type == JSON_ARRAY)
		value->child = build_items(b, value->type == JSON_OBJECT);
	else if (value->type == JSON_STRING)
		value->string = build_string(b);
	else
		value->number = build_word(b, value->type);
	value->len = (size_t)(b->text + b->at - value->source);
	return value;
}

static int by_key(const void *a, const void *b)
{
	return strcmp((*(const struct json *const *)a)->key,
		      (*(const struct json *const *)b)->key);
}

/* Refuses equal keys in an object.  The keys are sorted first, which makes equal ones
 * neighbours: comparing each pair would take quadratic time. */
static int check_keys(const struct json *object, const struct json **room, struct err *e)
{
	size_t n = 0;

	for (const struct json *m = object->child; m; m = m->next)
		room[n++] = m;
	qsort(room, n, sizeof(*room), by_key);
	for (size_t i = 1; i < n; i++)
		if (by_key(&room[i - 1], &room[i]) == 0)
			return err_set(e, ERR_USAGE,
				       "the key '%.64s' stands twice in an object",
				       room[i]->key);
	return 0;
}

static bool has_two_keys(const struct json *value)
{
	return value->type == JSON_OBJECT && value->child && value->child->next;
}

static int check_all_keys(const struct build *b, struct err *e)
{
	AUTO_FREE const struct json **room = NULL;

	for (size_t i = 0; i < b->count; i++) {
		if (!has_two_keys(&b->values[i]))
			continue;
		if (!room)
			room = mem_new(b->count * sizeof(*room));
		if (check_keys(&b->values[i], room, e) < 0)
			return -1;
	}
	return 0;
}

/* Builds the tree of a text that the scanner has accepted. */
static struct json *build_document(const char *text, size_t len, size_t count,
				   struct err *e)
{
	struct json *values = mem_new(count * sizeof(*values) + len);
	struct build b = { .text = text,
			   .len = len,
			   .values = values,
			   .chars = (char *)(values + count) };
	(void)build_value(&b); /* the outermost value is values[0] */
	if (check_all_keys(&b, e) < 0) {
		free(values);
		return NULL;
	}
	return values;
}

struct json *json_parse(const char *text, size_t len, struct err *e)
{
	size_t count;

	return json_scan(text, len, &count, e) < 0 ? NULL
						   : build_document(text, len, count, e);
}

struct json *json_parse_wide(const char *text, size_t len, struct err *e)
{
	size_t count;

	return json_scan_wide(text, len, &count, e) < 0
		       ? NULL
		       : build_document(text, len, count, e);
}

void json_free(struct json *doc)
{
	free(doc);
}

/* --- its values ----------------------------------------------------------------- */

/* Copies at most `most` bytes of the text, without its end.  snprintf(3) takes several
 * times as long, which counts here: each value that is read gets a place. */
static char *put_text(char *to, const char *text, size_t most)
{
	const size_t len = strnlen(text, most);

	memcpy(to, text, len);
	return to + len;
}

static char *put_number(char *to, size_t number)
{
	char digits[20];
	size_t count = 0;

	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	while (count)
		*to++ = digits[--count];
	return to;
}

void json_root(const struct json *doc, const char *name, struct json_at *ret)
{
	*ret = (struct json_at){ .value = doc };
	*put_text(ret->place, name, JSON_PLACE_MAX - 1) = '\0'; /* may be cut */
}

enum json_type json_type(const struct json_at *at)
{
	return at->value ? at->value->type : JSON_NONE;
}

/* Writes the location "OUTER.KEY" for error messages; one that is too long is cut off. */
static void put_key_place(const struct json_at *outer, const char *key,
			  struct json_at *ret)
{
	char *end = put_text(ret->place, outer->place, JSON_PLACE_MAX - 42);

	*end++ = '.';
	*put_text(end, key, 40) = '\0';
}

bool json_member(const struct json_at *at, const char *key, struct json_at *ret)
{
	bool is_object = at->value && at->value->type == JSON_OBJECT;
	const struct json *m = is_object ? at->value->child : NULL;

	*ret = (struct json_at){ 0 };
	while (m && strcmp(m->key, key) != 0)
		m = m->next;
	if (!m || m->type == JSON_NULL)
		return false;
	ret->value = m;
	put_key_place(at, key, ret);
	return true;
}

static bool step(const struct json_at *outer, struct json_at *item)
{
	const bool is_first = !item->value;

	item->index = is_first ? 0 : item->index + 1;
	item->value = is_first ? outer->value->child : item->value->next;
	return item->value;
}

bool json_step(const struct json_at *list, struct json_at *item)
{
	if (json_type(list) != JSON_ARRAY || !step(list, item))
		return false;
	char *end = put_text(item->place, list->place, JSON_PLACE_MAX - 24);
	*end++ = '[';
	end = put_number(end, item->index);
	*end++ = ']';
	*end = '\0';
	return true;
}

bool json_step_key(const struct json_at *object, struct json_at *item, const char **ret)
{
	if (json_type(object) != JSON_OBJECT || !step(object, item))
		return false;
	*ret = item->value->key;
	put_key_place(object, *ret, item);
	return true;
}

int json_expect(const struct json_at *at, enum json_type type, struct err *e)
{
	static const char *const names[] = {
		[JSON_NONE] = "no value",      [JSON_NULL] = "null",
		[JSON_BOOL] = "true or false", [JSON_NUMBER] = "a number",
		[JSON_STRING] = "a string",    [JSON_ARRAY] = "an array",
		[JSON_OBJECT] = "an object",
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
	*ret = at->value->string;
	return 0;
}

int json_number(const struct json_at *at, double *ret, struct err *e)
{
	if (json_expect(at, JSON_NUMBER, e))
		return -1;
	*ret = at->value->number;
	return 0;
}

int json_bool(const struct json_at *at, bool *ret, struct err *e)
{
	if (json_expect(at, JSON_BOOL, e))
		return -1;
	*ret = at->value->number != 0;
	return 0;
}

int json_uint(const struct json_at *at, uint64_t *ret, struct err *e)
{
	double d;

	if (json_number(at, &d, e))
		return -1;
	if (!(d >= 0 && d <= 9007199254740992.0) || d != (double)(uint64_t)d)
		return err_set(e, ERR_USAGE, "%s: not a whole number from 0 to 2^53",
			       at->place);
	*ret = (uint64_t)d;
	return 0;
}

int json_wide(const struct json_at *at, bool *ret_negative, uint64_t *ret, struct err *e)
{
	char digits[JSON_NUMBER_MAX];

	if (json_expect(at, JSON_NUMBER, e))
		return -1;
	(void)snprintf(digits, sizeof(digits), "%.*s", (int)at->value->len,
		       at->value->source);
	if (strpbrk(digits, ".eE"))
		return err_set(e, ERR_USAGE, "%s: not a whole number", at->place);
	*ret_negative = digits[0] == '-';
	*ret = strtoull(digits + *ret_negative, NULL, 10);
	return 0;
}

const char *json_member_string(const struct json_at *at, const char *key,
			       const char *other)
{
	struct json_at member;
	const char *text;

	return json_member(at, key, &member) && json_string(&member, &text, NULL) == 0
		       ? text
		       : other;
}

uint64_t json_member_uint(const struct json_at *at, const char *key, uint64_t other)
{
	struct json_at member;
	uint64_t number;

	return json_member(at, key, &member) && json_uint(&member, &number, NULL) == 0
		       ? number
		       : other;
}

const char *json_source(const struct json_at *at, size_t *ret_len)
{
	*ret_len = at->value->len;
	return at->value->source;
}
