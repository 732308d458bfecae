/* delta -- what an overlay's upper layer says: what is new, other or gone.
 *
 *	struct delta d = { .who = ..., .on_left_out = ... };
 *
 *	delta_begin(&d, folder, e);
 *	while ((more = delta_next(&d, &item, e)) > 0)
 *		...
 *	delta_done(&d);
 *
 * Names of a folder come in the order of their bytes, a folder before what is in it.
 *
 * The inside has written the tree and may be at it still, so this is work for a jail
 * (sandbox/jail.h).  Each folder is opened below the one before and through no link
 * (archive/trail.h); no file is opened here.
 *
 * The upper of a mount with `userxattr` (kernel: Documentation/filesystems/overlayfs.rst):
 * what is gone is a character device 0:0; a folder with user.overlay.opaque "y" shows
 * nothing of the lower one.  Links from one layer to another (redirect, metacopy) are not
 * made in such mounts. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "archive/trail.h"

struct err;

/* The bytes of names that are held at once, of a folder and those that it is in.  One that
 * has more is left out, and so is one that is deeper than TRAIL_DEPTH_MAX. */
#define DELTA_NAMES_MAX	  (64u << 20)
#define DELTA_ENTRIES_MAX (16u << 20)

enum delta_kind {
	DELTA_FOLDER,
	DELTA_FOLDER_END, /* behind all that is in it */
	DELTA_FILE,
	DELTA_LINK,
	DELTA_FIFO,
	DELTA_GONE,
	DELTA_KIND_COUNT
};

struct delta_item {
	enum delta_kind kind;
	const char *path; /* below the upper; good until the next one, as the rest */
	int at;		  /* borrowed: the folder that it is in */
	const char *name; /* there */
	int fd;		  /* borrowed: of a folder; else -1 */
	struct stat st;	  /* not of DELTA_FOLDER_END */
	bool is_opaque;	  /* it says of itself that it shows nothing of the lower one */
	bool is_covered;  /* that, or a folder that it is in does */
};

struct delta {
	void *who;
	/* For: what is left out, and why: sockets, devices, what may not be read, what has
	 * gone meanwhile.  May be NULL. */
	void (*on_left_out)(void *who, const char *path, const char *why);
	uint64_t entries_max; /* 0: DELTA_ENTRIES_MAX; more is ERR_LIMIT */
	/* Names that begin so are left out; NULL: none are. */
	const char *reserved;
	/* So far. */
	uint64_t entries, left_out;
	/* Private. */
	struct trail trail;
	struct delta_level *levels; /* owned; one for each step of the trail */
	size_t room;
	size_t names_len;
};

/* `folder` is taken over.  After a failure too, delta_done() is to be called. */
int delta_begin(struct delta *d, int folder, struct err *e);
void delta_done(struct delta *d);

/* 1: *ret is one more.  0: that was all. */
int delta_next(struct delta *d, struct delta_item *ret, struct err *e);

/* Something else about the last one that came: it is to count as left out. */
void delta_leave_out(struct delta *d, const char *path, const char *why);

/* Whether that is why a thing was left out: it is a socket or a device. */
bool delta_is_no_file(const char *why);
