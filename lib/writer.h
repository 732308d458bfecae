/* writer -- sends requests to the supervisor, and keeps requests while the socket is
 * full. */
#pragma once
#include <stddef.h>

struct hutch;
struct hutch_error;

/* A request: its method, its params, and the descriptors that go with it. */
struct request {
	const char *method;
	const char *params; /* a JSON object on one line */
	const int *fds;	    /* descriptors that stay the caller's */
	size_t fd_count;
};

/* Puts a request into the queue, as call number `id`. */
int writer_add(struct hutch *h, long long id, const struct request *r,
	       struct hutch_error *e);

/* Puts the hello in front of all requests. */
int writer_greet(struct hutch *h, struct hutch_error *e);

/* Sends as many bytes of the requests as there is room for.  A connection that the
 * other side has closed is no error here; the next read reports it. */
void writer_flush(struct hutch *h);

void writer_done(struct hutch *h);
