/* profile_fit -- decides whether a part of a profile applies to a machine.
 *
 * This module reads a profile's conditions on architectures, kernels, capabilities and
 * loading flags; the module profile reads the rules.  Errors give the location in the
 * file. */
#pragma once
#include <stdbool.h>

struct err;
struct json_at;
struct profile_host;

/* Tells in *ret whether the block's `includes` and `excludes` (Docker) match `host`.
 * As in Docker, all conditions of `includes` must hold and none of `excludes`.  A block
 * with a condition on the kernel is an error if the kernel is unknown. */
int profile_fit(const struct json_at *block, const struct profile_host *host,
		bool *ret, struct err *e);

/* Checks that the names in `architectures` and `archMap` are known.  These keys have no
 * effect, since the floor refuses calls of another ABI first. */
int profile_check_archs(const struct json_at *root, struct err *e);

/* Checks `flags`, `listenerPath` and `listenerMetadata`.  Two flags are accepted and
 * ignored: SECCOMP_FILTER_FLAG_TSYNC has no effect on a process with one thread, and
 * SECCOMP_FILTER_FLAG_SPEC_ALLOW would only weaken the filter.  Any other flag is an
 * error. */
int profile_check_flags(const struct json_at *root, struct err *e);

/* Parses a version such as "4.8" to { 4, 8 }.  Returns false if the text is not digits,
 * a point, and digits. */
bool profile_kernel(const char *text, unsigned ret[2]);
