/* jail -- work on bytes that somebody inside chose, done where a mistake in it is worth
 * nothing but one folder.
 *
 * A child of its own that, before it reads the first of those bytes, has given up
 * everything but what the work takes:
 *
 *	namespaces	all of its own.  One id is mapped; its only file system is the
 *			folder, as its root, nosuid, nodev, noexec; nothing to signal,
 *			no network.  A folder that is a mount of its own and attached
 *			nowhere stays as it is, with an empty root beside it: only
 *			newer kernels than most could clone it
 *	descriptors	those that it was given, and /dev/null.  A second folder is there
 *			by its descriptor alone, read-only, a mount of its own that is
 *			attached nowhere, so that nothing is above it
 *	capabilities	none, or one to read what its owner has closed to himself;
 *			no_new_privs.  With ranges, those of the row that is asked for
 *	limits		no core, memory and size of files bounded
 *	seccomp		policy/seccomp/jail.json, a list of what is allowed: files below
 *			the root, of devices only whiteouts, and nothing that makes a
 *			process, a socket, a mount or executable memory.  What is not in
 *			it answers ENOSYS
 *
 * With ranges (struct idmaps) its user namespace has the subordinate ids of the caller,
 * too, which newuidmap(1) and newgidmap(1) give: for trees whose files belong to them.  What
 * it may do is over files of these ids and of the caller; it becomes none of them, has no
 * other groups, and gives no file a file capability.
 *
 * Started by root it is the user whom the folder belongs to; root of the host only
 * where that is root's own, and then without a capability. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct idmaps;

#ifdef __SANITIZE_ADDRESS__
#define JAIL_MEMORY_MAX UINT64_MAX /* its shadow alone is terabytes */
#else
#define JAIL_MEMORY_MAX (1ull << 30)
#endif
#define JAIL_RESULT_MAX 4096 /* PIPE_BUF: one write, whole or not at all */
#define JAIL_OUT	1    /* `out`, as the work has it */
#define JAIL_BESIDE	6    /* `beside`, O_PATH, as the work has it */

/* What is done with ranges, and the capabilities that are left. */
enum jail_role {
	JAIL_READS,   /* none, but for `reads_all` */
	JAIL_GIVES,   /* CAP_CHOWN, CAP_FOWNER, CAP_FSETID: files to others, with modes */
	JAIL_REMOVES, /* CAP_DAC_OVERRIDE, CAP_FOWNER: what is in anybody's folder */
};

struct jail {
	int folder; /* borrowed */
	int in;	    /* borrowed; the work reads it; -1: /dev/null */
	int out;    /* borrowed; the work's standard output, JAIL_OUT; 0: it has none */
	int beside; /* borrowed; a folder to read; 0: none.  It is looked up again by its
		     * path (proc(5), fd), and has to be the same */
	bool reads_all; /* CAP_DAC_READ_SEARCH over what the mapped ids own */
	const struct idmaps *ranges; /* borrowed; NULL: one id is mapped */
	enum jail_role role;	     /* with ranges */
	bool is_read_only; /* the folder, for the work */
	int leash;  /* borrowed; a pipe's end that it holds open as long as it lives, for
		     * whoever outlives the caller; 0: none */
	uid_t uid;  /* whose files are made; for root alone, others are themselves */
	gid_t gid;
	uint64_t file_max; /* bytes of one file */
	/* The work, with the folder and `in` as it has them; what it wants to tell is put
	 * into `result`. */
	void (*work)(const void *arg, int folder, int in, void *result);
	const void *arg;
	size_t result_len; /* at most JAIL_RESULT_MAX */
};

/* One that works. */
struct jail_child {
	int pid;
	int from; /* owned: its result */
};

/* Begins with the work.  Who calls has changed its directory, ids and groups after that,
 * and may start others.  It has one thread. */
int jail_start(const struct jail *j, struct jail_child *ret, struct err *e);

/* Waits for it.  0 with its result, which is foreign bytes, as what it worked on was;
 * -1: it could not be done, or did not come to its end. */
int jail_wait(const struct jail *j, struct jail_child *c, void *ret_result, struct err *e);

/* Both.  0 with its result or -1, as above.  Who calls is to do nothing else but end. */
int jail_run(const struct jail *j, void *ret_result, struct err *e);
