/* log -- the output of a sandbox's processes, on disk, for clients that ask for it
 * later.
 *
 * The log has two files in the folder log/ of the sandbox: `output`, and `output.1`
 * with the entries before it.  The supervisor's own messages are in such a log too,
 * under another name (supervisor_log.h).  Each entry is one line, and is never split
 * between the files.  A position in the log is the number of a byte, as in a stream
 * (output_ring.h); the oldest bytes are removed with their file.
 *
 * If an entry cannot be written the log stops, after a whole entry, and tries again
 * after LOG_RETRY_MS.  The sandbox does not depend on it.  A writer that is killed
 * while it writes can leave an incomplete entry at the end. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct err;

/* The size of one file of the log in bytes; two files are kept. */
#define LOG_FILE_MAX (8u << 20)
/* The maximum size of one entry in bytes. */
#define LOG_LINE_MAX (128u << 10)
/* The time in ms after which a log that has stopped tries to write again. */
#define LOG_RETRY_MS 10000

struct log {
	const char *name; /* the name of the log's files */
	uint64_t max;	  /* the size limit of one file */
	int folder;	 /* owned; the folder of the log; -1: there is none, so no log
			  * is written */
	int now, before; /* owned; the newer and the older file; -1: not created yet */
	uint64_t begin, middle, end; /* positions: `begin` of the older file, `middle`
				      * of the newer file, `end` of both */
	int64_t retry_ms; /* when the log tries again, clock.h; 0: it has not stopped */
	uint64_t lost;	  /* number of bytes that were not written since the log
			   * stopped */
};

enum log_outcome {
	LOG_WRITTEN,
	LOG_RESUMED, /* written, after `lost` bytes that were not written */
	LOG_STOPPED, /* this entry could not be written, so the log stops; *e tells why */
	LOG_SILENT   /* the log had stopped before, so the entry is lost */
};

/* Sets up a log in the folder, whose descriptor it takes over; -1: there is no folder. */
void log_init(struct log *l, int folder, const char *name, uint64_t max);
void log_done(struct log *l);

/* Adds one entry: a whole line with its newline. */
enum log_outcome log_add(struct log *l, const void *line, size_t len, int64_t now,
			 struct err *e);

/* Reads up to `max` bytes from position `at` on, which must be kept.  The result ends
 * with a whole line if `max` is at least LOG_LINE_MAX.  0: nothing is there; the user
 * may have changed the files. */
size_t log_read(const struct log *l, uint64_t at, void *to, size_t max);

/* Returns the position at which the last `count` entries begin. */
uint64_t log_tail(const struct log *l, uint64_t count);
