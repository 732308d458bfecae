/* output_log -- the output log: a command's output, byte for byte, in a file that the sandbox
 * can read.
 *
 * Up to OUTPUT_LOG_HELD bytes are held in memory, and most commands print less: they have no
 * file.  Longer output is recorded in a file of its own, in a folder that is a tmpfs of
 * its own: its size bounds its pages, which count neither for the sandbox's folders nor
 * for --disk.  A quarter of that size is for one command.  If the output is longer
 * still, its first half of that quarter stays, and the last half is used as a ring,
 * which is put in order when a report names the file.
 *
 * When the folder is full the oldest file is removed, and a file that is still recorded
 * only after all others.
 *
 * Commands may share our user, but not our mount: theirs is read-only, and ours is in
 * no mount tree (mounts.c).  Only the executor makes a name there, or changes a
 * file. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* Where commands see the folder (docs/actions.md). */
#define OUTPUT_LOG_FOLDER "/run/hutch/log"
#define OUTPUT_LOG_HELD (64u << 10)
#define OUTPUT_LOG_LABEL_MAX 64

struct output_log;

struct output_log_file {
	char *name; /* owned */
	uint64_t size; /* the file's size, in whole pages */
	struct output_log *by; /* borrowed; the log that still records into the file, or
			        * NULL */
};

/* The folder with the output logs of all commands. */
struct output_logs {
	int folder; /* owned; -1: there is no folder, and nothing is recorded */
	uint64_t max, used; /* how many bytes all files may take, and how many they
			     * take */
	uint32_t last;	    /* the number of the newest file */
	struct output_log_file *files; /* owned; the oldest first */
	size_t count;
};

/* Takes over `folder`.  The size of the folder's file system bounds the files. */
void output_logs_init(struct output_logs *t, int folder);
/* Takes over `folder`, whose files may take `max` bytes. */
void output_logs_init_sized(struct output_logs *t, int folder, uint64_t max);
void output_logs_done(struct output_logs *t);
/* Returns true if commands can read the logs: nothing is mounted over the folder. */
bool output_logs_is_seen(int folder);

/* One command's output log.  The struct may not be moved while it records, since the file
 * points to it. */
struct output_log {
	struct output_logs *output_logs; /* borrowed; NULL: nothing is recorded */
	const char *label;   /* borrowed; the first part of a file's name, LABEL-NUMBER */
	struct buffer held;  /* the output, as long as there is no file */
	int fd;		     /* owned; the file; -1 with a `number`: the file was
			      * removed */
	uint32_t number;     /* the file's number; 0: there is no file yet */
	uint64_t len;	     /* how many bytes the command has printed so far */
	uint64_t turned; /* `len` when the ring's first byte was last the next one to
			  * be overwritten */
};

/* Begins to record a command's output.  Nothing is recorded if the label could not be
 * part of a file name. */
void output_log_init(struct output_log *t, struct output_logs *output_logs, const char *label);
void output_log_write(struct output_log *t, const void *data, size_t len);

struct output_log_told {
	uint32_t number;  /* 0: there is no file */
	uint64_t missing; /* how many printed bytes are not in the file */
};

/* Makes the recorded output readable, and tells where it is.  With `is_wanted` the output
 * is put into a file even if it is short. */
struct output_log_told output_log_tell(struct output_log *t, bool is_wanted);
/* Ends the recording when the command has ended; the log's file stays. */
void output_log_end(struct output_log *t);
