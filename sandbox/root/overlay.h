/* overlay -- a writable root above a read-only image.
 *
 *	base			a tmpfs of the sandbox's own
 *	overlay_prepare		makes a folder in the base, to be filled with the files
 *				that hutch adds to every image: mount points, /etc/hosts
 *	overlay_merge		mounts that folder over the image's layers, all read-only,
 *				and the upper folder over both
 *
 * The files that hutch adds are a lower layer, as docker's init layer is, so
 * that the upper folder holds only files that processes inside have written. */
#pragma once

struct err;
struct step;

/* Finds out whether overlayfs can be used in a user namespace; if that is not known
 * beforehand, a child tries it.  Returns 0, or -1 with the reason; a launch then
 * serves the root by FUSE or copies the image (root_fuse.h, root_copy.h).  If the
 * trial itself fails, the result is 0, and the launch will report the fault.  SIGCHLD
 * must not be ignored. */
int overlay_try(struct err *e);

/* Mounts the base over "/", where the caller's own path look-ups do not see it;
 * *ret_base is a descriptor of its root, which the caller owns.  Returns a descriptor
 * of the folder to be filled, or -1. */
int overlay_prepare(const struct step *s, int *ret_base, struct err *e);

/* Mounts the overlay.  Its lower layers are the step's source or lowers and the
 * folder that was filled; its upper layer is the step's folder on disk, or else a
 * folder of the base.  Leaves the working directory in the base.  Returns a
 * descriptor of the overlay's root, or -1. */
int overlay_merge(const struct step *s, int base, struct err *e);

/* Mounts the layers alone, read-only.  The caller must have a mount namespace of its
 * own, in which it can do nothing else afterwards.  Returns a descriptor of the root
 * for reading, or -1. */
struct list;
int overlay_view(const struct list *lowers, struct err *e);

/* Makes a read-only mount, attached nowhere, of the upper layer, which will hold the
 * files that processes inside write.  The working directory must still be the one
 * that overlay_merge() left.  Returns an O_PATH descriptor, or -1. */
int overlay_upper(struct err *e);
