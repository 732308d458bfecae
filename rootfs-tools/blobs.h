/* blobs -- bytes that come into the store, checked against their digest.
 *
 *	blob_begin		locked, so that one process fetches and another waits
 *	blob_add		... until all is there; blob_at() says from where
 *	blob_commit		its digest and size are right: it stands under its name
 *	blob_done		else what came is kept, for the next try to go on from, if it
 *				was begun with a digest; else removed */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/digest.h"

struct err;
struct store;

struct blob; /* opaque: a file below tmp/ and a running hash */

/* Whether it is there, and how large. */
bool blobs_has(const struct store *s, const struct digest *d, uint64_t *ret_size);

/* A descriptor to read it, or -1 (ERR_NOT_FOUND). */
int blobs_open(const struct store *s, const struct digest *d, struct err *e);

/* All of a small one, allocated, with a 0 behind it; more than `max` bytes: ERR_LIMIT.
 * Read again, it is checked again. */
int blobs_read(const struct store *s, const struct digest *d, size_t max, char **ret,
	       size_t *ret_len, struct err *e);

/* `expected` NULL: any.  If somebody else is at it, waits; *ret NULL with 0: by then it
 * is there.  A process that is at it itself would wait for ever.  `s` is to be there until
 * blob_done(). */
int blob_begin(const struct store *s, const struct digest *expected, struct blob **ret,
	       struct err *e);

/* How many bytes of it are there. */
uint64_t blob_at(const struct blob *b);

/* ERR_LIMIT: more than the store may have (rootfs-tools/quota.h). */
int blob_add(struct blob *b, const void *data, size_t len, struct err *e);

/* What another process writes into its file, which is borrowed, is a part of it when
 * blob_catch_up() has read it; ERR_LIMIT as above. */
int blob_file(const struct blob *b);
int blob_catch_up(struct blob *b, struct err *e);

/* Forgets what came: the other side could not go on from there. */
int blob_restart(struct blob *b, struct err *e);

/* `size`: what it must have, or UINT64_MAX.  A wrong digest or size is ERR_REFUSED, and
 * what came is removed. */
int blob_commit(struct blob *b, uint64_t size, struct digest *ret, struct err *e);
void blob_done(struct blob *b); /* NULL is allowed */

/* All of it at once. */
int blobs_put(const struct store *s, const void *data, size_t len, struct digest *ret,
	      struct err *e);
