/* dockerfile_lines -- the lines of a Dockerfile, as its instructions have them: without
 * comments, and those joined that an escape at the end continues. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;
struct list;

struct lines {
	const char *at, *end; /* borrowed; no 0 byte between */
	unsigned number;      /* of the last line that was read */
	char escape;
};

/* Reads the directives at the top; what has no effect is noted. */
int lines_start(struct lines *l, const char *text, size_t len, struct list *notes,
		struct err *e);

/* 1: *ret, allocated, began in line *ret_number. 0: the end. */
int lines_next(struct lines *l, char **ret, unsigned *ret_number);

/* What follows, up to a line that is `name`; `chomps`: without tabs in front of each.
 * -1: there is none (the error is the caller's). */
int lines_heredoc(struct lines *l, const char *name, bool chomps, char **ret);
