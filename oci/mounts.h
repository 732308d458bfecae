/* mounts -- a bundle's root, mounts, devices and hidden paths, as a raw plan. */
#pragma once

struct config;
struct err;
struct raw_plan;

/* Makes the id-mapped mounts, and the binds of a container in another user namespace,
 * with the rights of the verb: the container's process may have none over the host's
 * mounts and files.  *ret is allocated: a descriptor for each mount of the
 * configuration, or -1; they are freed with mounts_release(). */
int mounts_detach(const struct config *c, const char *bundle, int **ret, struct err *e);
void mounts_release(const struct config *c, int *detached);

struct mounts_order {
	const struct config *config;
	const char *bundle;  /* the folder that relative sources are relative to */
	const int *detached; /* those of mounts_detach() */
	const char
		*cgroup; /* the path of the container's cgroups (cgroups_choose()); NULL:
			      * it has none */
};

/* Adds the steps.  Runs in the container's process, in its namespaces and its cgroups,
 * before the steps are done. */
int mounts_plan(const struct mounts_order *o, struct raw_plan *ret, struct err *e);
