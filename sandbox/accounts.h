/* accounts -- who a name is in an image: lines of its /etc/passwd and /etc/group.
 *
 * Strangers wrote these files.  A process of its own reads them, which can do nothing
 * but read, write and end (a filter of seccomp(2)); it says two numbers and two texts, of
 * bounded size, and those are checked.
 *
 * SIGCHLD must not be ignored. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/account.h"

struct err;

/* Looks through `fd`, the caller's, for the line of `name` or, where that is NULL, of
 * `id`.  1: *ret; 0: there is none; -1: it could not be looked for.  It is read as
 * account_read() reads. */
int accounts_find(int fd, const char *name, uint32_t id, struct account *ret,
		  struct err *e);
