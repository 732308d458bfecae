/* dir_stack -- the folders from a start folder down to the current one.
 *
 * Each step is one name, looked up by openat2(2) beneath the folder before it and
 * through no link.  However deep the stack is, only its last DIR_STACK_HELD folders
 * are kept open.  To come back to an earlier one, ".." is opened and must be the folder
 * that was there on the way down, so that a tree that is moved meanwhile leads nowhere
 * else. */
#pragma once
#include <stddef.h>
#include <sys/stat.h>

struct err;

#define DIR_STACK_DEPTH_MAX 4096
#define DIR_STACK_HELD	64

struct dir_stack_step {
	int fd;		 /* owned; -1: the folder is not open now */
	struct stat st;	 /* the folder's stat when the stack entered the folder */
	size_t path_len; /* the length of the stack's path up to this folder */
};

struct dir_stack {
	struct dir_stack_step *steps; /* owned; the first step is the folder of
				       * dir_stack_start() */
	size_t depth;		  /* number of steps from the start to the current
				   * folder; 0: the stack is at the start */
	size_t room;
	char *path; /* owned: the buffer of dir_stack_path() */
	size_t path_room;
};

/* Starts in the folder `fd`, which the stack then owns.  `path` is the folder's name in
 * the paths that the stack returns; with "", these paths are relative to the folder.
 * Call dir_stack_done() after a failure too. */
int dir_stack_start(struct dir_stack *t, int fd, const char *path, struct err *e);
void dir_stack_done(struct dir_stack *t);

/* Returns the current folder, a borrowed descriptor; it is O_PATH if the folder may
 * not be read. */
int dir_stack_here(const struct dir_stack *t);

/* Goes one step down, into `name`, which is one part of a path.  On -1 the stack has
 * not moved. */
int dir_stack_down(struct dir_stack *t, const char *name, struct err *e);

/* Goes one step up; the stack must not be at its start. */
int dir_stack_up(struct dir_stack *t, struct err *e);

/* dir_stack_path() returns the path of the current folder, dir_stack_name() the path of
 * `name` in the current folder.  Each path is valid until the next call. */
const char *dir_stack_path(struct dir_stack *t);
const char *dir_stack_name(struct dir_stack *t, const char *name);

/* Returns how many steps from the start are the same for the current folder and for the
 * folder `path`. */
size_t dir_stack_common(const struct dir_stack *t, const char *path);

/* Returns the rest of `path`, which must begin with the path of the current folder. */
const char *dir_stack_rest(const struct dir_stack *t, const char *path);
