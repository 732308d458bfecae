/* beside -- does work at the same time as the rest of a launch.
 *
 * A helper process does it, on another core.  It shares the table of
 * descriptors with its maker, so a file that it opens is open in both, and
 * nothing else: its memory is a copy. */
#pragma once
#include <sys/types.h>

struct err;

struct beside {
	pid_t helper;	/* 0: none */
	int answer[2];	/* owned: a pipe for the struct err of failed work */
};

void beside_init(struct beside *b);

/* Starts `work` in a helper. */
int beside_begin(struct beside *b, int (*work)(const void *arg, struct err *e),
		 const void *arg, struct err *e);

/* Waits for the helper to end.  Its failure becomes this call's failure. */
int beside_end(struct beside *b, struct err *e);
