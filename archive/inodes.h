/* inodes -- a set of files by what they are instead of by their names.
 *
 * A zeroed struct is an empty set.  24 bytes a file, and at most as many again. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct inodes {
	struct inode *table; /* owned; open addressing, a power of two */
	size_t count, room;
	char *texts; /* owned */
	size_t texts_len, texts_room;
};

void inodes_done(struct inodes *s);

bool inodes_has(const struct inodes *s, const struct stat *st);

/* What was said about it when it was added, or NULL; good until the next is
 * added. */
const char *inodes_get(const struct inodes *s, const struct stat *st);

/* Adds it with a copy of `text`, which may be NULL; nothing changes if it is
 * there. */
void inodes_add(struct inodes *s, const struct stat *st, const char *text);

/* The same, in place of what was said about it before. */
void inodes_put(struct inodes *s, const struct stat *st, const char *text);
