/* change_line -- one change of a folder that was shown copy-on-write, as a line of text,
 * and the parts of that line. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct meeting;

/* Returns "file", "folder", "link", "fifo" or "other": the type inside, or that on the
 * host if the path is gone inside. */
const char *change_line_type(const struct meeting *m);

/* Returns the path inside, allocated; `target` is the folder's. */
char *change_line_path(const char *target, const struct meeting *m);

/* Gets the size of a changed file; for a removed file, the size that it has on the
 * host.  Returns false for other types. */
bool change_line_size(const struct meeting *m, uint64_t *ret);

/* Prints kind, size and path, made safe for a terminal. */
void change_line_print(const char *target, const struct meeting *m, FILE *to);
