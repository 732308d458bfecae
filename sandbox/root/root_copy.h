/* root_copy -- makes the root a copy of the image, for a kernel without overlayfs
 * in user namespaces (overlay_try() in overlay.h finds that out).
 *
 *	overlay_upper_make_root		makes a folder, locked, which is removed with the
 *				sandbox or swept later
 *	root_copy_fill		hutch-image fills it, in a jail (rootfs-tools/layers/image_copy.h)
 *	mounts_run		makes it the root, and writes the sandbox's own files
 *				into it (with overlayfs they are a layer of their own)
 *
 * hutch-image tells the caller on stderr that it copies, and why.  On a file
 * system that can share content (btrfs, xfs) the copy costs no room; elsewhere
 * the launch takes as long as the copying.  No layer holds only what processes
 * inside wrote, so commands and options that read such a layer do not work: hutch
 * diff, snapshot, --upper. */
#pragma once
#include <stdbool.h>

struct err;
struct step;

struct root_copy {
	const struct step *root; /* the plan's STEP_OVERLAY, which has is_copied set */
	const struct err *why;	 /* the reason why overlayfs cannot be used */
	int words;		 /* descriptor for hutch-image's messages; borrowed */
	bool was_root;		 /* the environment is root's */
};

/* SIGCHLD must not be ignored.  If a blocked signal that would end this process
 * arrives (supervise_signals()), the copying stops with an error. */
int root_copy_fill(const struct root_copy *c, struct err *e);
