/* pack -- writes files, links and folders as a tar.
 *
 *	struct pack p = { .out = fd };
 *
 *	pack_add(&p, AT_FDCWD, "some/folder", "folder", e);
 *	pack_end(&p, e);
 *	pack_done(&p);
 *
 * The form is POSIX pax, ustar wherever that is enough, with ids as numbers and
 * without names of users.  Times are exact to the nanosecond.  A second name of a file
 * that is in it already is a hard link.
 *
 * The tree may change while it is read, by somebody who means it: each folder is
 * opened below the one before and through no link, and coming back from one leads to
 * where it was entered or is an error.  Only regular files are opened.  A tree deeper
 * than TRAIL_DEPTH_MAX is an error; mounts below are entered.
 *
 * What cannot be had below the names that were given is left out and told: devices,
 * FIFOs, sockets, what may not be read, what has gone.  A file that turns out to be
 * shorter than it said is filled up with zeros, one that is longer is cut, and both
 * are told.  Only what concerns the names themselves, or `out`, fails.  A file that
 * says that it has no bytes and has some, as those of procfs do, is read up to 1
 * MiB.
 *
 * The caller ignores SIGPIPE, or dies of it when nobody reads `out`. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "archive/inodes.h"
#include "base/buffer.h"

struct err;

struct pack {
	int out;      /* borrowed; blocking: a pipe, a socket or a file */
	bool follows; /* a name that is given and is a link means what it points to */
	int64_t newest; /* no time in it is later; 0: any may be */
	void *who;
	/* For: what was left out or is not whole, by its name in the tar, and why.
	 * The name has any bytes but 0.  NULL: nobody wants to know. */
	void (*on_left_out)(void *who, const char *path, const char *why);
	/* So far. */
	uint64_t entries;
	uint64_t bytes;	   /* of files' content */
	uint64_t left_out; /* how often that was told */
	/* Private. */
	struct buffer pending;
	struct inodes linked; /* files with several names, by the first of them */
};

/* Adds `name` in the folder `at` (AT_FDCWD is allowed, and `name` may have slashes)
 * with all that is below it, as `as` and "`as`/...".  With `as` ".", what is in the
 * folder `name` is added without the folder itself. */
int pack_add(struct pack *p, int at, const char *name, const char *as, struct err *e);

/* Ends the tar and writes what is pending. */
int pack_end(struct pack *p, struct err *e);

void pack_done(struct pack *p);
