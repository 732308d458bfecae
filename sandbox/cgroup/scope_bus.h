/* scope_bus -- asks a manager of systemd, over D-Bus, for a transient scope.
 *
 * Only hutch-scope has this file, which links libsystemd.  A property is a word
 * "NAME=VALUE": a number, or "infinity"; or for AllowedCPUs and AllowedMemoryNodes a list
 * such as "0-3,7".  The names are those of the manager's D-Bus interface
 * (org.freedesktop.systemd1(5), systemd.resource-control(5)). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct sd_bus_message;

enum scope_method {
	SCOPE_START, /* makes the scope with the process in it, delegated */
	SCOPE_SET,   /* changes properties until the next boot */
	SCOPE_STOP,  /* stops it, if it is there */
};

struct scope_unit {
	const char *name, *description;
	const char *slice;	 /* NULL: the manager's own choice */
	uint32_t pid;		 /* the process to be moved there */
	char *const *properties; /* ends with NULL; NULL: none */
};

/* Calls the method of the system's manager or the user's, and waits for the end of its job.
 * Returns the exit code of hutch-scope; after a failure one sentence is on stderr. */
int scope_bus_act(bool is_system, enum scope_method method, const struct scope_unit *u);

/* Appends the arguments of the method to a message of libsystemd.  A scope with a slice is a
 * container's, which the manager does not stop before other units at a shutdown.  Returns a
 * negative errno, with a sentence on stderr if a property is not known or malformed. */
int scope_bus_fill(struct sd_bus_message *m, enum scope_method method,
		   const struct scope_unit *u);
