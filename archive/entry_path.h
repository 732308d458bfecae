/* entry_path -- the path of a tar's entry: parts with slashes between them.
 *
 * Names in a tar are foreign input.  Empty parts and "." are dropped, so that a name
 * is never absolute; ".." and parts of more than NAME_MAX bytes are errors. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct err;

struct entry_path {
	char *path; /* owned; see entry_path_folder() */
	size_t room;
	char *name; /* points to the last part in `path` */
};

void entry_path_init(struct entry_path *p);
void entry_path_done(struct entry_path *p);

/* Parses a name from a tar; "" is the root itself.  Unless `rename` is NULL, `rename`
 * replaces the name's first part. */
int entry_path_read(struct entry_path *ret, const char *path, const char *rename,
		    struct err *e);

/* entry_path_folder() returns the path of the folder that contains the entry,
 * entry_path_whole() the path of the entry.  Each result is valid until the other
 * function is called. */
const char *entry_path_folder(struct entry_path *p);
const char *entry_path_whole(struct entry_path *p);

/* Copies the next part of `*path`, a path from entry_path_folder() or
 * entry_path_whole(), into `ret`.  Returns false if there are no more parts. */
bool entry_path_next(const char **path, char ret[NAME_MAX + 1]);

/* Returns whether a link at the path `p` with the target `to` is absolute, or leads by
 * its ".." to less than `least` parts below the root.  Only the text is examined.  Call
 * entry_path_whole() for `p` first. */
bool entry_path_leads_out(const struct entry_path *p, const char *to, int least);

/* Returns whether `name` is a single part and not "." or "..". */
bool entry_path_is_name(const char *name);
