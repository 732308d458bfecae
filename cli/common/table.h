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
void table_print(const struct table *t, FILE *to);
void table_done(struct table *t);

/* Returns a size for people, such as "12.3MiB"; allocated, like the result of
 * table_age(). */
char *table_bytes(uint64_t bytes);
/* Returns how long ago `time`, such as 2026-01-01T12:00:00Z, was at `now` (seconds
 * since 1970), in docker's words: "3 minutes ago".  NULL if `time` is no time. */
char *table_age(const char *time, int64_t now);
