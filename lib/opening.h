/* opening -- the steps by which a handle is opened (handle.h has the stages). */
#pragma once
#include <stdbool.h>

struct hutch;
struct hutch_error;

/* Begins to open a new handle, which no other thread has yet. */
int opening_create(struct hutch *h, const char *verb, const char *const *args,
		   struct hutch_error *e);
int opening_find(struct hutch *h, struct hutch_error *e);
/* Begins to take a sandbox from the pool that the handle is named after. */
int opening_take(struct hutch *h, struct hutch_error *e);
/* The same, by asking the keeper over the connection *keeper, which is taken over if
 * it can be used; -1: there is none. */
int opening_ask(struct hutch *h, int *pool, struct hutch_error *e);

/* With the lock.  Takes the next step if its condition has come.  True: a step was
 * taken. */
bool opening_step(struct hutch *h);

/* Starts the timer when the hello is sent: the other end has until then to answer. */
void opening_start_timer(struct hutch *h);
/* Called after all bytes that came were read: a timer that has expired ends the
 * handle. */
void opening_expire(struct hutch *h);
