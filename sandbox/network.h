/* network -- a network namespace with nothing but a loopback device.
 *
 * Making one is the dearest single step of a launch, nearly as long as all the
 * mounts together, and neither needs the other.  So it can be made in another
 * process of the same table of descriptors (beside.h), which leaves it behind
 * as one of them, and be entered (setns(2)) when all else is done. */
#pragma once

struct err;

/* A descriptor's number that network_make() puts the namespace at. */
int network_place(struct err *e);

/* Makes the namespace, with loopback up, so that what connects to 127.0.0.1 or
 * ::1 is refused, or served, at once.  The caller itself is then in it. */
int network_make(int place, struct err *e);

/* Enters what was made there, and closes it. */
int network_enter(int *place, struct err *e);
