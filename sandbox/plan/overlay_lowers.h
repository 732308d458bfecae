/* overlay_lowers -- looks up files of an image in its layers, before it is mounted.
 *
 * The layers are untrusted: the kernel looks a path up in one layer at a time and never
 * leaves that layer (openat2(2), RESOLVE_IN_ROOT), and no file is read here.  A link
 * whose target is only in another layer counts as dangling. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct list;

/* Opens `path`, relative to the root, in the topmost layer that has it, unless
 * a layer above that layer has deleted the path.  `lowers` are paths of the
 * host, the lowest first. Returns a descriptor, or -1 with errno; ENOENT: the
 * image does not have the path. */
int overlay_lowers_open(const struct list *lowers, const char *path, int flags);

/* One of several paths that are looked up together, so that each layer is opened only
 * once. */
struct overlay_lowers_entry {
	const char *path; /* relative to the image's root */
	bool follows;	  /* a link at the end of `path` is followed too */
	/* The answer: 0, and the file's description in `st`; or an errno. */
	int error;
	struct stat st;
};

void overlay_lowers_look(const struct list *lowers, struct overlay_lowers_entry *entries,
			 size_t count);
