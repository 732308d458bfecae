/* connect -- connects to a sandbox's control socket, or to a pool's keeper, by name.
 *
 * The simple case is handled here: an ordinary user's own sandbox or pool, which
 * lives and answers.  Everything else is left to `hutch connect` and `hutch pool
 * take`, which know the sandboxes of root's users, tidy up after sandboxes that died,
 * and can explain why a sandbox is not there. */
#pragma once

/* Connect to a sandbox or to the keeper of a pool.  Return a connection, which is
 * the caller's, non-blocking, and without a hello; -1 if only the program `hutch`
 * can connect. */
int connect_straight(const char *name);
int connect_to_pool(const char *name);
