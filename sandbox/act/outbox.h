/* outbox -- finished observations on their way to somebody who asked.
 *
 * Whoever asked for an action gets its answer; several may have.  They share its
 * bytes, and a copy is made when there is room for one, so that what is held is
 * bounded by what was observed and not by how often it was asked for. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* One answer, for all who wait for it. */
struct letter;

/* Takes the line's bytes over.  The caller has one hold on it. */
struct letter *letter_new(struct buffer *line);
void letter_release(struct letter *l);

struct parcel;

struct outbox {
	struct parcel *first, *last; /* owned */
	size_t bytes;		     /* of the lines in it */
};

void outbox_done(struct outbox *o);

/* Takes a hold of its own.  With `id`, a JSON value that is taken over, the line
 * goes out as the result of that request (docs/control.md). */
void outbox_put(struct outbox *o, struct letter *l, char *id);

/* Copies the next one to `out`.  False when there was none, or `out` has no room
 * for it now. */
bool outbox_deliver(struct outbox *o, struct buffer *out);
bool outbox_is_empty(const struct outbox *o);
