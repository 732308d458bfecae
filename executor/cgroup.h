/* cgroup -- where commands live, and what an out-of-memory leaves behind.
 *
 * The supervisor sends the cgroup.procs of the commands' cgroup; each command
 * enters it before its execve (spawn.c), and we stay outside.  When the kernel
 * kills all of them for want of memory, what they put into /dev/shm and into
 * SysV segments stays, still charged to their cgroup: the next command would die
 * of it.  So that is emptied before anybody is told of the end.
 *
 * That it was the limit, and not somebody's SIGKILL, is read from the kernel:
 * the commands' cgroup is mounted read-only at /sys/fs/cgroup, and its
 * memory.events is opened before there is a command. */
#pragma once
#include <stdint.h>

struct cgroup {
	int procs;	/* owned; -1: none */
	int events;	/* owned; memory.events, -1: none */
	uint64_t kills; /* processes killed so far */
};

void cgroup_init(struct cgroup *c);
void cgroup_done(struct cgroup *c);

/* Takes over `procs`. */
void cgroup_hold(struct cgroup *c, int procs);

/* After a command was killed: empties /dev/shm and removes SysV objects if the
 * kernel has killed for want of memory since the last time. */
void cgroup_recover(struct cgroup *c);

/* The number behind `key` in a file of lines "KEY NUMBER"; 0 where it has none. */
uint64_t cgroup_count(const char *text, const char *key);
