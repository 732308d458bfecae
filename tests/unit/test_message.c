/* message: each valid message is the same after encoding and decoding; anything else
 * is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/resource.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/own.h"
#include "protocol/message.h"
#include "tests/unit/one_frame.h"

static void test_hello(void **state)
{
	struct hello h = { 1, 2, 3, 4, 0x123456789abcdef0 }, got;
	struct err e;

	(void)state;
	assert_int_equal(message_put_hello(&b, &h, &e), 0);
	struct frame f = one_frame(MSG_HELLO, 0);
	assert_int_equal(message_get_hello(&f, &got, &e), 0);
	assert_int_equal(got.version, 1);
	assert_int_equal(got.pid, 2);
	assert_int_equal(got.uid, 3);
	assert_int_equal(got.gid, 4);
	assert_true(got.caps == h.caps);
}

static void test_exec(void **state)
{
	char *argv[] = { (char *)"sh", (char *)"", (char *)"a b\n", NULL };
	char *env[] = { (char *)"A=b", NULL };
	struct exec x = { .flags = EXEC_PTY | EXEC_LAST | EXEC_TREE, .uid = 5, .gid = 6,
			  .rows = 65535, .cols = 0, .cwd = "/", .argv = argv, .env = env,
			  .rlimit_count = EXEC_MAX_RLIMITS,
			  .filter = "a program of 2!!", .filter_len = 16,
			  .group_count = EXEC_MAX_GROUPS };
	struct exec got;
	struct err e;

	(void)state;
	for (uint32_t i = 0; i < EXEC_MAX_RLIMITS; i++)
		x.rlimits[i] = (struct exec_rlimit){ i % RLIM_NLIMITS, i, UINT64_MAX };
	for (uint32_t i = 0; i < EXEC_MAX_GROUPS; i++)
		x.groups[i] = UINT32_MAX - i;
	assert_int_equal(message_put_exec(&b, 77, &x, &e), 0);
	struct frame f = one_frame(MSG_EXEC, 77);
	assert_int_equal(message_get_exec(&f, &got, &e), 0);
	assert_int_equal(got.flags, x.flags);
	assert_int_equal(got.uid, 5);
	assert_int_equal(got.gid, 6);
	assert_int_equal(got.rows, 65535);
	assert_int_equal(got.cols, 0);
	assert_string_equal(got.cwd, "/");
	for (int i = 0; i < 3; i++)
		assert_string_equal(got.argv[i], argv[i]);
	assert_null(got.argv[3]);
	assert_string_equal(got.env[0], "A=b");
	assert_null(got.env[1]);
	assert_int_equal(got.rlimit_count, EXEC_MAX_RLIMITS);
	for (uint32_t i = 0; i < EXEC_MAX_RLIMITS; i++) { /* padding may differ */
		assert_int_equal(got.rlimits[i].resource, x.rlimits[i].resource);
		assert_int_equal(got.rlimits[i].soft, x.rlimits[i].soft);
		assert_int_equal(got.rlimits[i].hard, x.rlimits[i].hard);
	}
	assert_int_equal(got.filter_len, 16);
	assert_memory_equal(got.filter, x.filter, 16);
	assert_int_equal(got.group_count, EXEC_MAX_GROUPS);
	assert_memory_equal(got.groups, x.groups, sizeof(x.groups));
	exec_done(&got);
	exec_done(&got);
	exec_done(NULL);
}

static void test_started_failed_exited(void **state)
{
	struct failed failed = { EXEC_STAGE_EXECVE, 4095 }, got_failed;
	struct exited exited = { 1, 64, UINT64_MAX, 1 }, got_exited;
	uint32_t pid;
	struct err e;

	(void)state;
	assert_int_equal(message_put_started(&b, 1, INT32_MAX, &e), 0);
	struct frame f = one_frame(MSG_STARTED, 1);
	assert_int_equal(message_get_started(&f, &pid, &e), 0);
	assert_int_equal(pid, INT32_MAX);
	buffer_consume(&b, SIZE_MAX);

	assert_int_equal(message_put_failed(&b, 2, &failed, &e), 0);
	f = one_frame(MSG_FAILED, 2);
	assert_int_equal(message_get_failed(&f, &got_failed, &e), 0);
	assert_memory_equal(&got_failed, &failed, sizeof(failed));
	buffer_consume(&b, SIZE_MAX);

	assert_int_equal(message_put_exited(&b, UINT32_MAX, &exited, &e), 0);
	f = one_frame(MSG_EXITED, UINT32_MAX);
	assert_int_equal(message_get_exited(&f, &got_exited, &e), 0);
	assert_memory_equal(&got_exited, &exited, sizeof(exited));
}

static void test_signal_resize_stop(void **state)
{
	uint32_t signo, rows, cols, grace_ms;
	struct err e;

	(void)state;
	assert_int_equal(message_put_signal(&b, 1, 64, &e), 0);
	struct frame f = one_frame(MSG_SIGNAL, 1);
	assert_int_equal(message_get_signal(&f, &signo, &e), 0);
	assert_int_equal(signo, 64);
	buffer_consume(&b, SIZE_MAX);

	assert_int_equal(message_put_resize(&b, 2, 0, 65535, &e), 0);
	f = one_frame(MSG_RESIZE, 2);
	assert_int_equal(message_get_resize(&f, &rows, &cols, &e), 0);
	assert_int_equal(rows, 0);
	assert_int_equal(cols, 65535);
	buffer_consume(&b, SIZE_MAX);

	assert_int_equal(message_put_stop(&b, 10000, &e), 0);
	f = one_frame(MSG_STOP, 0);
	assert_int_equal(message_get_stop(&f, &grace_ms, &e), 0);
	assert_int_equal(grace_ms, 10000);
	buffer_consume(&b, SIZE_MAX);

	assert_int_equal(message_put_cgroup(&b, &e), 0);
	f = one_frame(MSG_CGROUP, 0);
	assert_int_equal(f.len, 0);
	assert_int_equal(message_get_cgroup(&f, &e), 0);
}

static void test_end_and_hold(void **state)
{
	bool is_held;
	struct err e;

	(void)state;
	assert_int_equal(message_put_end(&b, 7, &e), 0);
	struct frame f = one_frame(MSG_END, 7);
	assert_int_equal(f.len, 0);
	assert_int_equal(message_get_end(&f, &e), 0);
	for (int i = 0; i < 2; i++) {
		buffer_consume(&b, SIZE_MAX);
		assert_int_equal(message_put_hold(&b, i, &e), 0);
		f = one_frame(MSG_HOLD, 0);
		assert_int_equal(message_get_hold(&f, &is_held, &e), 0);
		assert_int_equal(is_held, i);
	}
}

/* Two fields of a message, and whether their values are valid. */
struct pair {
	uint32_t one, two;
	bool is_good;
};

static int failed_again(const struct pair *p)
{
	struct failed x = { p->one, p->two };
	struct err e;

	assert_int_equal(message_put_failed(&b, 1, &x, &e), 0);
	struct frame f = one_frame(MSG_FAILED, 1);
	return message_get_failed(&f, &x, &e);
}

static int exited_again(const struct pair *p)
{
	struct exited x = { p->one, p->two, 0, 0 };
	struct err e;

	assert_int_equal(message_put_exited(&b, 1, &x, &e), 0);
	struct frame f = one_frame(MSG_EXITED, 1);
	return message_get_exited(&f, &x, &e);
}

static int resize_again(const struct pair *p)
{
	uint32_t rows, cols;
	struct err e;

	assert_int_equal(message_put_resize(&b, 1, p->one, p->two, &e), 0);
	struct frame f = one_frame(MSG_RESIZE, 1);
	return message_get_resize(&f, &rows, &cols, &e);
}

static int started_again(const struct pair *p)
{
	uint32_t pid;
	struct err e;

	assert_int_equal(message_put_started(&b, 1, p->one, &e), 0);
	struct frame f = one_frame(MSG_STARTED, 1);
	return message_get_started(&f, &pid, &e);
}

static int signal_again(const struct pair *p)
{
	uint32_t signo;
	struct err e;

	assert_int_equal(message_put_signal(&b, 1, p->one, &e), 0);
	struct frame f = one_frame(MSG_SIGNAL, 1);
	return message_get_signal(&f, &signo, &e);
}

static int hold_again(const struct pair *p)
{
	size_t begun = frame_begin(&b, MSG_HOLD, 0);
	bool is_held;
	struct err e;

	frame_put_u32(&b, p->one);
	assert_int_equal(frame_end(&b, begun, &e), 0);
	struct frame f = one_frame(MSG_HOLD, 0);
	return message_get_hold(&f, &is_held, &e);
}

static int paused_again(const struct pair *p)
{
	uint32_t number;
	struct err e;

	assert_int_equal(message_put_paused(&b, p->one, &e), 0);
	struct frame f = one_frame(MSG_PAUSED, 0);
	return message_get_paused(&f, &number, &e);
}

static int frozen_again(const struct pair *p)
{
	const struct frozen what = { .number = p->one, .why = p->two, .pid = 7 };
	struct frozen got;
	struct err e;

	assert_int_equal(message_put_frozen(&b, &what, &e), 0);
	struct frame f = one_frame(MSG_FROZEN, 0);
	if (message_get_frozen(&f, &got, &e) < 0)
		return -1;
	assert_memory_equal(&got, &what, sizeof(what));
	return 0;
}

static void test_values_out_of_range_are_refused(void **state)
{
	static const struct {
		int (*again)(const struct pair *p);
		struct pair pair;
	} rows[] = {
		{ failed_again, { EXEC_STAGE_COUNT - 1, 1, true } },
		{ paused_again, { 1, 0, true } },
		{ paused_again, { UINT32_MAX, 0, true } },
		{ paused_again, { 0, 0, false } },
		{ frozen_again, { 1, FREEZE_STANDS, true } },
		{ frozen_again, { UINT32_MAX, FREEZE_WHY_COUNT - 1, true } },
		{ frozen_again, { 0, FREEZE_STANDS, false } },
		{ frozen_again, { 1, FREEZE_WHY_COUNT, false } },
		{ failed_again, { EXEC_STAGE_COUNT, 1, false } },
		{ failed_again, { EXEC_STAGE_NONE, 1, false } },
		{ failed_again, { UINT32_MAX, 1, false } },
		{ failed_again, { 1, 0, false } },
		{ failed_again, { 1, 4095, true } },
		{ failed_again, { 1, 4096, false } },
		{ exited_again, { 0, 0, true } },
		{ exited_again, { 0, 255, true } },
		{ exited_again, { 0, 256, false } },
		{ exited_again, { 1, 0, false } },
		{ exited_again, { 1, 64, true } },
		{ exited_again, { 1, 65, false } },
		{ exited_again, { 2, 1, false } },
		{ exited_again, { UINT32_MAX, 1, false } },
		{ resize_again, { 65535, 65535, true } },
		{ resize_again, { 65536, 1, false } },
		{ resize_again, { 1, 65536, false } },
		{ started_again, { 2, 0, true } },
		{ started_again, { 1, 0, false } },
		{ started_again, { 0, 0, false } },
		{ started_again, { 0x7fffffff, 0, true } },
		{ started_again, { 0x80000000u, 0, false } },
		{ signal_again, { 1, 0, true } },
		{ signal_again, { 0, 0, false } },
		{ signal_again, { 64, 0, true } },
		{ signal_again, { 65, 0, false } },
		{ signal_again, { UINT32_MAX, 0, false } },
		{ hold_again, { 0, 0, true } },
		{ hold_again, { 1, 0, true } },
		{ hold_again, { 2, 0, false } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if ((rows[i].again(&rows[i].pair) == 0) != rows[i].pair.is_good)
			fail_msg("row %zu", i);
		buffer_consume(&b, SIZE_MAX);
	}
}

/* The fields of an exec message, each of which can be made invalid. */
struct raw_exec {
	uint32_t flags, rows, cols, count, resource, filter_len, groups;
	bool has_no_argv;
	int words; /* number of arguments after argv[0] */
};

static int decode_raw(const struct raw_exec *r)
{
	static const uint8_t filter[EXEC_MAX_FILTER + EXEC_FILTER_UNIT];
	char *argv[] = { (char *)"x", (char *)"x", (char *)"x",
			 (char *)"x", (char *)"x", NULL };
	struct exec x, untouched;
	struct err e;
	size_t begun = frame_begin(&b, MSG_EXEC, 1);

	argv[r->has_no_argv ? 0 : r->words + 1] = NULL;
	frame_put_u32(&b, r->flags);
	frame_put_u32(&b, 0);
	frame_put_u32(&b, 0);
	frame_put_u32(&b, r->rows);
	frame_put_u32(&b, r->cols);
	frame_put_text(&b, "/");
	frame_put_list(&b, argv);
	frame_put_list(&b, NULL);
	frame_put_u32(&b, r->count);
	for (uint32_t i = 0; i < r->count && i < 20; i++) {
		frame_put_u32(&b, r->resource);
		frame_put_u64(&b, 1);
		frame_put_u64(&b, 2);
	}
	frame_put_bytes(&b, filter, r->filter_len);
	frame_put_u32(&b, r->groups);
	for (uint32_t i = 0; i < r->groups && i < 70; i++)
		frame_put_u32(&b, i);
	assert_int_equal(frame_end(&b, begun, &e), 0);
	struct frame f = one_frame(MSG_EXEC, 1);
	memset(&x, 0x55, sizeof(x));
	memset(&untouched, 0x55, sizeof(untouched));
	int got = message_get_exec(&f, &x, &e);
	if (got < 0)
		assert_memory_equal(&x, &untouched, sizeof(x));
	else
		exec_done(&x);
	buffer_consume(&b, SIZE_MAX);
	return got;
}

static void test_a_command_out_of_range_is_refused(void **state)
{
	static const struct {
		struct raw_exec raw;
		bool is_good;
	} rows[] = {
		{ { .flags = 0 }, true },
		{ { .groups = EXEC_MAX_GROUPS }, true },
		{ { .groups = EXEC_MAX_GROUPS + 1 }, false },
		{ { .groups = UINT32_MAX }, false },
		{ { .flags = EXEC_PTY | EXEC_LAST, .words = 4 }, true },
		{ { .flags = EXEC_FLAGS + 1 }, false },
		{ { .flags = EXEC_PACK, .words = 1 }, true },
		{ { .flags = EXEC_PACK | EXEC_FOLLOW, .words = 1 }, true },
		{ { .flags = EXEC_PACK | EXEC_FOLLOW | EXEC_CONTENTS, .words = 1 }, true },
		{ { .flags = EXEC_UNPACK, .words = 1 }, true },
		{ { .flags = EXEC_UNPACK, .words = 2 }, true },
		{ { .flags = EXEC_PACK }, false },
		{ { .flags = EXEC_PACK, .words = 2 }, false },
		{ { .flags = EXEC_UNPACK }, false },
		{ { .flags = EXEC_UNPACK, .words = 3 }, false },
		{ { .flags = EXEC_UNPACK, .words = 4 }, false },
		{ { .flags = EXEC_UNPACK | EXEC_FOLLOW, .words = 1 }, false },
		{ { .flags = EXEC_UNPACK | EXEC_CONTENTS, .words = 1 }, false },
		{ { .flags = EXEC_FOLLOW, .words = 1 }, false },
		{ { .flags = EXEC_CONTENTS, .words = 1 }, false },
		{ { .flags = EXEC_PACK | EXEC_UNPACK, .words = 1 }, false },
		{ { .flags = EXEC_PACK | EXEC_PTY, .words = 1 }, false },
		{ { .flags = EXEC_UNPACK | EXEC_FILE, .words = 2 }, true },
		{ { .flags = EXEC_UNPACK | EXEC_FILE | EXEC_PARENTS, .words = 2 }, true },
		{ { .flags = EXEC_UNPACK | EXEC_PARENTS, .words = 2 }, false },
		{ { .flags = EXEC_UNPACK | EXEC_FILE, .words = 1 }, false },
		{ { .flags = EXEC_PACK | EXEC_FILE, .words = 1 }, false },
		{ { .flags = EXEC_FILE, .words = 2 }, false },
		{ { .flags = EXEC_UNPACK | EXEC_LAST, .words = 1 }, false },
		{ { .flags = EXEC_UNPACK | EXEC_TREE, .words = 1 }, false },
		{ { .flags = EXEC_PACK | EXEC_ALONE, .words = 1 }, false },
		{ { .flags = EXEC_ALONE | EXEC_TREE, .words = 1 }, true },
		{ { .flags = 0x80000000u }, false },
		{ { .rows = 65535, .cols = 65535 }, true },
		{ { .rows = 65536 }, false },
		{ { .cols = 65536 }, false },
		{ { .has_no_argv = true }, false },
		{ { .count = 16, .resource = RLIM_NLIMITS - 1 }, true },
		{ { .count = 17 }, false },
		{ { .count = UINT32_MAX }, false },
		{ { .count = 1, .resource = RLIM_NLIMITS }, false },
		{ { .filter_len = EXEC_FILTER_UNIT }, true },
		{ { .filter_len = EXEC_FILTER_UNIT - 1 }, false },
		{ { .filter_len = EXEC_FILTER_UNIT + 1 }, false },
		{ { .filter_len = EXEC_MAX_FILTER }, true },
		{ { .filter_len = EXEC_MAX_FILTER + EXEC_FILTER_UNIT }, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if ((decode_raw(&rows[i].raw) == 0) != rows[i].is_good)
			fail_msg("row %zu", i);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(message_name(MSG_HELLO), "hello");
	assert_string_equal(message_name(MSG_STOP), "stop");
	assert_string_equal(message_name(MSG_COUNT), "unknown");
	assert_string_equal(message_name(UINT32_MAX), "unknown");
	assert_string_equal(exec_stage_name(EXEC_STAGE_COUNT), "unknown");
	for (uint32_t stage = 0; stage < EXEC_STAGE_COUNT; stage++)
		assert_true(strlen(exec_stage_name(stage)) > 0);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, one_frame_setup, one_frame_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_hello),
		TEST(test_exec),
		TEST(test_started_failed_exited),
		TEST(test_signal_resize_stop),
		TEST(test_end_and_hold),
		TEST(test_values_out_of_range_are_refused),
		TEST(test_a_command_out_of_range_is_refused),
		TEST(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
