/* registry_end -- how a sandbox's folder goes, whoever sees to it.  For
 * registry*.c. */
#pragma once
#include <stdbool.h>

#include "sandbox/registry.h"

struct err;

/* Makes the name free: 0 when nobody has it.  ERR_EXISTS while its supervisor lives.
 * What was left over is moved to .ended; what is being tidied up is waited for, or,
 * without `may_wait`, ERR_EXISTS too. */
int registry_settle(int state, const char *name, bool may_wait, struct err *e);

/* Removes the folder `name` of `parent`, which is first moved out of sight, so
 * that the name is free at once and nobody sees it half empty. */
void registry_discard(int state, int parent, const char *name, const char *id);

/* The error of a name that nobody has. */
int registry_absent(const char *name, struct err *e);
