/* cgroup_limits -- what is written into the cgroup of a sandbox's commands so that its
 * limits hold: when it is made, and while it lives (cgroup.h).
 *
 * `cmds` is that folder; the controllers that the limits take are enabled in it. */
#pragma once

struct err;
struct limits;

/* Of a new one.  `own`: processes in it that are ours, and do not count. */
int cgroup_limits_set(int cmds, const struct limits *l, unsigned own, struct err *e);
