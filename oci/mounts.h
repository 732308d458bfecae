/* mounts -- a bundle's root, mounts, devices and hidden paths, as a raw plan. */
#pragma once

struct config;
struct err;
struct raw_plan;

struct mounts_order {
	const struct config *config;
	const char *bundle;  /* the folder that relative sources are relative to */
	int *detached; /* those of mounts_detach() (mounts_detached.h); the plan takes the
			* devices */
	const char
		*cgroup; /* the path of the container's cgroups (cgroups_choose()); NULL:
			      * it has none */
};

/* Adds the steps.  Runs in the container's process, in its namespaces and its cgroups,
 * before the steps are done. */
int mounts_plan(const struct mounts_order *o, struct raw_plan *ret, struct err *e);
