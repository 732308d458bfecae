/* dispatcher_plugin: an executor whose messages about a plugin's action do not agree breaks the
 * protocol, and a plugin gets one action at a time, each with a deadline. */
#include "actions/dispatcher.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/frame.h"
#include "base/own.h"
#include "policy/plugin_uses.h"
#include "protocol/message.h"
#include "protocol/plugin.h"

#define NOW 1000000ll /* ms */

static struct dispatcher d;
static struct dispatcher_client client;
static struct buffer wire, out, frames;
static char *no_env[1];
static struct err e;

/* Takes the next request to the executor.  Returns its type; 0: there is none. */
static uint16_t requested(uint32_t *ret_id)
{
	struct frame f;

	if (frame_next(&wire, FRAME_MAX_TO_EXECUTOR, &f, &e) <= 0)
		return 0;
	*ret_id = f.id;
	buffer_consume(&wire, FRAME_HEADER + f.len);
	return f.type;
}

/* Gives the message in `frames` to the dispatcher. */
static int answer(void)
{
	struct frame f;

	assert_int_equal(frame_next(&frames, FRAME_MAX_FROM_EXECUTOR, &f, &e), 1);
	int taken = dispatcher_frame(&d, &f, &e);
	buffer_consume(&frames, SIZE_MAX);
	(void)dispatcher_start(&d);
	return taken;
}

static int offer(uint32_t id)
{
	const struct plugin_offer o = { .version = "1",
					.timeout_ms = 1000,
					.action_count = 1,
					.actions = { { "act", "acted", "" } } };

	assert_int_equal(plugin_put_offer(&frames, id, &o, &e), 0);
	return answer();
}

static int begin(void **state)
{
	char name[] = "p", folder[] = "/p";
	struct plugin_use use = { .name = name, .folder = folder };
	const struct plugin_uses uses = { .items = &use, .count = 1 };
	uint32_t id = 0;

	(void)state;
	buffer_init(&wire, 64u << 20);
	buffer_init(&out, DISPATCHER_OUT_MAX);
	buffer_init(&frames, 64u << 20);
	dispatcher_init(&d);
	d.now_us = NOW * 1000;
	d.wire = &wire;
	d.shell = (struct exec){ .flags = EXEC_PTY, .cwd = "/", .env = no_env };
	d.sandbox_info = (struct sandbox_info){ .username = "agent", .hostname = "h" };
	client = (struct dispatcher_client){ .out = &out, .name = "" };
	plugin_table_fill(&d.plugins, &uses);
	(void)dispatcher_start(&d);
	assert_int_equal(requested(&id), MSG_PLUGIN);
	assert_int_equal(offer(id), 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	dispatcher_leave(&d, &client);
	dispatcher_done(&d);
	buffer_done(&wire);
	buffer_done(&out);
	buffer_done(&frames);
	return 0;
}

static void ask(const char *line)
{
	dispatcher_line(&d, &client, line, strlen(line));
	(void)dispatcher_start(&d);
}

/* Asks for the plugin's action.  Returns the id of the call. */
static uint32_t called(void)
{
	uint32_t id = 0;

	ask("{\"action\":\"act\",\"session\":\"a\"}");
	assert_int_equal(requested(&id), MSG_CALL);
	return id;
}

static int answer_text(uint32_t id, const char *sent, uint64_t said)
{
	const struct plugin_answer a = { .part_count = 1,
					 .parts = { { "content", PART_TEXT, said } } };
	const struct bytes text = { (const uint8_t *)sent, strlen(sent) };

	assert_int_equal(action_put_text(&frames, MSG_CONTENT, id, text, &e), 0);
	assert_int_equal(answer(), 0);
	assert_int_equal(plugin_put_answer(&frames, id, &a, &e), 0);
	return answer();
}

/* Takes the next observation, and returns whether it has the text. */
static bool observed(const char *text)
{
	dispatcher_deliver(&client);
	AUTO_FREE char *all = text_format("%.*s", (int)buffer_len(&out),
					  (const char *)buffer_data(&out));
	buffer_consume(&out, SIZE_MAX);
	return strstr(all, text);
}

static void test_an_answer_has_as_many_bytes_as_it_says(void **state)
{
	(void)state;
	assert_int_equal(answer_text(called(), "text", 4), 0);
	assert_true(observed("\"content\":\"text\""));
	assert_int_equal(answer_text(called(), "text", 5), -1);
	assert_non_null(strstr(e.text, "it sent 4 bytes of an answer of 5"));
}

static void test_an_answer_with_bytes_of_no_part_is_refused(void **state)
{
	(void)state;
	assert_int_equal(answer_text(called(), "text", 3), -1);
}

static void test_another_action_gets_no_answer_of_a_plugin(void **state)
{
	uint32_t id = 0;

	(void)state;
	ask("{\"action\":\"stat\",\"args\":{\"path\":\"/f\"},\"session\":\"a\"}");
	while (requested(&id) != MSG_ERRAND)
		;
	assert_int_equal(answer_text(id, "text", 4), -1);
	assert_non_null(strstr(e.text, "a plugin's answer to another action"));
}

static void test_an_offer_of_no_plugin_is_refused(void **state)
{
	(void)state;
	assert_int_equal(offer(1000), -1);
	assert_int_equal(offer(called()), -1);
}

static void test_content_is_bounded_by_the_longest_answer(void **state)
{
	static uint8_t chunk[ACTION_CHUNK];
	const struct bytes text = { chunk, sizeof(chunk) };
	uint32_t id = called();
	size_t taken = 0;

	(void)state;
	do
		assert_int_equal(action_put_text(&frames, MSG_CONTENT, id, text, &e), 0);
	while (answer() == 0 && (taken += sizeof(chunk)) <= PLUGIN_ANSWER_MAX);
	assert_int_equal(taken, PLUGIN_ANSWER_MAX / sizeof(chunk) * sizeof(chunk));
}

static void test_a_plugin_gets_one_action_at_a_time_with_a_deadline(void **state)
{
	uint32_t first = called(), id = 0;

	(void)state;
	assert_true(dispatcher_deadline(&d) == NOW + 1000 + DISPATCHER_GRACE_MS);
	ask("{\"action\":\"act\",\"session\":\"b\",\"timeout\":7}");
	assert_int_equal(requested(&id), 0);
	assert_int_equal(answer_text(first, "x", 1), 0);
	assert_int_equal(requested(&id), MSG_CALL);
	assert_true(dispatcher_deadline(&d) == NOW + 7000 + DISPATCHER_GRACE_MS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_an_answer_has_as_many_bytes_as_it_says),
		TEST(test_an_answer_with_bytes_of_no_part_is_refused),
		TEST(test_another_action_gets_no_answer_of_a_plugin),
		TEST(test_an_offer_of_no_plugin_is_refused),
		TEST(test_content_is_bounded_by_the_longest_answer),
		TEST(test_a_plugin_gets_one_action_at_a_time_with_a_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
