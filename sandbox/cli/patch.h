/* patch -- one change as `diff -u` and `git diff` write it. */
#pragma once
#include <stdio.h>

struct err;
struct meeting;
struct tell;

/* Prints the change of a file or link; what has a 0 in it or is larger than 1 MiB is only
 * said to be other, and of everything else is only said what became of it.  On a terminal
 * control characters are made visible.  A file that is the same is passed over. */
int patch_print(struct tell *t, const struct meeting *m, FILE *to, struct err *e);
