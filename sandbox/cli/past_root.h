/* past_root -- what a sandbox that lives has written to its root, and what it is written
 * over, for the verbs that compare the two. */
#pragma once

#include <stdbool.h>

#include "sandbox/cli/reply.h"
#include "sandbox/idmap.h"

struct client;
struct err;

struct past_root {
	int upper; /* owned: to be walked in a jail */
	int below; /* owned: of the image, as one tree */
	bool has_ranges; /* whoever walks it needs these ids */
	struct idmaps ids;
};

void past_root_init(struct past_root *r);
void past_root_done(struct past_root *r);

/* "diff" or "snapshot" (docs/control.md): a descriptor of the folder, and the answer, good
 * until the next call. */
int past_root_ask(struct client *c, const char *method, struct reply *ret, struct err *e);

/* What such an answer says of ids.  1: *ret are those; 0: there is one. */
int past_root_ids(struct reply answer, struct idmaps *ret, struct err *e);

/* ERR_NOT_FOUND: no such sandbox lives; ERR_UNSUPPORTED: it is written over no image. */
int past_root_open(struct past_root *r, const char *name, struct err *e);
