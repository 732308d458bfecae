/* copied -- a root that is a copy of the image, for a kernel without overlayfs in user
 * namespaces (overlay_try() in overlay.h says so).
 *
 *	upper_make_root		a folder, locked, removed with the sandbox or swept later
 *	copied_fill		hutch-image fills it, in a jail (rootfs-tools/replica.h)
 *	mounts_run		it is the root; what is the sandbox's own, which would be a
 *				layer between, is written into it
 *
 * The program tells the caller on stderr that it copies, and why.  Where the file system
 * can share content (btrfs, xfs) that costs no room; else the launch takes as long as the
 * copying.  There is no layer that has only what the inside wrote, so nothing that looks
 * at one works: hutch diff, snapshot, --upper. */
#pragma once
#include <stdbool.h>

struct err;
struct step;

struct copied {
	const struct step *root; /* the plan's STEP_OVERLAY, is_copied set */
	const struct err *why;	 /* there is no overlayfs */
	int words;		 /* where the program speaks; borrowed */
	bool was_root;		 /* the environment is root's */
};

/* SIGCHLD must not be ignored.  A signal that ends a program, if it is blocked
 * (supervise_signals()), ends the copying, which is an error. */
int copied_fill(const struct copied *c, struct err *e);
