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
	int below; /* owned: the image's files without the upper layer */
	bool has_ranges; /* the files belong to several mapped ids; a jail that walks the
			  * files needs `ids` */
	struct idmaps ids;
};

void root_changes_init(struct root_changes *r);
void root_changes_done(struct root_changes *r);

/* Sends the request "diff" or "snapshot" to the sandbox (docs/control.md).  Returns a
 * descriptor of the upper layer.  *ret is the answer, valid until the next call. */
int root_changes_ask(struct client *c, const char *method, struct json_view *ret,
		     struct err *e);

/* Reads the mapped ids in an answer.  Returns 1 if *ret has several ids, 0 if only one
 * id is mapped. */
int root_changes_ids(struct json_view answer, struct idmaps *ret, struct err *e);

/* Opens the root of a live sandbox.  ERR_NOT_FOUND: there is no such live sandbox;
 * ERR_UNSUPPORTED: its root is not over an image. */
int root_changes_open(struct root_changes *r, const char *name, struct err *e);
