/* snapshot -- makes an image of a live sandbox: its own image, and one more
 * layer with the files that it has written to its root.
 *
 * The sandbox's processes are stopped only while its files are read; the image is made
 * afterwards.  The files are not trusted, so a jailed process reads them
 * (rootfs-tools/changes/changes.h). */
#pragma once
#include "store/digest.h"

struct err;
struct reference;
struct store;

struct snapshot {
	const char *sandbox; /* borrowed: the sandbox's name */
	const char *message; /* borrowed: a message for the image's history; NULL: none */
};

/* Makes the image and names it `r`.  If `r` is NULL, the name is localhost/SANDBOX:N,
 * with the first free number N.  *ret_name is the name.  If the sandbox has written
 * nothing, its own image gets the name.  ERR_NOT_FOUND with e->sys 0: there is no such
 * sandbox. */
int snapshot_take(const struct store *s, const struct snapshot *what,
		  const struct reference *r, struct reference *ret_name, struct err *e);
