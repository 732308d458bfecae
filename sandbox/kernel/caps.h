/* caps -- which capabilities commands get, and how the child is reduced to
 * them.
 *
 * libcap has the sets and the names.  It allocates and locks, so no child of vfork(2) may
 * call these functions (executor/process/caps.c says why). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;
struct policy;

/* Returns the number of the capability "NET_BIND_SERVICE" or "cap_net_bind_service";
 * -1: there is no such name. */
int caps_parse(const char *name, struct err *e);
/* The name of a capability.  It is returned by value, so that nothing has to be freed. */
struct caps_name {
	char text[24];
};

/* Returns a name such as "NET_BIND_SERVICE"; "?" for a number that libcap has no
 * name for. */
struct caps_name caps_name(int number);

/* Returns the set of capabilities for commands, one bit each.  An ordinary user has
 * none.  Root has CHOWN DAC_OVERRIDE FOWNER FSETID SETUID SETGID, within the
 * sandbox's own user namespace only.  --cap-drop is applied first, then --cap-add. */
uint64_t caps_for(const struct policy *policy, uint32_t uid);

/* Reduces the child's capabilities, as its last step before the filter.  `kept`
 * becomes the permitted set and survives execve(2), by way of the inheritable and
 * ambient sets unless this process is root inside.  The bounding set is reduced to
 * `handed_on`, a part of `kept`; by the bounding set the executor tells the
 * capabilities of commands from its own.  All other capabilities are gone for good. */
int caps_reduce(uint64_t kept, uint64_t handed_on, bool is_root, struct err *e);

/* Drops the capabilities of a process that goes on serving from every set but the
 * bounding one, which no_new_privs makes useless. */
int caps_drop(struct err *e);
/* Like caps_drop(), but keeps the capabilities in `kept`, until execve(2). */
int caps_keep(uint64_t kept, struct err *e);
/* Makes the capabilities in `raised`, a part of `kept`, the effective set, and
 * `kept` the permitted one.  Returns -1 with errno set on failure. */
int caps_raise(uint64_t kept, uint64_t raised);
