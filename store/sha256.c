#include "store/sha256.h"

#include <stdio.h>
#include <string.h>

/* The constants of SHA-256 (FIPS 180-4, 4.2.2 and 5.3.3). */
static const uint32_t round_words[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5,
	0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
	0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
	0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
	0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5,
	0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
	0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};
static const uint32_t first_state[8] = {
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
	0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

static uint32_t turn_right(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

/* Expands a block's sixteen words to 64 (FIPS 180-4, 6.2.2, step 1). */
static void spread(const uint8_t *block, uint32_t w[64])
{
	for (int t = 0; t < 16; t++)
		w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 |
		       (uint32_t)block[4 * t + 2] << 8 | block[4 * t + 3];
	for (int t = 16; t < 64; t++) {
		uint32_t a = w[t - 15], b = w[t - 2];
		w[t] = w[t - 16] + w[t - 7] +
		       (turn_right(a, 7) ^ turn_right(a, 18) ^ a >> 3) +
		       (turn_right(b, 17) ^ turn_right(b, 19) ^ b >> 10);
	}
}

/* Does steps 2 to 4 of FIPS 180-4, 6.2.2, with a to h as s[0] to s[7].  The values
 * move through local variables: shifting an array costs three times as much. */
static void mix(uint32_t s[8], const uint32_t w[64])
{
	uint32_t a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6],
		 h = s[7];

	for (int t = 0; t < 64; t++) {
		uint32_t one =
			h + (turn_right(e, 6) ^ turn_right(e, 11) ^ turn_right(e, 25)) +
			((e & f) ^ (~e & g)) + round_words[t] + w[t];
		uint32_t two =
			(turn_right(a, 2) ^ turn_right(a, 13) ^ turn_right(a, 22)) +
			((a & b) ^ (a & c) ^ (b & c));
		h = g, g = f, f = e, e = d + one;
		d = c, c = b, b = a, a = one + two;
	}
	s[0] += a, s[1] += b, s[2] += c, s[3] += d;
	s[4] += e, s[5] += f, s[6] += g, s[7] += h;
}

static void take_block(struct sha256 *h, const uint8_t *block)
{
	uint32_t w[64];

	spread(block, w);
	mix(h->state, w);
}

void sha256_begin(struct sha256 *h)
{
	memcpy(h->state, first_state, sizeof(h->state));
	h->len = 0;
}

void sha256_add(struct sha256 *h, const void *data, size_t len)
{
	const uint8_t *at = data;
	size_t have = h->len % sizeof(h->block);

	h->len += len;
	if (have && len >= sizeof(h->block) - have) {
		size_t fill = sizeof(h->block) - have;
		memcpy(h->block + have, at, fill);
		take_block(h, h->block);
		at += fill, len -= fill, have = 0;
	}
	for (; !have && len >= sizeof(h->block);
	     at += sizeof(h->block), len -= sizeof(h->block))
		take_block(h, at);
	if (len)
		memcpy(h->block + have, at, len);
}

/* Pads the last block: a bit, zeros, and the length in bits (FIPS 180-4, 5.1.1). */
static void pad(struct sha256 *h)
{
	static const uint8_t padding[64] = { 0x80 };
	uint64_t bits = h->len * 8;
	size_t have = h->len % 64;
	uint8_t end[8];

	for (int i = 0; i < 8; i++)
		end[i] = (uint8_t)(bits >> (56 - 8 * i));
	sha256_add(h, padding, have < 56 ? 56 - have : 120 - have);
	sha256_add(h, end, sizeof(end));
}

void sha256_end(struct sha256 *h, struct digest *ret)
{
	pad(h);
	for (int i = 0; i < 8; i++)
		(void)snprintf(ret->hex + 8 * i, 9, "%08x", h->state[i]);
}

void sha256_bytes(const void *data, size_t len, struct digest *ret)
{
	struct sha256 h;

	sha256_begin(&h);
	sha256_add(&h, data, len);
	sha256_end(&h, ret);
}
