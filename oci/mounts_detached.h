/* mounts_detached -- the mounts that a verb makes for its container, and hands over.
 *
 * They are the id-mapped mounts, and the binds of a container in another user namespace: the
 * container's process may have no rights over the host's mounts and files.  The devices of such
 * a container are with them (devices_made.h). */
#pragma once

struct config;
struct err;

/* Makes them with the rights of the verb.  *ret is allocated: a descriptor for each mount of
 * the configuration and then for each of its devices, or -1, or DEVICES_REFUSED of
 * devices_made.h; they are freed with mounts_release(). */
int mounts_detach(const struct config *c, const char *bundle, int **ret, struct err *e);
/* Closes them. */
void mounts_close(const struct config *c, int *detached);
void mounts_release(const struct config *c, int *detached);
