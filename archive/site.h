/* site -- the folders in which the things of a tar are made.
 *
 * What is missing of the way to a place is made, mode 0755.  A folder that was there
 * before stays as it is.  One that this tar made gets its looks when the tar goes on
 * elsewhere, and again if it comes back: by then what is in it is made, so that its
 * time stays and a mode that forbids writing forbids nothing.  Files that the tar made
 * are known by inode.
 *
 * In a layer, the tar made everything, the root too, and what is in the way of a folder
 * goes.  A folder that its owner may not even enter gets its mode at the end. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "archive/inodes.h"
#include "archive/trail.h"

struct err;
struct unpack;

/* What a file or folder is to get when it is finished. */
struct looks {
	mode_t mode;
	bool has_ids, has_time;
	uid_t uid;
	gid_t gid;
	struct timespec mtime;
};

/* Gives them to a file whose stat is `now`; `path` is for messages. */
int looks_give(const struct looks *l, int fd, const struct stat *now, const char *path,
	       struct err *e);

struct site {
	struct unpack *u; /* borrowed: what limits us, and counts */
	struct trail trail;
	struct inodes made;
	/* Private. */
	struct site_level *levels; /* owned; one for each step of the trail */
	size_t room;
	struct site_closed *closed; /* owned: folders that are to be closed */
	size_t closed_count;
};

/* Starts in the folder `root`, borrowed.  After a failure too, site_done() is to be
 * called. */
int site_start(struct site *s, struct unpack *u, int root, struct err *e);
void site_done(struct site *s);

/* The folder where we are, borrowed. */
int site_here(const struct site *s);

/* To the folder `path`, as place_read() gives it. */
int site_go(struct site *s, const char *path, struct err *e);

/* What the folder where we are is to get, if this tar made it. */
void site_folder(struct site *s, const struct looks *looks);

/* Whether that folder was made when we came to it, and said nothing of since. */
bool site_is_new(const struct site *s);

/* That `path` is no more, nor what was below it. */
void site_forget(struct site *s, const char *path);

/* Back to the root: every folder is finished then. */
int site_leave_all(struct site *s, struct err *e);

/* ERR_LIMIT where one thing more would be too many. */
int site_check_count(const struct site *s, struct err *e);
