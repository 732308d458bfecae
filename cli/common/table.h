/* table -- prints columns for people.  A column is as wide as its widest cell, in
 * characters; cells wider than a limit do not widen it. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/list.h"

#define TABLE_COLUMNS_MAX 10

struct table {
	size_t columns;
	struct list cells; /* owned: the cells, row after row; the first row is the
			    * heading */
};

/* Adds a cell, made safe for a terminal; takes `text` over.  NULL, an unknown value,
 * is printed as "-". */
void table_add(struct table *t, char *text);
/* Makes a table with heads fit into lines of `width` characters; 0: does nothing.  Columns
 * are left out in the order of `spare`, heads that end with NULL, until the column with
 * the head `cut` has room, and its cells lose their front then, where "..." stands. */
void table_fit(struct table *t, size_t width, const char *const *spare, const char *cut);
void table_print(const struct table *t, FILE *to);
void table_done(struct table *t);

/* Returns the width of the terminal on stdout; 0: there is none, or it does not say. */
size_t table_screen(void);
/* Returns a path in which the user's home is written "~", allocated; NULL for NULL. */
char *table_path(const char *path);

/* Returns a size for people, such as "12.3MiB"; allocated, like the result of
 * table_age(). */
char *table_bytes(uint64_t bytes);
/* Returns how long ago `time`, such as 2026-01-01T12:00:00Z, was at `now` (seconds
 * since 1970), in docker's words: "3 minutes ago".  NULL if `time` is no time. */
char *table_age(const char *time, int64_t now);
