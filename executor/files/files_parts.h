/* files_parts -- the steps of files.c for one file, also for editor.c and errand.c.
 *
 * Each function must be called with the ids of the command's user, after user_enter()
 * and before user_leave(). */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "protocol/action.h"

struct stat;

struct content {
	uint8_t *bytes; /* owned */
	size_t len;
};

/* An outcome, and the errno if the outcome is OUTCOME_ERROR or OUTCOME_NOT_FOUND. */
struct result {
	enum outcome outcome;
	int sys;
};

/* Writes `path` to `to`; a relative path is put behind `cwd`, which is absolute. False:
 * the result is too long. */
bool files_make_absolute(char to[PATH_MAX], const char *cwd, const char *path);

/* Both work like openat(2) and stat(2), but do not follow the links in /proc to a
 * process's open files (/proc/self/fd): /proc/self is the executor, and its open files
 * must stay its own. They return -1 with EACCES for such a link, and with ELOOP for a
 * loop of links. A new file gets mode 0664. */
int files_at(int folder, const char *path, int flags);
int files_stat(const char *path, struct stat *ret);

/* Opens a regular file without blocking; for any other kind of file the outcome names
 * the kind, and *ret_st is set all the same. */
struct result files_open(const char *path, int flags, int *ret_fd, struct stat *ret_st);

/* Reads the file to its end; OUTCOME_TOO_LARGE: it has more than ACTION_FILE_MAX bytes.
 * `size` is its st_size. The caller frees the bytes. */
struct result files_read_whole(int fd, off_t size, struct content *ret);

/* Gives new content to a file that is open for writing. A complete new file is renamed
 * over it if nothing but the content changes by that; otherwise the content is
 * overwritten in place. */
struct result files_put(int fd, const struct stat *st, const struct content *c);

/* Makes a new file of mode 0664. EEXIST: a file of that name exists; but if it is a
 * dangling link, the file is made where the link leads. */
struct result files_make(const char *path, const struct content *c);

/* Returns whether a file's first bytes look binary, by the rule of Python's package
 * binaryornot; Russian counts as text (encoding.h). */
bool files_look_binary(const struct content *c);

/* Returns whether the open file belongs to a process in /proc (/proc/PID/...). Such
 * files are refused, since /proc/self would be the executor. */
bool files_is_of_process(int fd);
