/* egress_confine -- takes away all rights that hutch-egress does not need in its loop.
 *
 *	descriptors	all but those that the caller names
 *	capabilities	all, and it sets no_new_privs; no process may trace it, nor read
 *			its memory (PR_SET_DUMPABLE)
 *	limits		RLIMIT_NOFILE, RLIMIT_AS, no core, no other process
 *	Landlock	no file at all; no signal and no abstract socket of other processes,
 *			where the kernel's ABI has that; TCP stays
 *	seccomp		the calls in policy/seccomp/egress.json: sockets of TCP and UDP over
 *			IP, and no others; no file is opened, nothing is executed
 *
 * Without Landlock the filter alone refuses files.  A call that is not in the list fails
 * with ENOSYS. */
#pragma once
#include <stddef.h>

struct err;

#define EGRESS_CONFINE_MEMORY	(256ull << 20) /* RLIMIT_AS */

/* Sets the limits; called before upstream_init(), which counts descriptors. */
int egress_confine_limits(struct err *e);

/* Confines the process; `keep` are descriptors beside 0, 1 and 2.  After a failure the
 * process may be confined only in part, and must end. */
int egress_confine_enter(const int *keep, size_t count, struct err *e);
