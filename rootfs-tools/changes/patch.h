/* patch -- prints one change in the form of `diff -u` and `git diff`. */
#pragma once
#include <stdio.h>

struct err;
struct meeting;

/* Prints the change of a file or link.  For a binary file, or one larger than 1 MiB,
 * only a line says that the files differ; for other types, only the kind of change.  On
 * a terminal, control characters are escaped.  A file that has not changed is
 * skipped. */
int patch_print(const struct meeting *m, FILE *to, struct err *e);
