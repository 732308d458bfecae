/* plan_rlimits -- decides which resource limits commands and namespaces get.  The kernel
 * counts many resources per user and not per sandbox: queued signals and timers, message
 * queues, inotify watches, descriptors in flight over sockets.  A sandbox that exhausts
 * one of them leaves none to the user's other programs.  So each sandbox gets a share of
 * the caller's limits, and the caller keeps the rest. */
#pragma once

struct err;
struct plan;
struct policy;

/* Writes the limits of commands and the sysctls of the namespaces into the plan, whose
 * member `namespaces` must be set.  A --ulimit replaces a default; a value above the
 * caller's own hard limit is an error. */
int plan_rlimits(struct plan *p, const struct policy *policy, struct err *e);
