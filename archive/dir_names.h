/* dir_names -- the names in a folder, all read at once: a later change of the folder
 * does not disturb a walk.
 *
 * The zero object is an empty list. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct dir_names {
	char *text; /* owned; the names one after the other, each with its final 0 and
		     * one byte with its type */
	size_t len, room, next;
	const char **sorted; /* owned; pointers into `text`; NULL before
			      * dir_names_sort() */
	size_t count;
};

/* Reads all names of `folder` but "." and "..".  The system call getdents64(2) is
 * used, since opendir(3) would open the folder once more.  More than `max` bytes of
 * names is EOVERFLOW.  After -1 with errno set, the list has the names that were read
 * until then. */
int dir_names_read(int folder, size_t max, struct dir_names *ret);
void dir_names_done(struct dir_names *r);

/* Sorts the names by their bytes; dir_names_next() and dir_names_find() then use that order. */
void dir_names_sort(struct dir_names *r);

/* Returns the next name of the list, or NULL after the last one. */
const char *dir_names_next(struct dir_names *r);

/* Returns whether the folder's entry says that `name`, which is one of the list's own
 * strings, is a regular file.  False also on a file system whose entries do not tell. */
bool dir_names_is_file(const char *name);

/* Returns the index of `name` in `sorted`, or -1. */
ssize_t dir_names_find(const struct dir_names *r, const char *name);
