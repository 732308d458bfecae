/* jail -- work on bytes that somebody inside chose, done where a mistake in it is worth
 * nothing but one folder.
 *
 * A child of its own that, before it reads the first of those bytes, has given up
 * everything but what the work takes:
 *
 *	namespaces	all of its own.  One id is mapped; its only file system is the
 *			folder, as its root, nosuid, nodev, noexec; nothing to signal,
 *			no network
 *	descriptors	two that it was given, and /dev/null
 *	capabilities	none, and no_new_privs
 *	limits		no core, memory and size of files bounded
 *	seccomp		policy/seccomp/jail.json, a list of what is allowed: files below
 *			the root, and nothing that makes a process, a socket, a mount or
 *			executable memory.  What is not in it answers ENOSYS
 *
 * Started by root it is the user whom the folder belongs to; root of the host only
 * where that is root's own, and then without a capability. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

#ifdef __SANITIZE_ADDRESS__
#define JAIL_MEMORY_MAX UINT64_MAX /* its shadow alone is terabytes */
#else
#define JAIL_MEMORY_MAX (1ull << 30)
#endif
#define JAIL_RESULT_MAX 4096 /* PIPE_BUF: one write, whole or not at all */

struct jail {
	int folder; /* borrowed */
	int in;	    /* borrowed; the work reads it */
	int leash;  /* borrowed; a pipe's end that it holds open as long as it lives */
	uid_t uid;  /* whose files are made; for root alone, others are themselves */
	gid_t gid;
	uint64_t file_max; /* bytes of one file */
	/* The work, with the folder and `in` as it has them; what it wants to tell is put
	 * into `result`. */
	void (*work)(const void *arg, int folder, int in, void *result);
	const void *arg;
	size_t result_len; /* at most JAIL_RESULT_MAX */
};

/* Does the work and waits for it.  0 with its result, which is foreign bytes, as what it
 * worked on was; -1: it could not be done, or did not come to its end.  Who calls has
 * changed its directory, ids and groups after that, and is to do nothing else but end. */
int jail_run(const struct jail *j, void *ret_result, struct err *e);
