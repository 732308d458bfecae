/* hearing -- the messages of the inside about a copy: a sentence on each line,
 * none trusted.
 *
 * Notes are printed as they come, made safe for a terminal; after the first few
 * they are only counted.  The last sentence is held back: if the copy fails it
 * is the reason. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define HEARING_LINE_MAX 600
#define HEARING_TOLD_MAX 10

struct hearing {
	int fd;		 /* owned; for poll(2); -1: the end was reached */
	const char *who; /* borrowed: the sandbox */
	char line[HEARING_LINE_MAX + 1]; /* the present line so far; a longer line is
					  * cut */
	size_t len;
	char *last; /* owned; NULL: none */
	uint64_t count; /* notes so far */
};

void hearing_init(struct hearing *h);
/* Returns the writing end, for the inside; the caller closes it.  -1 on failure. */
int hearing_open(struct hearing *h, const char *who, struct err *e);
/* Reads once, without waiting. */
void hearing_listen(struct hearing *h);
/* Reads the rest.  `has_failed`: the last sentence is the reason, not a note. */
void hearing_end(struct hearing *h, bool has_failed);
/* After a failure: the reason, allocated, or NULL. */
char *hearing_last(const struct hearing *h);
void hearing_done(struct hearing *h);
