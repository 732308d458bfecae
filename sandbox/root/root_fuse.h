/* root_fuse -- a root that fuse-overlayfs lays over an image, for a kernel without
 * overlayfs in user namespaces (overlay_try() in overlay.h finds that out).
 *
 *	launcher		server				sandbox's child
 *	root_fuse_find
 *	overlay_upper_make_root
 *	root_fuse_start ------------> confined (root_fuse_server.h)
 *	spawn_sandbox ------------------------------------------> root_fuse_mount
 *				 <------------------------------- the mount's descriptor
 *				 executes fuse-overlayfs
 *	watch the server <-----> answers requests for files
 *
 * The sandbox's child makes the mount, since the mount has to belong to the
 * sandbox's user namespace, and the kernel accepts for it only a /dev/fuse that
 * was opened in the same namespace.  The mount exists only there.  libfuse takes
 * an existing mount as /dev/fd/N (3.3 and newer).  The sandbox's own files are
 * written into the root, as they are for a copied one (root_copy.h).
 *
 * fuse-overlayfs is a foreign program and answers requests of hostile processes;
 * root_fuse_server.h says what it can do.  If it ends before the sandbox, every
 * file access in the sandbox fails, and instance.c ends the sandbox.  When the
 * sandbox ends, the mount goes and fuse-overlayfs ends, or is killed.  It also
 * ends with the launcher. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "sandbox/kernel/program.h"

struct err;
struct plan;

/* The versions that can be used: 1.8 is the first that knows
 * user.overlay.opaque; 2.0 is another program, which takes no /dev/fd/N. */
#define ROOT_FUSE_MAJOR     1
#define ROOT_FUSE_MINOR_MIN 8

struct root_fuse_overlayfs {
	struct program program;
	unsigned major, minor;
};

void root_fuse_overlayfs_done(struct root_fuse_overlayfs *f);

/* Finds the first fuse-overlayfs of PATH, and checks that only root and the caller
 * can write to it, that it reports one of those versions, and, by trying, that FUSE
 * can be mounted.  Returns 0, or -1 and the reason.  SIGCHLD must not be ignored. */
int root_fuse_find(struct root_fuse_overlayfs *ret, struct err *e);

/* Returns whether fuse-overlayfs can serve the plan's root.  It cannot if one of
 * hutch's own folders lies in the image.  Such a folder is masked by a mount, and the
 * kernel removes a mount when the file system drops the name below it, which the
 * server can make it do at any time. */
bool root_fuse_suits(const struct plan *p);

/* A server that runs, or waits for its mount. */
struct root_fuse {
	pid_t pid;  /* 0: there is no server */
	int pidfd;  /* owned */
	int words;  /* owned: a pipe with the server's error messages */
	int socket; /* owned: a socket to the server, for root_fuse_mount() in the
		     * sandbox's child */
};

void root_fuse_init(struct root_fuse *f);

/* Kills the server, waits for it, and closes all descriptors.  A zeroed struct is not
 * allowed: call root_fuse_init() first. */
void root_fuse_done(struct root_fuse *f);

/* Kills the server, so that no process in the sandbox waits for its answer any
 * more, and can end. */
void root_fuse_kill(const struct root_fuse *f);

/* Starts a server for the plan's root, which must have is_served set.  The next child
 * that the caller makes inherits `socket`; the caller then closes its own copy. */
int root_fuse_start(const struct plan *p, const struct program *program,
		    struct root_fuse *ret, struct err *e);

/* Called in the sandbox's child.  Needs: CAP_SYS_ADMIN over its namespaces, and
 * the host's /dev.  Returns a descriptor of the mount, which is attached
 * nowhere. */
int root_fuse_mount(int socket, struct err *e);

/* Called when the server has ended or soon will; waits for that.  Returns false if it
 * ended because its mount was gone, as it should.  Returns true if the server failed,
 * and *e says how. */
bool root_fuse_has_failed(struct root_fuse *f, struct err *e);
