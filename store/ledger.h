/* ledger -- lines that are only ever added, each with the hash of the one before.
 *
 * A folder of its own, 0700 and ours, with the files log.1, log.2, ..., each 0600.  An
 * entry is one line of JSON, whose beginning is always the same:
 *
 *	{"v":1,"prev":"HEX","seq":N,"time":"T","event":"E", ...}
 *
 * `prev` is the SHA-256 of the line of the entry before, with its newline; of the first
 * one 64 zeros.  `seq` counts entries from 1, over all files.  The time is that of this
 * host, UTC, with nanoseconds.
 *
 * A file of `file_max` bytes or more is full: the next entry is the first one of the next
 * file.  So nothing is ever renamed, cut or removed, and who adds entries need not be able
 * to.
 *
 * Any number of processes may add: each holds the lock of the folder (flock(2)) from
 * looking at what is there until its line is written.  It is waited for, for
 * LEDGER_WAIT_MS.
 *
 * A writer that is killed, or a machine without power, may leave a part of a line.  The
 * next one ends it with "<torn>" and a newline, so that it is no entry, whatever it had
 * got to, and behind it adds an entry `torn`: how many bytes since the last whole entry
 * are none, and their SHA-256.  `prev` passes them over.
 *
 * All is read by its owner and by nobody inside; what is read is still bounded. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/digest.h"

struct err;

#define LEDGER_FILE_MAX	 (64u << 20)
#define LEDGER_ENTRY_MAX (128u << 10) /* with its newline */
#define LEDGER_WAIT_MS	 5000
#define LEDGER_NAME_MAX	 16 /* "log.4294967295" */
#define LEDGER_NO_ENTRY \
	"0000000000000000000000000000000000000000000000000000000000000000"
#define LEDGER_TORN	 "<torn>\n"
#define LEDGER_TORN_EVENT "torn"

/* The beginning of an entry; borrows from its line. */
struct ledger_entry {
	struct digest prev;
	uint64_t seq;
	const char *time, *event;
	size_t time_len, event_len;
};

struct ledger {
	int folder;	 /* owned; -1: none is open */
	int file;	 /* owned: the newest */
	unsigned number; /* of that */
	uint64_t file_max;
	int wait_ms; /* for the lock: LEDGER_WAIT_MS unless the caller has set another */
	/* As of our last entry, so that it need not be read again: */
	uint64_t size; /* of the file; UINT64_MAX: unknown */
	uint64_t seq;
	struct digest last;
};

void ledger_init(struct ledger *l);
void ledger_done(struct ledger *l);

/* Makes the folder and its first file where they are not there. */
int ledger_open(struct ledger *l, const char *path, struct err *e);

/* One entry; `members` of its object beside those above, without braces, "" for none.
 * On failure what was there is as it was.  `is_lasting`: the disk has it. */
int ledger_add(struct ledger *l, const char *event, const char *members, bool is_lasting,
	       struct err *e);

/* Whether a line, with its newline, is an entry: its beginning and its end. */
bool ledger_read_entry(const char *line, size_t len, struct ledger_entry *ret);

/* "log.N" */
void ledger_name(unsigned number, char ret[LEDGER_NAME_MAX]);
/* The numbers of the oldest file and of the newest; 0: there is none. */
int ledger_range(int folder, unsigned *ret_first, unsigned *ret_last, struct err *e);
/* Waits for the lock, LOCK_SH or LOCK_EX; ERR_BUSY after `wait_ms`.  It tries once at least. */
int ledger_lock(int folder, int operation, int wait_ms, struct err *e);
