/* reader -- reads the supervisor's lines, and gives each line to the call or queue
 * that it belongs to.
 *
 * The supervisor is trusted, but may be of another version, and the data that it
 * passes on comes from inside.  So each line is bounded and must be well-formed
 * JSON, and a line that does not follow the protocol ends the handle. */
#pragma once
#include <stdbool.h>

struct hutch;
struct hutch_error;

/* Reads once from the supervisor, and handles all complete lines.  Returns 1 if
 * bytes came; 0 if none came, or the handle has ended; -1 if there is no memory, and
 * the lines can be handled later. */
int reader_read(struct hutch *h, struct hutch_error *e);

void reader_done(struct hutch *h);
