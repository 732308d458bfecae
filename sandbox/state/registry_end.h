/* registry_end -- removes a sandbox's folder, for the supervisor, the janitor
 * and clients.  For registry*.c. */
#pragma once
#include <stdbool.h>

#include "sandbox/state/registry.h"

struct err;

/* Makes the name free; returns 0 when no sandbox has it.  ERR_EXISTS: its
 * supervisor lives.  A folder that was left over is moved to .ended.  While
 * another process tidies the folder up the call waits or, without `may_wait`,
 * fails with ERR_EXISTS. */
int registry_settle(int state, const char *name, bool may_wait, struct err *e);

/* Removes the folder `name` of `parent`.  The folder is first moved out of
 * sight, so that the name is free at once and no process sees the folder half
 * empty. */
void registry_discard(int state, int parent, const char *name, const char *id);

/* Sets the error for a name that no sandbox has, and returns -1. */
int registry_absent(const char *name, struct err *e);
