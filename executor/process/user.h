/* user -- the executor's own ids, and how a command becomes another user.
 *
 * If the user namespace maps only one id, there is no other user, and the functions below
 * change no id.  If it maps a range of ids, the executor has an id of its own, and has
 * CAP_SETUID and CAP_SETGID to take others (caps.h). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "executor/process/caps.h"

struct exec;
struct terminal;

struct user {
	uint32_t uid, gid;
	struct caps caps;
};

/* Reads the executor's own ids and capabilities.  Returns -1 with errno set. */
int user_init(struct user *ret);

/* In a child that will execve: takes the command's ids, exactly its supplementary groups,
 * and the capabilities that are handed on (caps.h).  Allocates nothing and takes no lock.
 * Returns -1 with errno set. */
int user_become(const struct user *self, const struct exec *x);

/* In a child that will not execve, after user_become(): makes the capabilities effective
 * that execve would have made effective, and makes the child undumpable like the
 * executor.  Returns -1 with errno set. */
int user_stay(const struct user *self, uint32_t uid);

/* The state that user_enter() saves and user_leave() restores. */
struct user_role {
	int death_signal;
	bool is_other; /* the file system ids were changed */
	bool has_more; /* the effective capabilities were changed */
};

/* From this call on the calling process looks up, opens and makes files with the rights
 * of a command of these ids.  Returns -1 with errno set, and nothing changed.  Each
 * success must be followed by user_leave(); if that fails, the executor must exit. */
int user_enter(const struct user *self, uint32_t uid, uint32_t gid,
	       struct user_role *ret);
int user_leave(const struct user *self, const struct user_role *role);

/* Opens a terminal (terminal.h) that belongs to the command's user, so that the command
 * can open its /dev/pts/N again.  Returns -1 with errno set. */
int user_open_terminal(const struct user *self, const struct exec *x,
		       struct terminal *ret);
