/* outlet -- what goes to the supervisor, and what is waiting to. */
#pragma once
#include <stddef.h>

struct hutch;
struct hutch_error;

/* What a request is made of. */
struct request {
	const char *method;
	const char *params; /* one line */
	const int *fds;	    /* they stay the caller's */
	size_t fd_count;
};

/* Puts it in the queue, as call number `id`. */
int outlet_add(struct hutch *h, long long id, const struct request *r,
	       struct hutch_error *e);

/* ... the hello, in front of all others. */
int outlet_greet(struct hutch *h, struct hutch_error *e);

/* Sends what there is room for.  That the other side has closed shows when it is read
 * from. */
void outlet_flush(struct hutch *h);

void outlet_done(struct hutch *h);
