/* place -- where an entry of a tar is to be made: parts with slashes between.
 *
 * Names in a tar are foreign input.  Empty parts and "." are dropped, so that a name
 * is never absolute; ".." and parts of more than NAME_MAX bytes are errors. */
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

/* Parses a name; "" is the root itself.  Unless `rename` is NULL, it replaces the name's
 * first part. */
int place_read(struct place *ret, const char *path, const char *rename, struct err *e);

/* The path of the folder that the place is in, and the whole path; each is good until
 * the other is asked for. */
const char *place_folder(struct place *p);
const char *place_whole(struct place *p);

/* Copies the next part of `*path`, which must come from a place, into `ret`; false
 * behind the last part. */
bool place_next(const char **path, char ret[NAME_MAX + 1]);

/* Whether a link at this place that points to `to` leads to less than `least` parts
 * below the root, judged by its text alone.  place_whole() must have been called
 * last. */
bool place_leads_out(const struct place *p, const char *to, int least);

/* Whether `name` is a single part and not "." or "..". */
bool place_is_name(const char *name);
