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
