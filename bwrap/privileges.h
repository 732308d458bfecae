/* privileges -- the capabilities of the command, and of the processes around it.
 *
 * An ordinary user's command has none, unless --cap-add gives some; they hold in its own
 * user namespace only.  Root's command has what root has, unless --cap-drop takes it
 * away.  no_new_privs keeps execve(2) from giving more than a process has. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;

/* Returns the capabilities that a command has by default: root's effective ones, and
 * none of another user's. */
uint64_t privileges_default(void);

/* Sets no_new_privs, for ever. */
int privileges_freeze(struct err *e);

/* Reduces the bounding set to `kept`, in a new user namespace, where it is full. */
int privileges_bound(uint64_t kept, struct err *e);

/* Reduces the sets of this process to those in `kept` that it has, and makes them
 * inheritable. */
int privileges_reduce(uint64_t kept, struct err *e);

/* Makes the capabilities in `kept` ambient, so that they outlive execve(2), as far as the
 * kernel allows each. */
int privileges_hand_on(uint64_t kept, struct err *e);

/* Lets the user's other processes see this one, as before it changed its ids or
 * capabilities (PR_SET_DUMPABLE of prctl(2)). */
int privileges_show(struct err *e);
