/* table -- columns for people: as wide as what is in them, in characters, but for a cell
 * here and there that is much wider. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/list.h"

#define TABLE_COLUMNS_MAX 10

struct table {
	size_t columns;
	struct list cells; /* one row behind the other; the first is the heading */
};

/* Adds a cell, made safe for a terminal; takes `text` over.  NULL is unknown: "-". */
void table_add(struct table *t, char *text);
void table_print(const struct table *t, FILE *to);
void table_done(struct table *t);

/* "12.3MiB"; allocated, as the next one is. */
char *table_bytes(uint64_t bytes);
/* How long before `now` (seconds since 1970) a time such as 2026-01-01T12:00:00Z was, as docker
 * says it: "3 minutes ago".  NULL for what is none. */
char *table_age(const char *time, int64_t now);
