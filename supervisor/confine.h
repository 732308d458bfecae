/* confine -- takes away all rights that a supervisor does not need while it serves.
 *
 * A supervisor reads hostile input from the sandbox and from clients for hours.  Before
 * it reads any, it gives up for good:
 *
 * 	descriptors	all but those that the caller names
 * 	capabilities	all, and it sets no_new_privs
 * 	Landlock	it may access its own folder of the registry; the names, but
 * 			not the content, of other folders there, and of saved specs
 * 			if its sandbox is kept; its cgroup; the audit log's folder,
 * 			without removal; /proc, to read; /dev/null.
 * 			No execution, no TCP, no abstract sockets of other processes
 * 	seccomp		only the calls in policy/seccomp/supervisor.json; signals only
 * 			to pid 1 of its sandbox, to the process that serves the root
 * 			file system, to the process that creates files for
 * 			--protect-missing, to the gate and the egress process of the
 * 			network, and to the process that connects to other sandboxes
 *
 * A call that is used after confine_enter() must be in that list: others fail with
 * ENOSYS.  The list has sigaltstack(2) for the sanitizers.
 *
 * Signals are restricted by seccomp and not by Landlock's scope, which would forbid
 * them to pid 1: pid 1 must mount, so it is not in the supervisor's Landlock domain.
 *
 * The janitor process is forked before and not confined.  It does what a confined
 * supervisor cannot do, such as chmod(2) to remove an upper folder. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct cgroup;
struct saved_spec;
struct err;
struct peer_self;
struct registry_entry;

struct confine {
	bool has_landlock; /* the result of confine_has_landlock() */
	/* processes that it may signal: pid 1, the server of the root, the creator of
	 * files, the two of the network (egress.h), and the one that connects to other
	 * sandboxes (peers.h); 0: there is none */
	pid_t child, server, broker, gate, egress, peers;
	const struct registry_entry *entry; /* borrowed; the sandbox's entry, which must
					     * exist by now */
	const struct saved_spec *saved_spec; /* borrowed; NULL: the sandbox is not kept */
	const struct cgroup *cgroup;	    /* borrowed; the zero object: there is no
					     * cgroup */
	int audit; /* descriptor of the audit log's folder; 0 or less: there is none */
	const int *keep; /* borrowed: descriptors to keep besides 0, 1 and 2; -1 is
			  * ignored */
	size_t keep_count;
};

/* Returns whether Landlock can be used.  The kernel must have ABI 2 (5.19), the first
 * in which a folder may be moved to another one.  A process in a Landlock domain may
 * not inspect processes outside of it (landlock(7), ptrace restrictions).  So Landlock
 * is not used if /proc hides such processes (hidepid), since then clients could not be
 * told from processes inside (peer.h), nor if the supervisor must read the memory of
 * processes inside (watchdog.h). */
bool confine_has_landlock(const struct peer_self *self, bool reads_memory);

/* Returns how the supervisor is confined, for its info: "landlock+seccomp" or
 * "seccomp". */
const char *confine_name(bool has_landlock);

/* Confines the process.  After a failure the process may be confined only in part, and
 * must end. */
int confine_enter(const struct confine *c, struct err *e);
