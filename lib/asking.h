/* asking -- a sandbox from a pool, straight from its keeper (docs/control.md, "Pools").
 *
 * As with way.h: an ordinary user's own pool, whose keeper lives and listens.  Everything
 * else is left to `hutch pool take`, which can say why there is none. */
#pragma once
#include <stdbool.h>

struct hutch;
struct hutch_error;

/* Asks the keeper of the pool that the handle is called after: the connection to it, -1 if
 * there is none, is h->socket then.  1: it was asked; 0: not this way; -1: an error. */
int asking_begin(struct hutch *h, int *keeper, struct hutch_error *e);

/* With what came.  0: nothing, or not all of it yet, and *ret_went_on says which.  1: the
 * handle has the name of the sandbox that was handed out, and h->socket leads to that,
 * which nobody has greeted; it is watched for nothing yet.  -1: with an error. */
int asking_step(struct hutch *h, bool *ret_went_on, struct hutch_error *e);
