/* batch -- the answers to an array of messages, which JSON-RPC has and the protocol knew
 * in its revision 2025-03-26 alone: one array with an answer for each request. */
#pragma once
#include <stddef.h>

#include "base/buffer.h"

#define BATCH_MAX 256 /* messages of an array */

struct batch {
	struct buffer answers;
	size_t open; /* requests without an answer, and one for the reader */
};

struct batch *batch_new(void);
/* Adds an answer, or NULL where there is to be none.  Returns the line of the whole
 * array, allocated, when nothing is open any more, and frees the batch then; else NULL.
 * "" is the line of a batch without answers. */
char *batch_add(struct batch *b, const char *answer);
