/* reply -- one line of JSON, as the control socket writes it, read without a
 * library.
 *
 * reply_scan() refuses what the strict reader of policy/json/json.h refuses.  After that
 * a value is a piece of the line: nothing is built, nothing is allocated but strings
 * that are asked for, and looking for a member walks the text, without recursion.
 *
 *	struct reply line, name;
 *
 *	if (reply_scan(&line, text, len, e) < 0)
 *		return -1;
 *	if (reply_integer(reply_get(line, "result.exit_code"), &code))
 *		...
 *
 * A value is valid as long as the line is.  Where a value is missing, or of
 * another type, functions return false, NULL or REPLY_NONE and leave *ret_... alone.
 * All of them accept the zero object, which stands for no value. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct reply {
	const char *text; /* borrowed; NULL: no value */
	size_t len;	  /* without blanks at either end */
};

enum reply_type {
	REPLY_NONE,
	REPLY_NULL,
	REPLY_BOOL,
	REPLY_NUMBER,
	REPLY_STRING,
	REPLY_ARRAY,
	REPLY_OBJECT
};

/* The whole of a line as a value. */
int reply_scan(struct reply *ret, const char *line, size_t len, struct err *e);

enum reply_type reply_type(struct reply value);

/* A member by its path, such as "error.data.kind".  No value if there is no such member,
 * or if a key on the path occurs twice, since readers do not agree on which of them
 * counts. */
struct reply reply_get(struct reply object, const char *path);

bool reply_bool(struct reply value, bool *ret);
bool reply_number(struct reply value, double *ret);
/* False for a number with fraction or exponent; integers that reply_scan() accepts are
 * exact. */
bool reply_integer(struct reply value, int64_t *ret);

/* True if the value is exactly this string. */
bool reply_is(struct reply value, const char *text);
/* The string, allocated; NULL if the value is none.  It holds no 0 byte. */
char *reply_string(struct reply value);
/* The bytes of a base64 string (RFC 4648, with its padding), allocated; NULL if
 * the value is none. */
uint8_t *reply_base64(struct reply value, size_t *ret_len);

/* Steps through the members of an array or object; begin with a zeroed place. */
struct reply_place {
	struct reply key; /* a string; none in an array */
	struct reply value;
	size_t next; /* the offset in the container where the next step begins */
};
bool reply_step(struct reply container, struct reply_place *place);
