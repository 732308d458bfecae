/* named_user -- the value NAME=UID[:GID] of -u: a user of that name, who is added where the
 * image has no user NAME.  Agents expect to be called as their client says. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;

#define NAMED_USER_MAX 32 /* useradd(8) takes no more characters */

struct named_user {
	char name[NAMED_USER_MAX + 1];
	uint32_t uid, gid; /* gid: the uid where the value has none */
};

/* Whether the value of -u has this form. */
bool named_user_is(const char *user);

/* Reads it.  A name has small letters, digits, '_' and '-', and begins with a letter or
 * '_', as useradd(8) has it: it goes into a line of passwd(5).  policy_user() refuses
 * other ids for a name that has its own inside, such as root. */
int named_user_read(const char *user, struct named_user *ret, struct err *e);
