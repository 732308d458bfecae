/* reply_queue: sends waiting observations in order, each as a whole or not at all. */
#include "actions/reply_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/list.h"

static struct letter *letter(const char *text)
{
	struct buffer line;

	buffer_init(&line, 1 << 20);
	assert_true(buffer_append(&line, text, strlen(text)));
	struct letter *l = letter_new(&line);
	assert_null(line.bytes);
	return l;
}

static void expect(struct buffer *out, const char *text)
{
	assert_int_equal(buffer_len(out), strlen(text));
	assert_memory_equal(buffer_data(out), text, strlen(text));
	buffer_consume(out, strlen(text));
}

static void several_who_asked_share_a_letter(void **state)
{
	struct letter *l = letter("{\"a\":1}\n");
	struct reply_queue one = { 0 }, other = { 0 };
	struct buffer out;

	(void)state;
	buffer_init(&out, 4096);
	reply_queue_put(&one, l, NULL);
	reply_queue_put(&one, l, text_copy("\"x\""));
	reply_queue_put(&other, l, text_copy("7"));
	letter_release(l);
	assert_int_equal(one.bytes, 16);
	assert_true(reply_queue_deliver(&one, &out));
	expect(&out, "{\"a\":1}\n");
	assert_true(reply_queue_deliver(&one, &out));
	expect(&out, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{\"a\":1}}\n");
	assert_false(reply_queue_deliver(&one, &out));
	assert_true(reply_queue_is_empty(&one));
	assert_int_equal(one.bytes, 0);
	assert_true(reply_queue_deliver(&other, &out));
	expect(&out, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"a\":1}}\n");
	buffer_done(&out);
}

static void what_does_not_fit_waits_as_a_whole(void **state)
{
	struct letter *l = letter("{\"a\":1}\n");
	struct reply_queue o = { 0 };
	struct buffer out;

	(void)state;
	/* If there is less room than an observation needs, no part of it is sent. */
	for (size_t room = 0; room < 44; room++) {
		buffer_init(&out, room);
		reply_queue_put(&o, l, text_copy("1"));
		bool went = reply_queue_deliver(&o, &out);
		assert_int_equal(went, room >= 42);
		assert_int_equal(buffer_len(&out), went ? 42 : 0);
		reply_queue_done(&o);
		assert_true(reply_queue_is_empty(&o));
		assert_int_equal(o.bytes, 0);
		buffer_done(&out);
	}
	letter_release(l);
}

static void they_go_in_the_order_in_which_they_came(void **state)
{
	struct reply_queue o = { 0 };
	struct buffer out;
	char text[] = "0\n";

	(void)state;
	buffer_init(&out, 4096);
	for (; text[0] <= '9'; text[0]++) {
		struct letter *l = letter(text);
		reply_queue_put(&o, l, NULL);
		letter_release(l);
	}
	while (reply_queue_deliver(&o, &out))
		;
	expect(&out, "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
	buffer_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(several_who_asked_share_a_letter),
		cmocka_unit_test(what_does_not_fit_waits_as_a_whole),
		cmocka_unit_test(they_go_in_the_order_in_which_they_came),
	};

	return cmocka_run_group_tests_name("outbox", tests, NULL, NULL);
}
