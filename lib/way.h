/* way -- from a sandbox's name to its control socket, or a pool's to its keeper's.
 *
 * Straight there where that is simple: an ordinary user's own sandbox, which lives and
 * answers.  Everything else is left to `hutch connect` and `hutch pool take`, which know
 * whose root's sandboxes are, tidy up after those that died, and can say what became of
 * one that is not there. */
#pragma once

/* A connection, which is the caller's, not blocking and not greeted; -1: not this way. */
int way_straight(const char *name);
int way_to_pool(const char *name);
