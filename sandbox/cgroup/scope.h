/* scope -- asks the systemd user manager for a cgroup.
 *
 * The manager makes a transient scope with this process in it and gives it to
 * us (Delegate=yes).  A program of its own, hutch-scope, talks to the bus,
 * since hutch links no library for it; it is run only when a limit was asked
 * for and this process does not live in a delegated cgroup already. */
#pragma once
#include <stdbool.h>

struct err;

/* Whether a user manager can be asked: the socket of a user bus is this user's,
 * and answers. */
bool scope_has_bus(void);

/* Returns once this process lives in its scope. */
int scope_enter(struct err *e);
