/* jail -- works on untrusted bytes from a sandbox, in a child process.  If the bytes
 * take that child over, it can damage nothing but one folder.
 *
 * Before the child reads the first of those bytes, it gives up everything that the
 * work does not need.  Then it has:
 *
 *	namespaces	all of its own.  One id is mapped; its only file system is the
 *			folder, as its root, nosuid, nodev, noexec; nothing to signal,
 *			no network.  A folder that is a mount of its own and attached
 *			nowhere stays as it is, with an empty root beside it: only
 *			very new kernels could clone it
 *	descriptors	those that it was given, and /dev/null.  A second folder is there
 *			by its descriptor alone, read-only, a mount of its own that is
 *			attached nowhere, so that nothing is above it
 *	capabilities	none, or one to read files that their owner has closed even to
 *			itself; no_new_privs.  With ranges, those of its role
 *	limits		no core, memory and size of files bounded
 *	seccomp		policy/seccomp/jail.json, a list of allowed calls: files below
 *			the root, of devices only whiteouts, and nothing that makes a
 *			process, a socket, a mount or executable memory.  Other calls
 *			answer ENOSYS
 *
 * With ranges (struct idmaps) the child's user namespace has the subordinate
 * ids of the caller, too, which newuidmap(1) and newgidmap(1) give: for trees
 * whose files belong to them.  Its capabilities are over files of these ids and
 * of the caller; it becomes none of them, has no other groups, and gives no
 * file a file capability.
 *
 * Started by root, the child is the user that the folder belongs to.  It is
 * root of the host only if the folder is root's, and then without a capability. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct idmaps;
struct worker;

#ifdef __SANITIZE_ADDRESS__
#define JAIL_MEMORY_MAX UINT64_MAX /* AddressSanitizer's shadow memory alone takes
				    * terabytes */
#else
#define JAIL_MEMORY_MAX (1ull << 30)
#endif
#define JAIL_OUT	1    /* the descriptor number that `out` has in the child */
#define JAIL_BESIDE	6    /* the descriptor number that `beside` has in the child;
			      * it is O_PATH */

/* The kind of work in a jail that has id ranges, which decides the capabilities that
 * the child keeps. */
enum jail_role {
	JAIL_READS,   /* no capability, unless `reads_all` gives one */
	JAIL_GIVES,   /* CAP_CHOWN, CAP_FOWNER, CAP_FSETID: gives files to other ids,
		       * with modes */
	JAIL_REMOVES, /* CAP_DAC_OVERRIDE, CAP_FOWNER: removes files from any id's
		       * folder */
};

struct jail {
	int folder; /* borrowed: the folder to work on */
	int in;	    /* borrowed; a file that the work reads; -1: /dev/null */
	int out;    /* borrowed; the work's standard output, JAIL_OUT; 0: it has none */
	int beside; /* borrowed; a second folder, to be read; 0: none.  The child opens
		     * its path again (proc(5), fd), which must still lead to the same
		     * folder */
	bool reads_all; /* the work has CAP_DAC_READ_SEARCH over files of the mapped
			 * ids */
	const struct idmaps *ranges; /* borrowed; NULL: one id is mapped */
	enum jail_role role;	     /* the kind of work; only used with id ranges */
	bool is_read_only; /* the work may not write to the folder */
	int leash;  /* borrowed; a pipe's end that the child keeps open until its end,
		     * for a process that has to notice that even after the caller's
		     * end (worker.h); 0: none */
	uid_t uid;  /* for root: the user that the child becomes; ignored for other
		     * users */
	gid_t gid;
	uint64_t file_max; /* the most bytes that one file may have */
	/* The work, which gets the child's descriptors of the folder and of
	 * `in`, and puts its answer into `result`. */
	void (*work)(const void *arg, int folder, int in, void *result);
	const void *arg;
	size_t result_len; /* at most WORKER_RESULT_MAX */
};

/* Starts the work.  The caller must have one thread.  Afterwards the caller's working
 * directory, ids and groups are changed; it may start other jails. */
int jail_start(const struct jail *j, struct worker *ret, struct err *e);

/* Waits for the work, as worker_wait() does.  Returns 0 with its result, which is as
 * untrusted as the bytes that it worked on; -1: the work could not be done, or did
 * not come to its end. */
int jail_wait(struct worker *w, void *ret_result, struct err *e);

/* Starts the work and waits for it.  Returns 0 with its untrusted result, or -1.
 * Since its working directory and ids are changed, the caller must do nothing
 * afterwards but exit. */
int jail_run(const struct jail *j, void *ret_result, struct err *e);
