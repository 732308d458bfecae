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

/* Adds the steps.  `detached` is that of mounts_detach().  `bundle` is the folder that relative sources are relative to.  Runs in the container's process,
 * in its namespaces, before the steps are done. */
int mounts_plan(const struct config *c, const char *bundle, const int *detached,
		struct raw_plan *ret, struct err *e);
