#include "cli/common/json_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "policy/json/json_string.h"

/* Every function that walks stops at the end of the text, whatever it holds:
 * memory safety does not depend on the earlier scan. */

static size_t skip_blanks(struct json_view t, size_t at)
{
	while (at < t.len && json_is_blank(t.text[at]))
		at++;
	return at;
}

/* Returns the position after the closing quote of the string that begins at `at`. */
static size_t skip_string(struct json_view t, size_t at)
{
	for (at++; at < t.len && t.text[at] != '"'; at++)
		at += t.text[at] == '\\'; /* skips the byte that is escaped */
	return at < t.len ? at + 1 : t.len;
}

static size_t skip_container(struct json_view t, size_t at)
{
	size_t depth = 0;

	do {
		char c = t.text[at];
		if (c == '"') {
			at = skip_string(t, at);
			continue;
		}
		depth += c == '{' || c == '[';
		depth -= c == '}' || c == ']';
		at++;
	} while (depth && at < t.len);
	return at;
}

static size_t skip_value(struct json_view t, size_t at)
{
	if (at >= t.len)
		return t.len;
	if (t.text[at] == '"')
		return skip_string(t, at);
	if (t.text[at] == '{' || t.text[at] == '[')
		return skip_container(t, at);
	return at + json_word_length(t.text + at, t.len - at);
}

/* Returns the value that begins at *at, and moves *at behind the value. */
static struct json_view take_value(struct json_view t, size_t *at)
{
	size_t start = skip_blanks(t, *at);

	*at = skip_value(t, start);
	return *at > start ? (struct json_view){ t.text + start, *at - start }
			   : (struct json_view){ 0 };
}

int json_view_scan(struct json_view *ret, const char *line, size_t len, struct err *e)
{
	const struct json_view all = { line, len };
	size_t at = 0, values;

	if (json_scan(line, len, &values, e) < 0)
		return -1;
	*ret = take_value(all, &at);
	return 0;
}

enum json_type json_view_type(struct json_view value)
{
	return value.text && value.len ? json_type_of(value.text[0]) : JSON_NONE;
}

/* --- what a container has -------------------------------------------------- */

bool json_view_step(struct json_view container, struct json_view_place *place)
{
	const enum json_type type = json_view_type(container);

	if (type != JSON_ARRAY && type != JSON_OBJECT)
		return false;
	/* The next member begins after the opening bracket, or after the comma. */
	size_t at = skip_blanks(container, place->next ? place->next : 1);
	if (at >= container.len || container.text[at] == ']' || container.text[at] == '}')
		return false;
	place->key = (struct json_view){ 0 };
	if (type == JSON_OBJECT) {
		place->key = take_value(container, &at);
		at = skip_blanks(container, at) + 1; /* skips the colon behind the key */
	}
	place->value = take_value(container, &at);
	at = skip_blanks(container, at);
	place->next = at < container.len && container.text[at] == ',' ? at + 1 : at;
	return place->value.text != NULL;
}

/* --- strings --------------------------------------------------------------- */

char *json_view_string(struct json_view value)
{
	size_t at = 1;

	if (json_view_type(value) != JSON_STRING)
		return NULL;
	char *text = mem_new(value.len);
	(void)json_decode_all(value.text, value.len, &at, text);
	return text;
}

/* Returns whether the value is the string `want`, of `len` bytes; `want` needs no NUL.
 * A string without an escape is as long as its text, and most have none. */
static bool is_text(struct json_view value, const char *want, size_t len)
{
	size_t at = 1, n;
	char piece[4];

	if (json_view_type(value) != JSON_STRING || value.len < 2)
		return false;
	if (value.len - 2 == len && !memcmp(value.text + 1, want, len) &&
	    !memchr(want, '\\', len))
		return true;
	while ((n = json_decode(value.text, value.len, &at, piece)) > 0) {
		if (n > len || memcmp(piece, want, n) != 0)
			return false;
		want += n;
		len -= n;
	}
	return len == 0;
}

bool json_view_is(struct json_view value, const char *text)
{
	return is_text(value, text, strlen(text));
}

/* --- base64 ---------------------------------------------------------------- */

uint8_t *json_view_base64(struct json_view value, size_t *ret_len)
{
	char *text = json_view_string(value);
	uint8_t *bytes = (uint8_t *)text; /* the base64 is decoded in place, in the
					   * memory of its text */

	if (!text || !base64_decode(text, strlen(text), bytes, ret_len)) {
		free(text);
		return NULL;
	}
	return bytes;
}

/* --- members and plain values ---------------------------------------------- */

static struct json_view member(struct json_view object, const char *key, size_t len)
{
	struct json_view_place place = { 0 };
	struct json_view found = { 0 };

	if (json_view_type(object) != JSON_OBJECT)
		return found;
	while (json_view_step(object, &place)) {
		if (!is_text(place.key, key, len))
			continue;
		if (found.text)
			return (struct json_view){ 0 };
		found = place.value;
	}
	return found;
}

void json_view_members(struct json_view object, struct json_view_member *members,
		       size_t count)
{
	struct json_view_place place = { 0 };

	for (size_t i = 0; i < count; i++)
		members[i].value = (struct json_view){ 0 }, members[i].is_twice = false;
	if (json_view_type(object) != JSON_OBJECT)
		return;
	while (json_view_step(object, &place))
		for (size_t i = 0; i < count; i++) {
			struct json_view_member *m = &members[i];
			if (!json_view_is(place.key, m->key))
				continue;
			m->is_twice = m->is_twice || m->value.text;
			m->value = m->is_twice ? (struct json_view){ 0 } : place.value;
			break;
		}
}

struct json_view json_view_get(struct json_view object, const char *path)
{
	for (;;) {
		size_t len = strcspn(path, ".");
		object = member(object, path, len);
		if (!path[len])
			return object;
		path += len + 1;
	}
}

bool json_view_bool(struct json_view value, bool *ret)
{
	if (json_view_type(value) != JSON_BOOL)
		return false;
	*ret = value.text[0] == 't';
	return true;
}

/* Copies the text of a number, with a NUL behind it for strtod(3) and the like;
 * returns false if the value is no number or too long. */
static bool number_text(struct json_view value, char text[JSON_NUMBER_MAX])
{
	if (json_view_type(value) != JSON_NUMBER || value.len >= JSON_NUMBER_MAX)
		return false;
	memcpy(text, value.text, value.len);
	text[value.len] = '\0';
	return true;
}

bool json_view_number(struct json_view value, double *ret)
{
	char text[JSON_NUMBER_MAX];

	if (!number_text(value, text))
		return false;
	*ret = json_scan_number(text);
	return true;
}

bool json_view_integer(struct json_view value, int64_t *ret)
{
	char text[JSON_NUMBER_MAX];

	if (!number_text(value, text) || strpbrk(text, ".eE"))
		return false;
	*ret = strtoll(text, NULL, 10);
	return true;
}
