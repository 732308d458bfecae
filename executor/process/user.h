/* user -- the executor's own ids, and how a command becomes another user.
 *
 * With one id mapped there is no other user, and nothing is done.  With a range of ids
 * the executor has an id of its own, and SETUID and SETGID (caps.h). */
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

/* Reads the executor's own ids and capabilities.  -1 with errno set. */
int user_init(struct user *ret);

/* In a child that is about to execve: takes the command's ids, its further groups and
 * no others, and the capabilities that are handed on.  Allocates and locks nothing.  -1
 * with errno set. */
int user_become(const struct user *self, const struct exec *x);

/* In a child that will not execve, after user_become(): makes the capabilities
 * effective that execve would have made effective, and keeps the child as undumpable as
 * we are.  -1 with errno set. */
int user_stay(const struct user *self, uint32_t uid);

/* The state that user_enter() saves and user_leave() restores. */
struct user_role {
	int death_signal;
	bool is_other; /* the file system ids were changed */
	bool has_more; /* the effective capabilities were changed */
};

/* From here on files are looked up, opened and made as a command of these ids would do
 * it, with its capabilities.  -1 with errno set, and nothing changed.  Every success
 * must be followed by user_leave(), whose failure must end the executor. */
int user_enter(const struct user *self, uint32_t uid, uint32_t gid,
	       struct user_role *ret);
int user_leave(const struct user *self, const struct user_role *role);

/* Opens a terminal (terminal.h) that belongs to the command's user, so that the command
 * can open its /dev/pts/N again.  -1 with errno set. */
int user_open_terminal(const struct user *self, const struct exec *x,
		       struct terminal *ret);
