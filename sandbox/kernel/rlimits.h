/* rlimits -- sets resource limits of processes and of the sandbox's namespaces.  The plan
 * decides on their values (plan_rlimits.h). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* Sets a limit of the calling process, soft and hard, to `most`, or to the
 * present hard limit if that is lower.  For RLIMIT_CORE `most` is
 * RLIMITS_NO_CORE. */
int rlimits_lower(int resource, uint64_t most, struct err *e);

/* The value of RLIMIT_CORE that prevents core dumps.  With 0 the kernel still pipes the
 * memory of a hostile process to a core handler of the host; with 1 it starts no handler
 * either (core(5)). */
#define RLIMITS_NO_CORE 1

/* A sysctl of the user namespace or of the network namespace (namespaces(7)). */
struct sysctl {
	const char *name; /* its path below /proc/sys: "user/max_user_namespaces" */
	uint64_t value;
	bool may_lack; /* set if a kernel without this sysctl needs no limit: its absence
			* is then no error */
};

/* Writes the values below `folder`, which is the folder sys of a procfs; they apply to the
 * user and the network namespace that the caller is in (namespaces(7)).
 *
 * Each user and network namespace has folders of its own in there, under the same names:
 * a procfs keeps every one that was looked up in it, and a look-up passes all of them
 * (proc_sys_compare() in fs/proc/proc_sysctl.c).  A sandbox therefore looks them up in its
 * own procfs, and leaves the host's as quick as it was. */
int rlimits_apply_sysctls(int folder, const struct sysctl *sysctls, size_t count,
			  struct err *e);
