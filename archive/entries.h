/* entries -- what is in a tar, one after the other, from a descriptor.
 *
 *	struct entries t;
 *
 *	entries_init(&t, fd);
 *	while ((more = entries_next(&t, e)) > 0)
 *		while ((len = entries_read(&t, &data, e)) > 0)
 *			...
 *	entries_done(&t);
 *
 * What extends a header is put into it; labels and records about all entries are
 * passed over.  The tar may be hostile: memory is bounded by TAR_HEADER_MAX and one
 * buffer. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "archive/tar.h"

struct err;

/* How many headers may extend one entry's. */
#define ENTRIES_EXTRA_MAX 16

struct entries {
	int in;		      /* borrowed; blocking */
	struct tar_entry now; /* good until the next one is asked for */
	uint64_t extra_bytes; /* so far: of what extends headers */
	/* Private. */
	uint64_t left; /* of the entry's content */
	uint64_t pad;  /* behind it */
	uint8_t *bytes; /* owned */
	size_t start, end;
	struct tar_text text;
	struct tar_pax pax;
	char *extra[ENTRIES_EXTRA_MAX]; /* owned */
	size_t extra_count, extra_len;
};

void entries_init(struct entries *t, int in);
void entries_done(struct entries *t);

/* 1: t->now is an entry, of a type before TAR_LABEL. 0: the end.  What was not read
 * of the one before is passed over.  ERR_PROTOCOL also where the tar stops without an
 * end. */
int entries_next(struct entries *t, struct err *e);

/* The next piece of the content: its length, 0 behind the last one.  *ret is good
 * until the next call. */
ssize_t entries_read(struct entries *t, const uint8_t **ret, struct err *e);

/* Reads and forgets what comes behind the end, up to 64 MiB. */
void entries_drain(struct entries *t);
