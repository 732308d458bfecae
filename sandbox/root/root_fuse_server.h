/* root_fuse_server -- runs fuse-overlayfs confined, so that a fault in it endangers
 * nothing but one sandbox's root.
 *
 *	namespaces	all of its own: no other process to see or to signal, no
 *			network.  Its ids are the sandbox's
 *	files		a root of its own, read-only: the image's layers and the
 *			folders of libraries, read-only; a /proc of its own; the
 *			sandbox's upper and work folders, the only ones that it can
 *			write to.  No devices
 *	descriptors	/dev/null, /dev/null, a pipe for its messages, the mount
 *	capabilities	those for owners and modes, over its own user namespace: that
 *			is, over the caller's files in its root; no_new_privs
 *	limits		no core; memory, since no cgroup of the sandbox counts it;
 *			processes, of which it needs one
 *	seccomp		the default profile of commands (policy/seccomp/default.json)
 *
 * The server has a session of its own, so that no Ctrl-C reaches it, and no
 * environment. */
#pragma once

struct plan;
struct program;

struct root_fuse_server {
	const struct plan *plan;
	const struct program *program;
	int socket, words, null; /* descriptors that the server owns */
};

/* Called in the process that becomes the server, in its namespaces; never
 * returns. */
_Noreturn void root_fuse_server_run(struct root_fuse_server *s);
