/* place -- where an entry of a tar is to be made: parts with slashes between.
 *
 * What a tar has as a name is foreign.  Empty parts and "." are dropped, so that a
 * name is never absolute; ".." and parts of more than NAME_MAX bytes are errors. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct err;

struct place {
	char *path; /* owned; see place_folder() */
	size_t room;
	char *name; /* the last part; within the path */
};

void place_init(struct place *p);
void place_done(struct place *p);

/* Reads a name; "" is the root itself.  `rename` takes the place of its first part,
 * unless it is NULL. */
int place_read(struct place *ret, const char *path, const char *rename, struct err *e);

/* The folder that it is in, or all of it: each as long as the other is not asked for. */
const char *place_folder(struct place *p);
const char *place_whole(struct place *p);

/* Takes the next part of `*path`, which must be one of ours, into `ret`; false behind
 * the last one. */
bool place_next(const char **path, char ret[NAME_MAX + 1]);

/* Whether a link at this place, which must be whole, that points to `to` leads to less
 * than `least` parts below the root, going by its text alone. */
bool place_leads_out(const struct place *p, const char *to, int least);

/* Whether it is one part and goes down. */
bool place_is_name(const char *name);
