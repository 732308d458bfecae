/* list -- a growing array of owned strings, always NULL-terminated.
 *
 * A zeroed struct is an empty list whose `items` is NULL; after the first list_add,
 * `items` can be handed to execve(2). */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct list {
	char **items; /* owned, and so is each text; NULL: the list is empty */
	size_t count, room;
};

void list_done(struct list *l);

/* Adds a copy of `text`. */
void list_add(struct list *l, const char *text);
void list_addf(struct list *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

bool list_has(const struct list *l, const char *text);
/* Adds the text unless the list has it. */
void list_add_once(struct list *l, const char *text);

/* Returns the items from index `from` on as one text, with `between` between them;
 * allocated. */
char *list_join(const struct list *l, size_t from, const char *between);

/* Sets a variable of an environment: "KEY=..." replaces an earlier "KEY=..." in its
 * place. */
void list_set_env(struct list *l, const char *key_value);
/* Removes every "KEY=...". */
void list_unset_env(struct list *l, const char *key);
/* Returns the value of KEY in a list of "KEY=VALUE", or NULL. */
const char *list_get_env(const struct list *l, const char *key);

/* Copy or format a text like strdup(3) and asprintf(3); they abort when memory is out. */
char *text_copy(const char *text);
char *text_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
