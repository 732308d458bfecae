/* apart -- runs a function in a child process that dies with its parent.
 *
 *	apart_start		forks; the child has copies of the caller's memory
 *	apart_finish		waits for the child and returns its result */
#pragma once
#include <stddef.h>
#include <sys/types.h>

struct err;

#define APART_RESULT_MAX 1024

/* The zero object has no child; apart_finish() must not be called with it. */
struct apart {
	pid_t pid;
	int from; /* owned */
};

/* `work` runs in the child and writes its result, at most APART_RESULT_MAX
 * bytes, into `result`. */
int apart_start(int (*work)(void *arg, void *result, struct err *e), void *arg,
		struct apart *ret, struct err *e);

/* Waits for the child.  Returns 0 and the first `len` bytes of its result, or
 * -1 and its error. */
int apart_finish(struct apart *a, void *ret_result, size_t len, struct err *e);
