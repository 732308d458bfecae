/* past_root -- a live sandbox's root: its upper layer and the image below, for
 * verbs that compare the two. */
#pragma once

#include <stdbool.h>

#include "cli/common/reply.h"
#include "sandbox/kernel/idmap.h"

struct client;
struct err;

struct past_root {
	int upper; /* owned; read it only in a jail */
	int below; /* owned: the image, as one tree */
	bool has_ranges; /* the jail needs `ids` to walk it */
	struct idmaps ids;
};

void past_root_init(struct past_root *r);
void past_root_done(struct past_root *r);

/* Sends "diff" or "snapshot" (docs/control.md).  Returns a descriptor of the
 * upper layer; *ret is the answer, valid until the next call. */
int past_root_ask(struct client *c, const char *method, struct reply *ret, struct err *e);

/* Reads the ids in such an answer.  1: *ret has ranges; 0: one id is mapped. */
int past_root_ids(struct reply answer, struct idmaps *ret, struct err *e);

/* ERR_NOT_FOUND: there is no such live sandbox; ERR_UNSUPPORTED: its root is
 * not over an image. */
int past_root_open(struct past_root *r, const char *name, struct err *e);
