/* grep -- the lines of files that have a match of a pattern.
 *
 * In two steps, so that it does not matter who takes the first: which files there are
 * with a match (grep_tree.h, or ripgrep.h where the rootfs has it), and then, file by
 * file in the order of their paths, the lines.  The second is always ours, and looks at
 * as many files as there is room for lines.
 *
 * What a text is: a file without a byte 0 anywhere, whose lines are at most
 * GREP_LINE_MAX long.  Others have no lines.  Only regular files are read, none of /proc
 * or /sys, up to the size that they had when they were opened. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct matcher;

#define GREP_LINE_MAX  ((size_t)64 << 20)
#define GREP_SHOWN_MAX 1000 /* bytes of a line that are told */

enum grep_end {
	GREP_NONE,  /* no line */
	GREP_FOUND, /* at least one */
	GREP_ENDED, /* on_line() wanted no more, but it is text to the end */
	GREP_NO_TEXT,
	GREP_FAILED, /* errno says why */
};

/* A line that was found. */
struct grep_line {
	uint64_t number;     /* from 1 */
	const uint8_t *text; /* borrowed; at most GREP_SHOWN_MAX bytes */
	size_t len;
	uint64_t left; /* bytes of it that are not in `text` */
};

/* Reads one file after the other. */
struct grep {
	struct matcher *matcher; /* borrowed */
	/* Told of each line; false: no further.  When it is seen later that the file is
	 * no text, what was told does not count.  NULL: it is enough to know that there
	 * is one; then not all of a file is looked at for being text. */
	bool (*on_line)(void *who, const struct grep_line *line);
	/* NULL, or asked now and then whether it is enough: then there are no more. */
	bool (*is_late)(void *who);
	void *who;

	uint8_t *bytes; /* owned */
	size_t room;
};

void grep_done(struct grep *g);

/* Opens it below the folder `at`, through no link and not out of it, without waiting;
 * -1 with errno. */
int grep_open(int at, const char *path);
/* The same of a folder; "." is `at` itself. */
int grep_open_folder(int at, const char *path);

/* Of an open file, from its begin. */
enum grep_end grep_file(struct grep *g, int fd);
