/* reply_queue -- finished observations on their way to the clients.
 *
 * Several clients may have asked for one action, and each gets the answer.
 * They share its bytes, which are copied only when a client's buffer has room,
 * so memory is bounded by the observations and not by how often they were asked
 * for. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* One answer, for all clients that wait for it. */
struct letter;

/* Makes a letter from the line's bytes, which it takes over.  The caller has one
 * reference. */
struct letter *letter_new(struct buffer *line);
void letter_release(struct letter *l);

struct parcel;

struct reply_queue {
	struct parcel *first, *last; /* owned; the observations that wait */
	size_t bytes;		     /* bytes of the lines in the queue */
};

void reply_queue_done(struct reply_queue *o);

/* Adds the letter, of which the queue takes a reference of its own.  With `id`, a JSON
 * value that is taken over, the line goes out as the result of that request
 * (docs/control.md). */
void reply_queue_put(struct reply_queue *o, struct letter *l, char *id);

/* Copies the next line to `out`.  False: there was none, or `out` has no room
 * for it now. */
bool reply_queue_deliver(struct reply_queue *o, struct buffer *out);
bool reply_queue_is_empty(const struct reply_queue *o);
