/* What an executor may say of a pause, and what ends a sandbox. */
#include "sandbox/control/still.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/message.h"
#include "sandbox/control/supervisor.h"

static struct supervisor s;

static int says(uint32_t number)
{
	struct buffer b;
	struct frame f;
	struct err e;

	buffer_init(&b, 64);
	assert_int_equal(message_put_paused(&b, number, &e), 0);
	assert_int_equal(frame_next(&b, FRAME_MAX_FROM_EXECUTOR, &f, &e), 1);
	int taken = still_frame(&s, &f, &e);
	buffer_done(&b);
	return taken;
}

static void test_paused_comes_for_what_was_asked_and_once(void **state)
{
	(void)state;
	still_init(&s.still);
	assert_int_equal(says(1), -1);
	s.still.asked = 3;
	assert_int_equal(says(1), 0);
	assert_int_equal(says(1), -1);
	assert_int_equal(s.still.stopped, 1);
	/* The second was continued before all had stopped. */
	assert_int_equal(says(3), 0);
	assert_int_equal(says(2), -1);
	assert_int_equal(says(4), -1);
	assert_int_equal(says(UINT32_MAX), -1);
	assert_int_equal(s.still.stopped, 3);
	still_done(&s.still);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paused_comes_for_what_was_asked_and_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
