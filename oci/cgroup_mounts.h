/* cgroup_mounts -- the cgroups that a container sees below its mount of type cgroup.
 *
 * Where the host has cgroup v2 alone, the mount is the container's own cgroup.  Where it has
 * hierarchies of v1, the mount is a read-only tmpfs with a folder for each of them in which
 * the container has a cgroup, and `unified` for that of v2, as the host has them.
 * Where the container has no cgroup of its own, no folder is shown: it is in its engine's
 * cgroup there. */
#pragma once

struct config;
struct config_mount;
struct raw_plan;
struct raw_step;

/* Makes `step` the mount itself. */
void cgroup_mounts_set(const struct config *c, struct raw_step *step);
/* Adds what lies below it.  `path` is that of the container's cgroups below each hierarchy
 * (cgroups_choose()); NULL: it has none. */
void cgroup_mounts_fill(const struct config *c, const struct config_mount *m,
			const char *path, struct raw_plan *plan);
