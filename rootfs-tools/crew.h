/* crew -- layers fetched, checked and unpacked by several processes at once.
 *
 * Processes and not one loop over many connections, since whoever comes to a blob that
 * another pull is at has to wait for it, without holding up what he is at himself; since
 * each hashes what it gets, which takes a processor; and since a layer is unpacked as
 * soon as it is there, while others are still on their way. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "rootfs-tools/images.h"
#include "store/digest.h"

struct err;
struct progress;
struct remote;
struct store;

#define CREW_MAX 3

struct crew_job {
	struct descriptor blob;
	struct digest diff_id;
};

/* All of them or none that counts: what is whole or begun when one fails stays in the
 * store, for the next try.  The caller holds the store's lock, shared.  A signal that
 * ends this process, SIGINT, SIGTERM or SIGHUP, first ends the others and takes the
 * progress away. */
int crew_run(const struct store *s, struct remote *r, const struct crew_job *jobs,
	     size_t count, struct progress *p, struct err *e);

/* One blob, checked, unless it is there. */
int crew_fetch(const struct store *s, struct remote *r, const struct descriptor *d,
	       void (*news)(void *who, uint64_t at), void *who, struct err *e);
