/* scope -- asks systemd for a cgroup.
 *
 * The user manager makes a transient scope with this process in it and delegates it to
 * this user (Delegate=yes).  A program of its own, hutch-scope, talks to D-Bus,
 * since hutch itself links no D-Bus library; hutch-scope is run only when a limit was
 * asked for and this process does not live in a delegated cgroup already. */
#pragma once
#include <stdbool.h>

struct err;

/* Tells whether a user manager can be asked: the socket of the user's D-Bus exists,
 * belongs to this user, and accepts connections. */
bool scope_has_bus(void);

/* Asks the user manager for a scope, and returns once this process lives in it. */
int scope_enter(struct err *e);

/* A call of hutch-scope (scope_main.c). */
struct scope_call {
	const char *program; /* the path of hutch-scope */
	bool is_user; /* the user's bus has to be found; else the system's is meant */
	const char *const *words; /* the arguments, ended by NULL */
};

/* Runs hutch-scope, and returns once systemd has done what was asked for.  ERR_NOT_FOUND:
 * there is no user manager; else the error has hutch-scope's sentence. */
int scope_ask(const struct scope_call *c, struct err *e);
