/* sluice -- a layer's bytes on their way into a folder.
 *
 *	blob --> [decompresses] --pipe--> [hashes, counts] --pipe--> [unpacks] --> folder
 *
 * Three processes beside each other; two where the blob is a tar as it is, which is what
 * builds and snapshots make.  Those in the jail (sandbox/jail.h) read what
 * strangers wrote; the one between them only hashes, so that what is unpacked is what has
 * that digest even if somebody has taken over both. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "rootfs-tools/count.h"
#include "store/digest.h"

struct err;

struct sluice {
	int blob;   /* borrowed */
	int folder; /* borrowed; empty, opened to be read */
	int empty;  /* borrowed; another one, in which the first of them is put */
	uint64_t entries_max;
	uint64_t bytes_max; /* of the tar */
};

/* What came through. */
struct sluice_result {
	struct digest digest; /* of the tar */
	/* As the unpacking one says, within the bounds. */
	uint64_t entries, bytes, left_out;
	bool hides_all;
	struct count there; /* what is in the folder now */
};

/* 0 when all of it is there.  Else what is in the folder is to be removed. */
int sluice_run(const struct sluice *s, struct sluice_result *ret, struct err *e);
