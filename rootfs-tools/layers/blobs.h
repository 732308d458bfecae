/* blobs -- bytes that are added to the store and checked against their digest.
 *
 *	blob_begin		locks, so that one process fetches and another waits
 *	blob_add		repeated until all is there; blob_at() says from where
 *	blob_commit		checks digest and size, and gives the blob its final name
 *	blob_done		without a commit: keeps the bytes for the next try if the
 *				blob was begun with a digest; else removes them */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/digest.h"

struct err;
struct store;

struct blob; /* opaque: a file below tmp/ and a running hash */

/* Returns whether the blob is in the store, and its size. */
bool blobs_has(const struct store *s, const struct digest *d, uint64_t *ret_size);

/* Opens the blob to be read.  Returns a descriptor, or -1 (ERR_NOT_FOUND). */
int blobs_open(const struct store *s, const struct digest *d, struct err *e);

/* Returns the content of a small blob, allocated, with a 0 byte after it; more than
 * `max` bytes is ERR_LIMIT.  The digest is checked again. */
int blobs_read(const struct store *s, const struct digest *d, size_t max, char **ret,
	       size_t *ret_len, struct err *e);

/* Begins to add a blob; with `expected` NULL, its digest may be any.  Waits while
 * another process adds the same blob; if that blob is in the store by then, *ret is
 * NULL and the result 0.  A process that has begun the same blob itself would wait for
 * ever.  `s` must live until blob_done(). */
int blob_begin(const struct store *s, const struct digest *expected, struct blob **ret,
	       struct err *e);

/* Returns how many bytes of the blob are in its file. */
uint64_t blob_at(const struct blob *b);

/* Adds bytes to the blob.  ERR_LIMIT: the store would exceed its quota
 * (rootfs-tools/layers/quota.h). */
int blob_add(struct blob *b, const void *data, size_t len, struct err *e);

/* blob_file() returns the blob's file, borrowed, for another process to write into.
 * When that process has ended, and the caller has hashed all of the file,
 * blob_commit_as() takes the place of blob_commit().  ERR_LIMIT: the store exceeds its
 * quota. */
int blob_file(const struct blob *b);
int blob_commit_as(struct blob *b, const struct digest *is, struct err *e);

/* Drops the bytes so far, when the server cannot resume from there. */
int blob_restart(struct blob *b, struct err *e);

/* Checks the blob and gives it its final name.  `size`: the size that the blob must
 * have, or UINT64_MAX.  A wrong digest or size is ERR_REFUSED, and the bytes are
 * removed. */
int blob_commit(struct blob *b, uint64_t size, struct digest *ret, struct err *e);
void blob_done(struct blob *b); /* `b` may be NULL */

/* Adds a whole blob at once. */
int blobs_put(const struct store *s, const void *data, size_t len, struct digest *ret,
	      struct err *e);
