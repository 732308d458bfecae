/* landlock -- keeps abstract unix sockets of a shared network out of reach. */
#pragma once

struct err;

/* The first ABI with scopes (kernel 6.12, landlock(7)). */
#define LANDLOCK_ABI_SCOPES 6

/* The kernel's Landlock ABI, 0 where there is none. */
int landlock_abi(void);

/* Confines this process and its children to abstract sockets, and signals, of
 * their own.  Needs no_new_privs and ABI 6. */
int landlock_scope(struct err *e);

/* Confines this process as far as the kernel's ABI goes, to see that it does: for
 * one that is about to end.  The errno of a failure is the kernel's: ENOSYS without
 * Landlock, EOPNOTSUPP where it was not enabled at boot.  Needs no_new_privs. */
int landlock_try(struct err *e);
