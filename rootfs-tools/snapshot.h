/* snapshot -- what a sandbox that lives has written to its root, as one more layer of the
 * image that it was made of.
 *
 * Everything inside stands still while its files are read, and no longer; what is done with
 * them comes after.  The folder was written by the inside: a jail reads it
 * (rootfs-tools/changes.h). */
#pragma once
#include "store/digest.h"

struct err;
struct reference;
struct store;

struct snapshot {
	const char *sandbox; /* borrowed: its name */
	const char *message; /* borrowed: for the image's history; NULL: none */
};

/* Makes the image, and calls it `r`, or, where `r` is NULL, localhost/SANDBOX:N, with the
 * first number that is free; *ret_name is what it is called.  Of a sandbox that has written
 * nothing it is the image that there was.  ERR_NOT_FOUND with e->sys 0: no such sandbox. */
int snapshot_take(const struct store *s, const struct snapshot *what,
		  const struct reference *r, struct reference *ret_name, struct err *e);
