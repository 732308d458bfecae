/* supervisor_link: room for replies is kept, however many lines wait; one whole line is
 * told from others. */
#include "egress/supervisor_link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/own.h"

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

static void one_line_is_told_from_a_part_and_from_more(void **state)
{
	static const struct {
		const char *bytes;
		bool is_one;
	} rows[] = {
		{ "", false },	    { "{}", false },	   { "{}\n", true },
		{ "{}\n{", false }, { "{}\n{}\n", false }, { "\n", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct supervisor_link s;
		supervisor_link_init(&s, -1);
		assert_true(buffer_append(&s.in, rows[i].bytes, strlen(rows[i].bytes)));
		assert_int_equal(supervisor_link_has_one(&s), rows[i].is_one);
		supervisor_link_done(&s);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reply_has_room_when_lines_have_none),
		cmocka_unit_test(one_line_is_told_from_a_part_and_from_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
