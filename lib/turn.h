/* turn -- threads that wait.
 *
 * Each polls the handle's set and a descriptor of its own, without the lock.  All wake
 * when something comes; the first to have the lock reads it, and wakes whom it was for
 * through that one's own.  So none needs to know of the others, and any may leave. */
#pragma once
#include <poll.h>
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
 * for `more`, or until `due` (clock.h).  `more` has room for two in front. */
int turn_wait(struct hutch *h, const struct waiter *w, struct pollfd *more, nfds_t count,
	      int64_t due);
#define TURN_OWN 2
