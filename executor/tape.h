/* tape -- what a command prints, byte for byte, in a file that the sandbox can read.
 *
 * Up to TAPE_HELD bytes are held in memory, and most commands print less: they have no
 * file.  What is longer is recorded in one of its own, in a folder that is a tmpfs of
 * its own: its pages are bounded by its size, and neither the sandbox's folders nor
 * --disk has to do with them.  A quarter of that size is for one command.  Of what is
 * longer the first half of that stays, and the last half goes round like a ring, until
 * somebody is told: then it is put in order.
 *
 * When the folder is full the oldest file goes, one that is recorded last of all.
 *
 * Commands share our user, maybe, but not our mount: theirs is read-only, and ours is
 * in no tree (mounts.c).  Nobody but us makes a name there, or changes what is in a
 * file. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* Where commands see the folder (docs/actions.md). */
#define TAPE_FOLDER "/run/hutch/log"
#define TAPE_HELD (64u << 10)
#define TAPE_LABEL_MAX 64

struct tape;

struct tape_file {
	char *name; /* owned */
	uint64_t size; /* whole pages */
	struct tape *by; /* who records it; NULL: nobody any more */
};

/* The folder. */
struct tapes {
	int folder; /* owned; -1: there is none, and nothing is recorded */
	uint64_t max, used; /* bytes */
	uint32_t last;	    /* number that was given */
	struct tape_file *files; /* owned; the oldest first */
	size_t count;
};

/* Takes over `folder`; its size is that of its file system. */
void tapes_init(struct tapes *t, int folder);
/* The same with a size. */
void tapes_init_sized(struct tapes *t, int folder, uint64_t max);
void tapes_done(struct tapes *t);
/* Whether commands see what is recorded: nobody has mounted something over it. */
bool tapes_is_seen(int folder);

/* One command's.  Not to be moved while it records. */
struct tape {
	struct tapes *tapes; /* borrowed; NULL: nothing is recorded */
	const char *label;   /* borrowed; a file is LABEL-NUMBER */
	struct buffer held;  /* until there is a file */
	int fd;		     /* owned; with a number, -1: the file is gone */
	uint32_t number;     /* of the file; 0: none yet */
	uint64_t len;	     /* bytes that were printed */
	uint64_t turned; /* `len` when the ring was put in order */
};

/* "" where the label is none that could be part of a name. */
void tape_init(struct tape *t, struct tapes *tapes, const char *label);
void tape_write(struct tape *t, const void *data, size_t len);

struct tape_told {
	uint32_t number;  /* 0: there is no file */
	uint64_t missing; /* bytes that are not in it */
};

/* What is recorded can be read.  With `is_wanted` it is in a file, however short. */
struct tape_told tape_tell(struct tape *t, bool is_wanted);
/* The command is done with; the file stays. */
void tape_end(struct tape *t);
