/* serve_confine -- takes away all rights that the front of hutch-serve does not need.
 *
 *	descriptors	all but those that the caller names
 *	capabilities	all, and it sets no_new_privs; no process may trace it
 *	Landlock	no file, no TCP connection; no signal to other processes, where the
 *			kernel's ABI has that
 *	seccomp		the calls in policy/seccomp/serve.json: no socket is made, no file is
 *			opened, nothing is executed
 *
 * A call that is not in the list fails with ENOSYS. */
#pragma once
#include <stddef.h>

struct err;

int serve_confine(const int *keep, size_t count, struct err *e);
