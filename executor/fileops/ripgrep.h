/* ripgrep -- finds the files below a folder that have a match, by the rootfs' own rg.
 *
 * rg runs like any command: with the session's user, variables, limits and filter.  Its
 * output is trusted as little as a command's: it can only name files, which grep.h then
 * reads itself.  It is asked for names alone, so its output is parsed only for bytes 0,
 * and it stops reading a file at the first match.
 *
 * Tested with rg 13; a version that does not know an option reports an error.  On any
 * failure the result is -1, and the caller searches otherwise (grep_tree.h). */
#pragma once
#include <stdbool.h>

struct exec;
struct grep_paths;

struct ripgrep {
	const struct exec *as; /* borrowed; rg is on its PATH and runs with its
			        * properties */
	const char *pattern;   /* borrowed; from pattern_in_rust() */
	/* Borrowed; a glob for the names of files, or NULL.  It only saves work: the
	 * caller checks the names again. */
	const char *include;
	int late; /* borrowed; readable when the search must end; -1: never */
};

/* Returns whether the session's PATH has rg, in an absolute folder. */
bool ripgrep_is_there(const struct exec *as);

/* Returns whether rg reads the glob as glob.h does, or more generously. */
bool ripgrep_knows_glob(const char *include);

/* Searches below the open folder `root`. Returns 0, or -1: the search failed, and the
 * paths found so far do not count. */
int ripgrep_tree(int root, const struct ripgrep *r, struct grep_paths *ret);
