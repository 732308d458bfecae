/* confine -- reduces a supervisor, once it serves, to the rights that its loop
 * needs.
 *
 * A supervisor reads hostile bytes from inside, and a client's, for hours.  So
 * before the first of either it gives up, for good:
 *
 *	descriptors	all but those it was told to keep
 *	capabilities	all, and no_new_privs
 *	Landlock	files: its own folder of the registry; names, and no content, of
 *			the other folders there, and of saved specs if its own is
 *			kept; its cgroup; the audit log's folder, where nothing is
 *			removed; /proc, to read; /dev/null.
 *			Nothing is executed; no TCP; no abstract socket of others
 *	seccomp		policy/seccomp/supervisor.json, a list of allowed calls; it can
 *			signal only pid 1 of its sandbox, the process that serves the
 *			root, and the one that makes names for the inside
 *
 * A call that is used after confine_enter() has to be in that list: any other
 * answers ENOSYS. sigaltstack(2) is there for the sanitizers.
 *
 * Signals are restricted by seccomp: Landlock's scope for them would refuse pid
 * 1, which is not in the domain, since a process in a domain can mount nothing.
 *
 * The janitor is forked before and is not confined.  It does what a confined
 * supervisor cannot: the removal of an upper folder takes chmod(2). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct cgroup;
struct saved_spec;
struct err;
struct peer_self;
struct registry_entry;

/* The most descriptors that can be kept. */
#define CONFINE_KEEP_MAX 128

struct confine {
	bool has_landlock; /* the result of confine_has_landlock() */
	pid_t child, server, broker; /* processes that may be signalled; 0: there is
				      * none */
	const struct registry_entry *entry; /* borrowed; the sandbox's entry, which
					     * must have been made */
	const struct saved_spec *saved_spec; /* borrowed; NULL: the sandbox is not kept */
	const struct cgroup *cgroup;	    /* borrowed; the zero object: none */
	int audit; /* the folder of the audit log; 0 or less: there is none */
	const int *keep; /* borrowed: descriptors beside 0, 1 and 2; -1: none */
	size_t keep_count;
};

/* Whether Landlock can be used.  The kernel must have ABI 2 (5.19), the first
 * that lets a folder be moved to another.  And a process in a domain may not
 * look into processes outside of it (landlock(7), ptrace restrictions): so
 * Landlock is not used where /proc hides such processes (hidepid), since
 * clients could then not be told from processes inside (peer.h), nor where the memory of
 * these must be looked at (watchdog.h). */
bool confine_has_landlock(const struct peer_self *self, bool reads_memory);

/* Returns how the supervisor is confined, for its info: "landlock+seccomp" or
 * "seccomp". */
const char *confine_name(bool has_landlock);

/* Confines the process.  After a failure it is confined only in part, and has
 * to end. */
int confine_enter(const struct confine *c, struct err *e);
