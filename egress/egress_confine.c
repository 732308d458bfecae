#include "egress/egress_confine.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/fd_keep.h"
#include "base/kernel.h"
#include "base/own.h"
#include "egress/upstream.h"
#include "sandbox/kernel/caps.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/kernel/rlimits.h"
#include "sandbox/kernel/seccomp.h"

static const struct sock_filter egress_program[] = {
#include "gen/seccomp_egress.h"
};

int egress_confine_limits(struct err *e)
{
	static const struct {
		int resource;
		uint64_t most;
	} limits[] = {
		{ RLIMIT_NOFILE, UPSTREAM_FDS_MAX },
		{ RLIMIT_CORE, RLIMITS_NO_CORE },
		{ RLIMIT_NPROC, 0 },
#ifndef __SANITIZE_ADDRESS__ /* it reserves terabytes */
		{ RLIMIT_AS, EGRESS_CONFINE_MEMORY },
#endif
	};

	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		if (rlimits_lower(limits[i].resource, limits[i].most, e) < 0)
			return -1;
	return 0;
}

static int enter(const int *keep, size_t count, struct err *e)
{
	const struct seccomp_program program = { .insns = egress_program,
						 .count = ARRAY_LEN(egress_program) };

	if (fd_keep(keep, count) < 0)
		return err_sys(e, "close descriptors");
	if (caps_drop(e) < 0)
		return -1;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(e, "prctl PR_SET_DUMPABLE");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(e, "prctl PR_SET_NO_NEW_PRIVS");
	if (landlock_abi() > 0 && landlock_confine(NULL, 0, LANDLOCK_SPARES_TCP, e) < 0)
		return -1;
	return seccomp_install(&program, e); /* layer: egress-seccomp */
}

int egress_confine_enter(const int *keep, size_t count, struct err *e)
{
	return enter(keep, count, e) < 0 ? err_in(e, "confine hutch-egress") : 0;
}
