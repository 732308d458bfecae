/* ripgrep -- the files below a folder that have a match, as the rootfs' own rg says.
 *
 * It is a command like any other: the session's user, variables, limits and filter.  What
 * it says is as little trusted as what a command says; it can only name files, which
 * grep.h then reads itself.  It is asked for names alone, so nothing of its output has to
 * be understood but bytes 0, and it is done with a file at the first match.
 *
 * Tried with rg 13; one that does not know an option says so.  Whatever goes wrong with
 * it, the answer is -1 and somebody else's. */
#pragma once
#include <stdbool.h>

struct exec;
struct grep_paths;

struct ripgrep {
	const struct exec *as; /* borrowed; whose PATH has it, and as what it runs */
	const char *pattern;   /* borrowed; pattern_in_rust() */
	/* Borrowed; a glob that the names of files must match, and nothing is lost if it
	 * were not there.  NULL: none. */
	const char *include;
	int late; /* borrowed; to be read from when it is enough; -1: never */
};

/* True when that PATH has it, in a folder that is named from the root. */
bool ripgrep_is_there(const struct exec *as);

/* True for a glob that rg reads as glob.h does, or more generously. */
bool ripgrep_knows_glob(const char *include);

/* Of the open folder `root`.  What was found does not count after -1. */
int ripgrep_tree(int root, const struct ripgrep *r, struct grep_paths *ret);
