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
 *	watch the server <-----> answers the inside's requests
 *
 * The sandbox's child makes the mount, since the mount has to belong to the
 * sandbox's user namespace, and the kernel takes for it a /dev/fuse that was
 * opened in the same one.  The mount exists only there.  libfuse takes an
 * existing mount as /dev/fd/N (3.3 and newer).  The sandbox's own files are
 * written into the root, as into a copy.
 *
 * fuse-overlayfs is a foreign program and answers requests of a hostile inside;
 * root_fuse_server.h says what it can do.  If it ends before the sandbox, every file
 * access of the inside fails, and instance.c ends the sandbox.  When the sandbox
 * ends, the mount goes and fuse-overlayfs ends, or is killed.  It also ends
 * with the launcher. */
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

/* Finds the first fuse-overlayfs of PATH, and checks that only root and the
 * caller can write it, that it reports one of those versions, and, by trying,
 * that FUSE can be mounted.  0, or -1 and the reason.  SIGCHLD must not be
 * ignored. */
int root_fuse_find(struct root_fuse_overlayfs *ret, struct err *e);

/* Whether the plan's root can be served.  It cannot if the image has a folder
 * of hutch's own in it: the mask over that folder is a mount, and a mount goes
 * when the name below it is given up, which is up to the server. */
bool root_fuse_suits(const struct plan *p);

/* A server that runs, or waits for its mount. */
struct root_fuse {
	pid_t pid;  /* 0: there is no server */
	int pidfd;  /* owned */
	int words;  /* owned: a pipe with the server's error messages */
	int socket; /* owned: for root_fuse_mount() in the sandbox's child */
};

void root_fuse_init(struct root_fuse *f);

/* Kills the server, waits for it, and closes everything.  The zero object is
 * not an initialised one. */
void root_fuse_done(struct root_fuse *f);

/* Kills the server, so that no process in the sandbox waits for its answer any
 * more, and can end. */
void root_fuse_kill(const struct root_fuse *f);

/* Starts a server for the plan's root, is_served.  The next child that the
 * caller makes has the socket; the caller closes it then. */
int root_fuse_start(const struct plan *p, const struct program *program,
		    struct root_fuse *ret, struct err *e);

/* Called in the sandbox's child.  Needs: CAP_SYS_ADMIN over its namespaces, and
 * the host's /dev.  Returns a descriptor of the mount, which is attached
 * nowhere. */
int root_fuse_mount(int socket, struct err *e);

/* Called when the server has ended or should have, and waits for that.  False:
 * the mount was gone, which is as it should be.  True: the server failed, and
 * *e says how. */
bool root_fuse_has_failed(struct root_fuse *f, struct err *e);
