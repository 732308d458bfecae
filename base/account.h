/* account -- lines of passwd(5) and group(5).
 *
 * Strangers wrote these files: each line is bounded, and is an account only where its
 * numbers are numbers.  Two kinds of processes call this on a file of an image or a
 * sandbox: one that can do nothing else (sandbox/accounts.h), and one of the inside
 * (executor/errand_account.c). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACCOUNT_TEXT 256 /* with its 0 */
#define ACCOUNT_MAX  (UINT32_MAX - 1) /* the last number is "no id" */

struct account {
	uint32_t id;	/* the user's or group's */
	uint32_t group; /* of a user, his own; else 0 */
	char name[ACCOUNT_TEXT];
	char home[ACCOUNT_TEXT]; /* absolute, or "" */
};

/* A number in decimal digits, up to ACCOUNT_MAX. */
bool account_id(const char *text, uint32_t *ret);

/* Reads `fd` for the line of `name` or, where that is NULL, of `id`.  False: there is none.
 * Lines of 4096 bytes or more, and what follows the first MiB, are passed over. */
bool account_read(int fd, const char *name, uint32_t id, struct account *ret);

/* Reads a group file for the groups that have `user` among their members, in its order.  How
 * many there are; `ids` gets the first `max`. */
size_t account_groups(int fd, const char *user, uint32_t *ids, size_t max);
