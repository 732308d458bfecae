/* output_log -- the output log: a command's output, byte for byte, in a file that the
 * sandbox can read.
 *
 * Up to OUTPUT_LOG_HELD bytes are held in memory, and most commands print less: they have
 * no file.  Longer output is recorded in one file for each command, in a folder that is a
 * tmpfs of its own.  The size of that tmpfs limits all logs together; their pages do not
 * count for --disk.  One command's file may take a quarter of the tmpfs.  If the output
 * is longer, the first half of the file keeps the beginning of the output, and the second
 * half is a ring buffer for its end.  The ring is put in order when a report names the
 * file.
 *
 * When the folder is full, the oldest file is removed; a file into which a command's
 * output is still recorded is removed only after all others.
 *
 * Commands may have the executor's user id, but they see the folder through a read-only
 * mount; the executor's own mount is in no mount tree (mounts.c).  So only the executor
 * can make or change files in the folder. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* The path at which commands see the folder (docs/actions.md). */
#define OUTPUT_LOG_FOLDER "/run/hutch/log"
#define OUTPUT_LOG_HELD (64u << 10)
#define OUTPUT_LOG_LABEL_MAX 64

struct output_log;

struct output_log_file {
	char *name; /* owned */
	uint64_t size; /* the file's size, in whole pages */
	struct output_log *by; /* borrowed; the log that still records into the file;
			        * NULL: none does */
};

/* The folder with the output logs of all commands. */
struct output_logs {
	int folder; /* owned; -1: there is no folder, and nothing is recorded */
	uint64_t max, used; /* the largest total size of all files, and their present one,
			     * in bytes */
	uint32_t last;	    /* the number of the newest file */
	struct output_log_file *files; /* owned; the oldest first */
	size_t count;
};

/* Takes over `folder`.  The size of its file system limits the total size of the
 * files. */
void output_logs_init(struct output_logs *t, int folder);
/* Takes over `folder`.  `max` bytes limit the total size of the files. */
void output_logs_init_sized(struct output_logs *t, int folder, uint64_t max);
void output_logs_done(struct output_logs *t);
/* Returns true if commands see this folder at OUTPUT_LOG_FOLDER, and nothing else is
 * mounted there. */
bool output_logs_is_seen(int folder);

/* One command's output log.  The struct must not be moved while it records, since
 * output_log_file.by points to it. */
struct output_log {
	struct output_logs *output_logs; /* borrowed; NULL: this log records nothing */
	const char *label;   /* borrowed; a file's name is LABEL-NUMBER */
	struct buffer held;  /* the output, as long as it is short and there is no file */
	int fd;		     /* owned; the file; -1 with a `number`: the file was removed
			      * to make room */
	uint32_t number;     /* the file's number; 0: there is no file yet */
	uint64_t len;	     /* how many bytes the command has printed so far */
	uint64_t turned; /* the value of `len` at which the next byte of output belongs to
			  * the ring's first offset */
};

/* Begins to record a command's output.  Nothing is recorded if the label cannot be part
 * of a file name. */
void output_log_init(struct output_log *t, struct output_logs *output_logs,
		     const char *label);
void output_log_write(struct output_log *t, const void *data, size_t len);

struct output_log_mark {
	uint32_t number;  /* the number in the file's name; 0: there is no file */
	uint64_t missing; /* how many bytes of the output are not in the file */
};

/* Puts the recorded output in order for readers, and returns the number of its file.
 * With `is_wanted` a file is made even if the output is short. */
struct output_log_mark output_log_tell(struct output_log *t, bool is_wanted);
/* Stops recording, since the command has ended; the log's file stays. */
void output_log_end(struct output_log *t);
