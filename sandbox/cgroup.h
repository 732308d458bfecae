/* cgroup -- the cgroup of one sandbox: its limits, what it used, its end.
 *
 *	PARENT/				delegated to us (delegate.h)
 *		sup/			hutch, where it had to make room in PARENT
 *		hutch-PID-RANDOM/
 *			exec/		the executor, if it outlives a command
 *			cmds/		commands, with the limits
 *
 *	cgroup_init, cgroup_place, [janitor], cgroup_make, spawn into `into`,
 *	cgroup_usage, cgroup_remove
 *
 * The executor of one command (`hutch run`) is cloned right into cmds/, and the
 * command is born there.  For one that is to outlive its commands, is_split, the
 * executor is cloned into exec/ and each command enters cmds/ by a write to
 * `procs` (docs/protocol.md): that takes the kernel 12 to 30 ms after a pause,
 * since moving a process waits for a grace period of RCU, and cloning does not.
 *
 * A folder is locked (flock(2)) while its launcher lives; one that nobody locks
 * was left by a launcher that was killed with its janitor, and is removed by the
 * next that makes one in the same place. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/delegate.h"

struct err;
struct limits;
struct policy;

struct cgroup {
	struct delegate parent; /* path NULL: there is no cgroup */
	char name[40];
	bool is_split; /* set before cgroup_make */
	pid_t waiter;  /* set before cgroup_place: a process of ours that started us and
			* waits in the same cgroup; it moves with us.  0: none */
	int folder;    /* owned; locked */
	int cmds;      /* owned */
	int into;      /* owned; what to clone pid 1 into, -1: nothing */
	int procs;     /* owned; is_split: cgroup.procs that commands enter */
};

struct usage {
	uint64_t memory_peak, pids_peak; /* 0: the kernel does not tell */
	uint64_t oom_kills;    /* processes killed for want of memory */
	bool is_over_limit;    /* by the limit of this cgroup, not the machine's */
	uint64_t pids_refused; /* forks */
};

void cgroup_init(struct cgroup *c);

/* Finds a place for it and gives it its name.  Changes nothing in the file system;
 * but may ask the service manager for a scope. */
int cgroup_place(struct cgroup *c, const struct policy *policy, struct err *e);

/* Makes it.  Where we live in the parent, we move to a leaf of it, and so does
 * `companion`, the janitor, if it is not 0. */
int cgroup_make(struct cgroup *c, const struct limits *limits, pid_t companion,
		struct err *e);

/* Changes the limits of one that lives, is_split, as cgroup_limits_change() does.
 * ERR_UNSUPPORTED: what they take is not delegated here. */
int cgroup_update(const struct cgroup *c, const struct limits *was,
		  const struct limits *now, struct err *e);

/* The folder of the commands, allocated. */
char *cgroup_commands_path(const struct cgroup *c);

void cgroup_usage(const struct cgroup *c, struct usage *ret);

/* What the commands use now. */
struct consumption;
void cgroup_consumption(const struct cgroup *c, struct consumption *ret);

/* Stops or continues all that is in cmds/; is_split: the executor is not. */
int cgroup_freeze(const struct cgroup *c, bool is_frozen, struct err *e);

/* Whether all that is in cmds/ stands still by now.  The descriptor has POLLPRI when that
 * may have changed since it was asked last; -1 on failure, as of both. */
int cgroup_events(const struct cgroup *c, struct err *e);
int cgroup_is_frozen(int events, struct err *e);

/* Kills what is in it, removes it, and goes back to where we were.  The zero
 * object and one that was not made are fine. */
void cgroup_remove(struct cgroup *c, pid_t companion);
