/* json -- the reader of JSON, which is strict.
 *
 * The text is scanned before it is parsed.  Everything but exactly one RFC 8259 value
 * is refused, with line and column: bytes after it, comments, control characters,
 * invalid UTF-8, lone surrogates, \u0000, an integer that a double can't hold (beyond
 * 2^53), a number out of range, nesting deeper than 64, more than 262,144 values.
 * Two equal keys in an object are refused too.
 *
 * A value is read through a struct json_at, which knows the value's place, so that
 * every error can name it ("profile.syscalls[3].names: an array was expected"):
 *
 *	AUTO_JSON struct json *doc = json_parse(text, len, e);
 *	struct json_at root, names, name = { 0 };
 *
 *	json_root(doc, "profile", &root);
 *	if (json_member(&root, "names", &names))
 *		while (json_step(&names, &name))
 *			...
 *
 * All values and strings belong to the document and live as long as it does.  The
 * document is one allocation, and does not need its source text any more. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/json/json_scan.h"

struct err;
struct json;

#define JSON_DEPTH_MAX	64
#define JSON_VALUES_MAX 262144
#define JSON_PLACE_MAX	128

/* A value, and its location in the document for error messages.  The zero object stands
 * for "no value". */
struct json_at {
	const struct json *value;
	size_t index; /* the index of the value in its array */
	char place[JSON_PLACE_MAX];
};

#define AUTO_JSON __attribute__((cleanup(json_own)))

/* Scans and parses `len` bytes.  NULL, and `e` filled in, if they are refused. */
struct json *json_parse(const char *text, size_t len, struct err *e);

/* Like json_parse(), but accepts any integer that fits into 64 bits, as documents of Go
 * programs have them; json_wide() gives its value. */
struct json *json_parse_wide(const char *text, size_t len, struct err *e);

/* Frees a document.  NULL is allowed. */
void json_free(struct json *doc);

/* Frees a document for AUTO_JSON, when its variable goes out of scope. */
static inline void json_own(struct json **doc)
{
	json_free(*doc);
}

/* Gives the document's outermost value, which errors call `name`. */
void json_root(const struct json *doc, const char *name, struct json_at *ret);

enum json_type json_type(const struct json_at *at);

/* Finds a member of an object.  Returns false, and "no value" in *ret, if the member is
 * absent or null, or `at` is no object.  Keys are compared exactly. */
bool json_member(const struct json_at *at, const char *key, struct json_at *ret);

/* Moves `item` to the next element of an array; to the first one if `item` is "no
 * value".  Returns false at the end. */
bool json_step(const struct json_at *list, struct json_at *item);

/* Like json_step(), for the members of an object; also gives the key of each member. */
bool json_step_key(const struct json_at *object, struct json_at *item, const char **ret);

/* Checks that a value has the type: 0, or an error that names the value's location. */
int json_expect(const struct json_at *at, enum json_type type, struct err *e);

/* Checks an object's keys.  Returns 0, or an error if the value is no object or has a
 * key that is not in `keys`, a list ended by NULL. */
int json_only(const struct json_at *at, const char *const *keys, struct err *e);

/* Gives the text of a string; it contains no NUL. */
int json_string(const struct json_at *at, const char **ret, struct err *e);

/* Gives a number of any kind. */
int json_number(const struct json_at *at, double *ret, struct err *e);

int json_bool(const struct json_at *at, bool *ret, struct err *e);

/* Gives a whole number from 0 to 2^53. */
int json_uint(const struct json_at *at, uint64_t *ret, struct err *e);

/* Gives the sign and the amount of a whole number of 64 bits.  The text that was parsed
 * must still exist. */
int json_wide(const struct json_at *at, bool *ret_negative, uint64_t *ret, struct err *e);

/* Give the text of a member, or its whole number; `other` if it is absent or null, or of
 * another type. */
const char *json_member_string(const struct json_at *at, const char *key,
			       const char *other);
uint64_t json_member_uint(const struct json_at *at, const char *key, uint64_t other);

/* Returns the source text of the value, in the text that was parsed, which must still
 * exist. */
const char *json_source(const struct json_at *at, size_t *ret_len);
