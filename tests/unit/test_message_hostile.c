/* message: decodes bodies that are cut, too long, or changed byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/list.h"
#include "base/own.h"
#include "protocol/action.h"
#include "protocol/message.h"
#include "protocol/plugin.h"
#include "tests/unit/one_frame.h"

static int put_action(uint32_t type)
{
	const struct bytes text = { (const uint8_t *)"text", 4 };
	struct run_request run = { .kind = RUN_COMMAND, .text = text };
	struct read_request read = { .place = { .cwd = "/" },
				     .form = READ_TEXT,
				     .path = "p" };
	struct write_request write = { .place = { .cwd = "/" },
				       .path = "p",
				       .content = text };
	struct report report = { .state = REPORT_COMPLETED,
				 .cwd = "/",
				 .interpreter = "" };
	struct done done = { .path = "/p", .cwd = "/" };
	struct edit_request edit = { .place = { .cwd = "/" }, .command = "c", .path = "p",
				     .line = "l", .range = "r", .file_text = text,
				     .old_str = text, .new_str = text };
	struct edited edited = { .text_len = 1 };
	struct errand_request errand = { .place = { 1, 1, "/" },
					 .kind = ERRAND_GREP,
					 .limit = 1,
					 .path = "p",
					 .other = "o",
					 .include = "i" };
	struct returned returned = { .path = "p",
				     .cwd = "/",
				     .stat = { .mode = 1, .target = "" } };
	struct err e;

	if (type == MSG_RUN)
		return action_put_run(&b, 1, &run, &e);
	if (type == MSG_CANCEL)
		return action_put_cancel(&b, 1, &e);
	if (type == MSG_READ)
		return action_put_read(&b, 1, &read, &e);
	if (type == MSG_WRITE)
		return action_put_write(&b, 1, &write, &e);
	if (type == MSG_OUTPUT || type == MSG_CONTENT)
		return action_put_text(&b, (uint16_t)type, 1, text, &e);
	if (type == MSG_REPORT)
		return action_put_report(&b, 1, &report, &e);
	if (type == MSG_EDIT)
		return action_put_edit(&b, 1, &edit, &e);
	if (type == MSG_EDITED)
		return action_put_edited(&b, 1, &edited, &e);
	if (type == MSG_ERRAND)
		return action_put_errand(&b, 1, &errand, &e);
	if (type == MSG_RETURNED)
		return action_put_returned(&b, 1, &returned, &e);
	return action_put_done(&b, 1, &done, &e);
}

static int put_plugin(uint32_t type)
{
	const struct plugin_offer offer = { .version = "1", .action_count = 1,
					    .actions = { { "a", "b", "m" } } };
	const struct plugin_call call = { .plugin = 1, .cwd = "/", .action = "a" };
	const struct plugin_answer answer = { .part_count = 1,
					      .parts = { { "n", PART_NUMBER, 1 } } };
	struct err e;

	if (type == MSG_OFFER)
		return plugin_put_offer(&b, 1, &offer, &e);
	if (type == MSG_STATE)
		return plugin_put_state(&b, 1, PLUGIN_FAILED, "r", &e);
	if (type == MSG_CALL)
		return plugin_put_call(&b, 1, &call, &e);
	return plugin_put_answer(&b, 1, &answer, &e);
}

/* Type 9 is unassigned. */
static bool is_type(uint32_t type)
{
	return type != MSG_STOP + 1;
}

/* Encodes one frame of the type. */
static void put_any(uint32_t type)
{
	char *argv[] = { (char *)"argv", NULL }, *env[] = { (char *)"E=n", NULL };
	struct exec exec = { .cwd = "/", .argv = argv, .env = env, .rlimit_count = 1 };
	struct list some = { .items = env, .count = 1 };
	struct hello hello = { 1, 1, 1, 1, 1 };
	struct failed failed = { 1, 1 };
	struct exited exited = { 0 };
	struct err e;
	int done = -1;

	buffer_consume(&b, SIZE_MAX);
	if (type == MSG_HELLO)
		done = message_put_hello(&b, &hello, &e);
	else if (type == MSG_EXEC)
		done = message_put_exec(&b, 1, &exec, &e);
	else if (type == MSG_STARTED)
		done = message_put_started(&b, 1, 2, &e);
	else if (type == MSG_FAILED)
		done = message_put_failed(&b, 1, &failed, &e);
	else if (type == MSG_EXITED)
		done = message_put_exited(&b, 1, &exited, &e);
	else if (type == MSG_SIGNAL)
		done = message_put_signal(&b, 1, 1, &e);
	else if (type == MSG_RESIZE)
		done = message_put_resize(&b, 1, 1, 1, &e);
	else if (type == MSG_STOP)
		done = message_put_stop(&b, 1, &e);
	else if (type == MSG_CGROUP)
		done = message_put_cgroup(&b, &e);
	else if (type == MSG_END)
		done = message_put_end(&b, 1, &e);
	else if (type == MSG_ENV)
		done = message_put_env(&b, &some, &some, &e);
	else if (type == MSG_HOLD)
		done = message_put_hold(&b, true, &e);
	else if (type == MSG_PAUSED)
		done = message_put_paused(&b, 1, &e);
	else if (type == MSG_FREEZE)
		done = message_put_freeze(&b, 1, &e);
	else if (type == MSG_FROZEN)
		done = message_put_frozen(&b, &(struct frozen){ .number = 1 }, &e);
	else if (type == MSG_DIAL)
		done = message_put_dial(&b, DIAL_ID, 80, &e);
	else if (type == MSG_CLOSED)
		done = message_put_closed(&b, DIAL_ID, 111, &e);
	else if (type >= MSG_FINISH && type <= MSG_FINISHED)
		done = message_put_word(&b, type, DIAL_ID, &e);
	else if (type == MSG_OPEN)
		done = message_put_open(&b, 1, &exec, &e);
	else if (type == MSG_PLUGIN)
		done = message_put_plugin(&b, 1, &exec, &e);
	else if (type >= MSG_OFFER && type <= MSG_ANSWERED)
		done = put_plugin(type);
	else
		done = put_action(type);
	assert_int_equal(done, 0);
}

static uint32_t id_of(uint32_t type)
{
	bool is_of_all = type == MSG_HELLO || type == MSG_STOP || type == MSG_CGROUP ||
			 type == MSG_HOLD || type == MSG_ENV || type == MSG_PAUSED ||
			 type == MSG_FREEZE || type == MSG_FROZEN;

	if (type >= MSG_DIAL && type <= MSG_CLOSED)
		return DIAL_ID;
	return is_of_all ? 0 : 1;
}

static int get_action(const struct frame *f)
{
	struct run_request run;
	struct read_request read;
	struct write_request write;
	struct bytes text;
	struct report report;
	struct done done;
	struct edit_request edit;
	struct edited edited;
	struct errand_request errand;
	struct returned returned;
	struct err e;

	if (f->type == MSG_ERRAND)
		return action_get_errand(f, &errand, &e);
	if (f->type == MSG_RETURNED)
		return action_get_returned(f, &returned, &e);
	if (f->type == MSG_EDIT)
		return action_get_edit(f, &edit, &e);
	if (f->type == MSG_EDITED)
		return action_get_edited(f, &edited, &e);
	if (f->type == MSG_RUN)
		return action_get_run(f, &run, &e);
	if (f->type == MSG_CANCEL)
		return action_get_cancel(f, &e);
	if (f->type == MSG_READ)
		return action_get_read(f, &read, &e);
	if (f->type == MSG_WRITE)
		return action_get_write(f, &write, &e);
	if (f->type == MSG_OUTPUT || f->type == MSG_CONTENT)
		return action_get_text(f, &text, &e);
	if (f->type == MSG_REPORT)
		return action_get_report(f, &report, &e);
	return action_get_done(f, &done, &e);
}

static int get_plugin(const struct frame *f)
{
	struct plugin_offer offer;
	struct plugin_call call;
	struct plugin_answer answer;
	uint32_t one;
	const char *reason;
	struct err e;

	if (f->type == MSG_OFFER)
		return plugin_get_offer(f, &offer, &e);
	if (f->type == MSG_STATE)
		return plugin_get_state(f, &one, &reason, &e);
	if (f->type == MSG_CALL)
		return plugin_get_call(f, &call, &e);
	return plugin_get_answer(f, &answer, &e);
}

static int get_any(const struct frame *f)
{
	struct hello hello;
	struct exec exec;
	struct failed failed;
	struct exited exited;
	uint32_t one, two;
	bool is_held;
	struct list set, unset;
	struct err e;

	if (f->type == MSG_ENV) {
		int got = message_get_env(f, &set, &unset, &e);
		if (got == 0)
			list_done(&set), list_done(&unset);
		return got;
	}
	if (f->type == MSG_EXEC || f->type == MSG_OPEN || f->type == MSG_PLUGIN) {
		int got = message_get_exec(f, &exec, &e);
		if (got == 0)
			exec_done(&exec);
		return got;
	}
	if (f->type == MSG_HELLO)
		return message_get_hello(f, &hello, &e);
	if (f->type == MSG_STARTED)
		return message_get_started(f, &one, &e);
	if (f->type == MSG_FAILED)
		return message_get_failed(f, &failed, &e);
	if (f->type == MSG_EXITED)
		return message_get_exited(f, &exited, &e);
	if (f->type == MSG_SIGNAL)
		return message_get_signal(f, &one, &e);
	if (f->type == MSG_RESIZE)
		return message_get_resize(f, &one, &two, &e);
	if (f->type == MSG_CGROUP)
		return message_get_cgroup(f, &e);
	if (f->type == MSG_END)
		return message_get_end(f, &e);
	if (f->type == MSG_HOLD)
		return message_get_hold(f, &is_held, &e);
	if (f->type == MSG_PAUSED)
		return message_get_paused(f, &one, &e);
	if (f->type == MSG_STOP)
		return message_get_stop(f, &one, &e);
	if (f->type == MSG_FREEZE)
		return message_get_freeze(f, &one, &e);
	if (f->type == MSG_FROZEN)
		return message_get_frozen(f, &(struct frozen){ 0 }, &e);
	if (f->type == MSG_DIAL)
		return message_get_dial(f, &one, &e);
	if (f->type == MSG_CLOSED)
		return message_get_closed(f, &one, &e);
	if (f->type >= MSG_FINISH && f->type <= MSG_FINISHED)
		return message_get_word(f, &e);
	if (f->type >= MSG_OFFER && f->type <= MSG_ANSWERED)
		return get_plugin(f);
	return get_action(f);
}

static void test_a_body_cut_anywhere_or_too_long_is_refused(void **state)
{
	(void)state;
	for (uint32_t type = MSG_HELLO; type < MSG_COUNT; type++) {
		if (!is_type(type))
			continue;
		put_any(type);
		struct frame f = one_frame((uint16_t)type, id_of(type));
		assert_int_equal(get_any(&f), 0);
		size_t whole = f.len;
		for (size_t len = 0; len <= whole + 5; len++) {
			/* Memory of exactly the body's size, so that a sanitizer
			 * sees a read beyond it. */
			AUTO_FREE uint8_t *body = calloc(len + 1, 1);
			memcpy(body, f.body, len < whole ? len : whole);
			if (len > whole)
				body[whole] = 'u';
			struct frame cut = { f.type, f.id, body, len };
			assert_int_equal(get_any(&cut), len == whole ? 0 : -1);
		}
	}
}

static void test_every_byte_can_be_anything(void **state)
{
	(void)state;
	for (uint32_t type = MSG_HELLO; type < MSG_COUNT; type++) {
		if (!is_type(type))
			continue;
		put_any(type);
		struct frame f = one_frame((uint16_t)type, id_of(type));
		AUTO_FREE uint8_t *body = malloc(f.len + 1);
		memcpy(body, f.body, f.len);
		struct frame changed = { f.type, f.id, body, f.len };
		for (size_t i = 0; i < f.len; i++) {
			for (unsigned value = 0; value < 256; value++) {
				body[i] = (uint8_t)value;
				(void)get_any(&changed); /* must not crash */
			}
			body[i] = f.body[i];
		}
	}
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, one_frame_setup, one_frame_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_body_cut_anywhere_or_too_long_is_refused),
		TEST(test_every_byte_can_be_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
