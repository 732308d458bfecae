/* turn -- threads that wait.
 *
 * Each polls the handle's set and a descriptor of its own, without the lock.  All wake
 * when something comes; the first to have the lock reads it, and wakes whom it was for
 * through that one's own.  So none needs to know of the others, and any may leave. */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct hutch;
struct hutch_error;
struct packet;
struct waiter;

/* With the lock.  Does what can be done now: 1: something was; 0: nothing; -1: no
 * memory. */
int turn(struct hutch *h, struct hutch_error *e);

/* With the lock.  `call` may be NULL (handle.h). */
int turn_join(struct hutch *h, struct waiter *w, const struct packet *call,
	      struct hutch_error *e);
void turn_leave(struct hutch *h, struct waiter *w);

/* With the lock, which it lets go of meanwhile: waits until something may have come, or
 * for `more`, or for `wait_ms` (poll(2)).  `more` has room for two in front. */
int turn_wait(struct hutch *h, const struct waiter *w, struct pollfd *more, nfds_t count,
	      int wait_ms);
#define TURN_OWN 2

/* A waiter reads for so long what is here already, whatever the time: its answer may be in
 * that.  It reads no longer, since more may come for ever. */
#define TURN_HERE_MS 5

/* By when a call with this time-out is over (clock.h); 0, where the time-out is negative:
 * never. */
static inline int64_t turn_due(int timeout_ms, int64_t now)
{
	return timeout_ms < 0 ? 0 : now + timeout_ms;
}

/* Whether that time is over for a turn at `now` that read something, or read nothing. */
static inline bool turn_is_late(int64_t due, bool has_read, int64_t now)
{
	return due && now >= due + (has_read ? TURN_HERE_MS : 0);
}
