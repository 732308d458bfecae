/* rlimits -- resource limits of commands, and of the sandbox's namespaces.
 *
 * Many kernel accounts are kept per user and not per sandbox: queued signals
 * and timers, message queues, inotify, descriptors in flight over sockets.  A
 * guest that uses one up takes it from its user's own programs.  So each
 * sandbox gets a share of what the caller may use, and the caller keeps the
 * rest. */
#pragma once
#include <stdint.h>

struct err;
struct plan;
struct policy;

/* Writes the limits for commands and the namespaces' sysctls into the plan, which
 * has its `namespaces`.  A --ulimit replaces a default; above the caller's own hard limit it is an
 * error. */
int rlimits_plan(struct plan *p, const struct policy *policy, struct err *e);

/* Sets a limit of the calling process, soft and hard, to `most`, or to the hard one that it
 * has if that is lower.  For RLIMIT_CORE `most` is RLIMITS_NO_CORE. */
int rlimits_lower(int resource, uint64_t most, struct err *e);

/* 0 still runs a core handler of the host, with what a hostile process had in memory; 1 is
 * what core(5) defines as no dump for these too. */
#define RLIMITS_NO_CORE 1

/* In the user namespace: opens /proc/sys, and writes the plan's values there, for the user
 * and the network namespace that the caller is in (namespaces(7)). */
int rlimits_open_sysctls(struct err *e);
int rlimits_apply_sysctls(int folder, const struct plan *p, struct err *e);
