/* count -- counts the files of an unpacked layer, with a checksum that shows
 * changes.
 *
 * Strangers chose the layer's content, so counting is done in a jail. */
#pragma once
#include <stdint.h>

struct err;
struct idmaps;

struct count {
	uint64_t entries, bytes; /* entries: names in the folder; bytes: those of
				  * files, once for each name */
	/* FNV-1a, 64 bits, over every path with its kind and mode, the sizes of
	 * files, and the times of files and links.  It detects accidents, not a
	 * deliberate forger. */
	uint64_t sum;
};

/* Counts a folder, which is borrowed.  Unreadable entries are skipped, so two counts
 * of the same folder are equal. */
int count_tree(int folder, struct count *ret, struct err *e);

/* A count of a folder that is done in a jail, for a caller outside of one. */
struct counting {
	int folder;	   /* borrowed, the caller's own folder */
	const char *below; /* the part of `folder` that is counted; NULL: `folder`
			    * itself */
	const struct idmaps *ranges; /* the files belong to these mapped ids, and an
				      * unreadable entry is an error; NULL: the files
				      * belong to the caller */
};

int count_in_jail(const struct counting *c, struct count *ret, struct err *e);
