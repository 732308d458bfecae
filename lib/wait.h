/* wait -- threads that wait at one handle.
 *
 * Each thread polls the handle's set and a descriptor of its own, without the lock.
 * All of them wake when bytes come; the first thread that gets the lock reads the
 * bytes, and wakes the threads whose answers came by their own descriptors.  So no
 * thread depends on another, and any thread may leave. */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct hutch;
struct hutch_error;
struct packet;
struct waiter;

/* Called with the handle's lock.  Sends, reads and handles all that is possible
 * without waiting.  Returns 1 if something was done; 0 if nothing was; -1 if there is
 * no memory. */
int turn(struct hutch *h, struct hutch_error *e);

/* Called with the handle's lock.  Adds a waiter for the answer to `call`; NULL: for
 * any message. */
int wait_join(struct hutch *h, struct waiter *w, const struct packet *call,
	      struct hutch_error *e);
void wait_leave(struct hutch *h, struct waiter *w);

/* Called with the handle's lock, which is released while this waits.  Waits until
 * bytes may have come, for the descriptors in `more`, or for `wait_ms` (poll(2)).
 * The function uses the first two elements of `more` itself. */
int wait_wait(struct hutch *h, const struct waiter *w, struct pollfd *more, nfds_t count,
	      int wait_ms);
#define WAIT_OWN 2

/* How long, in ms, a waiter whose time is over still reads bytes that have arrived
 * already, since its answer may be among them.  The time is bounded, since bytes may
 * arrive without end. */
#define WAIT_HERE_MS 5

/* Returns the time at which a call with this time-out ends (clock.h); 0, which is
 * never, for a negative time-out. */
static inline int64_t wait_due(int timeout_ms, int64_t now)
{
	return timeout_ms < 0 ? 0 : now + timeout_ms;
}

/* Returns whether `due` is over for a waiter that has read the clock as `now`;
 * `has_read`: the waiter has then read bytes, and gets WAIT_HERE_MS more. */
static inline bool wait_is_late(int64_t due, bool has_read, int64_t now)
{
	return due && now >= due + (has_read ? WAIT_HERE_MS : 0);
}
