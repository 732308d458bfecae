/* placing -- a tar of what is to be copied becomes a layer over an image.
 *
 * Where something goes is looked up in the image's layers, whose links lead within them
 * (rootfs-tools/merged.h): a folder that is copied to where the image has a link to a
 * folder goes into that folder, and the link stays.  A file takes the place of a file or
 * a link, never of a folder.  A folder that is there already is written with the looks
 * that it has, since it would hide them otherwise.
 *
 * Both the tar and the layers may have been written by strangers: it is done in a
 * jail. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct list;
struct merged;
struct outcome;

struct placing {
	const struct list
		*layers;   /* hexadecimal, the lowest first; borrowed, as the rest */
	const char *to;	   /* absolute; with a slash at its end it is a folder */
	bool keeps_ids;	   /* those in the tar; else */
	const char *owner; /* "USER[:GROUP]", names as the image has them; NULL: 0 */
	bool has_mode;	   /* all get `mode` */
	uint32_t mode;
	int64_t now;	/* of folders that have to be made */
	int64_t newest; /* no time is later; INT64_MAX: any may be */
};

/* For party_start() (sandbox/cli/party.h): reads `in` and writes entries to `out`,
 * without an end, so that others can follow. */
struct placing_order {
	const struct placing *p;
	int layers; /* the store's folder of them */
	int in, out;
};
void placing_work(void *order, int leash, struct outcome *o);

/* "UID[:GID]" or names, by the image's own files (passwd(5), group(5)); no group: that of
 * the user, or 0.  For the jail; exported for tests. */
int placing_owner(const struct merged *image, const char *owner, uid_t *ret_uid,
		  gid_t *ret_gid, struct err *e);
