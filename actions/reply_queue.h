/* reply_queue -- finished observations (answers to actions) that wait for a client to
 * read.
 *
 * Several clients may wait for the answer to one action. Their queues share its bytes,
 * and copy them only when a client's buffer has room. So memory is bounded by the
 * number of answers, not by the number of clients that wait. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* One answer, with a count of references: the queues of all clients that wait for it
 * share it. */
struct letter;

/* Makes a letter, and takes over the line's bytes. The caller holds the first
 * reference. */
struct letter *letter_new(struct buffer *line);
void letter_release(struct letter *l);

struct parcel;

struct reply_queue {
	struct parcel *first, *last; /* owned; the entries of the queue, each with a
				      * reference to a letter */
	size_t bytes;		     /* the sum of the bytes of all lines in the queue */
};

void reply_queue_done(struct reply_queue *o);

/* Adds the letter to the queue, with a reference of its own. `id`: NULL, or the id of a
 * JSON-RPC request, a JSON value that is taken over; then the line is sent as that
 * request's result (docs/control.md). */
void reply_queue_put(struct reply_queue *o, struct letter *l, char *id);

/* Moves the next line to `out`. False: the queue is empty, or `out` has no room for the
 * line. */
bool reply_queue_deliver(struct reply_queue *o, struct buffer *out);
bool reply_queue_is_empty(const struct reply_queue *o);
