/* probes -- the trials of checks.h, one function each.
 *
 * Each trial runs in a child of its own, as the user that sandboxes run as, and
 * answers with trial_found() or trial_failed().  Where a launch does the same
 * thing, the trial calls the launch's own function, so that the two cannot
 * disagree. */
#pragma once

struct trial;

/* Trials of the kernel's means of isolation (probes.c). */
void probe_kernel(struct trial *t);
void probe_user_namespaces(struct trial *t);
void probe_namespaces(struct trial *t);
void probe_network_namespace(struct trial *t);
void probe_cgroup_namespace(struct trial *t);
void probe_mounts(struct trial *t);
void probe_proc(struct trial *t);
void probe_overlayfs(struct trial *t);
void probe_seccomp(struct trial *t);
void probe_seccomp_notify(struct trial *t);
void probe_landlock(struct trial *t);

/* Trials of rights that the user has been granted (probes_user.c,
 * probes_cgroup.c). */
void probe_id_ranges(struct trial *t);
void probe_runtime_dir(struct trial *t);
void probe_cgroup(struct trial *t);
