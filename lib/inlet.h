/* inlet -- what comes from the supervisor, line by line, to whom it is for.
 *
 * The supervisor is our own, but another hutch may be installed by now, and what it tells
 * of the inside was written there: a line is bounded, and read as JSON that must be
 * well-formed; what is not of the protocol ends the handle. */
#pragma once
#include <stdbool.h>

struct hutch;
struct hutch_error;

/* Reads once, and hands out all lines that are whole.  1: something came; 0: nothing was
 * there, or it is over; -1: no memory, and what came can be handed out later. */
int inlet_read(struct hutch *h, struct hutch_error *e);

void inlet_done(struct hutch *h);
