/* upper_scan -- walks an overlay's upper layer: which paths are new, changed or removed.
 *
 *	struct upper_scan d = { .context = ..., .on_left_out = ... };
 *
 *	upper_scan_begin(&d, folder, e);
 *	while ((more = upper_scan_next(&d, &item, e)) > 0)
 *		...
 *	upper_scan_done(&d);
 *
 * The names in a folder are sorted by their bytes; a folder is reported before its
 * entries.
 *
 * The sandbox wrote the tree and may still be writing, so the walk is done in a jail
 * (sandbox/root/jail.h).  Each folder is opened below the one before and through no
 * link (archive/dir_stack.h); no file is opened here.
 *
 * The overlay is mounted with `userxattr` (kernel:
 * Documentation/filesystems/overlayfs.rst).  In its upper layer a removed path is a
 * character device 0:0; a folder with user.overlay.opaque "y" hides the same folder of
 * the lower layer.  Links from one layer to another (redirect, metacopy) are not made
 * in such mounts. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "archive/dir_stack.h"

struct err;

/* Limits of the names held at once, in bytes, of a folder and its parents, and of the
 * number of entries.  A folder with too many names, or deeper than DIR_STACK_DEPTH_MAX,
 * is left out. */
#define UPPER_SCAN_NAMES_MAX	  (64u << 20)
#define UPPER_SCAN_ENTRIES_MAX (16u << 20)

enum upper_scan_kind {
	UPPER_SCAN_FOLDER,
	UPPER_SCAN_FOLDER_END, /* the end of a folder, after its entries */
	UPPER_SCAN_FILE,
	UPPER_SCAN_LINK,
	UPPER_SCAN_FIFO,
	UPPER_SCAN_GONE,
	UPPER_SCAN_KIND_COUNT
};

struct upper_scan_item {
	enum upper_scan_kind kind;
	const char *path; /* relative to the upper layer; valid until the next item, like
			   * the other members */
	int at;		  /* borrowed: the folder that the item is in */
	const char *name; /* the item's name in the folder `at` */
	int fd;		  /* borrowed: the folder itself, open, if the item is a folder;
			   * else -1 */
	struct stat st;	  /* the item's stat; not set for UPPER_SCAN_FOLDER_END, and of a
			   * file that was not looked at only st_mode: S_IFREG */
	bool is_opaque;	  /* the folder is opaque: the same folder of lower layers is
			   * hidden, with all in it */
	bool is_covered;  /* this folder or one above it is opaque */
};

struct upper_scan {
	void *context;
	/* Called for each entry that is left out, with the reason: sockets,
	 * devices, unreadable or vanished files.  May be NULL. */
	void (*on_left_out)(void *context, const char *path, const char *why);
	uint64_t entries_max; /* limit of the number of entries; more are ERR_LIMIT; 0:
			       * UPPER_SCAN_ENTRIES_MAX */
	/* Files that the folder's entry says are regular ones are not looked at, since
	 * the caller opens them. */
	bool trusts_types;
	/* Names with this prefix are left out; NULL: none are. */
	const char *reserved;
	/* Counts so far. */
	uint64_t entries, left_out;
	/* Private. */
	struct dir_stack stack;
	struct upper_scan_level *levels; /* owned; one for each step of the stack */
	size_t room;
	size_t names_len;
};

/* Begins a walk of `folder`, which `d` then owns.  Call upper_scan_done() after a
 * failure too. */
int upper_scan_begin(struct upper_scan *d, int folder, struct err *e);
void upper_scan_done(struct upper_scan *d);

/* Gives the next item.  Returns 1 if *ret is the item, 0 if there are no more. */
int upper_scan_next(struct upper_scan *d, struct upper_scan_item *ret, struct err *e);

/* Counts the last item as left out; for a caller that cannot use it. */
void upper_scan_leave_out(struct upper_scan *d, const char *path, const char *why);

/* Returns whether the reason `why` of on_left_out() is that the entry is a socket or a
 * device. */
bool upper_scan_is_no_file(const char *why);
