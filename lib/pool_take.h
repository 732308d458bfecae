/* pool_take -- gets a sandbox from a pool, directly from its keeper (docs/control.md,
 * "Pools").
 *
 * As in connect.h, this works for an ordinary user's own pool whose keeper lives and listens.
 * Every other case is left to `hutch pool take`, which can explain a failure. */
#pragma once
#include <stdbool.h>

struct hutch;
struct hutch_error;

/* Asks the keeper of the pool that the handle is named after, over the connection
 * *keeper (-1: there is none), which becomes h->socket.  1: the request was sent; 0:
 * it cannot be sent this way; -1: an error. */
int pool_take_begin(struct hutch *h, int *pool, struct hutch_error *e);

/* Handles the bytes that have come.  0: the answer is not complete; *ret_went_on says
 * whether any bytes came.  1: the handle has the name of the sandbox that was handed
 * out, and h->socket is the connection to it, on which no hello was sent yet; it is
 * not in `io` yet.  -1: an error. */
int pool_take_step(struct hutch *h, bool *ret_went_on, struct hutch_error *e);
