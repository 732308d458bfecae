/* image_passwd -- looks a user or group up in an image's /etc/passwd and /etc/group.
 *
 * These files are untrusted, so a child process reads them.  A seccomp(2) filter allows
 * the child nothing but to read, write and exit.  The child answers with two numbers and
 * two texts of bounded size, which the caller's process checks.
 *
 * SIGCHLD must not be ignored. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/account.h"

struct err;

/* Searches the file `fd`, which stays the caller's, for the line of `name` or,
 * if `name` is NULL, of `id`.  Returns 1: found, in *ret; 0: there is no such
 * line; -1: the search failed.  account_read() reads the file. */
int image_passwd_find(int fd, const char *name, uint32_t id, struct account *ret,
		  struct err *e);
