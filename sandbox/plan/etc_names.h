/* etc_names -- which entries of the host's /etc a sandbox may show.
 *
 * To list a folder of some hundred entries takes longer than to look at the few dozen that
 * are wanted.  So the names that were found are kept in a file of the state folder, together
 * with device, inode and time of change of the folder.  The kernel changes that time with
 * each name that is added or removed, and a folder whose time is the same has the same
 * names.  The file tells names only: the caller looks at each entry itself. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct err;
struct list;

struct etc_wanted {
	const char *folder;	  /* "/etc" */
	const char *const *paths; /* absolute, below the folder */
	size_t path_count;
	const char *const *prefixes; /* beginnings of names in the folder */
	size_t prefix_count;
};

/* A file that has changed within so long may change again without another time of change:
 * some file systems tell times in whole seconds (ext4 with inodes of 128 bytes), and one in
 * two (FAT). */
#define ETC_NAMES_STILL_NS 2000000000ll

/* Adds to `ret`, an empty list, the entries that begin with one of the prefixes, then those
 * of the paths whose first component the folder has.  A folder that does not exist has none.
 * `now` is the time of CLOCK_REALTIME_COARSE before the call, in ns.  The names of a folder
 * that has changed less than ETC_NAMES_STILL_NS before are not kept. */
int etc_names_list(const struct etc_wanted *w, int64_t now, struct list *ret,
		   struct err *e);
