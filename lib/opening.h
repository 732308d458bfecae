/* opening -- the steps by which a handle is opened (handle.h has the stages). */
#pragma once
#include <stdbool.h>

struct hutch;
struct hutch_error;

/* Begins to open a new handle by running `hutch VERB ARGS`; no other thread has the
 * handle yet. */
int opening_create(struct hutch *h, const char *verb, const char *const *args,
		   struct hutch_error *e);
int opening_find(struct hutch *h, struct hutch_error *e);
/* Begins to take a sandbox from the pool whose name is in the handle. */
int opening_take(struct hutch *h, struct hutch_error *e);
/* Begins to take a sandbox as opening_take() does, by asking the keeper over the
 * connection *keeper, which is taken over if it can be used; -1: there is no
 * connection. */
int opening_ask(struct hutch *h, int *pool, struct hutch_error *e);

/* Called with the handle's lock.  Takes the next step of the opening if the event
 * that it waits for has happened; returns true if a step was taken. */
bool opening_step(struct hutch *h);

/* Starts the timer when the hello is sent: the other end must answer before the
 * timer ends. */
void opening_start_timer(struct hutch *h);
/* Called after all bytes that came were read: ends the handle if the timer has
 * expired. */
void opening_expire(struct hutch *h);
