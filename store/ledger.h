/* ledger -- an append-only log, each line of which has the hash of the line before.
 *
 * A ledger is a folder of its own, mode 0700 and ours, with the files log.1, log.2,
 * ..., each 0600.  An entry is one line of JSON, whose beginning always has this
 * form:
 *
 *	{"v":1,"prev":"HEX","seq":N,"time":"T","event":"E", ...}
 *
 * `prev` is the SHA-256 of the line of the entry before, with its newline; the first
 * entry has 64 zeros.  `seq` counts entries from 1, over all files.  The time is that
 * of this host, UTC, with nanoseconds.
 *
 * A file of `file_max` bytes or more is full: the next entry is the first one of the
 * next file.  So no file is ever renamed or removed, and a process that adds entries
 * needs no right to do so.
 *
 * Any number of processes may add entries: each holds the lock of the folder
 * (flock(2)) from reading the newest entry until its own line is written.  A process
 * waits for the lock for LEDGER_WAIT_MS.
 *
 * A writer that is killed, or a machine without power, may leave a part of a line.
 * The next writer ends that part with "<torn>" and a newline, so that it is no entry
 * in any case, and adds an entry `torn` after it: how many bytes since the last
 * whole entry belong to no entry, and their SHA-256.  `prev` skips these bytes.
 *
 * Only the owner reads a ledger, and no process inside can write to it; reading is
 * bounded nevertheless. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/digest.h"

struct err;

#define LEDGER_FILE_MAX	 (64u << 20)
#define LEDGER_ENTRY_MAX (128u << 10) /* limit of an entry's bytes, with its newline */
#define LEDGER_WAIT_MS	 5000
#define LEDGER_NAME_MAX	 16 /* size of the longest file name, "log.4294967295", with
			     * its 0 */
#define LEDGER_NO_ENTRY \
	"0000000000000000000000000000000000000000000000000000000000000000"
#define LEDGER_TORN	 "<torn>\n"
#define LEDGER_TORN_EVENT "torn"

/* The first members of an entry, decoded; the pointers point into the entry's line. */
struct ledger_entry {
	struct digest prev;
	uint64_t seq;
	const char *time, *event;
	size_t time_len, event_len;
};

struct ledger {
	int folder;	 /* owned; -1: no ledger is open */
	int file;	 /* owned: the newest file */
	unsigned number; /* the N in the name of `file`, log.N */
	uint64_t file_max;
	int wait_ms; /* how long to wait for the lock: LEDGER_WAIT_MS unless the caller
		      * has set another time */
	/* The ledger's state after the last entry that this process added, so that the
	 * file need not be read again: */
	uint64_t size; /* size of the file in bytes; UINT64_MAX: unknown */
	uint64_t seq;
	struct digest last;
};

void ledger_init(struct ledger *l);
void ledger_done(struct ledger *l);

/* Opens the ledger, and makes the folder and its first file if they are missing. */
int ledger_open(struct ledger *l, const char *path, struct err *e);

/* Adds one entry.  `members` are the further members of the entry's JSON object,
 * without braces; "": none.  On failure the ledger is unchanged.  `is_lasting`:
 * returns only when the entry is on the disk. */
int ledger_add(struct ledger *l, const char *event, const char *members, bool is_lasting,
	       struct err *e);

/* Returns whether the line, which includes its newline, begins and ends as an entry
 * does; *ret is then its beginning. */
bool ledger_read_entry(const char *line, size_t len, struct ledger_entry *ret);

/* Writes the name of a ledger's file, "log.N". */
void ledger_name(unsigned number, char ret[LEDGER_NAME_MAX]);
/* Finds the numbers of the oldest file and of the newest; both are 0 if there is no
 * file. */
int ledger_range(int folder, unsigned *ret_first, unsigned *ret_last, struct err *e);
/* Takes the lock of the folder, LOCK_SH or LOCK_EX, trying at least once; ERR_BUSY
 * after `wait_ms`. */
int ledger_lock(int folder, int operation, int wait_ms, struct err *e);
