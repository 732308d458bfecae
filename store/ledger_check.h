/* ledger_check -- whether the lines of a ledger are those that were written, in order.
 *
 *	ledger_check_begin, ledger_check_line for each, ledger_check_end
 *
 * Each entry vouches for all before it, and nobody for the last: whoever cuts the end off
 * leaves a ledger that is whole, as does whoever writes all of it anew.  That is what
 * anchors are for, hashes of entries that somebody has noted elsewhere: all of them must be
 * met.  Where the oldest files were taken away, the hash of the last entry in them must be
 * among them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/digest.h"
#include "store/sha256.h"

struct err;
struct ledger_line;
struct list;

#define LEDGER_ANCHORS_MAX 64
#define LEDGER_TIME_MAX	   40

struct ledger_check {
	const struct list *anchors; /* borrowed: hexadecimal digits */
	uint64_t met;		    /* bit N: the Nth of them */
	uint64_t entries, first, seq; /* the number of the first, and of the last */
	char begun[LEDGER_TIME_MAX], ended[LEDGER_TIME_MAX];
	struct digest last;
	struct sha256 torn;	/* of what is no entry since the last one */
	uint64_t torn_len, torn_line;
	unsigned torn_file;
	bool may_be_torn; /* it ends as a writer leaves it that is killed */
	uint64_t torn_count; /* entries that tell of such */
};

/* At most LEDGER_ANCHORS_MAX, each 64 digits. */
int ledger_check_begin(struct ledger_check *c, const struct list *anchors, struct err *e);

/* -1: it is broken, and *e says where. */
int ledger_check_line(struct ledger_check *c, const struct ledger_line *line, struct err *e);

/* The same, of all.  With `torn_len` the last line is a part of one, of which the next
 * entry will tell. */
int ledger_check_end(const struct ledger_check *c, struct err *e);
