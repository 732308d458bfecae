/* sources -- writes the sources of COPY and ADD as a tar: a file by its name, a folder's
 * entries without the folder's name.
 *
 *	x/file		"file"
 *	x/folder	"./", which says that the destination is a folder, and "a", "a/b"
 *
 * Names are sorted, so that equal trees give equal bytes.  All entries belong to root
 * here; copy_layer sets their owners (rootfs-tools/build/copy_layer.h).  Named links
 * are followed within the tree; links in a folder are written as links.  Devices, FIFOs
 * and sockets are left out and counted. */
#pragma once
#include <stdbool.h>

struct err;
struct ignore;
struct list;
struct merged;
struct outcome;

struct sources {
	const struct merged *tree;   /* borrowed, like the other pointers */
	const struct ignore *ignore; /* rules of .dockerignore if the tree is the context;
				      * else NULL */
	const struct list *words;    /* the paths of the sources */
	bool has_patterns;	     /* the words may be patterns */
	bool may_be_many;	     /* several sources are permitted, since the
				      * destination ends with a slash */
	bool has_no_times; /* writes 0 for every time, so that a hash of the tar ignores
			    * times */
};

/* Writes the tar, with its end, to `out`.  *ret has the counts and the files
 * left out. */
int sources_write(const struct sources *s, int out, struct outcome *ret, struct err *e);

/* Expands the patterns in the words, and adds the paths that match to `ret`. */
int sources_paths(const struct sources *s, struct list *ret, struct err *e);

/* Returns whether a layer cannot hold a file of this name, since the name is that of a
 * whiteout (".wh.NAME"), which deletes NAME. */
bool sources_is_whiteout(const char *name);
