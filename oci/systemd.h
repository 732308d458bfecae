/* systemd -- a container's cgroup as a scope that systemd makes (--systemd-cgroup).
 *
 * cgroupsPath is "SLICE:PREFIX:NAME" then, for the scope PREFIX-NAME.scope in that slice.
 * hutch-scope asks the system's manager for it, or, for a rootless engine, the user's.  The
 * scope is delegated: systemd leaves the files of the cgroup and all below it alone.  Limits
 * that systemd has properties for are properties, too, since systemd writes these again
 * when it reloads its units. */
#pragma once
#include <sys/types.h>

#include "base/list.h"

struct err;
struct resources;

struct systemd_scope {
	char *slice, *name; /* owned */
};

/* Reads the path; NULL or "" is a scope of the container's id in the manager's usual slice.
 * ERR_USAGE: it has another form, or letters that a unit's name has not. */
int systemd_read(const char *path, const char *id, struct systemd_scope *ret,
		 struct err *e);
void systemd_done(struct systemd_scope *s);

/* Adds the properties "NAME=VALUE" of the limits that systemd has properties for. */
void systemd_properties(const struct resources *r, struct list *ret);

/* Makes the scope, and moves the process `pid`, a child of this one, there.  A scope of this
 * name that exists is an error. */
int systemd_start(const struct systemd_scope *s, const struct resources *r, pid_t pid,
		  struct err *e);
/* Changes the properties of the scope `name`. */
int systemd_update(const char *name, const struct resources *r, struct err *e);
/* Stops the scope; one that is not there is stopped. */
int systemd_stop(const char *name, struct err *e);
