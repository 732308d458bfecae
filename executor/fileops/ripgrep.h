/* ripgrep -- finds the files below a folder that have a match, by the rootfs' own rg.
 *
 * rg runs like any command: with the session's user, variables, limits and seccomp
 * filter. Its output is not trusted: it can only name files, which grep.h then reads
 * itself. rg is asked for the files' names alone, which end with a byte 0, and it stops
 * reading a file at the first match.
 *
 * Tested with rg 13; a version that does not know an option reports an error. On any
 * failure the result is -1, and the caller searches with grep_tree.h. */
#pragma once
#include <stdbool.h>

struct exec;
struct grep_paths;

struct ripgrep {
	const struct exec *as; /* borrowed; the session's user, environment and limits,
			        * with which rg runs */
	const char *pattern;   /* borrowed; from pattern_in_rust() */
	/* Borrowed; a glob for the names of files, or NULL.  It only saves work: the
	 * caller checks the names again. */
	const char *include;
	int late; /* borrowed; readable when the search must end; -1: never */
};

/* Returns whether the session's PATH has rg, in an absolute folder. */
bool ripgrep_is_there(const struct exec *as);

/* Returns whether rg finds at least the files that glob.h finds with this glob. */
bool ripgrep_knows_glob(const char *include);

/* Searches below the open folder `root`. Returns 0, or -1: the search failed, and the
 * paths found so far do not count. */
int ripgrep_tree(int root, const struct ripgrep *r, struct grep_paths *ret);
