/* layer_pipeline -- unpacks a layer's blob into a folder, and hashes its tar on the way.
 *
 *	blob --> [decompresses] --pipe--> [hashes, counts] --pipe--> [unpacks] --> folder
 *
 * Three processes run at the same time.  The two jailed ones (sandbox/root/jail.h) parse
 * untrusted bytes.  The process between them only hashes, so the unpacked bytes have that
 * digest even if both jailed processes are compromised.
 *
 * If the blob is an uncompressed tar, which builds and snapshots make, nothing
 * decompresses, and the other two read the blob beside each other:
 *
 *	blob --> [unpacks] --> folder
 *	    \--> [hashes, counts]
 *
 * No other process may write to the blob meanwhile. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "rootfs-tools/layers/count.h"
#include "store/digest.h"

struct err;

struct layer_pipeline {
	int blob;   /* borrowed; an open file that no other process reads through */
	int folder; /* borrowed; an empty folder to unpack into, opened to be read */
	int empty;  /* borrowed; another empty folder, for the decompressing process's
		     * jail */
	bool is_context; /* the tar is the context of a build and no layer: a whiteout's
			  * name means nothing, and owners are not kept */
	bool is_plain_only; /* a compressed blob is ERR_REFUSED */
	int known; /* borrowed; the store's folder of layers: a plain tar whose digest has a
		    * layer there is not unpacked; 0: each tar is */
	uint64_t entries_max;
	uint64_t bytes_max; /* limit of the tar's bytes */
};

/* The result of a layer that was unpacked. */
struct layer_pipeline_result {
	struct digest digest; /* digest of the tar */
	bool is_known;	      /* the tar was not unpacked, since its digest is known */
	/* Counts reported by the unpacking process, checked against the bounds. */
	uint64_t entries, bytes, left_out;
	bool hides_all;
	struct count there; /* counts of the folder's files */
};

/* Returns 0 when the whole layer is unpacked.  After a failure the caller
 * removes the folder's content. */
int layer_pipeline_run(const struct layer_pipeline *s, struct layer_pipeline_result *ret,
		       struct err *e);
