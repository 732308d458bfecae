/* fnv1a -- the hash FNV-1a of 64 bits.
 *
 * It finds things quickly and proves nothing: texts that collide are easily made, so a
 * caller compares what it has found. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define FNV1A_START 0xcbf29ce484222325u

/* Returns the hash of what `hash` has gone over, followed by these bytes. */
static inline uint64_t fnv1a(uint64_t hash, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ at[i]) * 0x100000001b3u;
	return hash;
}
