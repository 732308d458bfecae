/* one_frame -- the buffer in which a test of encoders puts one frame and reads
 * it back.  Include it behind cmocka.h. */
#pragma once
#include <stdint.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/frame.h"
#include "protocol/message.h"

static struct buffer b;

/* The setup and teardown of each test. */
static inline int one_frame_setup(void **state)
{
	(void)state;
	buffer_init(&b, FRAME_HEADER + FRAME_MAX_TO_EXECUTOR);
	return 0;
}

static inline int one_frame_teardown(void **state)
{
	(void)state;
	buffer_done(&b);
	return 0;
}

/* Returns the frame in `b`, which must be the only one and have this type and id. */
static inline struct frame one_frame(uint16_t type, uint32_t id)
{
	struct frame f;
	struct err e;

	assert_int_equal(frame_next(&b, FRAME_MAX_TO_EXECUTOR, &f, &e), 1);
	assert_int_equal(FRAME_HEADER + f.len, buffer_len(&b));
	assert_int_equal(f.type, type);
	assert_int_equal(f.id, id);
	return f;
}
