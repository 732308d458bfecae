/* grep -- finds the lines of files that match a pattern.
 *
 * A search has two steps. The first finds the files with a match (grep_tree.h, or
 * ripgrep.h if the rootfs has ripgrep). The second finds the lines, file by file in the
 * order of their paths; it is always our own code, and stops when the answer has room
 * for no more lines.
 *
 * A file is text if it has no byte 0, and no line longer than GREP_LINE_MAX. Lines of
 * other files are not reported. Only regular files are read, none of /proc or /sys, up
 * to the size that they had when they were opened. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nfa_match;

#define GREP_LINE_MAX  ((size_t)64 << 20)
#define GREP_SHOWN_MAX 1000 /* the most bytes of a line that are reported */

enum grep_end {
	GREP_NONE,  /* no line matches */
	GREP_FOUND, /* at least one line matches */
	GREP_ENDED, /* on_line() wanted no more lines; the file is text to its end */
	GREP_NO_TEXT,
	GREP_FAILED, /* the file could not be read; errno says why */
};

/* One line that matches. */
struct grep_line {
	uint64_t number;     /* the line's number in the file, from 1 */
	const uint8_t *text; /* borrowed; at most GREP_SHOWN_MAX bytes */
	size_t len;
	uint64_t left; /* bytes of the line that are not in `text` */
};

/* The state of a search; one struct serves any number of files, one after the other. */
struct grep {
	struct nfa_match *matcher; /* borrowed */
	/* Called for each line that matches; false: no more lines are wanted. If
	 * grep_file() then returns GREP_NO_TEXT, the lines do not count. NULL: only
	 * the first match is wanted; then the file is not checked to its end for being
	 * text. */
	bool (*on_line)(void *context, const struct grep_line *line);
	/* NULL, or asked now and then whether the search must end. */
	bool (*is_late)(void *context);
	void *context;

	uint8_t *bytes; /* owned */
	size_t room;
};

void grep_done(struct grep *g);

/* Opens a file below the folder `at` without blocking. No link is followed, and the path
 * cannot leave the folder. -1 with errno. */
int grep_open(int at, const char *path);
/* Opens a folder below the folder `at`, by the rules of grep_open(); "." is `at`
 * itself. */
int grep_open_folder(int at, const char *path);

/* Searches an open file, from its beginning, and calls on_line() for its matches. */
enum grep_end grep_file(struct grep *g, int fd);
