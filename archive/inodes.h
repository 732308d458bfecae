/* inodes -- a set of files, known by device and inode instead of by name; each may
 * have a text.
 *
 * A zeroed struct is an empty set.  The set takes 24 to 48 bytes a file. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct inodes {
	struct inode *table; /* owned; open addressing, the size is a power of two */
	size_t count, room;
	char *texts; /* owned */
	size_t texts_len, texts_room;
};

void inodes_done(struct inodes *s);

bool inodes_has(const struct inodes *s, const struct stat *st);

/* The text that the file was added with, or NULL; good until the next file is
 * added. */
const char *inodes_get(const struct inodes *s, const struct stat *st);

/* Adds the file with a copy of `text`, which may be NULL; changes nothing if the set
 * has the file already. */
void inodes_add(struct inodes *s, const struct stat *st, const char *text);

/* The same, but replaces the text of a file that the set has already. */
void inodes_put(struct inodes *s, const struct stat *st, const char *text);
