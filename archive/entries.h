/* entries -- reads the entries of a tar, one after the other, from a descriptor.
 *
 *	struct entries t;
 *
 *	entries_init(&t, fd);
 *	while ((more = entries_next(&t, e)) > 0)
 *		while ((len = entries_read(&t, &data, e)) > 0)
 *			...
 *	entries_done(&t);
 *
 * Extension headers (pax records, GNU's long names) are merged into the entry that
 * they describe; volume labels and records about all entries are skipped.  The tar
 * may be hostile: memory is bounded by TAR_HEADER_MAX and one buffer. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "archive/tar.h"

struct err;

/* How many extension headers one entry may have. */
#define ENTRIES_EXTRA_MAX 16

struct entries {
	int in;		      /* borrowed; blocking */
	struct tar_entry now; /* the current entry; good until the next entry is asked
			       * for */
	struct tar_pax pax;   /* the current entry's pax records; valid as long as `now`
			       * is */
	uint64_t extra_bytes; /* bytes so far in extension headers and their data */
	bool may_just_end;    /* the tar may lack its end blocks: `in` may end where a
			       * header is expected */
	/* Private. */
	uint64_t left; /* bytes of the entry's content not yet read */
	uint64_t pad;  /* bytes of padding after the content */
	uint8_t *bytes; /* owned; the buffer of bytes that were read */
	size_t start, end;
	uint64_t came; /* bytes read from `in` so far */
	struct tar_text text;
	char *extra[ENTRIES_EXTRA_MAX]; /* owned */
	size_t extra_count, extra_len;
};

void entries_init(struct entries *t, int in);
void entries_done(struct entries *t);

/* Goes to the next entry.  Returns 1 if t->now is an entry, of a type before
 * TAR_LABEL, and 0 if the tar has ended.  Content of the previous entry that was not
 * read is skipped.  ERR_PROTOCOL also where `in` ends before the tar does, unless
 * t->may_just_end allows that. */
int entries_next(struct entries *t, struct err *e);

/* Gives the next piece of the entry's content and returns the piece's length, 0 after
 * the last piece.  *ret is good until the next call. */
ssize_t entries_read(struct entries *t, const uint8_t **ret, struct err *e);

/* Returns the offset in `in` of the byte that entries_read() gives next. */
uint64_t entries_offset(const struct entries *t);

/* Reads and drops up to 64 MiB of bytes after the tar's end, so that the writer of a
 * pipe gets no SIGPIPE. */
void entries_drain(struct entries *t);
