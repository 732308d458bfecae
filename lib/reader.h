/* reader -- reads the supervisor's lines, and gives each to the call or queue that it
 * is for.
 *
 * The supervisor is trusted, but may be of another version, and the data that it
 * passes on comes from inside.  So each line is bounded and must be well-formed JSON,
 * and a line that does not follow the protocol ends the handle. */
#pragma once
#include <stdbool.h>

struct hutch;
struct hutch_error;

/* Reads once, and handles all complete lines.  1: bytes came; 0: none came, or the
 * handle has ended; -1: no memory; the lines can be handled later. */
int reader_read(struct hutch *h, struct hutch_error *e);

void reader_done(struct hutch *h);
