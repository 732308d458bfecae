/* inodes -- a set of files, known by device and inode instead of by name; each may
 * have a text.
 *
 * A zeroed struct is an empty set.  The set takes 24 to 48 bytes a file. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct inodes {
	struct inode *table; /* owned; a hash table with open addressing; its size is a
			      * power of two */
	size_t count, room;
	char *texts; /* owned; the texts of the files, one after the other */
	size_t texts_len, texts_room;
};

void inodes_done(struct inodes *s);

bool inodes_has(const struct inodes *s, const struct stat *st);

/* Returns the text that the file was added with, or NULL; the text is good until the
 * next file is added. */
const char *inodes_get(const struct inodes *s, const struct stat *st);

/* Adds the file with a copy of `text`, which may be NULL; changes nothing if the set
 * has the file already. */
void inodes_add(struct inodes *s, const struct stat *st, const char *text);

/* Adds the file like inodes_add(), but replaces the text of a file that the set has
 * already. */
void inodes_put(struct inodes *s, const struct stat *st, const char *text);
