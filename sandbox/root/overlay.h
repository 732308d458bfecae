/* overlay -- a root that can be written to, above an image that cannot.
 *
 *	base			a tmpfs of the sandbox's own
 *	overlay_prepare		makes a folder in the base, to be filled with the files
 *				that hutch adds to every image: mount points, /etc/hosts
 *	overlay_merge		mounts that folder over the image's layers, all read-only,
 *				and the upper folder over both
 *
 * The files that hutch adds are a lower layer, as docker's init layer is, so
 * that the upper folder holds what the inside has written and nothing else. */
#pragma once

struct err;
struct step;

/* Whether overlayfs can be used in a user namespace.  Where that is not certain
 * beforehand, a child tries.  Returns 0, or -1 with the reason; a launch then
 * uses a copy of the image (root_copy.h).  Any other fault is left for the launch
 * to report, and the result is 0.  SIGCHLD must not be ignored. */
int overlay_try(struct err *e);

/* Attaches the base where the caller's paths do not lead; *ret_base is its
 * root, which the caller owns.  Returns a descriptor of the folder to be
 * filled, or -1. */
int overlay_prepare(const struct step *s, int *ret_base, struct err *e);

/* Mounts the overlay: the lower layers are the step's source or lowers and the
 * folder that was filled, the upper layer is the step's folder on disk or one
 * of the base.  Leaves the working directory in the base.  Returns a descriptor
 * of the overlay's root, or -1. */
int overlay_merge(const struct step *s, int base, struct err *e);

/* Mounts the layers alone in a mount namespace of the caller's, which is good
 * for nothing else afterwards.  Returns a descriptor to read the root by, or
 * -1. */
struct list;
int overlay_view(const struct list *lowers, struct err *e);

/* Needs the working directory that overlay_merge() leaves.  Makes a read-only
 * mount, attached nowhere, of the upper layer, which will hold what the inside
 * writes.  Returns an O_PATH descriptor, or -1. */
int overlay_upper(struct err *e);
