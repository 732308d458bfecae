/* count -- counts the files of an unpacked layer, with a checksum that shows
 * changes.
 *
 * The layer's content is not trusted, so counting is done in a jail. */
#pragma once
#include <stdint.h>

struct err;
struct idmaps;

struct count {
	uint64_t entries, bytes; /* entries: the number of names; bytes: sizes of files,
				  * added once for each name */
	/* FNV-1a, 64 bits, over every path with its kind and mode, the sizes of
	 * files, and the times of files and links.  It detects accidents, not a
	 * deliberate forger. */
	uint64_t sum;
};

/* Counts a folder, which is borrowed.  Unreadable entries are skipped, so two counts
 * of the same folder are equal. */
int count_tree(int folder, struct count *ret, struct err *e);

/* An order to count a folder in a jail, for a caller that is not in a jail. */
struct counting {
	int folder;	   /* borrowed; this folder belongs to the caller */
	const char *below; /* a subfolder of `folder` that is counted; NULL: `folder`
			    * itself */
	const struct idmaps *ranges; /* the files belong to these mapped ids, and an
				      * unreadable entry is an error; NULL: the files
				      * belong to the caller */
};

int count_in_jail(const struct counting *c, struct count *ret, struct err *e);
