/* cgroup_remove -- the ends of a sandbox's cgroups (cgroup.h), and of those left behind.
 *
 * No failure is an error: the next launch in the same place tries again. */
#pragma once

#define CGROUP_PREFIX "hutch-"
#define CGROUP_CMDS   "cmds"
#define CGROUP_EXEC   "exec"

/* Opens a cgroup below `folder`.  Returns -1 with errno set. */
int cgroup_open_below(int folder, const char *name);

/* Removes a cgroup without children, when the last process has left it. */
void cgroup_remove_leaf(int folder, const char *name);
/* Kills what is in a sandbox's cgroup below `parent`, and removes it. */
void cgroup_remove_folder(int parent, const char *name);
/* Removes the cgroups whose launcher died: a living launcher holds a lock on its folder.
 * The caller holds the parent's lock. */
void cgroup_sweep(int parent);
