/* plugin: the messages about plugins decode to what was encoded, and a field that is out
 * of range is refused. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "protocol/action.h"
#include "protocol/plugin.h"
#include "tests/unit/one_frame.h"

static struct err e;

static void test_an_offer_comes_as_it_went(void **state)
{
	const struct plugin_offer o = { .version = "1", .ready_ms = 1, .timeout_ms = 2,
					.grace_ms = PLUGIN_MS_MAX, .action_count = 2,
					.actions = { { "a", "b", "c d" }, { "A_1", "B", "" } } };
	struct plugin_offer got;

	(void)state;
	assert_int_equal(plugin_put_offer(&b, 7, &o, &e), 0);
	struct frame f = one_frame(MSG_OFFER, 7);
	assert_int_equal(plugin_get_offer(&f, &got, &e), 0);
	assert_string_equal(got.version, "1");
	assert_int_equal(got.ready_ms + got.timeout_ms, 3);
	assert_int_equal(got.grace_ms, PLUGIN_MS_MAX);
	assert_int_equal(got.action_count, 2);
	assert_string_equal(got.actions[0].message, "c d");
	assert_string_equal(got.actions[1].action, "A_1");
}

static bool takes_offer(const struct plugin_offer *o)
{
	struct plugin_offer got;

	assert_int_equal(plugin_put_offer(&b, 7, o, &e), 0);
	struct frame f = one_frame(MSG_OFFER, 7);
	bool is_taken = plugin_get_offer(&f, &got, &e) == 0;
	buffer_consume(&b, SIZE_MAX);
	return is_taken;
}

static void test_an_offer_is_bounded(void **state)
{
	char long_name[PLUGIN_NAME_MAX + 2] = "", long_text[PLUGIN_MESSAGE_MAX + 2] = "";
	struct plugin_offer o = { .version = "1", .action_count = 1,
				  .actions = { { "a", "b", "" } } };

	(void)state;
	memset(long_name, 'a', PLUGIN_NAME_MAX + 1);
	memset(long_text, 'a', PLUGIN_MESSAGE_MAX + 1);
	assert_true(takes_offer(&o));
	o.actions[0].action = long_name;
	assert_false(takes_offer(&o));
	o.actions[0] = (struct plugin_offered){ "a b", "b", "" };
	assert_false(takes_offer(&o));
	o.actions[0] = (struct plugin_offered){ "a", "", "" };
	assert_false(takes_offer(&o));
	o.actions[0] = (struct plugin_offered){ "a", "b", long_text };
	assert_false(takes_offer(&o));
	o.actions[0].message = "";
	o.grace_ms = PLUGIN_MS_MAX + 1;
	assert_false(takes_offer(&o));
	o.grace_ms = 0;
	o.ready_ms = PLUGIN_MS_MAX + 1;
	assert_false(takes_offer(&o));
	o.ready_ms = 0;
	o.timeout_ms = PLUGIN_MS_MAX + 1;
	assert_false(takes_offer(&o));
	o.timeout_ms = 0;
	o.version = long_name;
	assert_false(takes_offer(&o));
	o.version = "1";
	assert_true(takes_offer(&o));
}

static void test_an_offer_of_more_actions_than_fit_is_refused(void **state)
{
	struct plugin_offer got;

	(void)state;
	size_t begun = frame_begin(&b, MSG_OFFER, 7);
	frame_put_text(&b, "1");
	for (int i = 0; i < 3; i++)
		frame_put_u32(&b, 0);
	frame_put_u32(&b, PLUGIN_ACTIONS_MAX + 1);
	for (unsigned i = 0; i <= PLUGIN_ACTIONS_MAX; i++) {
		frame_put_text(&b, "a");
		frame_put_text(&b, "a");
		frame_put_text(&b, "");
	}
	assert_int_equal(frame_end(&b, begun, &e), 0);
	struct frame f = one_frame(MSG_OFFER, 7);
	assert_int_equal(plugin_get_offer(&f, &got, &e), -1);
}

static bool takes_state(uint32_t of, const char *reason)
{
	uint32_t got;
	const char *why;

	assert_int_equal(plugin_put_state(&b, 7, of, reason, &e), 0);
	struct frame f = one_frame(MSG_STATE, 7);
	bool is_taken = plugin_get_state(&f, &got, &why, &e) == 0;
	assert_true(!is_taken || (got == of && !strcmp(why, reason)));
	buffer_consume(&b, SIZE_MAX);
	return is_taken;
}

static void test_only_a_failure_has_a_reason(void **state)
{
	char long_text[PLUGIN_REASON_MAX + 2] = "";

	(void)state;
	memset(long_text, 'a', PLUGIN_REASON_MAX + 1);
	assert_false(takes_state(PLUGIN_FAILED, long_text));
	assert_true(takes_state(PLUGIN_FAILED, long_text + 1));
	assert_true(takes_state(PLUGIN_READY, ""));
	assert_true(takes_state(PLUGIN_FAILED, "why"));
	assert_true(takes_state(PLUGIN_FAILED, ""));
	assert_false(takes_state(PLUGIN_READY, "why"));
	assert_false(takes_state(PLUGIN_STATE_NONE, ""));
	assert_false(takes_state(PLUGIN_STATE_COUNT, ""));
}

static void test_a_call_comes_as_it_went(void **state)
{
	const struct plugin_call c = { .plugin = 3, .session = 4, .timeout_ms = 5,
				       .is_streamed = true, .cwd = "/c", .action = "a",
				       .args = { (const uint8_t *)"{}", 2 } };
	struct plugin_call got;

	(void)state;
	assert_int_equal(plugin_put_call(&b, 7, &c, &e), 0);
	struct frame f = one_frame(MSG_CALL, 7);
	assert_int_equal(plugin_get_call(&f, &got, &e), 0);
	assert_true(got.plugin == 3 && got.session == 4 && got.timeout_ms == 5);
	assert_true(got.is_streamed);
	assert_string_equal(got.cwd, "/c");
	assert_string_equal(got.action, "a");
	assert_memory_equal(got.args.data, "{}", 2);
	assert_int_equal(got.args.len, 2);
}

static bool takes_call(const struct plugin_call *c)
{
	struct plugin_call got;

	assert_int_equal(plugin_put_call(&b, 7, c, &e), 0);
	struct frame f = one_frame(MSG_CALL, 7);
	bool is_taken = plugin_get_call(&f, &got, &e) == 0;
	buffer_consume(&b, SIZE_MAX);
	return is_taken;
}

static void test_a_call_is_bounded(void **state)
{
	const struct plugin_call good = {
		.plugin = 3, .timeout_ms = PLUGIN_MS_MAX, .cwd = "/c", .action = "a"
	};
	AUTO_FREE char *args = mem_zeroed(1, PLUGIN_ARGS_MAX + 1);
	char cwd[PATH_MAX + 1] = "";
	struct plugin_call c = good;

	(void)state;
	memset(cwd, 'a', PATH_MAX);
	assert_true(takes_call(&c));
	c.timeout_ms++;
	assert_false(takes_call(&c));
	c = good;
	c.cwd = cwd;
	assert_false(takes_call(&c));
	c.cwd = cwd + 1;
	assert_true(takes_call(&c));
	c.action = "a b";
	assert_false(takes_call(&c));
	c = good;
	c.args = (struct bytes){ (const uint8_t *)args, PLUGIN_ARGS_MAX };
	assert_true(takes_call(&c));
	c.args.len++;
	assert_false(takes_call(&c));
}

/* --- answers ------------------------------------------------------------------------ */

static bool takes_answer(uint32_t outcome, const struct plugin_part *parts, uint32_t count)
{
	struct plugin_answer a = { .outcome = outcome, .part_count = count }, got;

	memcpy(a.parts, parts, count * sizeof(*parts));
	assert_int_equal(plugin_put_answer(&b, 7, &a, &e), 0);
	struct frame f = one_frame(MSG_ANSWERED, 7);
	bool is_taken = plugin_get_answer(&f, &got, &e) == 0;
	for (uint32_t i = 0; is_taken && i < count; i++)
		assert_true(!strcmp(got.parts[i].name, parts[i].name) &&
			    got.parts[i].kind == parts[i].kind &&
			    got.parts[i].value == parts[i].value);
	buffer_consume(&b, SIZE_MAX);
	return is_taken;
}

#define TAKES(...)                                                                       \
	takes_answer(OUTCOME_DONE, (const struct plugin_part[]){ __VA_ARGS__ },            \
		     sizeof((const struct plugin_part[]){ __VA_ARGS__ }) /                 \
			     sizeof(struct plugin_part))

static void test_an_answer_has_parts_of_all_kinds(void **state)
{
	(void)state;
	assert_true(TAKES({ "content", PART_TEXT, 5 }, { "p", PART_PNG, 8 },
			  { "content", PART_DATA, 3 }, { "", PART_NOTE, 1 },
			  { "n", PART_NUMBER, UINT64_C(1) << 53 }, { "f", PART_FLAG, 1 },
			  { "z", PART_NULL, 0 }, { "e", PART_EMPTY, 0 },
			  { "l", PART_TEXT | PART_ITEM, 1 }, { "l", PART_TEXT | PART_ITEM, 0 }));
}

static void test_a_part_out_of_its_range_is_refused(void **state)
{
	(void)state;
	assert_false(TAKES({ "x", PART_NONE, 0 }));
	assert_false(TAKES({ "x", PART_KIND_COUNT, 0 }));
	assert_false(TAKES({ "x", PART_FLAG, 2 }));
	assert_false(TAKES({ "x", PART_NUMBER, (UINT64_C(1) << 53) + 1 }));
	assert_false(TAKES({ "x", PART_NULL, 1 }));
	assert_false(TAKES({ "x", PART_EMPTY, 1 }));
	assert_false(TAKES({ "x", PART_EMPTY | PART_ITEM, 0 }));
	assert_false(TAKES({ "x", PART_DATA | PART_ITEM, 0 }));
	assert_false(TAKES({ "x", PART_NOTE, 0 }));
	assert_false(TAKES({ "", PART_NOTE | PART_ITEM, 0 }));
	assert_false(TAKES({ "", PART_TEXT, 0 }));
	assert_false(TAKES({ "x\"", PART_TEXT, 0 }));
	assert_false(TAKES({ "x", PART_TEXT, PLUGIN_ANSWER_MAX + 1 }));
	assert_false(TAKES({ "x", PART_TEXT, PLUGIN_ANSWER_MAX }, { "y", PART_PNG, 1 }));
	/* Their sum is 1. */
	assert_false(TAKES({ "x", PART_TEXT, UINT64_MAX }, { "y", PART_TEXT, 2 }));
}

static void test_no_member_stands_twice(void **state)
{
	(void)state;
	assert_false(TAKES({ "x", PART_TEXT, 0 }, { "x", PART_TEXT, 0 }));
	assert_false(TAKES({ "x", PART_TEXT, 0 }, { "x", PART_TEXT | PART_ITEM, 0 }));
	assert_false(TAKES({ "x", PART_TEXT | PART_ITEM, 0 }, { "x", PART_PNG | PART_ITEM, 0 }));
	assert_false(TAKES({ "x", PART_TEXT | PART_ITEM, 0 }, { "y", PART_NULL, 0 },
			   { "x", PART_TEXT | PART_ITEM, 0 }));
	assert_false(TAKES({ "x", PART_DATA, 0 }, { "x", PART_DATA, 0 }));
	assert_false(TAKES({ "", PART_NOTE, 0 }, { "", PART_NOTE, 0 }));
	assert_true(TAKES({ "x", PART_DATA, 0 }, { "x", PART_TEXT, 0 }));
}

static void test_a_failure_has_its_reason_and_nothing_else(void **state)
{
	const struct plugin_part reason = { "content", PART_TEXT, 3 };
	const struct plugin_part number = { "content", PART_NUMBER, 3 };
	const struct plugin_part two[] = { reason, { "x", PART_TEXT, 0 } };

	(void)state;
	assert_true(takes_answer(OUTCOME_ERROR, &reason, 1));
	assert_false(takes_answer(OUTCOME_ERROR, two, 2));
	assert_false(takes_answer(OUTCOME_ERROR, two, 0));
	assert_false(takes_answer(OUTCOME_ERROR, &number, 1));
	assert_false(takes_answer(OUTCOME_COUNT, &reason, 1));
}

static void test_the_largest_answer_fits(void **state)
{
	char names[PLUGIN_PARTS_MAX][PLUGIN_NAME_MAX + 1];
	struct plugin_part parts[PLUGIN_PARTS_MAX];

	(void)state;
	for (unsigned i = 0; i < PLUGIN_PARTS_MAX; i++) {
		memset(names[i], 'a', PLUGIN_NAME_MAX);
		names[i][0] = (char)('a' + i / 16);
		names[i][1] = (char)('a' + i % 16);
		names[i][PLUGIN_NAME_MAX] = '\0';
		parts[i] = (struct plugin_part){ names[i], PART_NULL, 0 };
	}
	assert_true(takes_answer(OUTCOME_DONE, parts, PLUGIN_PARTS_MAX));
}

static void test_an_answer_of_more_parts_than_fit_is_refused(void **state)
{
	struct plugin_answer got[2]; /* the second one is where it would write */

	(void)state;
	size_t begun = frame_begin(&b, MSG_ANSWERED, 7);
	frame_put_u32(&b, OUTCOME_DONE);
	frame_put_u32(&b, PLUGIN_PARTS_MAX + 1);
	for (unsigned i = 0; i <= PLUGIN_PARTS_MAX; i++) {
		frame_put_text(&b, "a");
		frame_put_u32(&b, PART_TEXT | PART_ITEM);
		frame_put_u64(&b, 0);
	}
	assert_int_equal(frame_end(&b, begun, &e), 0);
	struct frame f = one_frame(MSG_ANSWERED, 7);
	assert_int_equal(plugin_get_answer(&f, got, &e), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, one_frame_setup, one_frame_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_offer_comes_as_it_went),
		TEST(test_an_offer_is_bounded),
		TEST(test_an_offer_of_more_actions_than_fit_is_refused),
		TEST(test_only_a_failure_has_a_reason),
		TEST(test_a_call_comes_as_it_went),
		TEST(test_a_call_is_bounded),
		TEST(test_an_answer_has_parts_of_all_kinds),
		TEST(test_a_part_out_of_its_range_is_refused),
		TEST(test_no_member_stands_twice),
		TEST(test_a_failure_has_its_reason_and_nothing_else),
		TEST(test_the_largest_answer_fits),
		TEST(test_an_answer_of_more_parts_than_fit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
