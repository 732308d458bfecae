/* site -- the folders in which the files of a tar are made.
 *
 * Missing folders on the way to a place are made with mode 0755.  A folder that
 * existed before stays as it is.  A folder that this tar made gets its mode, owner and
 * times when the tar goes on in another folder, and again each time that the tar
 * comes back to it: its content exists by then, so that its time is not changed any
 * more and a mode without write permission does no harm.  Files that the tar made are
 * known by inode.
 *
 * In a layer, the tar made everything, the root too, and a folder replaces a file
 * that is in its way.  A folder that its owner may not even enter gets its mode at the
 * end. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "archive/inodes.h"
#include "archive/trail.h"

struct err;
struct unpack;

/* The mode, owner and times that a file or folder gets when it is finished. */
struct looks {
	mode_t mode;
	bool has_ids, has_time;
	uid_t uid;
	gid_t gid;
	struct timespec mtime;
};

/* Sets them on the file `fd`, whose stat is `now`; `path` is for messages. */
int looks_give(const struct looks *l, int fd, const struct stat *now, const char *path,
	       struct err *e);

struct site {
	struct unpack *u; /* borrowed: the limits and the counters */
	struct trail trail;
	struct inodes made;
	/* Private. */
	struct site_level *levels; /* owned; one for each step of the trail */
	size_t room;
	struct site_closed *closed; /* owned: folders that are to be closed */
	size_t closed_count;
};

/* Starts in the folder `root`, which stays the caller's.  After a failure too,
 * site_done() is to be called. */
int site_start(struct site *s, struct unpack *u, int root, struct err *e);
void site_done(struct site *s);

/* The folder where the site is, borrowed. */
int site_here(const struct site *s);

/* Goes to the folder `path`, as place_read() gives it, and makes the missing
 * folders. */
int site_go(struct site *s, const char *path, struct err *e);

/* Sets the looks of the folder where the site is; only a folder that this tar made
 * gets them. */
void site_folder(struct site *s, const struct looks *looks);

/* Whether that folder was made when the site entered it, and site_folder() has not
 * been called for it since. */
bool site_is_new(const struct site *s);

/* Forgets the folder `path` and everything below it, which have been removed. */
void site_forget(struct site *s, const char *path);

/* Goes back to the root: every folder is finished then. */
int site_leave_all(struct site *s, struct err *e);

/* ERR_LIMIT where one more entry would exceed the limit. */
int site_check_count(const struct site *s, struct err *e);
