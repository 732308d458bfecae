/* registry_end -- removes a sandbox's folder, for the supervisor, the janitor and
 * clients.  Used by registry*.c and pools.c only. */
#pragma once
#include <stdbool.h>

#include "sandbox/state/registry.h"

struct err;

/* Makes the name free, and returns 0 when no sandbox has it any more.  ERR_EXISTS:
 * the supervisor of a sandbox with that name lives.  The folder of a dead sandbox is
 * moved to .ended.  While another process is doing that, the call waits or, without
 * `may_wait`, fails with ERR_EXISTS. */
int registry_settle(int state, const char *name, bool may_wait, struct err *e);

/* Removes the folder `name` of `parent`.  The folder is first moved out of
 * sight, so that the name is free at once and no process sees the folder half
 * empty. */
void registry_discard(int state, int parent, const char *name, const char *id);

/* Returns whether the lock file holds the record, a JSON object; before, it holds an empty
 * line. */
bool registry_has_record(int lock);

/* Sets the error for a name that no sandbox has, and returns -1. */
int registry_absent(const char *name, struct err *e);
