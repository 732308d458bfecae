/* capture -- the beginning and the end of an output, of which the middle is dropped. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define CAPTURE_HALF (32u << 10)

struct capture {
	struct buffer head, tail;
	uint64_t seen; /* bytes in all */
};

void capture_init(struct capture *c);
void capture_done(struct capture *c);
void capture_add(struct capture *c, const void *bytes, size_t len);
/* Returns how many bytes were dropped. */
uint64_t capture_lost(const struct capture *c);
/* Returns the output, allocated, with a line in the place of what was dropped. */
char *capture_text(const struct capture *c, size_t *ret_len);
