/* dockerfile_lines -- the logical lines of a Dockerfile: without comments, and
 * with each line joined to the next one where it ends in an escape. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;
struct list;

struct lines {
	const char *at, *end; /* borrowed; the text has no 0 byte at its end or in it */
	unsigned number;      /* number of the last line that was read */
	char escape;
};

/* Starts with a text, and reads the parser directives at its top.  For each directive
 * that is ignored, a sentence is added to `notes`. */
int lines_start(struct lines *l, const char *text, size_t len, struct list *notes,
		struct err *e);

/* Gives the next logical line.  Returns 1 if there is one: *ret, allocated, began in
 * line *ret_number.  Returns 0 if there are no more lines. */
int lines_next(struct lines *l, char **ret, unsigned *ret_number);

/* Reads the lines of a heredoc, up to a line that is `name`; `chomps` removes the tabs
 * at the start of each line.  -1: no line is `name` (the caller sets the error). */
int lines_heredoc(struct lines *l, const char *name, bool chomps, char **ret);
