/* log -- the output of a sandbox's processes, on disk, for clients that ask
 * later.
 *
 * Two files in the folder log/ of the sandbox, `output` and the one before it,
 * `output.1`; or, under another name, the supervisor's own messages
 * (supervisor_log.h).  Each entry is a line, and in one file.  Bytes of the log are
 * known by their number, like those of a stream (output_ring.h); the oldest go with
 * their file.
 *
 * When an entry cannot be written the log stops, with whole entries; some time
 * later it is tried again.  Nothing else depends on it.  A writer that is
 * killed in between leaves a part of an entry at the end. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct err;

/* The size of one file of the log in bytes; two files are kept. */
#define LOG_FILE_MAX (8u << 20)
/* The largest size of one entry in bytes. */
#define LOG_LINE_MAX (128u << 10)
/* The time in ms after which a log that has stopped is tried again. */
#define LOG_RETRY_MS 10000

struct log {
	const char *name; /* the name of the log's files */
	uint64_t max;	  /* the size limit of one file */
	int folder;	 /* owned; the folder of the log; -1: there is no log */
	int now, before; /* owned; the newer and the older file; -1: none yet */
	uint64_t begin, middle, end; /* numbers of the bytes that are kept; `middle`:
				      * where `now` begins */
	int64_t retry_ms; /* when the log is tried again, clock.h; 0: it has not
			   * stopped */
	uint64_t lost;	  /* bytes of entries that were not written since the log
			   * stopped */
};

enum log_outcome {
	LOG_WRITTEN,
	LOG_RESUMED, /* written; `lost` is the number of bytes that were not written
		      * before */
	LOG_STOPPED, /* the log stopped just now; *e tells why */
	LOG_SILENT   /* the log had stopped before, and the entry is lost */
};

/* Sets up a log in the folder, which is taken over and may be -1. */
void log_init(struct log *l, int folder, const char *name, uint64_t max);
void log_done(struct log *l);

/* Adds one whole line, its newline included. */
enum log_outcome log_add(struct log *l, const void *line, size_t len, int64_t now,
			 struct err *e);

/* Reads from number `at` on, which must be kept, as much as can be read at once; that
 * ends with a whole line if `max` is at least LOG_LINE_MAX.  0: nothing is there, or
 * no longer, since the user may change the files. */
size_t log_read(const struct log *l, uint64_t at, void *to, size_t max);

/* Returns the number of the byte at which the last `count` entries begin. */
uint64_t log_tail(const struct log *l, uint64_t count);
