/* inside -- the words of hutch that run a command in an instance. */
#pragma once

#include "cli/common/json_view.h"

struct action;
struct err;
struct launch;
struct list;

int inside_words(const struct launch *l, struct action *a, struct list *ret,
		 struct err *e);

/* Asks hutch about an instance.  Returns the text that *ret is a part of, allocated; NULL
 * with Apptainer's words about one that is not there (ERR_NOT_FOUND). */
char *inside_find(const char *name, struct json_view *ret, struct err *e);

/* Returns the image of an instance, as its caller named it, allocated; NULL: the sandbox
 * is none. */
char *inside_image(struct json_view info);
