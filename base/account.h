/* account -- lines of passwd(5) and group(5).
 *
 * These files are foreign input: each line is bounded, and a line whose numbers are
 * no numbers is no account.  Two kinds of processes call this on a file of an image
 * or a sandbox: a confined helper that can do nothing else (sandbox/plan/image_passwd.h), and
 * a process inside the sandbox (executor/fileops/errand_account.c). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACCOUNT_TEXT 256 /* the room for a text of an account, with its NUL */
#define ACCOUNT_MAX  (UINT32_MAX - 1) /* the highest id; the number above means "no id" */

struct account {
	uint32_t id;	/* the user's id, or the group's */
	uint32_t group; /* the user's own group; 0 in an account of a group */
	char name[ACCOUNT_TEXT];
	char home[ACCOUNT_TEXT]; /* the home folder: absolute, or "" */
};

/* Parses a number in decimal digits, up to ACCOUNT_MAX. */
bool account_id(const char *text, uint32_t *ret);

/* Reads the passwd or group file `fd` for the line of `name` or, where that is NULL,
 * of `id`. Returns false if there is no such line.  Lines of 4096 bytes or more, and
 * everything behind the first MiB, are skipped. */
bool account_read(int fd, const char *name, uint32_t id, struct account *ret);

/* Reads a group file for the groups that have `user` among their members, in the
 * file's order.  Returns how many there are; `ids` gets the first `max`. */
size_t account_groups(int fd, const char *user, uint32_t *ids, size_t max);
