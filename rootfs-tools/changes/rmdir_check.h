/* rmdir_check -- finds out whether a folder of the host holds files that may not be
 * removed with it.
 *
 * The folder is walked through descriptors and through no link
 * (archive/dir_stack.h).  An entry that cannot be read is an obstacle, too, and so
 * is one that the kernel would not let us remove. */
#pragma once

struct stat;

/* A function that returns why an entry may not be removed, or NULL if it may.  `path`
 * is relative to the folder. */
typedef const char *rmdir_check_why(void *context, const char *path,
				    const struct stat *st);

/* Returns why no entry of the open folder `folder` can be removed: it belongs to
 * another user, and we may not write there.  NULL: entries can be removed, or the
 * folder is ours and we can change its mode. */
const char *rmdir_check_rights(int folder, const struct stat *st);

/* Returns why entries of other users cannot be removed or replaced though the folder
 * is writable (sticky bit; unlink(2), EPERM); NULL: they can. */
const char *rmdir_check_sticky(const struct stat *folder);

/* Returns why not even the folder's owner can remove or replace `name` in the folder;
 * with "": why no entry of the folder can be removed. */
const char *rmdir_check_fixed(int at, const char *name);

/* Looks at `name` as fstatat(2) does with AT_SYMLINK_NOFOLLOW, and sets *ret_fixed as
 * rmdir_check_fixed() does, with one system call for both. */
int rmdir_check_look(int at, const char *name, struct stat *ret, const char **ret_fixed);

/* Returns the first obstacle to removing all files in the folder `name` of the folder
 * `at`, as a sentence without its subject ("a/b in it WHY"), allocated; NULL: there is
 * none.  The folder itself is not checked. */
char *rmdir_check_find(int at, const char *name, rmdir_check_why *why, void *context);
