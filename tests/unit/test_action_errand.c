/* action, errands: an errand decodes to what was encoded, and a field that is out of
 * range, or belongs to another kind, is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/own.h"
#include "protocol/action.h"
#include "protocol/message.h"
#include "tests/unit/one_frame.h"

static struct err e;
static char much[PATH_MAX + 1];

static struct frame put_errand(const struct errand_request *r)
{
	assert_int_equal(action_put_errand(&b, 7, r, &e), 0);
	return one_frame(MSG_ERRAND, 7);
}

static bool takes(struct errand_request r)
{
	struct errand_request got;
	struct frame f = put_errand(&r);
	bool is_taken = action_get_errand(&f, &got, &e) == 0;

	assert_true(is_taken || e.kind == ERR_PROTOCOL);
	buffer_consume(&b, SIZE_MAX);
	return is_taken;
}

static struct errand_request request(uint32_t kind)
{
	struct errand_request r = { .session = 5, .place = { 1, 2, "/c" }, .kind = kind,
				    .timeout_ms = UINT64_MAX, .path = "p", .other = "",
				    .include = "" };

	r.depth = kind == ERRAND_LIST ? ERRAND_DEPTH_MAX : 0;
	if (kind == ERRAND_LIST || kind == ERRAND_GLOB || kind == ERRAND_GREP ||
	    kind == ERRAND_GIT_CHANGES)
		r.limit = ERRAND_LIMIT_MAX;
	if (kind == ERRAND_MOVE || kind == ERRAND_GLOB || kind == ERRAND_GREP ||
	    (kind >= ERRAND_GIT_CLONE && kind != ERRAND_GIT_HOOKS))
		r.other = "o";
	return r;
}

static void test_an_errand_comes_as_it_went(void **state)
{
	struct errand_request r = request(ERRAND_GREP), got;

	(void)state;
	r.flags = ERRAND_IGNORE_CASE;
	r.include = "*.c";
	struct frame f = put_errand(&r);
	assert_int_equal(action_get_errand(&f, &got, &e), 0);
	assert_true(got.session == 5 && got.place.uid == 1 && got.place.gid == 2);
	assert_true(got.kind == ERRAND_GREP && got.flags == ERRAND_IGNORE_CASE);
	assert_true(got.limit == ERRAND_LIMIT_MAX && got.depth == 0);
	assert_true(got.timeout_ms == UINT64_MAX);
	assert_string_equal(got.place.cwd, "/c");
	assert_string_equal(got.path, "p");
	assert_string_equal(got.other, "o");
	assert_string_equal(got.include, "*.c");
}

static bool may_be_empty(uint32_t kind)
{
	return kind == ERRAND_GIT_CHANGES || kind == ERRAND_GIT_DIFF ||
	       kind == ERRAND_GIT_SETUP;
}

static void test_each_kind_takes_what_is_its_own(void **state)
{
	static const struct {
		uint32_t kind, flags;
		bool depth, limit, other, include;
	} rows[] = {
		{ ERRAND_LIST, 0, true, true, false, false },
		{ ERRAND_GLOB, 0, false, true, true, false },
		{ ERRAND_STAT, 0, false, false, false, false },
		{ ERRAND_MOVE, ERRAND_OVERWRITE, false, false, true, false },
		{ ERRAND_REMOVE, ERRAND_RECURSIVE, false, false, false, false },
		{ ERRAND_MKDIR, 0, false, false, false, false },
		{ ERRAND_GREP, ERRAND_IGNORE_CASE, false, true, true, true },
		{ ERRAND_GIT_CLONE, 0, true, false, true, true },
		{ ERRAND_GIT_BRANCH, ERRAND_CREATE, false, false, true, false },
		{ ERRAND_GIT_CHANGES, 0, false, true, true, false },
		{ ERRAND_GIT_DIFF, 0, false, false, true, false },
		{ ERRAND_GIT_SETUP, ERRAND_CREATE, false, false, true, true },
		{ ERRAND_GIT_HOOKS, 0, false, false, false, false },
		{ ERRAND_MICROAGENTS, 0, false, false, true, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct errand_request good = request(rows[i].kind);
		struct errand_request r = good;
		assert_true(takes(good));
		for (uint32_t flag = 1; flag <= 16; flag <<= 1) {
			r.flags = flag;
			assert_true(takes(r) == ((flag & rows[i].flags) != 0));
		}
		r = good;
		r.depth = !good.depth;
		assert_true(takes(r) == (rows[i].kind == ERRAND_GIT_CLONE));
		r.depth = ERRAND_DEPTH_MAX + 1;
		assert_false(takes(r));
		r = good;
		r.limit = !good.limit;
		assert_false(takes(r));
		r.limit = ERRAND_LIMIT_MAX + 1;
		assert_false(takes(r));
		r = good;
		r.other = *good.other ? "" : "x";
		assert_true(takes(r) == may_be_empty(rows[i].kind));
		r = good;
		r.include = "x";
		assert_true(takes(r) == rows[i].include);
		r = good;
		r.secret = (struct bytes){ (const uint8_t *)much, ERRAND_SECRET_MAX };
		assert_true(takes(r) == (rows[i].kind == ERRAND_GIT_CLONE));
		r.secret.len++;
		assert_false(takes(r));
	}
}

static void test_each_bad_field_of_an_errand_is_refused(void **state)
{
	struct errand_request r = request(ERRAND_GREP);

	(void)state;
	memset(much, 'x', PATH_MAX);
	r.kind = ERRAND_NONE;
	assert_false(takes(r));
	r.kind = ERRAND_KIND_COUNT;
	assert_false(takes(r));
	const char **texts[] = { &r.path, &r.other, &r.include, &r.place.cwd };
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		r = request(ERRAND_GREP);
		*texts[i] = much;
		assert_false(takes(r));
		*texts[i] = "";
		assert_true(takes(r) == (texts[i] == &r.include));
	}
}

static const struct returned good = {
	.outcome = OUTCOME_DONE,
	.sys = 4095,
	.cut = ACTION_CUT_MAX,
	.path = "/p",
	.cwd = "/c",
	.stat = { .mode = S_IFLNK | 0777,
		  .uid = UINT32_MAX,
		  .gid = 1,
		  .size = ACTION_CUT_MAX,
		  .seconds = -5,
		  .nanoseconds = 999999999,
		  .target = "t" },
};

static void test_a_returned_comes_as_it_went(void **state)
{
	struct returned got;

	(void)state;
	assert_int_equal(action_put_returned(&b, 7, &good, &e), 0);
	struct frame f = one_frame(MSG_RETURNED, 7);
	assert_int_equal(action_get_returned(&f, &got, &e), 0);
	assert_true(got.outcome == OUTCOME_DONE && got.sys == 4095 &&
		    got.cut == ACTION_CUT_MAX);
	assert_string_equal(got.path, "/p");
	assert_string_equal(got.cwd, "/c");
	assert_true(got.stat.mode == (S_IFLNK | 0777) && got.stat.uid == UINT32_MAX &&
		    got.stat.gid == 1 && got.stat.size == ACTION_CUT_MAX &&
		    got.stat.seconds == -5 && got.stat.nanoseconds == 999999999);
	assert_string_equal(got.stat.target, "t");
}

static bool takes_returned(struct returned x)
{
	struct returned got;

	assert_int_equal(action_put_returned(&b, 7, &x, &e), 0);
	struct frame f = one_frame(MSG_RETURNED, 7);
	bool is_taken = action_get_returned(&f, &got, &e) == 0;
	buffer_consume(&b, SIZE_MAX);
	return is_taken;
}

static void test_each_bad_field_of_a_returned_is_refused(void **state)
{
	struct returned x = good;

	(void)state;
	memset(much, 'x', PATH_MAX);
	assert_true(takes_returned(x));
#define REFUSED(field, value)                                                  \
	x = good;                                                              \
	x.field = value;                                                       \
	assert_false(takes_returned(x))
	REFUSED(outcome, OUTCOME_COUNT);
	REFUSED(outcome, OUTCOME_ERROR); /* with an error there may be no stat */
	REFUSED(sys, 4096);
	REFUSED(cut, ACTION_CUT_MAX + 1);
	REFUSED(path, much);
	REFUSED(cwd, much);
	REFUSED(stat.mode, 0x10000);
	REFUSED(stat.mode, 0);
	REFUSED(stat.mode, S_IFREG | 0644); /* only a symbolic link may have a target */
	REFUSED(stat.size, ACTION_CUT_MAX + 1);
	REFUSED(stat.seconds, INT64_MIN);
	REFUSED(stat.seconds, INT64_MAX);
	REFUSED(stat.nanoseconds, 1000000000);
	REFUSED(stat.target, much);
	x = (struct returned){ .outcome = OUTCOME_REFUSED, .path = "", .cwd = "",
			       .stat.target = "" };
	assert_true(takes_returned(x));
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, one_frame_setup, one_frame_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_an_errand_comes_as_it_went),
		TEST(test_each_kind_takes_what_is_its_own),
		TEST(test_each_bad_field_of_an_errand_is_refused),
		TEST(test_a_returned_comes_as_it_went),
		TEST(test_each_bad_field_of_a_returned_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
