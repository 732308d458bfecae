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

/* The number of "NET_BIND_SERVICE" or "cap_net_bind_service", or -1. */
int caps_parse(const char *name, struct err *e);
/* By value, so that its text lasts for the expression that asks for it. */
struct caps_name {
	char text[24];
};

/* "NET_BIND_SERVICE"; "?" for a number that libcap has no name for. */
struct caps_name caps_name(int number);

/* The set for commands, one bit a capability.  An ordinary user has none.  Root
 * has CHOWN DAC_OVERRIDE FOWNER FSETID SETUID SETGID, within the sandbox's own
 * user namespace only.  --cap-drop is applied first, then --cap-add. */
uint64_t caps_for(const struct policy *policy, uint32_t uid);

/* Called in the child, as the last step before the filter.  `kept` becomes the
 * permitted set and survives execve(2), by way of the inheritable and ambient
 * sets unless this process is root inside.  The bounding set is reduced to
 * `handed_on`, a part of `kept`; by it the executor tells the capabilities of
 * commands from its own.  All other capabilities are gone for good. */
int caps_reduce(uint64_t kept, uint64_t handed_on, bool is_root, struct err *e);

/* For a process that goes on serving: drops the capabilities from every set but
 * the bounding one, which no_new_privs makes useless. */
int caps_drop(struct err *e);
/* Like caps_drop(), but keeps these, until execve(2). */
int caps_keep(uint64_t kept, struct err *e);
/* Makes exactly these of the kept ones effective.  Fails with errno. */
int caps_raise(uint64_t kept, uint64_t raised);
