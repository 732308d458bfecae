/* remote_notes -- messages about a copy that the process inside the sandbox writes: a
 * sentence on each line, none trusted.
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
	int fd;		 /* owned: the pipe's reading end, for poll(2); -1: the end was
			  * reached */
	const char *sandbox; /* borrowed: the sandbox's name, for the notes */
	char line[REMOTE_NOTES_LINE_MAX + 1]; /* the present line so far; a longer line is
					  * cut */
	size_t len;
	char *last; /* owned: the last sentence, which is held back; NULL: none */
	uint64_t count; /* the number of notes that have come so far */
};

void remote_notes_init(struct remote_notes *h);
/* Makes the pipe for the messages.  Returns its writing end, for the inside; the
 * caller closes it.  -1 on failure. */
int remote_notes_open(struct remote_notes *h, const char *sandbox, struct err *e);
/* Reads the messages that have come, once and without waiting. */
void remote_notes_listen(struct remote_notes *h);
/* Reads the messages that are left when the copy has ended.  `has_failed`: the last
 * sentence is the reason of the failure, and is not printed as a note. */
void remote_notes_end(struct remote_notes *h, bool has_failed);
/* After a failure: returns the reason that the inside gave, allocated, or NULL. */
char *remote_notes_last(const struct remote_notes *h);
void remote_notes_done(struct remote_notes *h);
