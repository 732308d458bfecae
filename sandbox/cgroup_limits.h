/* cgroup_limits -- what is written into the cgroup of a sandbox's commands so that its
 * limits hold: when it is made, and while it lives (cgroup.h).
 *
 * `cmds` is that folder; the controllers that the limits take are enabled in it. */
#pragma once

struct err;
struct limits;

/* Of a new one.  `own`: processes in it that are ours, and do not count. */
int cgroup_limits_set(int cmds, const struct limits *l, unsigned own, struct err *e);

/* Of one that lives: what differs between `was` and `now`, in which no limit is taken
 * away.  All or nothing: after a failure they are those that were.  ERR_LIMIT: more
 * memory is in use than is to be allowed, and the kernel gets no less by giving caches
 * back; it would kill all that is in it. */
int cgroup_limits_change(int cmds, const struct limits *was, const struct limits *now,
			 struct err *e);
