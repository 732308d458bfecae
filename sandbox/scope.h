/* scope -- asks the systemd user manager for a cgroup.
 *
 * The manager makes a transient scope with this process in it and gives it to us
 * (Delegate=yes).  The bus is spoken by a program of its own, hutch-scope, since
 * hutch links no library; it is run only when a limit was asked for and we do
 * not live in a cgroup of ours already. */
#pragma once
#include <stdbool.h>

struct err;

/* Whether there is somebody to ask: the socket of a user bus is ours, and answers. */
bool scope_has_bus(void);

/* Returns when this process lives in its scope. */
int scope_enter(struct err *e);
