/* hearing -- what the inside says about a copy: a sentence a line, each one foreign.
 *
 * Notes are told as they come, made safe for a terminal, and counted beyond the first
 * few.  The last sentence is held back: of a copy that failed it is the reason. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define HEARING_LINE_MAX 600
#define HEARING_TOLD_MAX 10

struct hearing {
	int fd;		 /* owned; poll(2) it; -1: nothing comes any more */
	const char *who; /* borrowed: the sandbox */
	char line[HEARING_LINE_MAX + 1]; /* as far as it has come; the rest is dropped */
	size_t len;
	char *last; /* owned; NULL: none */
	uint64_t count; /* notes that there were */
};

void hearing_init(struct hearing *h);
/* Returns the end that goes inside, the caller's; -1. */
int hearing_open(struct hearing *h, const char *who, struct err *e);
/* Takes what is there, without waiting, and not much of it at once. */
void hearing_listen(struct hearing *h);
/* Takes the rest.  `has_failed`: the last sentence is no note. */
void hearing_end(struct hearing *h, bool has_failed);
/* After a failure: the reason, allocated, or NULL. */
char *hearing_last(const struct hearing *h);
void hearing_done(struct hearing *h);
