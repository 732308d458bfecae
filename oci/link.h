/* link -- messages between a container's first process, before it executes the command,
 * and the verb that controls it.
 *
 * `create` has a socket pair with the process that it has cloned.  `start` connects to a
 * socket in the container's folder, at which that process waits.  Messages are packets of
 * one size.  The process holds its end until execve(2), so that the end of the
 * connection, without an error before it, says that the command runs. */
#pragma once
#include "base/err.h"

enum link_kind {
	LINK_NONE,     /* the other end has closed */
	LINK_GO,       /* to the container: go on; value: its pid on the host */
	LINK_CGROUP,   /* to the container: fd is for cgroups_v1_enter() */
	LINK_HOOKS,    /* to the verb: run the hooks of the runtime's namespaces */
	LINK_READY,    /* to the verb: all is set up */
	LINK_TERMINAL, /* to the verb: fd is the terminal's master */
	LINK_LISTENER, /* to the verb: fd is the seccomp listener */
	LINK_ERROR,    /* to the verb: the set-up failed */
};

struct link_message {
	enum link_kind kind;
	int value;
	struct err err;
};

/* Sends a message, with the descriptor `fd` unless that is -1. */
int link_send(int link, enum link_kind kind, int value, int fd, struct err *e);
/* Sends the error; failure is ignored, since there is no one left to tell. */
void link_send_error(int link, const struct err *e);

/* Receives a message.  The end of the connection is LINK_NONE.  A LINK_ERROR makes the call
 * fail with that error.  *ret_fd is owned by the caller; NULL: a descriptor is dropped. */
int link_receive(int link, struct link_message *ret, int *ret_fd, struct err *e);

/* Tells an error unless the message is of the kind. */
int link_check(const struct link_message *m, enum link_kind kind, struct err *e);
/* Waits for a message of a kind; any other is an error. */
int link_expect(int link, enum link_kind kind, struct link_message *ret, struct err *e);
