/* wait -- threads that wait at one handle.
 *
 * Each thread polls the handle's set and a descriptor of its own, without the lock.
 * All of them wake when bytes come; the first one to get the lock reads them, and
 * wakes the threads that they are for by their own descriptors.  So no thread depends
 * on another, and any may leave. */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct hutch;
struct hutch_error;
struct packet;
struct waiter;

/* With the lock.  Does everything that can be done now.  1: something was done; 0:
 * nothing; -1: no memory. */
int turn(struct hutch *h, struct hutch_error *e);

/* With the lock.  Adds a waiter for `call`, which may be NULL (handle.h). */
int wait_join(struct hutch *h, struct waiter *w, const struct packet *call,
	      struct hutch_error *e);
void wait_leave(struct hutch *h, struct waiter *w);

/* With the lock, which is released meanwhile.  Waits until something may have come,
 * or for `more`, or for `wait_ms` (poll(2)).  The first two places of `more` are free
 * for this call. */
int wait_wait(struct hutch *h, const struct waiter *w, struct pollfd *more, nfds_t count,
	      int wait_ms);
#define WAIT_OWN 2

/* For this long, a waiter reads bytes that are here already even if its time is over,
 * since its answer may be among them.  It does not read longer, since bytes may come
 * without an end. */
#define WAIT_HERE_MS 5

/* The time at which a call with this time-out ends (clock.h); 0, never, for a
 * negative time-out. */
static inline int64_t wait_due(int timeout_ms, int64_t now)
{
	return timeout_ms < 0 ? 0 : now + timeout_ms;
}

/* Whether that time is over for a turn at `now`, which read something or not. */
static inline bool wait_is_late(int64_t due, bool has_read, int64_t now)
{
	return due && now >= due + (has_read ? WAIT_HERE_MS : 0);
}
