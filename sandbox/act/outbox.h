/* outbox -- finished observations on their way out.
 *
 * Whoever asked for the same action again while it ran gets a copy of its answer.
 * Copies are made one at a time, when there is room, so that what is held is
 * bounded by what was observed and not by how often it was asked for. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

struct parcel;

struct outbox {
	struct parcel *first, *last; /* owned */
};

void outbox_done(struct outbox *o);

/* Takes the line's bytes over; it is to be delivered so often. */
void outbox_put(struct outbox *o, struct buffer *line, unsigned times);

/* Copies the next line to `out` and counts it off.  False when there was none, or
 * `out` has no room for it now. */
bool outbox_deliver(struct outbox *o, struct buffer *out);
bool outbox_is_empty(const struct outbox *o);
