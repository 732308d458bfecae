/* overlay_lowers -- looks up files of an image in its layers, before it is mounted.
 *
 * The layers are untrusted: the kernel looks names up in one layer at a time
 * and never out of it (openat2(2), RESOLVE_IN_ROOT), and nothing is read here.
 * A link that leads from one layer to another counts as leading nowhere. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct list;

/* Opens `path`, relative to the root, in the topmost layer that has it, unless
 * a layer above that one has deleted it.  `lowers` are paths of the host, the
 * lowest first.  -1 with errno; ENOENT: the image has none. */
int overlay_lowers_open(const struct list *lowers, const char *path, int flags);

/* One of many names that are looked up at once, since there may be many layers. */
struct overlay_lowers_entry {
	const char *path; /* as above */
	bool follows;	  /* even a link at its end */
	/* The answer: 0, and `st`; or an errno. */
	int error;
	struct stat st;
};

void overlay_lowers_look(const struct list *lowers, struct overlay_lowers_entry *entries,
			 size_t count);
