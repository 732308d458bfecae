/* sources -- what COPY and ADD name, written as a tar: a file by its name, of a folder
 * what is in it.
 *
 *	x/file		"file"
 *	x/folder	"./", which says that the destination is a folder, and "a", "a/b"
 *
 * Names are sorted, so that equal trees give equal bytes.  Owners mean nothing yet
 * (rootfs-tools/placing.h).  Links that are named are followed within the tree; those in
 * a folder are written as they are.  Devices, FIFOs and sockets are left out and told. */
#pragma once
#include <stdbool.h>

struct err;
struct ignore;
struct list;
struct merged;
struct outcome;

struct sources {
	const struct merged *tree;   /* borrowed, as the rest */
	const struct ignore *ignore; /* of a context; else NULL */
	const struct list *words;    /* paths */
	bool has_patterns;	     /* these may be patterns */
	bool may_be_many;	     /* the destination ends with a slash */
	bool has_no_times; /* every time is 0: to find out whether anything is other */
};

/* To `out`, with the tar's end.  What is counted and told is in *ret. */
int sources_write(const struct sources *s, int out, struct outcome *ret, struct err *e);

/* What the words name, as paths without patterns. */
int sources_paths(const struct sources *s, struct list *ret, struct err *e);

/* Whether a layer cannot have a file of this name: there it would delete another. */
bool sources_is_whiteout(const char *name);
