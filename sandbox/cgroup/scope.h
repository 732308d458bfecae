/* scope -- asks the systemd user manager for a cgroup.
 *
 * The manager makes a transient scope with this process in it and delegates it to
 * this user (Delegate=yes).  A program of its own, hutch-scope, talks to the bus,
 * since hutch links no library for the bus; hutch-scope is run only when a limit was
 * asked for and this process does not live in a delegated cgroup already. */
#pragma once
#include <stdbool.h>

struct err;

/* Tells whether a user manager can be asked: the socket of a user bus is there,
 * belongs to this user, and answers. */
bool scope_has_bus(void);

/* Asks for a scope, and returns once this process lives in it. */
int scope_enter(struct err *e);
