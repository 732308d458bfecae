#include "gateway/connect_frames.h"

int connect_next(const char **bytes, size_t *len, struct connect_frame *ret)
{
	const uint8_t *head = (const uint8_t *)*bytes;

	if (*len == 0)
		return 0;
	if (*len < CONNECT_HEADER || head[0] != 0)
		return -1;
	const size_t size = (size_t)head[1] << 24 | (size_t)head[2] << 16 |
			    (size_t)head[3] << 8 | head[4];
	if (size > CONNECT_MESSAGE_MAX || size > *len - CONNECT_HEADER)
		return -1;
	*ret = (struct connect_frame){ *bytes + CONNECT_HEADER, size };
	*bytes += CONNECT_HEADER + size;
	*len -= CONNECT_HEADER + size;
	return 1;
}

void connect_header(uint8_t flags, size_t len, uint8_t to[CONNECT_HEADER])
{
	to[0] = flags;
	for (int i = 1; i < CONNECT_HEADER; i++)
		to[i] = (uint8_t)(len >> (8 * (CONNECT_HEADER - 1 - i)));
}
