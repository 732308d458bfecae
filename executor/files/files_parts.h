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

/* An outcome, and the errno if the outcome is OUTCOME_ERROR or OUTCOME_NOT_FOUND. */
struct result {
	enum outcome outcome;
	int sys;
};

/* Writes `path` to `to`, below the absolute `cwd` if it is relative. False: the result is
 * too long. */
bool files_make_absolute(char to[PATH_MAX], const char *cwd, const char *path);

/* Both work like openat(2) and stat(2), but not through the links in /proc to a process's
 * open files: /proc/self is the executor here, and its open files must stay its own. They
 * return -1 with EACCES for such a link, and with ELOOP for one that leads nowhere. A new
 * file gets mode 0664. */
int files_at(int folder, const char *path, int flags);
int files_stat(const char *path, struct stat *ret);

/* Opens a regular file without blocking; for any other kind of file the outcome names
 * the kind. *ret_st is filled in as soon as a file is open. */
struct result files_open(const char *path, int flags, int *ret_fd, struct stat *ret_st);

/* Reads the file to its end, at most ACTION_FILE_MAX bytes. The caller frees them. */
struct result files_read_whole(int fd, off_t size, struct content *ret);

/* Gives a file, which is open for writing too, new content: a finished file takes its
 * place if that changes nothing but the content; otherwise the content is written in
 * place. */
struct result files_put(int fd, const struct stat *st, const struct content *c);

/* Makes a new file of mode 0664. A file of that name must not exist; a dangling link is
 * followed. */
struct result files_make(const char *path, const struct content *c);

/* Returns whether a file's first bytes look binary, by the rule of Python's package
 * binaryornot; Russian counts as text (encoding.h). */
bool files_look_binary(const struct content *c);

/* Returns whether the open file shows a process. Such files are refused, since /proc/self
 * would be the executor. */
bool files_is_of_process(int fd);
