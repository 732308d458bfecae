/* diagnose -- finds what on this host forbids a sandbox, and what would change
 * it.
 *
 * EPERM from clone, from an id map or from a mount has half a dozen causes that
 * the kernel does not tell apart.  These functions look for the cause, by
 * trying where that is possible, and put it into words with the exact command. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;

/* Makes each of these namespaces (CLONE_NEW*) on its own, in a child that ends
 * at once.  0: each can be made; -1: *e says why the first cannot.  SIGCHLD
 * must not be ignored. */
int diagnose_try(uint64_t namespaces, struct err *e);

/* Whether this process is under a seccomp filter, as in a container. */
bool diagnose_is_filtered(void);

/* Explains errno, which clone3 set, for these CLONE_NEW* flags.  Returns -1. */
int diagnose_clone(uint64_t namespaces, struct err *e);

/* A stage in the child failed: adds a cause and a remedy if the host is known
 * to forbid such steps, unless there is a remedy already. */
void diagnose_setup(struct err *e);

/* Whether the error comes from a lack of user namespaces, or of rights in them;
 * tried as diagnose_try() does. */
bool diagnose_lacks_user(const struct err *e);
