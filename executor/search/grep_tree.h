/* grep_tree -- finds the files below a folder that have a match, with our own code.
 *
 * Folders, and groups of files in a folder, are work items on a stack. Threads, as many
 * as there are processors but at most GREP_THREADS_MAX, take them, the latest first;
 * each thread has a matcher of its own. No link is followed, also not one that replaces
 * a folder meanwhile. Names ".git", files of /proc or /sys, and files that may not be
 * read are left out.
 *
 * A file that is found may turn out not to be text (grep.h), since it is read up to its
 * first match only. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct glob;
struct prepared;

#define GREP_THREADS_MAX 8
#define GREP_PATHS_MAX	 ((size_t)64 << 20) /* a limit in bytes, for the found paths and
					     * for the work items */

/* A list of paths, relative to the folder that is searched. */
struct grep_paths {
	char *bytes;	/* owned; the paths, each with a 0 behind it */
	size_t len, room;
	char **sorted;	/* owned; pointers into `bytes`, one for each path; set by
			 * grep_paths_sort() */
	size_t count;
	bool is_cut;	/* the search was ended by a limit or by is_late(), so there may
			 * be more paths */
	uint64_t closed; /* how many folders and files could not be read */
};

/* Adds a path. False: there is no room. */
bool grep_paths_add(struct grep_paths *p, const char *path, size_t len);
/* Sorts the paths by their bytes, but with '/' before all others, so that the files of a
 * folder stand together. */
void grep_paths_sort(struct grep_paths *p);
void grep_paths_done(struct grep_paths *p);

struct grep_wanted {
	const struct prepared *prepared; /* borrowed */
	/* NULL, or returns whether the file is to be read; called by many threads. */
	bool (*wants)(void *context, const char *path);
	/* NULL, or returns whether the search must end; asked now and then, by many
	 * threads. */
	bool (*is_late)(void *context);
	void *context;
	size_t threads; /* how many threads; 0: as many as there are processors */
};

/* Searches all files below the open folder `root`. */
void grep_tree(int root, const struct grep_wanted *w, struct grep_paths *ret);

/* Returns whether the open file is one of /proc or /sys. Such files are not searched:
 * they are not stored, and reading one may take for ever. */
bool grep_is_of_kernel(int fd);
