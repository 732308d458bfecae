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

/* Tries to make these namespaces (CLONE_NEW*) one by one, each in a child that ends at
 * once.  Returns 0 if each can be made; on -1, *e says why the first of them cannot.
 * SIGCHLD must not be ignored, since the child is waited for. */
int diagnose_try(uint64_t namespaces, struct err *e);

/* The oldest kernel that hutch is made for: RHEL 9's. */
#define DIAGNOSE_OLDEST_KERNEL "5.14"

/* Compares the version of the kernel with that one, and writes its release to `ret`, which
 * is empty if the kernel does not tell it.  Returns whether the kernel is older. */
struct utsname;
bool diagnose_is_old_kernel(struct utsname *ret);

/* Tells whether this process is under a seccomp filter, as in a container. */
bool diagnose_is_filtered(void);

/* Explains why clone3 failed with errno for these CLONE_NEW* flags.  Returns -1,
 * with *e set. */
int diagnose_clone(uint64_t namespaces, struct err *e);

/* Explains the failure of a stage in the child: adds a cause and a remedy to *e if
 * the host is known to forbid such steps, unless *e has a remedy already. */
void diagnose_setup(struct err *e);

/* Tells whether the error comes from a lack of user namespaces, or of rights in
 * them.  Tries to make one, as diagnose_try() does. */
bool diagnose_lacks_user(const struct err *e);
