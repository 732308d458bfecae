/* filter -- the seccomp object of a configuration, as the whole filter of its process.
 *
 * hutch-seccomp compiles it without hutch's floor, and the cache keeps the program
 * (sandbox/kernel/seccomp.h).  SCMP_ACT_NOTIFY has a listener, which goes to
 * `listenerPath` with the container's state (runtime-spec, "The Container Process
 * State"). */
#pragma once
#include <stdbool.h>

#include "sandbox/kernel/seccomp.h"

struct config;
struct err;
struct state;

struct filter {
	bool is_on;			/* the configuration has a filter */
	struct seccomp_program program; /* owned */
	unsigned flags;			/* SECCOMP_FILTER_FLAG_* */
	bool notifies;			/* the program sends calls to a listener */
	const char *listener;		/* borrowed: listenerPath; NULL: none */
	const char *metadata;		/* borrowed: listenerMetadata; NULL: none */
};

/* Reads what `start` needs to hand a listener on, without a program. */
int filter_read(const struct config *c, struct filter *ret, struct err *e);

/* Compiles the filter, before the container's process is cloned. */
int filter_obtain(const struct config *c, struct filter *ret, struct err *e);
void filter_done(struct filter *f);

/* Puts this process under the filter; a listener is sent over `link` (LINK_LISTENER). */
int filter_install(const struct filter *f, int link, struct err *e);

/* Sends the listener to listenerPath, with the state of the container. */
int filter_hand_on(const struct filter *f, int listener, const struct state *s, int pid,
		   struct err *e);
