/* apart -- work beside the caller's: in a child that ends with it.
 *
 *	apart_start		the work begins, with copies of all that is there
 *	apart_finish		what came of it */
#pragma once
#include <stddef.h>
#include <sys/types.h>

struct err;

#define APART_RESULT_MAX 1024

/* The zero object is none. */
struct apart {
	pid_t pid;
	int from; /* owned */
};

/* `work` puts what it has to say into `result`, of APART_RESULT_MAX bytes. */
int apart_start(int (*work)(void *arg, void *result, struct err *e), void *arg,
		struct apart *ret, struct err *e);

/* Waits.  0, and the first `len` bytes of what it said; or -1 and its error. */
int apart_finish(struct apart *a, void *ret_result, size_t len, struct err *e);
