/* hash -- SHA-256 of bytes that come in pieces, by OpenSSL's libcrypto. */
#pragma once
#include <stddef.h>

#include "store/digest.h"

struct hash; /* opaque */

struct hash *hash_new(void);
void hash_free(struct hash *h); /* `h` may be NULL */

void hash_add(struct hash *h, const void *data, size_t len);

/* Forgets all bytes so far. */
void hash_restart(struct hash *h);

/* Gives the digest of all bytes so far; after that only hash_restart() and hash_free()
 * are allowed. */
void hash_end(struct hash *h, struct digest *ret);

/* Begins an MD5, for names that other programs compute with it; nothing is trusted
 * because of it.  The result is for hash_add() and hash_free(). */
struct hash *hash_new_md5(void);
void hash_end_md5(struct hash *h, char ret[33]);

/* Gives the digest of one piece of `len` bytes. */
void hash_bytes(const void *data, size_t len, struct digest *ret);
