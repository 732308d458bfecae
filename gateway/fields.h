/* fields -- members of a request's JSON that several protocols have. */
#pragma once
#include <stddef.h>

struct err;
struct json_at;
struct list;

/* Adds the texts of the array `key`, if it is there.  More than `max` are ERR_LIMIT. */
int fields_words(const struct json_at *root, const char *key, size_t max, struct list *to,
		 struct err *e);

/* Adds the members of the object `key`, if it is there, as variables: "NAME=VALUE". */
int fields_variables(const struct json_at *root, const char *key, size_t max, struct list *to,
		     struct err *e);
