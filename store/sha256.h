/* sha256 -- the SHA-256 of bytes that come in pieces (FIPS 180-4), without a library:
 * the launcher links none.  hutch-image, which hashes gigabytes, has OpenSSL's
 * (rootfs-tools/layers/hash.h).
 *
 *	sha256_begin, sha256_add ..., sha256_end */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "store/digest.h"

struct sha256 {
	uint32_t state[8];
	uint8_t block[64]; /* bytes that do not fill a block yet */
	uint64_t len;	   /* how many bytes were added */
};

void sha256_begin(struct sha256 *h);
void sha256_add(struct sha256 *h, const void *data, size_t len);
/* Gives the digest of all bytes that were added; then only sha256_begin() may follow. */
void sha256_end(struct sha256 *h, struct digest *ret);

/* Gives the digest of `len` bytes. */
void sha256_bytes(const void *data, size_t len, struct digest *ret);
