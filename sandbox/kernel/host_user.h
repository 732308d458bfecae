/* host_user -- the host user that a sandbox stands for: on the host, its processes have
 * this user's rights.
 *
 * An ordinary user's sandbox stands for that user.  Root's sandbox never stands for
 * root: if host id 0 were mapped, a process inside could open
 * /proc/sys/kernel/core_pattern for writing, whatever its capabilities.  So when root
 * starts hutch, hutch first *becomes* the ordinary user that the sandbox will stand for,
 * wholly and for good.  Everything after that is the same code under the same kernel
 * checks as for any other user: mount sources that this user cannot reach stay out of
 * reach, limits per user hold, and the process that reads the sandbox's bytes is not
 * root. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct err;
struct policy;

struct host_user {
	uid_t uid; /* the user's id on the host; never 0 */
	gid_t gid; /* the group's id on the host; never 0 */
	bool was_root;
	const char *why; /* static text for messages that says how the user was chosen:
			  * "caller", "SUDO_UID", ... */
};

/* Decides which user the sandbox stands for.  If root started hutch: SUDO_UID and
 * SUDO_GID, else the owner of --workspace, else 65534; a candidate with id 0 is
 * skipped.  For every other user: the caller. */
int host_user_decide(const struct policy *policy, struct host_user *ret, struct err *e);

/* Returns the name that passwd(5) has for a user, allocated; NULL: the user has no
 * name.  Only /etc/passwd is read: a static program has no other sources.  The
 * environment is not asked: it may hold any name. */
char *host_user_name(uid_t uid);

/* Drops root for good: supplementary groups, group, user, capabilities.  Does
 * nothing for an ordinary user. */
int host_user_become(const struct host_user *user, struct err *e);

/* Becomes the user that root's sandboxes stand for if no workspace says otherwise.
 * Verbs that speak with a running sandbox call this: the sandbox's state folder belongs
 * to that user, and the sandbox accepts connections from no other user.  The environment
 * is erased, except for HOME, the XDG folders and the log settings, since that user's
 * other processes may read this process's environment.  Does nothing for an ordinary
 * user. */
int host_user_become_client(struct err *e);

/* Calls `look` with the effective ids of the user that host_user_become_client() would
 * become, then restores root's.  For an ordinary user, only calls `look`. */
int host_user_as_client(int (*look)(void *arg, struct err *e), void *arg, struct err *e);

/* Does the same as host_user_become_client(), for verbs that manage images: the
 * variables that say where images are stored, and how to download them, stay in the
 * environment. */
int host_user_become_for_images(struct err *e);

/* Erases all variables from the environment but those for verbs that manage images. */
void host_user_forget_for_images(void);
