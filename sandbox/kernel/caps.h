/* caps -- chooses the capabilities of commands, and reduces the sandbox's first process
 * to them.  libcap represents the sets and knows the names.  libcap allocates memory and
 * takes locks, so no child of vfork(2) may call these functions (executor/process/caps.c
 * says why). */
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

/* Returns the capabilities of commands that run as `uid` inside, one bit each.  By
 * default an ordinary user has none, and root has CHOWN DAC_OVERRIDE FOWNER FSETID
 * SETUID SETGID, within the sandbox's own user namespace only.  --cap-drop is applied to
 * that set first, then --cap-add. */
uint64_t caps_for(const struct policy *policy, uint32_t uid);

/* Reduces the child's capabilities, as its last step before the seccomp filter.  `kept`
 * becomes the permitted set and survives execve(2), by way of the inheritable and
 * ambient sets unless this process is root inside.  The bounding set is reduced to
 * `handed_on`, a part of `kept`: from it the executor learns which capabilities commands
 * may have.  No other capability can be regained. */
int caps_reduce(uint64_t kept, uint64_t handed_on, bool is_root, struct err *e);

/* Empties the capability sets of a process that keeps running as a server.  The bounding
 * set stays as it is: no_new_privs makes it useless. */
int caps_drop(struct err *e);
/* Like caps_drop(), but keeps the capabilities in `kept`, until execve(2). */
int caps_keep(uint64_t kept, struct err *e);
/* Sets the effective set to `raised`, a part of `kept`, and the permitted set to
 * `kept`.  Returns -1 with errno set on failure. */
int caps_raise(uint64_t kept, uint64_t raised);
