/* scope -- asks the systemd user manager for a cgroup.
 *
 * The manager makes a transient scope with this process in it and delegates it to
 * this user (Delegate=yes).  A program of its own, hutch-scope, talks to D-Bus,
 * since hutch itself links no D-Bus library; hutch-scope is run only when a limit was
 * asked for and this process does not live in a delegated cgroup already. */
#pragma once
#include <stdbool.h>

struct err;

/* Tells whether a user manager can be asked: the socket of the user's D-Bus exists,
 * belongs to this user, and accepts connections. */
bool scope_has_bus(void);

/* Asks the user manager for a scope, and returns once this process lives in it. */
int scope_enter(struct err *e);
