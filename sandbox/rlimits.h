/* rlimits -- resource limits of commands, and of the sandbox's user namespace.
 *
 * Many kernel accounts are kept per user and not per sandbox: queued signals
 * and timers, message queues, inotify, descriptors in flight over sockets.  A
 * guest that uses one up takes it from its user's own programs.  So each
 * sandbox gets a share of what the caller may use, and the caller keeps the
 * rest. */
#pragma once

struct err;
struct plan;
struct policy;

/* Writes the limits for commands and the namespace's sysctls into the plan.  A
 * --ulimit replaces a default; above the caller's own hard limit it is an
 * error. */
int rlimits_plan(struct plan *p, const struct policy *policy, struct err *e);

/* In the user namespace: opens its /proc/sys/user (namespaces(7)), and writes the
 * plan's values there. */
int rlimits_open_sysctls(struct err *e);
int rlimits_apply_sysctls(int folder, const struct plan *p, struct err *e);
