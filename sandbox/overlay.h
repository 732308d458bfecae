/* overlay -- a root that can be written to above an image that cannot.
 *
 *	base = a tmpfs of the sandbox's own
 *	overlay_prepare		a folder of it, to be filled with what is the sandbox's
 *				own in every image: mount points, /etc/hosts
 *	overlay_merge		that folder over the image's layers, all read-only, and
 *				over these what is written
 *
 * What is the sandbox's own is a layer below, as docker's init layer is, so that in the
 * folder for what is written there is what the inside has written and nothing else. */
#pragma once

struct err;
struct step;

/* Whether who has a user namespace has overlayfs in it, tried in a child
 * where that is not plain to see: 0, or -1 and why
 * not, which takes a copy of the image instead (copied.h).  What else may be wrong is for
 * the launch to tell: then, too, it is 0.  SIGCHLD must not be ignored. */
int overlay_try(struct err *e);

/* Attaches the base where the caller's paths do not lead; *ret_base is its root, which
 * the caller owns.  A descriptor of the folder to be filled, or -1. */
int overlay_prepare(const struct step *s, int *ret_base, struct err *e);

/* Mounts the overlay: below, the step's source or lowers and what the folder was filled
 * with; above, the step's folder on disk or one of the base.  Leaves the working
 * directory in the base.  A descriptor of its root, or -1. */
int overlay_merge(const struct step *s, int base, struct err *e);

/* The layers alone, in a mount namespace of the caller's, which is good for nothing else
 * then.  A descriptor to read the root by, or -1. */
struct list;
int overlay_view(const struct list *lowers, struct err *e);

/* In the working directory that overlay_merge() leaves: what the inside will have written,
 * an overlay's upper layer, as a mount of its own that is attached nowhere, read-only.  An
 * O_PATH descriptor, or -1. */
int overlay_upper(struct err *e);
