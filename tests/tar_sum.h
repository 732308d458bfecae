/* tar_sum -- for tests that make tar headers by hand. */
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "archive/tar.h"

/* Corrects the checksum of a changed header. */
static inline void tar_sum(uint8_t *block)
{
	unsigned sum = 0;
	char text[8];

	memset(block + 148, ' ', 8);
	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += block[i];
	(void)snprintf(text, sizeof(text), "%06o", sum);
	memcpy(block + 148, text, 7);
}
