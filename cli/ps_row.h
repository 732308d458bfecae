/* ps_row -- the lines that hutch ps prints: columns for people, JSON, or a format. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "cli/common/json_view.h"

struct err;
struct registry_item;
struct sample;

struct ps_options {
	bool has_all, is_json, is_quiet, is_whole;
	const char *format;  /* borrowed; NULL: columns */
	struct list filters; /* owned; KEY=VALUE each */
};

/* One sandbox. */
struct row {
	const struct registry_item *item;
	struct json_view info, record; /* the contents of the sandbox's files; no
					* value: the file does not exist */
	const struct sample *used;     /* NULL: the sandbox has ended, or
					* the list has names alone */
	bool is_kept;		       /* the sandbox can be started again */
	int64_t changes; /* bytes of kept changes; -1: none, or not counted */
};

/* Checks --format and --filter. */
int ps_check(const struct ps_options *o, struct err *e);

/* Returns whether the sandbox has what each filter asks for; of several filters with the
 * same key, one must fit, but of labels all. */
bool ps_row_fits(const struct row *r, const struct list *filters);

/* Prints the rows as the options say.  `now` is in seconds since 1970. */
void ps_print(const struct row *rows, size_t count, const struct ps_options *o,
	      int64_t now);
