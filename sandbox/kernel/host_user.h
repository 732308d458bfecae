/* host_user -- the host user that a sandbox stands for.
 *
 * An ordinary user's sandbox stands for that user.  Root's never stands for
 * root: with host id 0 mapped, the inside can open core_pattern for writing,
 * whatever its capabilities.  So root's hutch first *becomes* the ordinary user
 * that the sandbox will stand for, wholly and for good, and everything after
 * that is the same code under the same kernel checks as for any other user:
 * mount sources that this user cannot reach stay out of reach, limits per user
 * hold, and the process that reads the sandbox's bytes is not root. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct err;
struct policy;

struct host_user {
	uid_t uid; /* on the host; never 0 */
	gid_t gid; /* on the host; never 0 */
	bool was_root;
	const char *why; /* static, for messages: "caller", "SUDO_UID", ... */
};

/* For root: SUDO_UID and SUDO_GID, else the owner of --workspace, else 65534;
 * an id of 0 is passed over.  For every other user: the caller. */
int host_user_decide(const struct policy *policy, struct host_user *ret, struct err *e);

/* The name that passwd(5) has for a user, allocated; NULL: none.  A static
 * program looks at /etc/passwd alone.  The environment is not asked: it may
 * hold any name. */
char *host_user_name(uid_t uid);

/* Drops root for good: supplementary groups, group, user, capabilities.  Does
 * nothing for an ordinary user. */
int host_user_become(const struct host_user *user, struct err *e);

/* Becomes the user that root's sandboxes stand for if no workspace says
 * otherwise.  For verbs that speak with a living sandbox: its state folder is
 * that user's, and it speaks with no other user.  The environment is erased,
 * except for HOME, the XDG folders and the log settings, since that user's
 * other processes may look at this one.  Does nothing for an ordinary user. */
int host_user_become_client(struct err *e);

/* Calls `look` as that user, for a moment, and becomes root again. */
int host_user_as_client(int (*look)(void *arg, struct err *e), void *arg, struct err *e);

/* The same for verbs that keep images: variables that say where images are, and
 * what it takes to get them, stay in the environment. */
int host_user_become_for_images(struct err *e);

/* Erases all other variables from the environment. */
void host_user_forget_for_images(void);
