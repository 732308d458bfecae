/* call -- requests under way, and the messages that are waiting to be taken. */
#pragma once
#include "cli/common/json_view.h"
#include "lib/writer.h"

struct hutch;
struct hutch_error;
struct packet;
struct waiter;

/* Makes a packet; NULL: no memory. */
struct packet *packet_new(int type);
void packet_free(struct packet *p);

/* With the lock.  Sends a request, or keeps it until it can be sent; NULL with an
 * error. */
struct packet *call_begin(struct hutch *h, const struct request *r, void *tag,
			  struct hutch_error *e);

/* The packet of a call; NULL: there is none. */
struct packet *call_find(struct hutch *h, long long id);

/* Ends the call with an error, since it will not be answered. */
void call_fail(struct hutch *h, long long id, const struct hutch_error *why);
void call_fail_all(struct hutch *h, const struct hutch_error *why);

/* Marks the call as answered: its packet is complete. */
void call_settle(struct hutch *h, struct packet *p);

/* Takes the packet out of the list; the caller owns it then. */
void call_take(struct hutch *h, struct packet *p);

/* The waiting thread gives up: the answer is dropped when it comes. */
void call_forget(struct hutch *h, struct packet *p);

/* Adds a message for hutch_next(); queue_take() removes the first one; NULL: there is
 * none. */
void queue_put(struct hutch *h, struct packet *p);
struct packet *queue_take(struct hutch *h);
/* Updates the descriptor that shows event loops whether there is a message. */
void queue_show(struct hutch *h);

/* Wakes the threads that wait for this call. */
void wake_for(struct hutch *h, const struct packet *call);
void wake_one(const struct waiter *w);
