/* confine -- what a supervisor can still do once it serves.
 *
 * It reads hostile bytes from inside, and a client's, for hours.  So before the
 * first of either it gives up, for good, what its loop has no use for:
 *
 *	descriptors	all but those it was told to keep
 *	capabilities	all, and no_new_privs
 *	Landlock	files: its own folder of the registry; names, and no content, of
 *			the other folders there, and of those of what is kept, if it
 *			is; its cgroup; the audit log's folder, where
 *			nothing is removed; /proc, to read; /dev/null.
 *			Nothing is executed; no TCP; no abstract socket of others
 *	seccomp		policy/seccomp/supervisor.json, a list of what is allowed, and of
 *			processes it can signal pid 1 of its sandbox alone, who serves its
 *			root, and who makes names for the inside
 *
 * A call that is to be used after confine_enter() has to be in that list: what is not
 * answers ENOSYS.  sigaltstack(2) is the sanitizers'.
 *
 * Signals are seccomp's: Landlock's scope for them would refuse pid 1, which is not
 * in the domain, since whoever is in one can mount nothing.
 *
 * The janitor is forked before and is not confined.  What is left to it is what a
 * confined supervisor cannot do: the removal of an upper folder takes chmod(2). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct cgroup;
struct definition;
struct err;
struct peer_self;
struct registry_entry;

/* So many descriptors can be kept. */
#define CONFINE_KEEP_MAX 128

struct confine {
	bool has_landlock; /* confine_has_landlock() */
	pid_t child, server, deputy; /* that may be signalled; 0: there is none */
	const struct registry_entry *entry; /* borrowed; one that was made */
	const struct definition *definition; /* borrowed; NULL: nothing is kept */
	const struct cgroup *cgroup;	    /* borrowed; the zero object: none */
	int audit; /* the folder of the audit log; 0 or less: there is none */
	const int *keep; /* borrowed: descriptors beside 0, 1 and 2; -1: none */
	size_t keep_count;
};

/* Whether Landlock is to be used.  The kernel must have ABI 2 (5.19), the first that
 * lets a folder be moved to another.  And a domain may not look into processes that
 * are outside of it (landlock(7), ptrace restrictions): so not where /proc hides
 * them from whoever may not (hidepid), where clients could then not be told from
 * guests (peer.h), nor where the memory of the guest's processes must be looked at
 * (watchdog.h). */
bool confine_has_landlock(const struct peer_self *self, bool reads_memory);

/* "landlock+seccomp", "seccomp" */
const char *confine_name(bool has_landlock);

/* Does it.  After a failure the process is confined by half, and is to end. */
int confine_enter(const struct confine *c, struct err *e);
