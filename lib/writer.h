/* writer -- sends requests to the supervisor, and keeps those that wait for room. */
#pragma once
#include <stddef.h>

struct hutch;
struct hutch_error;

/* The parts of a request. */
struct request {
	const char *method;
	const char *params; /* one line */
	const int *fds;	    /* they stay the caller's */
	size_t fd_count;
};

/* Puts a request into the queue, as call number `id`. */
int writer_add(struct hutch *h, long long id, const struct request *r,
	       struct hutch_error *e);

/* Puts the hello in front of all requests. */
int writer_greet(struct hutch *h, struct hutch_error *e);

/* Sends as much as there is room for.  If the other side has closed the connection,
 * reading will show it. */
void writer_flush(struct hutch *h);

void writer_done(struct hutch *h);
