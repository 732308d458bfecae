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
	const char *text; /* borrowed, good until the next call */
	/* Length with the newline.  Without a newline, the line is the last of all, or a
	 * part of a line that is longer than LEDGER_ENTRY_MAX and therefore no entry. */
	size_t len;
	unsigned file;
	uint64_t number; /* the line's number in its file, from 1 */
};

struct ledger_walk {
	int folder, file; /* owned: the ledger's folder and the file that is read */
	unsigned number, last;
	uint64_t last_size; /* size of the newest file when the walk began */
	uint64_t left;	    /* bytes of the current file still to be read */
	uint64_t line;
	size_t taken; /* length of the line in `bytes` that was given to the caller
		       * last */
	struct buffer bytes;
};

/* Begins a walk.  ERR_NOT_FOUND: there is no such folder, or it has no file of a
 * ledger. */
int ledger_walk_open(struct ledger_walk *w, const char *path, struct err *e);
void ledger_walk_done(struct ledger_walk *w);

/* Gives the next line.  Returns 1 for a line, 0 at the end.  A missing file is skipped;
 * a check then finds that the hash in the next line does not match. */
int ledger_walk_next(struct ledger_walk *w, struct ledger_line *ret, struct err *e);
