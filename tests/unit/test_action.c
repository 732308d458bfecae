/* action: a message decodes to what was encoded, and a field that is out of range is
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <limits.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/own.h"
#include "protocol/action.h"
#include "protocol/message.h"
#include "tests/unit/one_frame.h"

static struct err e;

/* Encodes and decodes one frame, which must be the only one. */
static struct frame only(int put, uint16_t type)
{
	assert_int_equal(put, 0);
	return one_frame(type, 7);
}

static void refused(int got)
{
	assert_int_equal(got, -1);
	assert_int_equal(e.kind, ERR_PROTOCOL);
	buffer_consume(&b, SIZE_MAX);
}

static const struct run_request good_run = {
	.session = 3, .kind = RUN_COMMAND, .flags = RUN_FLAGS, .soft_ms = UINT64_MAX,
	.hard_ms = 1, .text = { (const uint8_t *)"echo hi", 7 },
};

static void test_a_run_comes_as_it_went(void **state)
{
	struct run_request got;

	(void)state;
	struct frame f = only(action_put_run(&b, 7, &good_run, &e), MSG_RUN);
	assert_int_equal(action_get_run(&f, &got, &e), 0);
	assert_int_equal(got.session, 3);
	assert_int_equal(got.kind, RUN_COMMAND);
	assert_int_equal(got.flags, RUN_FLAGS);
	assert_true(got.soft_ms == UINT64_MAX && got.hard_ms == 1);
	assert_int_equal(got.text.len, 7);
	assert_memory_equal(got.text.data, "echo hi", 7);
}

static void refuse_run(struct run_request r)
{
	struct run_request got;
	struct frame f = only(action_put_run(&b, 7, &r, &e), MSG_RUN);

	refused(action_get_run(&f, &got, &e));
}

static void test_each_bad_field_of_a_run_is_refused(void **state)
{
	struct run_request r = good_run;
	AUTO_FREE uint8_t *much = calloc(1, ACTION_TEXT_MAX + 1);

	(void)state;
	r.kind = RUN_NONE;
	refuse_run(r);
	r.kind = RUN_KIND_COUNT;
	refuse_run(r);
	r = good_run;
	r.flags = RUN_FLAGS + 1;
	refuse_run(r);
	r = good_run;
	r.text = (struct bytes){ (const uint8_t *)"a\0b", 3 };
	refuse_run(r);
	memset(much, 'x', ACTION_TEXT_MAX + 1);
	r.text = (struct bytes){ much, ACTION_TEXT_MAX + 1 };
	refuse_run(r);
	r.text.len--;
	struct run_request got;
	struct frame f = only(action_put_run(&b, 7, &r, &e), MSG_RUN);
	assert_int_equal(action_get_run(&f, &got, &e), 0);
	assert_int_equal(got.text.len, ACTION_TEXT_MAX);
}

static void test_a_cancel_has_no_body(void **state)
{
	(void)state;
	struct frame f = only(action_put_cancel(&b, 7, &e), MSG_CANCEL);
	assert_int_equal(f.len, 0);
	assert_int_equal(action_get_cancel(&f, &e), 0);
	f.body = (const uint8_t *)"u\0\0\0\0";
	f.len = 5;
	refused(action_get_cancel(&f, &e));
}

static const struct read_request good_read = {
	.session = 0, .place = { 3, 4, "/c" }, .form = READ_BASE64, .first = 2,
	.end = ACTION_LAST_LINE, .path = "/f",
};

static void refuse_read(struct read_request r)
{
	struct read_request got;
	struct frame f = only(action_put_read(&b, 7, &r, &e), MSG_READ);

	refused(action_get_read(&f, &got, &e));
}

static void test_a_read_comes_as_it_went_or_is_refused(void **state)
{
	struct read_request r = good_read, got;
	char path[PATH_MAX + 1];

	(void)state;
	struct frame f = only(action_put_read(&b, 7, &r, &e), MSG_READ);
	assert_int_equal(action_get_read(&f, &got, &e), 0);
	assert_int_equal(got.form, READ_BASE64);
	assert_true(got.first == 2 && got.end == ACTION_LAST_LINE);
	assert_string_equal(got.path, "/f");
	assert_true(got.place.uid == 3 && got.place.gid == 4);
	assert_string_equal(got.place.cwd, "/c");
	buffer_consume(&b, SIZE_MAX);
	r.place.cwd = "";
	refuse_read(r);
	r = good_read;
	r.form = READ_NONE;
	refuse_read(r);
	r.form = READ_FORM_COUNT;
	refuse_read(r);
	r = good_read;
	r.path = "";
	refuse_read(r);
	memset(path, 'x', PATH_MAX);
	path[PATH_MAX] = '\0';
	r.path = path;
	refuse_read(r);
	path[PATH_MAX - 1] = '\0';
	f = only(action_put_read(&b, 7, &r, &e), MSG_READ);
	assert_int_equal(action_get_read(&f, &got, &e), 0);
}

static void test_a_write_comes_as_it_went_or_is_refused(void **state)
{
	struct write_request r = { .session = 1, .place = { 1, 2, "/c" }, .first = 1,
				   .end = 2, .path = "f",
				   .content = { (const uint8_t *)"a\0b", 3 } }, got;

	(void)state;
	struct frame f = only(action_put_write(&b, 7, &r, &e), MSG_WRITE);
	assert_int_equal(action_get_write(&f, &got, &e), 0);
	assert_true(got.session == 1 && got.first == 1 && got.end == 2);
	assert_string_equal(got.path, "f");
	assert_int_equal(got.content.len, 3);
	assert_memory_equal(got.content.data, "a\0b", 3);
	buffer_consume(&b, SIZE_MAX);
	r.path = "";
	f = only(action_put_write(&b, 7, &r, &e), MSG_WRITE);
	refused(action_get_write(&f, &got, &e));
	r.path = "f";
	r.place.cwd = "";
	f = only(action_put_write(&b, 7, &r, &e), MSG_WRITE);
	refused(action_get_write(&f, &got, &e));
}

static void test_a_text_is_neither_empty_nor_too_long(void **state)
{
	AUTO_FREE uint8_t *much = calloc(1, ACTION_CHUNK + 1);
	struct bytes text = { much, ACTION_CHUNK }, got;

	(void)state;
	struct frame f = only(action_put_text(&b, MSG_OUTPUT, 7, text, &e), MSG_OUTPUT);
	assert_int_equal(action_get_text(&f, &got, &e), 0);
	assert_int_equal(got.len, ACTION_CHUNK);
	assert_true(f.len <= FRAME_MAX_FROM_EXECUTOR);
	buffer_consume(&b, SIZE_MAX);
	text.len++;
	f = only(action_put_text(&b, MSG_CONTENT, 7, text, &e), MSG_CONTENT);
	refused(action_get_text(&f, &got, &e));
	text.len = 0;
	f = only(action_put_text(&b, MSG_CONTENT, 7, text, &e), MSG_CONTENT);
	refused(action_get_text(&f, &got, &e));
}

static const struct report good_report = {
	.state = REPORT_COMPLETED, .flags = REPORT_FLAGS, .exit_code = 255,
	.background = INT32_MAX, .cut = ACTION_CUT_MAX,
	.lines = ACTION_CUT_MAX, .cwd = "/", .interpreter = "",
};

static void test_a_report_comes_as_it_went(void **state)
{
	struct report got;

	(void)state;
	struct frame f = only(action_put_report(&b, 7, &good_report, &e), MSG_REPORT);
	assert_int_equal(action_get_report(&f, &got, &e), 0);
	assert_int_equal(got.state, REPORT_COMPLETED);
	assert_int_equal(got.flags, REPORT_FLAGS);
	assert_int_equal(got.exit_code, 255);
	assert_int_equal(got.background, INT32_MAX);
	assert_true(got.cut == ACTION_CUT_MAX && got.lines == ACTION_CUT_MAX);
	assert_string_equal(got.cwd, "/");
	assert_string_equal(got.interpreter, "");
}

static void refuse_report(struct report r)
{
	struct report got;
	struct frame f = only(action_put_report(&b, 7, &r, &e), MSG_REPORT);

	refused(action_get_report(&f, &got, &e));
}

static void test_each_bad_field_of_a_report_is_refused(void **state)
{
	AUTO_FREE char *path = calloc(1, PATH_MAX + 1);
	struct report r = good_report;

	(void)state;
	memset(path, 'x', PATH_MAX);
	/* The exit code is absent, as it must be here, so that only the state is
	 * wrong. */
	r.exit_code = ACTION_NO_CODE;
	r.state = REPORT_NONE;
	refuse_report(r);
	r.state = REPORT_STATE_COUNT;
	refuse_report(r);
	r = good_report;
	r.flags = REPORT_FLAGS + 1;
	refuse_report(r);
	r = good_report;
	r.exit_code = 256;
	refuse_report(r);
	r.exit_code = ACTION_NO_CODE;
	refuse_report(r);
	/* A report about an action that still runs must have no exit code. */
	r.state = REPORT_BUSY;
	r.exit_code = 0;
	refuse_report(r);
	r.state = REPORT_CANCELLED;
	r.exit_code = ACTION_NO_CODE;
	refuse_report(r);
	r = good_report;
	r.background = (uint32_t)INT32_MAX + 1;
	refuse_report(r);
	r = good_report;
	r.cut = ACTION_CUT_MAX + 1;
	refuse_report(r);
	r = good_report;
	r.lines = ACTION_CUT_MAX + 1;
	refuse_report(r);
	r = good_report;
	r.cwd = path;
	refuse_report(r);
	r = good_report;
	r.interpreter = path;
	refuse_report(r);
}

static const struct done good_done = { OUTCOME_ERROR, 4095, "/f", "/" };

static void refuse_done(struct done d)
{
	struct done got;
	struct frame f = only(action_put_done(&b, 7, &d, &e), MSG_DONE);

	refused(action_get_done(&f, &got, &e));
}

static void test_a_done_comes_as_it_went_or_is_refused(void **state)
{
	AUTO_FREE char *path = calloc(1, PATH_MAX + 1);
	struct done d = good_done, got;

	(void)state;
	memset(path, 'x', PATH_MAX);
	struct frame f = only(action_put_done(&b, 7, &d, &e), MSG_DONE);
	assert_int_equal(action_get_done(&f, &got, &e), 0);
	assert_int_equal(got.outcome, OUTCOME_ERROR);
	assert_int_equal(got.sys, 4095);
	assert_string_equal(got.path, "/f");
	assert_string_equal(got.cwd, "/");
	buffer_consume(&b, SIZE_MAX);
	d.outcome = OUTCOME_COUNT;
	refuse_done(d);
	d = good_done;
	d.sys = 4096;
	refuse_done(d);
	d = good_done;
	d.path = path;
	refuse_done(d);
	d = good_done;
	d.cwd = path;
	refuse_done(d);
}

static struct edit_request good_edit(void)
{
	const struct bytes text = { (const uint8_t *)"a\0b", 3 };

	return (struct edit_request){ .session = 5,
				      .place = { 1, 2, "/c" },
				      .flags = EDIT_FLAGS,
				      .command = "insert",
				      .path = "/f",
				      .line = "12",
				      .range = "[1, 2]",
				      .file_text = text,
				      .old_str = { text.data, 2 },
				      .new_str = { text.data, 1 } };
}

static void test_an_edit_comes_as_it_went(void **state)
{
	struct edit_request r = good_edit(), got;

	(void)state;
	struct frame f = only(action_put_edit(&b, 7, &r, &e), MSG_EDIT);
	assert_int_equal(action_get_edit(&f, &got, &e), 0);
	assert_true(got.session == 5 && got.place.uid == 1 && got.place.gid == 2);
	assert_string_equal(got.place.cwd, "/c");
	assert_int_equal(got.flags, EDIT_FLAGS);
	assert_string_equal(got.command, "insert");
	assert_string_equal(got.path, "/f");
	assert_string_equal(got.line, "12");
	assert_string_equal(got.range, "[1, 2]");
	assert_memory_equal(got.file_text.data, "a\0b", 3);
	assert_true(got.file_text.len == 3 && got.old_str.len == 2 &&
		    got.new_str.len == 1);
}

static void refuse_edit(struct edit_request r)
{
	struct edit_request got;
	struct frame f = only(action_put_edit(&b, 7, &r, &e), MSG_EDIT);

	refused(action_get_edit(&f, &got, &e));
}

static void test_each_bad_field_of_an_edit_is_refused(void **state)
{
	AUTO_FREE char *much = calloc(1, PATH_MAX + 1);
	struct edit_request r = good_edit();

	(void)state;
	memset(much, 'x', PATH_MAX);
	r.flags = EDIT_FLAGS + 1;
	refuse_edit(r);
	r = good_edit();
	r.path = "";
	refuse_edit(r);
	r.path = much;
	refuse_edit(r);
	r = good_edit();
	r.place.cwd = "";
	refuse_edit(r);
	r = good_edit();
	r.command = much;
	refuse_edit(r);
	r = good_edit();
	r.line = much;
	refuse_edit(r);
	r = good_edit();
	r.range = much;
	refuse_edit(r);
}

static void test_an_edited_comes_as_it_went_or_is_refused(void **state)
{
	struct edited x = { OUTCOME_BINARY, UINT64_MAX, ACTION_CUT_MAX }, got;

	(void)state;
	struct frame f = only(action_put_edited(&b, 7, &x, &e), MSG_EDITED);
	assert_int_equal(action_get_edited(&f, &got, &e), 0);
	assert_int_equal(got.outcome, OUTCOME_BINARY);
	assert_true(got.text_len == UINT64_MAX && got.cut == ACTION_CUT_MAX);
	buffer_consume(&b, SIZE_MAX);
	x.cut++;
	f = only(action_put_edited(&b, 7, &x, &e), MSG_EDITED);
	refused(action_get_edited(&f, &got, &e));
	x = (struct edited){ .outcome = OUTCOME_ERROR };
	f = only(action_put_edited(&b, 7, &x, &e), MSG_EDITED);
	refused(action_get_edited(&f, &got, &e));
}

static void test_one_message_is_not_another(void **state)
{
	struct run_request run;
	struct report report;

	(void)state;
	struct frame f = only(action_put_report(&b, 7, &good_report, &e), MSG_REPORT);
	refused(action_get_run(&f, &run, &e));
	f = only(action_put_run(&b, 7, &good_run, &e), MSG_RUN);
	refused(action_get_report(&f, &report, &e));
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, one_frame_setup, one_frame_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_run_comes_as_it_went),
		TEST(test_each_bad_field_of_a_run_is_refused),
		TEST(test_a_cancel_has_no_body),
		TEST(test_a_read_comes_as_it_went_or_is_refused),
		TEST(test_a_write_comes_as_it_went_or_is_refused),
		TEST(test_a_text_is_neither_empty_nor_too_long),
		TEST(test_a_report_comes_as_it_went),
		TEST(test_each_bad_field_of_a_report_is_refused),
		TEST(test_a_done_comes_as_it_went_or_is_refused),
		TEST(test_an_edit_comes_as_it_went),
		TEST(test_each_bad_field_of_an_edit_is_refused),
		TEST(test_an_edited_comes_as_it_went_or_is_refused),
		TEST(test_one_message_is_not_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
