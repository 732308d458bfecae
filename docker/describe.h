/* describe -- asks hutch about containers and images. */
#pragma once

#include "cli/common/json_view.h"

struct err;
struct list;

/* Asks hutch about one container.  Returns the text that *ret is a part of, allocated;
 * NULL with an error. */
char *describe_info(const char *word, struct json_view *ret, struct err *e);

/* Asks hutch about an image of the store. */
char *describe_image_info(const char *word, struct json_view *ret, struct err *e);

/* Runs a verb of hutch that prints JSON; whole JSON counts, whatever the exit code is.
 * Returns the text that *ret is, allocated, or NULL. */
char *describe_ask(const struct list *words, struct json_view *ret, struct err *e);

/* Returns docker's object, allocated; NULL with an error.  `has_labels`: with the labels
 * of the container's image, for which hutch has to be asked once more. */
char *describe_container(const char *word, bool has_labels, struct err *e);
char *describe_image(const char *word, struct err *e);

/* Returns a reference for an image that is named by its id, with or without sha256: in
 * front, allocated; NULL: the word is no id of an image. */
char *describe_reference(const char *word);

/* Prints an object, docker's, by a template of --format, or with "json" as it is. */
int describe_by_template(const char *object, const char *format, struct err *e);

/* Prints a line.  On a terminal control characters are shown, since a sandbox may have
 * chosen a part of it. */
void describe_print(const char *text);
