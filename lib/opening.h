/* opening -- how a handle comes to be open (handle.h has the stages). */
#pragma once
#include <stdbool.h>

struct hutch;
struct hutch_error;

/* Begins; with a handle that nobody else has yet. */
int opening_create(struct hutch *h, const char *verb, const char *const *args,
		   struct hutch_error *e);
int opening_find(struct hutch *h, struct hutch_error *e);
/* From the pool that it is called after until then. */
int opening_take(struct hutch *h, struct hutch_error *e);
/* The same over that connection to its keeper, which is taken over if it is asked there;
 * -1: none. */
int opening_ask(struct hutch *h, int *keeper, struct hutch_error *e);

/* With the lock: goes on when what is waited for has come.  True: something has. */
bool opening_step(struct hutch *h);

/* The other end is greeted now, and has until the timer's end to answer. */
void opening_start_timer(struct hutch *h);
/* After all was read that came: that end is the handle's. */
void opening_expire(struct hutch *h);
