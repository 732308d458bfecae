/* profile_fit -- decides whether a part of a profile applies to a machine.
 *
 * It reads a profile's conditions on architectures, kernels, capabilities and loading
 * flags; profile reads the rules themselves.  All errors name the place. */
#pragma once
#include <stdbool.h>

struct err;
struct json_at;
struct profile_host;

/* Tells in *ret whether the block's `includes` and `excludes` (Docker) fit `host`.  As
 * in Docker, all conditions in `includes` must hold, and a single one that holds in
 * `excludes` leaves the block out.  If the kernel is unknown (0.0), a block with a
 * condition on it is an error. */
int profile_fit(const struct json_at *block, const struct profile_host *host,
		bool *ret, struct err *e);

/* Checks that the names in `architectures` and `archMap` are known.  They have no
 * effect: calls of a foreign ABI never reach the profile. */
int profile_check_archs(const struct json_at *root, struct err *e);

/* Checks `flags`, `listenerPath` and `listenerMetadata`.  SECCOMP_FILTER_FLAG_TSYNC
 * has no effect on a process of one thread, and SECCOMP_FILTER_FLAG_SPEC_ALLOW would
 * only weaken the filter: both are accepted and ignored.  A flag whose absence would
 * matter is refused. */
int profile_check_flags(const struct json_at *root, struct err *e);

/* Parses "4.8" to { 4, 8 }.  False if the text is anything but digits, a point, and
 * digits. */
bool profile_kernel(const char *text, unsigned ret[2]);
