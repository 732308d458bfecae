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
#include <stdbool.h>
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
	struct tar_pax pax;   /* what was said about it besides; as long */
	uint64_t extra_bytes; /* so far: of what extends headers */
	bool may_just_end;    /* where a header could be, the end of `in` is one too */
	/* Private. */
	uint64_t left; /* of the entry's content */
	uint64_t pad;  /* behind it */
	uint8_t *bytes; /* owned */
	size_t start, end;
	uint64_t came; /* read from `in` so far */
	struct tar_text text;
	char *extra[ENTRIES_EXTRA_MAX]; /* owned */
	size_t extra_count, extra_len;
};

void entries_init(struct entries *t, int in);
void entries_done(struct entries *t);

/* 1: t->now is an entry, of a type before TAR_LABEL. 0: the end.  What was not read
 * of the one before is passed over.  ERR_PROTOCOL also where the tar stops without an
 * end, unless it may. */
int entries_next(struct entries *t, struct err *e);

/* The next piece of the content: its length, 0 behind the last one.  *ret is good
 * until the next call. */
ssize_t entries_read(struct entries *t, const uint8_t **ret, struct err *e);

/* How many bytes of `in` stand before what entries_read() gives next. */
uint64_t entries_offset(const struct entries *t);

/* Reads and forgets what comes behind the end, up to 64 MiB. */
void entries_drain(struct entries *t);
