/* root_changes -- a live sandbox's root: its upper layer and the image below, for
 * verbs that compare the two. */
#pragma once

#include <stdbool.h>

#include "cli/common/json_view.h"
#include "sandbox/kernel/idmap.h"

struct client;
struct err;

struct root_changes {
	int upper; /* owned; read it only in a jail */
	int below; /* owned: the image, as one tree */
	bool has_ranges; /* the jail needs `ids` to walk it */
	struct idmaps ids;
};

void root_changes_init(struct root_changes *r);
void root_changes_done(struct root_changes *r);

/* Sends "diff" or "snapshot" (docs/control.md).  Returns a descriptor of the
 * upper layer; *ret is the answer, valid until the next call. */
int root_changes_ask(struct client *c, const char *method, struct json_view *ret,
		     struct err *e);

/* Reads the ids in such an answer.  1: *ret has ranges; 0: one id is mapped. */
int root_changes_ids(struct json_view answer, struct idmaps *ret, struct err *e);

/* ERR_NOT_FOUND: there is no such live sandbox; ERR_UNSUPPORTED: its root is
 * not over an image. */
int root_changes_open(struct root_changes *r, const char *name, struct err *e);
