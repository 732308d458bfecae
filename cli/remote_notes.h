/* remote_notes -- the messages of the inside about a copy: a sentence on each line,
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

#define REMOTE_NOTES_LINE_MAX 600
#define REMOTE_NOTES_TOLD_MAX 10

struct remote_notes {
	int fd;		 /* owned; for poll(2); -1: the end was reached */
	const char *who; /* borrowed: the sandbox */
	char line[REMOTE_NOTES_LINE_MAX + 1]; /* the present line so far; a longer line is
					  * cut */
	size_t len;
	char *last; /* owned; NULL: none */
	uint64_t count; /* notes so far */
};

void remote_notes_init(struct remote_notes *h);
/* Returns the writing end, for the inside; the caller closes it.  -1 on failure. */
int remote_notes_open(struct remote_notes *h, const char *who, struct err *e);
/* Reads once, without waiting. */
void remote_notes_listen(struct remote_notes *h);
/* Reads the rest.  `has_failed`: the last sentence is the reason, not a note. */
void remote_notes_end(struct remote_notes *h, bool has_failed);
/* After a failure: the reason, allocated, or NULL. */
char *remote_notes_last(const struct remote_notes *h);
void remote_notes_done(struct remote_notes *h);
