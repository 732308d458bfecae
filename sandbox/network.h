/* network -- a network namespace with nothing but a loopback device.
 *
 * Making one is the dearest single step of a launch, about as long as all the
 * mounts together, and neither needs the other.  So a helper process makes it
 * while the child mounts: it shares the child's descriptors, leaves the
 * namespace behind as one of them, and the child enters it (setns(2)) when it
 * is done with the rest. */
#pragma once
#include <sys/types.h>

struct err;

struct network {
	pid_t helper; /* 0: none */
	int ns;	      /* owned: becomes the namespace's descriptor */
};

/* In the child, as early as it can: starts the helper. */
int network_begin(struct network *n, struct err *e);

/* Waits for it and enters the namespace.  Loopback is up, so that what connects
 * to 127.0.0.1 or ::1 is refused, or served, at once. */
int network_enter(struct network *n, struct err *e);
