/* json_view -- reads one line of JSON, as the control socket writes it, without a
 * library.
 *
 * json_view_scan() refuses what the strict reader of policy/json/json.h refuses.  After that
 * a value is a piece of the line: nothing is built, nothing is allocated but strings
 * that are asked for, and looking for a member walks the text, without recursion.
 *
 *	struct json_view line, name;
 *
 *	if (json_view_scan(&line, text, len, e) < 0)
 *		return -1;
 *	if (json_view_integer(json_view_get(line, "result.exit_code"), &code))
 *		...
 *
 * A value is valid as long as the line is.  Where a value is missing, or of
 * another type, functions return false, NULL or JSON_NONE and leave *ret_... alone.
 * All of them accept the zero object, which stands for no value. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/json/json_scan.h"

struct err;

struct json_view {
	const char *text; /* borrowed: the value's place in the line; NULL: no value */
	size_t len;	  /* the length of the value, without blanks at either end */
};

/* Checks a whole line, and gives it as a value.  The other functions rely on this
 * check for the form of the text. */
int json_view_scan(struct json_view *ret, const char *line, size_t len, struct err *e);

enum json_type json_view_type(struct json_view value);

/* Returns a member by its path, such as "error.data.kind".  Returns no value if
 * there is no such member, or if a key on the path occurs twice, since readers do
 * not agree on which of two equal keys counts. */
struct json_view json_view_get(struct json_view object, const char *path);

/* Gets several members of an object in one walk: fills in their values, as
 * json_view_get() returns them.  The keys differ. */
struct json_view_member {
	const char *key; /* borrowed */
	struct json_view value;
	bool is_twice; /* the key occurs more than once, so there is no value */
};
void json_view_members(struct json_view object, struct json_view_member *members,
		       size_t count);

bool json_view_bool(struct json_view value, bool *ret);
bool json_view_number(struct json_view value, double *ret);
/* Gets an integer.  Returns false for a number with fraction or exponent; integers
 * that json_view_scan() accepts are exact. */
bool json_view_integer(struct json_view value, int64_t *ret);

/* Returns true if the value is exactly the string `text`. */
bool json_view_is(struct json_view value, const char *text);
/* Returns a string, allocated; NULL if the value is no string.  The text holds no 0
 * byte. */
char *json_view_string(struct json_view value);
/* Returns the bytes of a base64 string (RFC 4648, with its padding), allocated; NULL
 * if the value is no such string. */
uint8_t *json_view_base64(struct json_view value, size_t *ret_len);

/* Steps through the members of an array or object; begin with a zeroed place. */
struct json_view_place {
	struct json_view key; /* the member's key, a string; no value in an array */
	struct json_view value;
	size_t next; /* the offset in the container where the next step begins */
};
bool json_view_step(struct json_view container, struct json_view_place *place);
