/* log -- where errors of hutch-oci go: to stderr, and to the file of --log, as lines of
 * text or JSON that engines read. */
#pragma once
#include <stdbool.h>

struct err;

/* Remembers the file in the environment of this process, which the processes that it
 * forks share; NULL: none. */
int log_open(const char *path, bool is_json, struct err *e);
void log_error(const struct err *e);
void log_warning(const struct err *e);
