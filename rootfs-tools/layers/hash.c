#include "rootfs-tools/layers/hash.h"

#include <openssl/evp.h>
#include <stdlib.h>

#include "base/hex.h"
#include "base/mem.h"

#define SHA256_BYTES (DIGEST_HEX / 2)

struct hash {
	EVP_MD_CTX *context; /* owned */
};

/* Ends the process if a call of libcrypto failed.  It fails if memory is out, or if an
 * administrator has disabled SHA-256; then nothing here can work. */
static void must(int is_done)
{
	if (is_done != 1)
		abort();
}

void hash_restart(struct hash *h)
{
	must(EVP_DigestInit_ex(h->context, EVP_sha256(), NULL));
}

struct hash *hash_new(void)
{
	struct hash *h = mem_zeroed(1, sizeof(*h));

	h->context = mem_or_abort(EVP_MD_CTX_new());
	hash_restart(h);
	return h;
}

void hash_free(struct hash *h)
{
	if (!h)
		return;
	EVP_MD_CTX_free(h->context);
	free(h);
}

void hash_add(struct hash *h, const void *data, size_t len)
{
	must(EVP_DigestUpdate(h->context, data, len));
}

void hash_end(struct hash *h, struct digest *ret)
{
	unsigned char bytes[EVP_MAX_MD_SIZE];

	must(EVP_DigestFinal_ex(h->context, bytes, NULL));
	hex_encode(bytes, SHA256_BYTES, ret->hex);
}

struct hash *hash_new_md5(void)
{
	struct hash *h = mem_zeroed(1, sizeof(*h));

	h->context = mem_or_abort(EVP_MD_CTX_new());
	must(EVP_DigestInit_ex(h->context, EVP_md5(), NULL));
	return h;
}

void hash_end_md5(struct hash *h, char ret[33])
{
	unsigned char bytes[EVP_MAX_MD_SIZE];

	must(EVP_DigestFinal_ex(h->context, bytes, NULL));
	hex_encode(bytes, 16, ret);
}

void hash_bytes(const void *data, size_t len, struct digest *ret)
{
	struct hash *h = hash_new();

	hash_add(h, data, len);
	hash_end(h, ret);
	hash_free(h);
}
