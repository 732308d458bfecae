/* cgroup_limits -- writes a sandbox's limits into the cgroup of its commands: all of
 * them when the cgroup is made, changed ones while it lives (cgroup.h).
 *
 * `cmds` is the cgroup's folder; the controllers that the limits need are enabled
 * in it. */
#pragma once

struct err;
struct limits;

/* Sets the limits of a new cgroup.  `own` is the number of hutch's own processes in
 * the cgroup, by which pids.max is raised. */
int cgroup_limits_set(int cmds, const struct limits *l, unsigned own, struct err *e);

/* Changes the limits of a living cgroup from `was` to `now`; `now` has every limit
 * that `was` has.  All or nothing: after a failure the limits are as before.
 * ERR_LIMIT: even after giving caches back, more memory is in use than `now` allows,
 * and the kernel would kill every process inside. */
int cgroup_limits_change(int cmds, const struct limits *was, const struct limits *now,
			 struct err *e);
