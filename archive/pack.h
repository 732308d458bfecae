/* pack -- writes files, links and folders as a tar.
 *
 *	struct pack p = { .out = fd };
 *
 *	pack_add(&p, AT_FDCWD, "some/folder", "folder", e);
 *	pack_end(&p, e);
 *	pack_done(&p);
 *
 * The form is POSIX pax, ustar wherever that is enough, with ids as numbers and
 * without names of users.  Times are exact to the nanosecond.  A further name of a
 * file that is in the tar already becomes a hard link.
 *
 * A hostile process may change the tree while it is read: each folder is opened below
 * the one before and through no link, and the way back up leads to the folder that
 * was entered or is an error.  Only regular files are opened.  A tree deeper than
 * DIR_STACK_DEPTH_MAX is an error; mounts below are entered.
 *
 * Below the given names, devices, FIFOs, sockets, unreadable files and files that
 * have gone are left out and reported to `on_left_out`.  A file that became shorter
 * than its stat said is padded with zeros, a longer one is cut, and both are
 * reported.  The packing fails only for an error of a given name itself or of `out`. A
 * file whose stat says 0 bytes and that has some, as in procfs, is read up to 1 MiB.
 *
 * The caller ignores SIGPIPE; otherwise it dies when the reader of `out` has gone. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "archive/inodes.h"
#include "base/buffer.h"

struct err;

struct pack {
	int out;      /* borrowed; blocking: a pipe, a socket or a file */
	bool follows; /* a given name that is a link stands for the link's target */
	bool has_no_links; /* a link to a regular file stands for that file, and so does
			    * a further name of a file; other links are left out */
	int64_t newest; /* a later modification time becomes this one, in seconds since
			 * 1970; 0: no bound */
	void *context;
	/* Called for each file that is left out or not whole, with its name in the
	 * tar and the reason.  The name may have any bytes but 0.  May be NULL. */
	void (*on_left_out)(void *context, const char *path, const char *why);
	/* Counts so far: how many entries the tar has. */
	uint64_t entries;
	uint64_t bytes;	   /* bytes of files' content */
	uint64_t left_out; /* how many files were reported to on_left_out */
	/* Private. */
	struct buffer pending;
	struct inodes linked; /* files with several names, each with its first name in
			       * the tar */
};

/* Adds the file or folder `name` in the folder `at` with everything below it, as `as`
 * and "`as`/...".  `at` may be AT_FDCWD, and `name` may have slashes.  With `as` ".",
 * the content of the folder `name` is added without the folder itself. */
int pack_add(struct pack *p, int at, const char *name, const char *as, struct err *e);

/* Ends the tar and writes the pending bytes. */
int pack_end(struct pack *p, struct err *e);

void pack_done(struct pack *p);
