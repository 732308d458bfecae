/* unpack_dirs -- the folders in which the files of a tar are made.
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

#include "archive/dir_stack.h"
#include "archive/inodes.h"

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

/* Sets mode, owner and times of the file `fd`, whose stat is `now`; `path` is for
 * messages. */
int looks_give(const struct looks *l, int fd, const struct stat *now, const char *path,
	       struct err *e);

struct unpack_dirs {
	struct unpack *u; /* borrowed: the limits and the counters */
	struct dir_stack stack;
	struct inodes made;
	/* Private. */
	struct unpack_dirs_level *levels; /* owned; one for each step of the stack */
	size_t room;
	struct unpack_dirs_closed *closed; /* owned: folders that get their mode at the
					    * end, since their owner may not enter them */
	size_t closed_count;
};

/* Starts in the folder `root`, which the caller still owns.  Call unpack_dirs_done()
 * after a failure too. */
int unpack_dirs_start(struct unpack_dirs *s, struct unpack *u, int root, struct err *e);
void unpack_dirs_done(struct unpack_dirs *s);

/* Returns a descriptor of the current folder, borrowed. */
int unpack_dirs_here(const struct unpack_dirs *s);

/* Goes to the folder `path`, a text from entry_path_folder() or entry_path_whole(), and
 * makes those of its parts that are missing. */
int unpack_dirs_go(struct unpack_dirs *s, const char *path, struct err *e);

/* Sets the mode, owner and times that the current folder will get when it is left.
 * Ignored for a folder that this tar did not make. */
void unpack_dirs_folder(struct unpack_dirs *s, const struct looks *looks);

/* Returns whether unpack_dirs_go() made the current folder, and unpack_dirs_folder()
 * has not been called for the folder since. */
bool unpack_dirs_is_new(const struct unpack_dirs *s);

/* Forgets the folder `path` and everything below it, which have been removed. */
void unpack_dirs_forget(struct unpack_dirs *s, const char *path);

/* Goes back to the root, so that every folder gets its mode, owner and times. */
int unpack_dirs_leave_all(struct unpack_dirs *s, struct err *e);

/* Fails with ERR_LIMIT if one more entry would exceed the limit of entries. */
int unpack_dirs_check_count(const struct unpack_dirs *s, struct err *e);
