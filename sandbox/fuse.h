/* fuse -- a root that fuse-overlayfs lays over an image, for a kernel without overlayfs in
 * user namespaces (overlay_try() in overlay.h says so).
 *
 *	launcher		server				sandbox's child
 *	fuse_find
 *	upper_make_root
 *	fuse_start ------------> confined (fuse_server.h)
 *	spawn_sandbox ------------------------------------------> fuse_mount
 *				 <------------------------------- the mount's descriptor
 *				 executes fuse-overlayfs
 *	watch the server <-----> answers the inside's requests
 *
 * The mount is made by the sandbox's child, since it has to be of the sandbox's user
 * namespace, and the kernel takes for it a /dev/fuse that was opened in the same one.  It
 * is nowhere but in there.  libfuse takes what is mounted already as /dev/fd/N (3.3 and
 * newer).  What is the sandbox's own in its root is written into it, as into a copy.
 *
 * fuse-overlayfs is somebody else's program and reads what a hostile inside asks it: what
 * it can do is in fuse_server.h.  When its end comes before the sandbox's, every call of
 * the inside for a file fails, and guest.c ends the sandbox; when the sandbox's comes, the
 * mount goes and it ends, or is killed; the launcher's end is its own, too. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "sandbox/program.h"

struct err;
struct plan;

/* Of those that know user.overlay.opaque (1.8), and of 2.0, which is another program and
 * takes no /dev/fd/N. */
#define FUSE_MAJOR     1
#define FUSE_MINOR_MIN 8

struct fuse_overlayfs {
	struct program program;
	unsigned major, minor;
};

void fuse_overlayfs_done(struct fuse_overlayfs *f);

/* The first fuse-overlayfs of PATH, if nobody but root and the caller can write it, it is
 * one of those versions, which it is asked for, and FUSE can be mounted, which is tried.
 * 0, or -1 and why not.  SIGCHLD must not be ignored. */
int fuse_find(struct fuse_overlayfs *ret, struct err *e);

/* Whether the plan's root can be one.  Not where its image has a folder of hutch's own in
 * it: the mask over that is a mount, and one goes when the name below it is given up, which
 * is up to who serves it. */
bool fuse_suits(const struct plan *p);

/* One that runs, or waits for its mount. */
struct fuse {
	pid_t pid;  /* 0: none */
	int pidfd;  /* owned */
	int words;  /* owned: what it says of what goes wrong */
	int socket; /* owned: the sandbox's child's, for fuse_mount() */
};

void fuse_init(struct fuse *f);

/* Kills it, waits for it, closes everything.  The zero object is not one. */
void fuse_done(struct fuse *f);

/* So that nothing in the sandbox waits for an answer of it any more, and can end. */
void fuse_kill(const struct fuse *f);

/* For the plan's root, is_served.  The child of the caller's that is made next has the
 * socket; the caller closes it then. */
int fuse_start(const struct plan *p, const struct program *program, struct fuse *ret,
	       struct err *e);

/* In the sandbox's child.  Needs: CAP_SYS_ADMIN over its namespaces, the host's /dev.  A
 * descriptor of the mount, which is attached nowhere. */
int fuse_mount(int socket, struct err *e);

/* After it has ended, or should have: waits for that.  False: the mount was gone, which is
 * as it should be.  True: it failed, and *e says how. */
bool fuse_has_failed(struct fuse *f, struct err *e);
