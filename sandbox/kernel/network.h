/* network -- a network namespace that has only a loopback device.
 *
 * Making the namespace is the slowest single step of a launch: it takes nearly as long
 * as all the mounts together, and does not depend on them.  So another process that
 * shares the table of descriptors (base/worker.h) makes the namespace meanwhile and
 * leaves a descriptor of it; the launch enters the namespace (setns(2)) when all else is
 * done. */
#pragma once

struct err;

/* Reserves the descriptor number at which network_make() puts the namespace. */
int network_place(struct err *e);

/* Makes the namespace and sets loopback up, so that connecting to 127.0.0.1 or
 * ::1 is refused, or served, at once.  The caller itself is in the namespace
 * afterwards. */
int network_make(int place, struct err *e);

/* Enters the namespace that network_make() left at `place`, and closes
 * `place`. */
int network_enter(int *place, struct err *e);
