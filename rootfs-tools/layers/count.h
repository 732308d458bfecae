/* count -- counts the files of an unpacked layer, with a checksum that shows
 * changes.
 *
 * Strangers chose the layer's content, so counting is done in a jail. */
#pragma once
#include <stdint.h>

struct err;
struct idmaps;

struct count {
	uint64_t entries, bytes; /* names; the files' bytes, once for each name */
	/* FNV-1a, 64 bits, over every path with its kind and mode, the sizes of
	 * files, and the times of files and links.  It detects accidents, not a
	 * deliberate forger. */
	uint64_t sum;
};

/* `folder` is borrowed.  Unreadable entries are skipped, the same way every time. */
int count_tree(int folder, struct count *ret, struct err *e);

/* The same in a jail, for a caller outside of one. */
struct counting {
	int folder;	   /* borrowed, the caller's own */
	const char *below; /* the folder in `folder` that is counted; NULL: itself */
	const struct idmaps *ranges; /* its files belong to these mapped ids, and an
				      * unreadable entry is an error; NULL: to the
				      * caller */
};

int count_in_jail(const struct counting *c, struct count *ret, struct err *e);
