/* template_call -- the functions of templates, and how values are printed.
 *
 * A value is a piece of JSON.  Texts that a function makes are kept in a list of the
 * caller's, since the values borrow them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "cli/common/json_view.h"

struct buffer;
struct err;

#define TEMPLATE_ARGS_MAX 8

struct template_args {
	struct json_view items[TEMPLATE_ARGS_MAX];
	size_t count;
	struct list *made; /* borrowed: owns the texts of new values */
};

/* Whether a name of `len` bytes is that of a function. */
bool template_call_has(const char *name, size_t len);

int template_call(const char *name, size_t len, struct template_args *args,
		  struct json_view *ret, struct err *e);

/* Makes a value of a text, as a JSON string. */
struct json_view template_call_text(struct list *made, const char *text);

/* Returns a member, whose name may have dots in it; no value if there is none. */
struct json_view template_call_member(struct json_view object, const char *name);

/* Whether Go's `if` takes the value for true. */
bool template_call_holds(struct json_view value);

/* Appends a value as Go prints it. */
void template_call_print(struct buffer *out, struct json_view value);
