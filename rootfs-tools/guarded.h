/* guarded -- which changes are not to be done because of what is protected.
 *
 * That is what the patterns say (policy/protect.h), and where links of the host's lead to
 * that have such a name, as far as the patterns are plain ones at the top of the folder. */
#pragma once
#include <stdbool.h>

#include "base/list.h"

struct err;
struct meeting;
struct protect;

struct guarded {
	struct protect *protect; /* owned; NULL: nothing is protected */
	struct list places;	 /* links, and where they lead to, below the folder */
	struct list names;	 /* which pattern each of those is of */
};

/* `dir` is the host's folder; `patterns` may be NULL. */
int guarded_begin(struct guarded *g, const struct list *patterns, int dir, struct err *e);
void guarded_done(struct guarded *g);

/* Why it is not to be done, as a sentence without a subject, allocated; NULL: it may be.  Of
 * a folder that is to be removed nothing is said about what is in it. */
char *guarded_why(const struct guarded *g, const struct meeting *m);

/* Whether `rest`, below the folder `folder`, is protected. */
bool guarded_has(const struct guarded *g, const char *folder, const char *rest);
