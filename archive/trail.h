/* trail -- the way from a folder down to one below it.
 *
 * Each step is one name, looked up by openat2(2) beneath the folder before it and
 * through no link.  However long the way is, only its last TRAIL_HELD folders are
 * held open: to come back to one before them, ".." is opened and must be the folder
 * that was there on the way down, so that a tree that is moved about meanwhile leads
 * nowhere else. */
#pragma once
#include <stddef.h>
#include <sys/stat.h>

struct err;

#define TRAIL_DEPTH_MAX 4096
#define TRAIL_HELD	64

struct trail_step {
	int fd;		 /* owned; -1: not held now */
	struct stat st;	 /* as it was when we came */
	size_t path_len; /* how much of the trail's path leads here */
};

struct trail {
	struct trail_step *steps; /* owned; the first one is the start */
	size_t depth;		  /* of the folder where we are; 0: at the start */
	size_t room;
	char *path; /* owned: see trail_path() */
	size_t path_room;
};

/* Starts in the folder `fd`, which is taken over, under the name `path`; "": without
 * one.  After a failure too, trail_done() is to be called. */
int trail_start(struct trail *t, int fd, const char *path, struct err *e);
void trail_done(struct trail *t);

/* The folder where we are, borrowed; O_PATH where it may not be read. */
int trail_here(const struct trail *t);

/* One step down; `name` is one part.  -1 leaves us where we are. */
int trail_down(struct trail *t, const char *name, struct err *e);

/* One step up; there must be one. */
int trail_up(struct trail *t, struct err *e);

/* The name of where we are, and of `name` in it; good until the next call. */
const char *trail_path(struct trail *t);
const char *trail_name(struct trail *t, const char *name);

/* How many steps of the trail lead towards the folder `path` too. */
size_t trail_common(const struct trail *t, const char *path);

/* What of `path` is behind the folder where we are, which must be on its way. */
const char *trail_rest(const struct trail *t, const char *path);
