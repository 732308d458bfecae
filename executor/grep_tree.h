/* grep_tree -- the files below a folder that have a match, by ourselves.
 *
 * Folders and portions of the files in one are work that waits, and as many threads as
 * there are processors take it, the latest first; each has a matcher of its own.  No
 * link is followed, and a folder that is replaced meanwhile by a link is none.  Left out
 * are names ".git", what is of /proc or /sys, and what may not be read.
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
#define GREP_PATHS_MAX	 ((size_t)64 << 20) /* bytes: of paths found, and of work */

/* Paths, from the folder where it was looked. */
struct grep_paths {
	char *bytes;	/* owned; each with a 0 behind it */
	size_t len, room;
	char **sorted;	/* owned; in `bytes`.  After grep_paths_sort() */
	size_t count;
	bool is_cut;	/* a bound was reached, or it was late: there may be more */
	uint64_t closed; /* folders and files that may not be read */
};

/* False: no room. */
bool grep_paths_add(struct grep_paths *p, const char *path, size_t len);
/* Folder by folder, names as bytes. */
void grep_paths_sort(struct grep_paths *p);
void grep_paths_done(struct grep_paths *p);

struct grep_wanted {
	const struct prepared *prepared; /* borrowed */
	/* NULL, or whether a file is looked at; asked by many threads. */
	bool (*wants)(void *who, const char *path);
	/* NULL, or asked now and then whether it is enough, also by many. */
	bool (*is_late)(void *who);
	void *who;
	size_t threads; /* 0: as many as there are processors */
};

/* Of the open folder `root`. */
void grep_tree(int root, const struct grep_wanted *w, struct grep_paths *ret);

/* True for /proc and /sys, whose files are no files. */
bool grep_is_of_kernel(int fd);
