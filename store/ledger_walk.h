/* ledger_walk -- the lines of a ledger, from the oldest to the newest as it was when the
 * walk began (store/ledger.h).
 *
 *	ledger_walk_open, ledger_walk_next ..., ledger_walk_done */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct err;

struct ledger_line {
	const char *text; /* borrowed, until the next one */
	/* With its newline, unless it is the last of all, or a part of one that is longer
	 * than LEDGER_ENTRY_MAX, which is no entry. */
	size_t len;
	unsigned file;
	uint64_t number; /* in the file, from 1 */
};

struct ledger_walk {
	int folder, file; /* owned */
	unsigned number, last;
	uint64_t last_size; /* of the last file */
	uint64_t left;	    /* to be read of this one */
	uint64_t line;
	size_t taken; /* of `bytes`: the line that was given */
	struct buffer bytes;
};

/* ERR_NOT_FOUND: there is no folder, or nothing in it. */
int ledger_walk_open(struct ledger_walk *w, const char *path, struct err *e);
void ledger_walk_done(struct ledger_walk *w);

/* 1: a line; 0: the end.  A file that is missing is passed over: what follows it does not
 * go on from what was before. */
int ledger_walk_next(struct ledger_walk *w, struct ledger_line *ret, struct err *e);
