/* cgroup -- the cgroup that commands live in, and the cleanup after an out-of-memory
 * kill.
 *
 * The supervisor sends a descriptor of the file cgroup.procs of the commands' cgroup;
 * each command enters that cgroup before its execve (spawn.c), and the executor stays
 * outside.  When the kernel kills all commands for want of memory, the data that they put
 * into /dev/shm and into SysV segments stays, still charged to their cgroup: the next
 * command would be killed because of it.  Therefore the executor removes that data before
 * it reports the end.
 *
 * The executor tells an out-of-memory kill from another SIGKILL by the cgroup's file
 * memory.events.  The commands' cgroup is mounted read-only at /sys/fs/cgroup, and the
 * file is opened before the first command starts. */
#pragma once
#include <stdint.h>

struct cgroup {
	int procs;	/* owned; the file cgroup.procs of the commands' cgroup; -1:
			 * none */
	int events;	/* owned; the file memory.events of the commands' cgroup; -1:
			 * none */
	uint64_t kills; /* how many processes the kernel had killed for want of memory
			 * when memory.events was last read */
};

void cgroup_init(struct cgroup *c);
void cgroup_done(struct cgroup *c);

/* Takes over `procs`, a descriptor of cgroup.procs, and opens memory.events. */
void cgroup_hold(struct cgroup *c, int procs);

/* Called after a command was killed: empties /dev/shm and removes SysV objects if the
 * kernel has killed for want of memory since the last call. */
void cgroup_recover(struct cgroup *c);

/* Returns the number behind `key` in `text`, the content of a file like memory.events
 * with a "KEY NUMBER" on each line; 0 if no line has the key. */
uint64_t cgroup_count(const char *text, const char *key);
