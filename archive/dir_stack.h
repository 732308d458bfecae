/* dir_stack -- the way from a folder down to one below it.
 *
 * Each step is one name, looked up by openat2(2) beneath the folder before it and
 * through no link.  However long the way is, only its last DIR_STACK_HELD folders are kept
 * open.  To come back to an earlier one, ".." is opened and must be the folder that
 * was there on the way down, so that a tree that is moved meanwhile leads nowhere
 * else. */
#pragma once
#include <stddef.h>
#include <sys/stat.h>

struct err;

#define DIR_STACK_DEPTH_MAX 4096
#define DIR_STACK_HELD	64

struct dir_stack_step {
	int fd;		 /* owned; -1: not open now */
	struct stat st;	 /* as it was when the folder was entered */
	size_t path_len; /* the length of the stack's path up to here */
};

struct dir_stack {
	struct dir_stack_step *steps; /* owned; the first one is the start */
	size_t depth;		  /* of the current folder; 0: the start */
	size_t room;
	char *path; /* owned: see dir_stack_path() */
	size_t path_room;
};

/* Starts in the folder `fd`, which is taken over, under the name `path`; "": without
 * a name.  After a failure too, dir_stack_done() is to be called. */
int dir_stack_start(struct dir_stack *t, int fd, const char *path, struct err *e);
void dir_stack_done(struct dir_stack *t);

/* The current folder, borrowed; opened O_PATH if it may not be read. */
int dir_stack_here(const struct dir_stack *t);

/* Goes one step down; `name` is one part.  On -1 the stack has not moved. */
int dir_stack_down(struct dir_stack *t, const char *name, struct err *e);

/* Goes one step up; there must be one. */
int dir_stack_up(struct dir_stack *t, struct err *e);

/* The path of the current folder, and of `name` in it; good until the next call. */
const char *dir_stack_path(struct dir_stack *t);
const char *dir_stack_name(struct dir_stack *t, const char *name);

/* How many steps of the stack are also on the way to the folder `path`. */
size_t dir_stack_common(const struct dir_stack *t, const char *path);

/* The rest of `path` below the current folder, which must be on the way to it. */
const char *dir_stack_rest(const struct dir_stack *t, const char *path);
