/* create -- the verbs that make a sandbox with a name: create, fork and start.
 *
 * `hutch create` and hutch-supervise call this.  It forks: the child becomes the
 * supervisor, and the caller's process returns when the sandbox is ready.  See
 * docs/hutch-create.md. */
#pragma once
#include "cli/common/options.h"

/* Needs: a program that has just started, with one thread and descriptors 0 to 2 open.
 * `argv` begins after the verb, and is NULL-terminated.  Returns the exit code; errors
 * have been reported. */
int create_verb(enum verb verb, char **argv);
