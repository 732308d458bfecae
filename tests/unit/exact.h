/* exact -- a copy of bytes in memory of exactly their size, so that a sanitizer sees the
 * first byte that a parser reads too far. */
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static inline uint8_t *exact_copy(const void *bytes, size_t len)
{
	return mem_copy(bytes, len);
}
