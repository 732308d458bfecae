/* plan_rlimits -- decides which resource limits commands and namespaces get.
 * Many kernel accounts are kept per user and not per sandbox: queued signals
 * and timers, message queues, inotify, descriptors in flight over sockets.  A
 * sandbox that exhausts one takes it from its user's own programs.  So each
 * sandbox gets a share of the caller's limits, and the caller keeps the rest. */
#pragma once

struct err;
struct plan;
struct policy;

/* Writes the limits of commands and the sysctls of the namespaces into the plan, whose
 * `namespaces` are set.  A --ulimit replaces a default; one above the caller's own hard
 * limit is an error. */
int plan_rlimits(struct plan *p, const struct policy *policy, struct err *e);
