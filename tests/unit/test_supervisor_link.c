/* supervisor_link: room for replies is kept, however many lines wait. */
#include "egress/supervisor_link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static void a_reply_has_room_when_lines_have_none(void **state)
{
	static const char line[] = "{\"net\":{\"verdict\":\"deny\"}}\n";
	static char reply[SUPERVISOR_LINK_REPLY_MAX];
	struct supervisor_link s;

	(void)state;
	supervisor_link_init(&s, -1);
	while (supervisor_link_say(&s, line, sizeof(line) - 1))
		;
	assert_false(supervisor_link_say(&s, line, sizeof(line) - 1));
	assert_int_equal(s.dropped, 2);
	memset(reply, 'r', sizeof(reply));
	const size_t before = buffer_len(&s.out);
	assert_true(supervisor_link_reply(&s, reply, sizeof(reply)));
	assert_int_equal(s.dropped, 0);
	assert_int_equal(buffer_len(&s.out),
			 before + strlen("{\"dropped\":2}\n") + sizeof(reply));
	assert_false(supervisor_link_reply(&s, reply, sizeof(reply)));
	assert_true(buffer_len(&s.out) <= SUPERVISOR_LINK_SEND_MAX);
	supervisor_link_done(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reply_has_room_when_lines_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
