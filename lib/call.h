/* call -- requests that are under way, and the messages that are waiting to be taken. */
#pragma once
#include "lib/outlet.h"
#include "sandbox/cli/reply.h"

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

/* It will not be answered, for this reason. */
void call_fail(struct hutch *h, long long id, const struct hutch_error *why);
void call_fail_all(struct hutch *h, const struct hutch_error *why);

/* It is answered: the packet has all that it will have. */
void call_settle(struct hutch *h, struct packet *p);

/* Takes it out of the list: it is the caller's. */
void call_take(struct hutch *h, struct packet *p);

/* Nobody waits for it any more: its answer is dropped, when it comes. */
void call_forget(struct hutch *h, struct packet *p);

/* A message for hutch_next(), which takes the first one out; NULL: none. */
void queue_put(struct hutch *h, struct packet *p);
struct packet *queue_take(struct hutch *h);
/* Lets those who poll see whether there is one. */
void queue_show(struct hutch *h);

/* Who waits for that goes on. */
void wake_for(struct hutch *h, const struct packet *call);
void wake_one(const struct waiter *w);
