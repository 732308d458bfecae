/* profile_fit -- for which machine is this part of a profile?
 *
 * What a profile says of architectures, kernels, capabilities and loading flags;
 * profile reads the rules themselves.  All errors name the place. */
#pragma once
#include <stdbool.h>

struct err;
struct json_at;
struct profile_host;

/* Do the block's `includes` and `excludes` (Docker) fit `host`?  As in Docker, all
 * that `includes` names must hold, and a single one of `excludes` leaves the block
 * out.  An unknown kernel (0.0) is an error where a block asks for one. */
int profile_fit(const struct json_at *block, const struct profile_host *host,
		bool *ret, struct err *e);

/* `architectures` and `archMap`: are their names known?  They change nothing: calls
 * of an ABI other than the machine's own never reach the profile. */
int profile_check_archs(const struct json_at *root, struct err *e);

/* `flags`, `listenerPath`, `listenerMetadata`.  SECCOMP_FILTER_FLAG_TSYNC means
 * nothing to a process of one thread and SECCOMP_FILTER_FLAG_SPEC_ALLOW would only
 * weaken: both are accepted and not done.  What would be missed is refused. */
int profile_check_flags(const struct json_at *root, struct err *e);

/* "4.8" -> { 4, 8 }: digits, a point, digits, and no more.  False if it is not. */
bool profile_kernel(const char *text, unsigned ret[2]);
