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

struct err;

#define ACCOUNT_TEXT 256 /* with its 0 */

struct account {
	uint32_t id;	/* the user's or group's */
	uint32_t group; /* of a user, his own; else 0 */
	char name[ACCOUNT_TEXT];
	char home[ACCOUNT_TEXT]; /* absolute, or "" */
};

/* Looks through `fd`, the caller's, for the line of `name` or, where that is NULL, of
 * `id`.  1: *ret; 0: there is none; -1: it could not be looked for.  Lines of 4096 bytes
 * or more, and what follows the first MiB, are passed over. */
int accounts_find(int fd, const char *name, uint32_t id, struct account *ret,
		  struct err *e);

/* What that process does, for who tests it: nothing is checked. */
bool accounts_read(int fd, const char *name, uint32_t id, struct account *ret);
