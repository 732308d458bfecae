#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sys/file.h>

#include "store/lock.h"
#include "tests/unit/in_store.h"

static void test_none_is_said_and_one_is_made(void **state)
{
	static const char *const there[] = { "version", "blobs", "layers",
					     "images",	"names", "tmp" };
	struct store s;
	struct err e;
	struct stat st;

	(void)state;
	assert_int_equal(store_open(&s, false, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	in_store_open(&s);
	for (size_t i = 0; i < ARRAY_LEN(there); i++)
		assert_true(in_store_has(&s, there[i]));
	assert_int_equal(fstat(s.root, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	store_done(&s);
	assert_int_equal(store_open(&s, false, &e), 0);
	store_done(&s);
}

/* A store that a killed process left half made is finished by the next process. */
static void test_a_half_made_one_is_none(void **state)
{
	struct store s;
	struct err e;

	scene_dir(state, "hutch");
	scene_dir(state, "hutch/store");
	assert_int_equal(store_open(&s, false, &e), -1);
	scene_file(state, "hutch/store/version", "");
	assert_int_equal(store_open(&s, false, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	in_store_open(&s);
	store_done(&s);
	assert_int_equal(store_open(&s, false, &e), 0);
	store_done(&s);
}

static void test_another_version_is_refused(void **state)
{
	struct store s;
	struct err e;

	in_store_open(&s);
	store_done(&s);
	scene_file(state, "hutch/store/version", "2\n");
	assert_int_equal(store_open(&s, true, &e), -1);
	assert_int_equal(e.kind, ERR_UNSUPPORTED);
	scene_file(state, "hutch/store/version", "1\nand more");
	assert_int_equal(store_open(&s, true, &e), -1);
}

static void test_without_a_home_that_is_said(void **state)
{
	struct store s;
	struct err e;

	(void)state;
	assert_int_equal(unsetenv("XDG_DATA_HOME"), 0);
	assert_int_equal(setenv("HOME", "/nonesuch", 1), 0);
	assert_int_equal(store_open(&s, true, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(e.remedy, "XDG_DATA_HOME"));
}

static void test_many_add_or_one_removes(void **state)
{
	struct store s;
	struct err e;

	(void)state;
	in_store_open(&s);
	int one = store_lock(&s, false, false, &e),
	    two = store_lock(&s, false, false, &e);
	assert_true(one >= 0 && two >= 0);
	assert_int_equal(store_lock(&s, true, false, &e), -1);
	assert_int_equal(e.kind, ERR_BUSY);
	assert_int_equal(e.sys, EWOULDBLOCK);
	own_close(&one);
	own_close(&two);
	one = store_lock(&s, true, false, &e);
	assert_true(one >= 0);
	assert_int_equal(store_lock(&s, false, false, &e), -1);
	assert_int_equal(e.kind, ERR_BUSY);
	own_close(&one);
	store_done(&s);
}

static void make_left_over(int tmp)
{
	AUTO_CLOSE int partial =
		openat(tmp, "blob-" HEX_A, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	AUTO_CLOSE int file = openat(tmp, "new-1", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(partial >= 0 && file >= 0);
	assert_int_equal(mkdirat(tmp, "stage-dead", 0700), 0);
	assert_int_equal(mkdirat(tmp, "stage-dead/fs", 0), 0);
}

static void test_an_abandoned_stage_is_swept_away(void **state)
{
	AUTO_FREE char *one = NULL, *two = NULL;
	struct store s;
	struct err e;

	(void)state;
	in_store_open(&s);
	AUTO_CLOSE int tmp = store_folder(&s, STORE_TMP, &e);
	AUTO_CLOSE int first = store_stage(&s, &one, &e);
	assert_true(tmp >= 0 && first >= 0);
	make_left_over(tmp);
	AUTO_CLOSE int second = store_stage(&s, &two, &e);
	assert_true(second >= 0);
	assert_string_not_equal(one, two);
	/* Entries that a process is still making, and partial blobs, stay. */
	assert_true(lock_is_at(tmp, one, first) && lock_is_at(tmp, two, second));
	assert_true(in_store_has(&s, "tmp/blob-" HEX_A));
	assert_false(in_store_has(&s, "tmp/new-1"));
	assert_false(in_store_has(&s, "tmp/stage-dead"));
	store_done(&s);
}

int main(void)
{
	scene_leave_root();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_none_is_said_and_one_is_made,
						in_store_setup, scene_teardown),
		cmocka_unit_test_setup_teardown(test_a_half_made_one_is_none,
						in_store_setup, scene_teardown),
		cmocka_unit_test_setup_teardown(test_another_version_is_refused,
						in_store_setup, scene_teardown),
		cmocka_unit_test_setup_teardown(test_without_a_home_that_is_said,
						in_store_setup, scene_teardown),
		cmocka_unit_test_setup_teardown(test_many_add_or_one_removes,
						in_store_setup, scene_teardown),
		cmocka_unit_test_setup_teardown(test_an_abandoned_stage_is_swept_away,
						in_store_setup, scene_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
