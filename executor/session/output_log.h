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
	uint64_t size; /* in whole pages */
	struct output_log *by; /* borrowed; the log that is still recorded in it, or NULL */
};

/* The folder. */
struct output_logs {
	int folder; /* owned; -1: there is none, and nothing is recorded */
	uint64_t max, used; /* bytes */
	uint32_t last;	    /* the number of the newest file */
	struct output_log_file *files; /* owned; the oldest first */
	size_t count;
};

/* Takes over `folder`; its size is that of its file system. */
void output_logs_init(struct output_logs *t, int folder);
/* The same with a size. */
void output_logs_init_sized(struct output_logs *t, int folder, uint64_t max);
void output_logs_done(struct output_logs *t);
/* Whether commands see the log: nothing is mounted over the folder. */
bool output_logs_is_seen(int folder);

/* One command's output log.  Not to be moved while it records. */
struct output_log {
	struct output_logs *output_logs; /* borrowed; NULL: nothing is recorded */
	const char *label;   /* borrowed; a file is LABEL-NUMBER */
	struct buffer held;  /* the output, until there is a file */
	int fd;		     /* owned; -1 with a number: the file was removed */
	uint32_t number;     /* of the file; 0: none yet */
	uint64_t len;	     /* bytes that were printed so far */
	uint64_t turned; /* `len` when the ring's first byte was last the next one to
			  * be overwritten */
};

/* Nothing is recorded if the label could not be part of a file name. */
void output_log_init(struct output_log *t, struct output_logs *output_logs, const char *label);
void output_log_write(struct output_log *t, const void *data, size_t len);

struct output_log_told {
	uint32_t number;  /* 0: there is no file */
	uint64_t missing; /* printed bytes that are not in the file */
};

/* Makes the recorded output readable.  With `is_wanted` it is put into a file, however
 * short. */
struct output_log_told output_log_tell(struct output_log *t, bool is_wanted);
/* The command has ended; its file stays. */
void output_log_end(struct output_log *t);
