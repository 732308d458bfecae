/* files_parts -- the steps of files.c for one file, also for editor.c and errand.c.
 *
 * All run as the user that user_enter() has made us. */
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

/* An outcome, and errno if that is OUTCOME_ERROR or OUTCOME_NOT_FOUND. */
struct result {
	enum outcome outcome;
	int sys;
};

/* Puts `path` below the absolute `cwd`.  False when the two together are too long. */
bool files_make_absolute(char to[PATH_MAX], const char *cwd, const char *path);

/* As openat(2) and stat(2), but not through the links in /proc to a process's open
 * files: /proc/self is the executor here, and its open files must stay its own.  EACCES
 * for such a link, or ELOOP for one that leads nowhere.  A new file gets mode 0664.  -1
 * with errno set. */
int files_at(int folder, const char *path, int flags);
int files_stat(const char *path, struct stat *ret);

/* Opens a regular file without blocking; for any other kind of file the outcome names
 * the kind. *ret_st is filled in as soon as a file is open. */
struct result files_open(const char *path, int flags, int *ret_fd, struct stat *ret_st);

/* Reads to the end; at most ACTION_FILE_MAX.  The caller frees the bytes. */
struct result files_read_whole(int fd, off_t size, struct content *ret);

/* Gives a file, which is open for writing too, another content: a finished file takes
 * its place if that changes nothing else; otherwise the content is written in place. */
struct result files_put(int fd, const struct stat *st, const struct content *c);

/* Makes a new file, mode 0664.  A file of that name must not exist; a dangling link is
 * followed. */
struct result files_make(const char *path, const struct content *c);

/* Judges by the first bytes, by the rule of Python's package binaryornot; Russian is
 * text (encoding.h). */
bool files_look_binary(const struct content *c);

/* Whether the file shows a process: /proc/self would be the executor. */
bool files_is_of_process(int fd);
