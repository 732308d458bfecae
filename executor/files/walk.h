/* walk -- visits every name below a folder.
 *
 * The walk opens each folder below the one before it (archive/dir_stack.h) and through
 * no link, so processes that move folders meanwhile cannot lead it out of the tree. At
 * any depth, only a bounded number of folders is open. A file that vanishes meanwhile
 * may be reported or not. A folder is read as a whole, and then its subfolders are, in
 * no certain order; types come with the names, and cost a stat only if the file system
 * does not give them.
 *
 * A folder that cannot be read (no permission, it belongs to a process in /proc, it is
 * too deep, or too many names wait) is reported as a name, and counted in `closed`.
 * Mounts are walked into.
 *
 * Bounds: DIR_STACK_DEPTH_MAX folders deep, WALK_NAMES names, WALK_WAITING bytes of
 * names of folders that are still to be read. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WALK_NAMES   10000000
#define WALK_WAITING (64u << 20)

enum walk_step {
	WALK_ON,
	WALK_PAST, /* do not go into this folder */
	WALK_END,  /* end the walk */
};

struct walk_name {
	const char *path; /* relative to the folder where the walk began, such as "a/b";
			   * valid until the call returns */
	const char *name; /* the last part of `path`, within it */
	size_t depth;	  /* how many folders `path` goes through; 0: the file is in the
			   * folder where the walk began */
	int folder;	  /* borrowed; the folder that has `name`; may be open with O_PATH
			   * only */
	unsigned char type; /* DT_* of readdir(3); DT_UNKNOWN only for a file that has
			     * gone */
};

struct walk {
	/* Called for each name; for a folder, before the names in it. */
	enum walk_step (*on_name)(void *context, const struct walk_name *n);
	/* NULL, or called for each folder after it was walked. */
	enum walk_step (*on_left)(void *context, const struct walk_name *n);
	/* NULL, or asked now and then whether the walk must end. */
	bool (*is_late)(void *context);
	void *context;

	/* The results of the walk. */
	uint64_t names;	  /* how many names there were */
	uint64_t closed; /* folders that could not be read */
	int sys;	  /* the errno of the first folder that could not be read */
	bool is_cut;	  /* a bound was reached, or is_late() said so: there are more
			   * names */
};

/* Walks the tree below `folder`, an open descriptor, and closes it. False: the walk was
 * ended by WALK_END, by is_late(), by WALK_NAMES, or because folders were moved. */
bool walk_run(struct walk *w, int folder);
