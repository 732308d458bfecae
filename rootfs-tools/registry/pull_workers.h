/* pull_workers -- layers fetched, checked and unpacked by several processes at once.
 *
 * Processes are used, and not one loop over many connections, for three
 * reasons: a worker that needs a blob which another pull has locked must wait,
 * without holding up the other downloads; each worker hashes its bytes, which
 * takes a processor; and a layer is unpacked as soon as it is there, while
 * others are still being fetched. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "rootfs-tools/index/images.h"
#include "store/digest.h"

struct err;
struct progress;
struct registry;
struct store;

#define PULL_WORKERS_MAX 3

struct pull_workers_job {
	struct descriptor blob;
	struct digest diff_id;
};

/* Fetches and unpacks all jobs, or fails.  After a failure all complete and
 * partial blobs stay in the store for the next try.  The caller holds the
 * store's lock, shared.  A signal that ends this process (SIGINT, SIGTERM,
 * SIGHUP) first ends the workers and removes the progress display. */
int pull_workers_run(const struct store *s, struct registry *r,
		     const struct pull_workers_job *jobs, size_t count,
		     struct progress *p, struct err *e);

/* Fetches and checks one blob unless it is in the store. */
int pull_workers_fetch(const struct store *s, struct registry *r,
		       const struct descriptor *d,
		       void (*news)(void *context, uint64_t at), void *context,
		       struct err *e);
