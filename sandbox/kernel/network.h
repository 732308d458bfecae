/* network -- a network namespace that has only a loopback device.
 *
 * Making the namespace is the slowest single step of a launch: it takes nearly as long
 * as all the mounts together, and does not depend on them.  So another process that
 * shares the table of descriptors makes the namespace meanwhile and leaves a descriptor of
 * it; the launch enters the namespace (setns(2)) when all else is done.
 *
 *	network_begin		starts that process
 *	network_end		waits for it, and enters the namespace
 *
 * That process shares the memory of the launch, too, which makes it cheap, and in which it
 * may do nothing but system calls: no allocation, no errno, no struct err.  A process that
 * has more to do, as one that hands the namespace on, is a worker (base/worker.h) with
 * memory of its own.  It calls network_make() and returns the descriptor's number, and the
 * launch calls network_enter(). */
#pragma once
#include <sys/types.h>

struct err;

/* The process that makes the namespace.  This process shares the memory of the process that
 * starts it, since a copy would cost both of them page faults. */
struct network_maker {
	pid_t pid;   /* 0: there is none */
	int made;    /* the descriptor of the namespace, or a negative errno; the process
		      * writes it */
	char *stack; /* owned: the process's */
};

/* Starts the process.  `m` must be zeroed, and stay where it is until network_end().  On
 * failure there is nothing to wait for. */
int network_begin(struct network_maker *m, struct err *e);

/* Waits for the process's end, and enters the namespace. */
int network_end(struct network_maker *m, struct err *e);

/* Makes the namespace and sets loopback up, so that connecting to 127.0.0.1 or
 * ::1 is refused, or served, at once.  The caller itself is in the namespace
 * afterwards.  Returns a descriptor of the namespace. */
int network_make(struct err *e);

/* Enters the namespace, and closes its descriptor. */
int network_enter(int *made, struct err *e);
