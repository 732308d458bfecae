/* hash -- SHA-256 of bytes that come in pieces, by OpenSSL's libcrypto. */
#pragma once
#include <stddef.h>

#include "store/digest.h"

struct hash; /* opaque */

struct hash *hash_new(void);
void hash_free(struct hash *h); /* NULL is allowed */

void hash_add(struct hash *h, const void *data, size_t len);

/* What came is forgotten. */
void hash_restart(struct hash *h);

/* The digest of what came; then only hash_restart() and hash_free(). */
void hash_end(struct hash *h, struct digest *ret);

/* MD5, by which nothing is trusted here: others make names with it.  For hash_add() and
 * hash_free(). */
struct hash *hash_new_md5(void);
void hash_end_md5(struct hash *h, char ret[33]);

/* All at once. */
void hash_bytes(const void *data, size_t len, struct digest *ret);
