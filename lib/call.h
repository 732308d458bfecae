/* call -- the requests whose answers have not come yet, and the messages that wait
 * for hutch_next(). */
#pragma once
#include "cli/common/json_view.h"
#include "lib/writer.h"

struct hutch;
struct hutch_error;
struct packet;
struct waiter;

/* Makes a packet for a message; returns NULL if there is no memory. */
struct packet *packet_new(int type);
void packet_free(struct packet *p);

/* Called with the handle's lock.  Sends a request, or keeps the request until it can
 * be sent; returns NULL with an error. */
struct packet *call_begin(struct hutch *h, const struct request *r, void *tag,
			  struct hutch_error *e);

/* Returns the packet of the call with this number; NULL if there is no such call. */
struct packet *call_find(struct hutch *h, long long id);

/* Ends a call that will not be answered: its answer is the error `why`.
 * call_fail_all() does that with all calls. */
void call_fail(struct hutch *h, long long id, const struct hutch_error *why);
void call_fail_all(struct hutch *h, const struct hutch_error *why);

/* Marks the call as answered: its packet is complete, and can be taken. */
void call_settle(struct hutch *h, struct packet *p);

/* Takes the packet out of the list of calls; the caller owns the packet then. */
void call_take(struct hutch *h, struct packet *p);

/* Called when the thread that waits for this call gives up: the answer is dropped
 * when it comes. */
void call_forget(struct hutch *h, struct packet *p);

/* queue_put() adds a message for hutch_next(); queue_take() removes the first
 * message, and returns NULL if there is none. */
void queue_put(struct hutch *h, struct packet *p);
struct packet *queue_take(struct hutch *h);
/* Updates the descriptor `ready`, from which event loops learn whether there is a
 * message. */
void queue_show(struct hutch *h);

/* wake_for() wakes the threads that wait for this call; wake_one() wakes one thread. */
void wake_for(struct hutch *h, const struct packet *call);
void wake_one(const struct waiter *w);
