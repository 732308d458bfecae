/* cgroup -- the cgroup of one sandbox: its limits, what it used, its end.
 *
 *	PARENT/				delegated to hutch (delegate.h)
 *		sup/			hutch itself, if PARENT must hold no process
 *		hutch-PID-RANDOM/
 *			exec/		the executor, if it outlives a command
 *			cmds/		commands, with the limits
 *
 *	cgroup_init, cgroup_place, start the janitor, cgroup_make,
 *	clone pid 1 into `into`, cgroup_usage, cgroup_remove
 *
 * The executor of one command (`hutch run`) is cloned directly into cmds/, and its
 * command starts there.  An executor that outlives its commands (is_split) is
 * cloned into exec/, and each command enters cmds/ by a write to `procs`
 * (docs/protocol.md).  After a pause that write takes the kernel 12 to 30 ms:
 * moving a process waits for an RCU grace period, which cloning does not.
 *
 * A folder is locked (flock(2)) while its launcher lives.  An unlocked folder
 * was left by a launcher that was killed together with its janitor; the next
 * launch that makes a folder in the same place removes it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/cgroup/delegate.h"

struct err;
struct limits;
struct policy;

struct cgroup {
	struct delegate parent; /* if parent.path is NULL, there is no cgroup */
	char name[40];
	bool is_split; /* the executor has a cgroup of its own, exec/; set before
			* cgroup_make */
	pid_t waiter;  /* a hutch process that started this one and waits in the same
			* cgroup; cgroup_make() moves it into sup/, too.  0: none.  Set
			* before cgroup_place */
	int folder;    /* owned; the sandbox's cgroup, locked */
	int cmds;      /* owned; the folder cmds/ */
	int into;      /* owned; the cgroup that the sandbox's pid 1 is cloned into;
			* -1: none */
	int procs;     /* owned; with is_split: cmds/cgroup.procs, which moves a
			* command into cmds/; else -1 */
};

struct usage {
	uint64_t memory_peak, pids_peak; /* peak memory in bytes, peak number of
					  * processes; 0: unknown to this kernel */
	uint64_t oom_kills;    /* processes that the kernel killed for lack of memory */
	bool is_over_limit;    /* an allocation failed at this cgroup's limit, not for
				* lack of memory on the machine */
	uint64_t pids_refused; /* forks that the limit of processes refused */
};

void cgroup_init(struct cgroup *c);

/* Finds the parent cgroup and chooses the name of the new cgroup.  Makes no folder,
 * but may ask systemd's user manager for a scope. */
int cgroup_place(struct cgroup *c, const struct policy *policy, struct err *e);

/* Makes the cgroup.  If this process lives in the parent itself, this process moves
 * to a leaf of the parent, and so does `companion`, the janitor (0: none). */
int cgroup_make(struct cgroup *c, const struct limits *limits, pid_t companion,
		struct err *e);

/* Changes the limits of a cgroup that is in use and has is_split set, as
 * cgroup_limits_change() does.  ERR_UNSUPPORTED: the parent lacks a controller that
 * the new limits need. */
int cgroup_update(const struct cgroup *c, const struct limits *was,
		  const struct limits *now, struct err *e);

/* Returns the path of the folder cmds/, allocated. */
char *cgroup_commands_path(const struct cgroup *c);

void cgroup_usage(const struct cgroup *c, struct usage *ret);

/* Reads the resources that the commands use now. */
struct consumption;
void cgroup_consumption(const struct cgroup *c, struct consumption *ret);

/* The same by the path of the folder cmds/, for a process that is not the supervisor.
 * The time of the processor costs as much as all else, since the kernel adds it up when
 * it is read: without `has_cpu` it is 0.  Returns false, with `ret` untouched, if there
 * is no such folder. */
bool cgroup_look(const char *commands, bool has_cpu, struct consumption *ret);

/* Freezes or continues every process in cmds/.  With is_split the executor is not in
 * cmds/ and goes on running. */
int cgroup_freeze(const struct cgroup *c, bool is_frozen, struct err *e);

/* cgroup_events() opens cgroup.events, which poll(2) reports with POLLPRI when the
 * state may have changed since it was last read.  cgroup_is_frozen() tells whether
 * every process in cmds/ is frozen by now.  Both return -1 on failure. */
int cgroup_events(const struct cgroup *c, struct err *e);
int cgroup_is_frozen(int events, struct err *e);

/* Kills every process in the cgroup, removes the cgroup, and moves this process and
 * `companion` out of sup/ again.  Also takes a zeroed struct, and a cgroup that was
 * not made. */
void cgroup_remove(struct cgroup *c, pid_t companion);
