/* ledger_check -- checks that the lines of a ledger are those that were written, in
 * order.
 *
 *	ledger_check_begin, ledger_check_line for each, ledger_check_end
 *
 * The hash in each entry proves all entries before it, but no hash proves the last
 * entry: a ledger whose end was cut off, or that was written anew as a whole, is
 * consistent.  Anchors detect both: they are hashes of entries that were noted
 * elsewhere, and each of them must occur in the ledger.  Where the oldest files were
 * removed, the hash of the last entry in them must be an anchor. */
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
	const struct list *anchors; /* borrowed: the anchors, as hexadecimal digits */
	uint64_t met;		    /* bit N: the Nth anchor has occurred */
	uint64_t entries, first, seq; /* count of entries; the numbers of the first
				       * entry and of the last */
	char begun[LEDGER_TIME_MAX], ended[LEDGER_TIME_MAX];
	struct digest last;
	struct sha256 torn;	/* hash of the bytes since the last entry that belong
				 * to no entry */
	uint64_t torn_len, torn_line;
	unsigned torn_file;
	bool may_be_torn; /* the ledger may end with a part of a line, as a killed
			   * writer leaves it */
	uint64_t torn_count; /* count of entries `torn`, which report such parts */
};

/* Begins a check.  `anchors` has at most LEDGER_ANCHORS_MAX items, each of 64 digits. */
int ledger_check_begin(struct ledger_check *c, const struct list *anchors, struct err *e);

/* Checks the next line.  -1: the ledger is broken, and *e says where. */
int ledger_check_line(struct ledger_check *c, const struct ledger_line *line,
		      struct err *e);

/* Ends the check.  If `torn_len` is not 0, the last line is a part of one, which the
 * next entry will report. */
int ledger_check_end(const struct ledger_check *c, struct err *e);
