/* files_parts -- what files.c does with one file, for editor.c and errand.c too.
 *
 * All of it as whoever user_enter() has made us. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/action.h"

struct stat;

struct content {
	uint8_t *bytes; /* owned */
	size_t len;
};

/* How it went: an outcome, and errno where that is OUTCOME_ERROR or NOT_FOUND. */
struct result {
	enum outcome outcome;
	int sys;
};

/* `path` below the absolute `cwd`.  False when the two together are too long. */
bool files_make_absolute(char to[PATH_MAX], const char *cwd, const char *path);

/* As openat(2), and stat(2), but not through what /proc says that a process has open:
 * /proc/self is the executor here, and what it has open is nobody else's: EACCES, or
 * ELOOP where nothing is there.
 * A new file gets mode 0664.  -1 with errno set. */
int files_at(int folder, const char *path, int flags);
int files_stat(const char *path, struct stat *ret);

/* Opens a regular file without waiting; of any other kind of thing it says which it is.
 * *ret_st is filled in as soon as something is open. */
struct result files_open(const char *path, int flags, int *ret_fd, struct stat *ret_st);

/* Reads to the end; at most ACTION_FILE_MAX.  The caller frees the bytes. */
struct result files_read_whole(int fd, off_t size, struct content *ret);

/* Gives an open file, which was opened for writing too, another content: a finished file
 * takes its place where that changes nothing else, or else it is written in place. */
struct result files_put(int fd, const struct stat *st, const struct content *c);

/* A new file, mode 0664.  One of that name must not be there; a link to what is not
 * there is followed. */
struct result files_make(const char *path, const struct content *c);

/* binaryornot's rule, by the first bytes; what is Russian is text (encoding.h). */
bool files_look_binary(const struct content *c);

/* Whether it tells of a process: /proc/self would be the executor. */
bool files_is_of_process(int fd);
