/* pool_take -- gets a sandbox from a pool, directly from its keeper (docs/control.md,
 * "Pools").
 *
 * As in connect.h, this works for an ordinary user's own pool whose keeper lives and listens.
 * Every other case is left to `hutch pool take`, which can explain a failure. */
#pragma once
#include <stdbool.h>

struct hutch;
struct hutch_error;

/* Asks the keeper of the handle's pool for a sandbox, over the connection *keeper
 * (-1: there is none), which becomes h->socket.  Returns 1 if the request was sent;
 * 0 if it cannot be sent this way; -1 with an error. */
int pool_take_begin(struct hutch *h, int *pool, struct hutch_error *e);

/* Handles the bytes that have come from the keeper.  Returns 0 if the answer is not
 * complete; *ret_went_on is set to true if any bytes came.  Returns 1 when the handle
 * has the name of the sandbox that was handed out, and h->socket is the connection to
 * the sandbox, which is not in `io` yet and over which no hello was sent.  Returns -1
 * with an error. */
int pool_take_step(struct hutch *h, bool *ret_went_on, struct hutch_error *e);
