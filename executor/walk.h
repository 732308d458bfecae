/* walk -- every name below a folder.
 *
 * By descriptor, on a trail (archive/trail.h): through no link, and however deep it is
 * with a bounded number of open folders, so that a tree that is moved about meanwhile
 * leads nowhere else.  What vanishes while we look is not told, or told though it has
 * gone.  A folder is read as a whole, and then those in it are, in no certain order;
 * types come with the names, and are asked for only where the file system does not say.
 *
 * What cannot be looked into (it may not be read, tells of a process, is too deep or too
 * much) is told as a name, and counted.  Mounts are walked into.
 *
 * Bounds: TRAIL_DEPTH_MAX folders deep, WALK_NAMES names, WALK_WAITING bytes of names of
 * folders that are still to be looked into. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WALK_NAMES   10000000
#define WALK_WAITING (64u << 20)

enum walk_step {
	WALK_ON,
	WALK_PAST, /* a folder: not into this one */
	WALK_END,  /* no further at all */
};

struct walk_name {
	const char *path; /* from the start: "a/b"; good until the call returns */
	const char *name; /* its last part, in `path` */
	size_t depth;	  /* how many folders `path` goes through: 0 is in the start */
	int folder;	  /* borrowed; where `name` is.  O_PATH, it may be */
	unsigned char type; /* DT_* of readdir(3); never DT_UNKNOWN, but for what has gone */
};

struct walk {
	/* Told of each name, a folder's before those in it. */
	enum walk_step (*on_name)(void *who, const struct walk_name *n);
	/* NULL, or told of each folder when we are back from it. */
	enum walk_step (*on_left)(void *who, const struct walk_name *n);
	/* NULL, or asked now and then whether it is enough. */
	bool (*is_late)(void *who);
	void *who;

	/* What came of it. */
	uint64_t names;	  /* how many there were */
	uint64_t closed; /* folders that could not be looked into */
	int sys;	  /* why not, of the first of them: errno */
	bool is_cut;	  /* a bound was reached, or it was late: there is more */
};

/* Takes over `folder`, which is open for reading.  False: it was ended by WALK_END, by
 * lateness, or by the tree being moved about. */
bool walk_run(struct walk *w, int folder);
