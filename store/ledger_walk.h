/* ledger_walk -- reads the lines of a ledger, from the oldest line to the one that
 * was the newest when the walk began (store/ledger.h).
 *
 *	ledger_walk_open, ledger_walk_next ..., ledger_walk_done */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct err;

struct ledger_line {
	const char *text; /* borrowed, until the next call */
	/* With the newline.  Without one, the line is the last of all, or a part of a
	 * line that is longer than LEDGER_ENTRY_MAX and therefore no entry. */
	size_t len;
	unsigned file;
	uint64_t number; /* of the line in the file, from 1 */
};

struct ledger_walk {
	int folder, file; /* owned */
	unsigned number, last;
	uint64_t last_size; /* of the last file */
	uint64_t left;	    /* bytes to be read of the current file */
	uint64_t line;
	size_t taken; /* the length in `bytes` of the line that was given */
	struct buffer bytes;
};

/* ERR_NOT_FOUND: there is no folder, or it is empty. */
int ledger_walk_open(struct ledger_walk *w, const char *path, struct err *e);
void ledger_walk_done(struct ledger_walk *w);

/* 1: a line; 0: the end.  A missing file is skipped: the hash of the line behind it
 * then does not fit. */
int ledger_walk_next(struct ledger_walk *w, struct ledger_line *ret, struct err *e);
