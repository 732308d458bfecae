/* fuse_server -- fuse-overlayfs, in a place where a mistake in it is worth nothing but one
 * sandbox's root.
 *
 *	namespaces	all of its own: nobody else to see or to signal, no network.  Its
 *			ids are the sandbox's
 *	files		a root of its own, read-only: the image's layers and the folders of
 *			libraries, read-only; a /proc of its own; the sandbox's upper and
 *			work folders, which alone it can write to.  No devices
 *	descriptors	/dev/null, /dev/null, what it says, and the one of the mount
 *	capabilities	over its own user namespace, which is to say over the caller's
 *			files that are there: those for owners and modes; no_new_privs
 *	limits		no core; memory, since nothing counts it as the sandbox's;
 *			processes, of which it needs one
 *	seccomp		the default profile of commands (policy/seccomp/default.json)
 *
 * It has a session of its own, so that no Ctrl-C reaches it, and no environment. */
#pragma once

struct plan;
struct program;

struct fuse_server {
	const struct plan *plan;
	const struct program *program;
	int socket, words, null; /* its own */
};

/* In the process that is to be it, in its namespaces; never returns. */
_Noreturn void fuse_server_run(struct fuse_server *s);
