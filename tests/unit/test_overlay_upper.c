/* overlay_upper: the upper folder of an overlay.  Its removal removes everything
 * that a process inside left in it, and nothing else. */
#include "sandbox/root/overlay_upper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/file.h>

#include "base/err.h"
#include "tests/unit/scene.h"

static int home_setup(void **state)
{
	if (scene_setup(state) < 0)
		return -1;
	(void)unsetenv("XDG_DATA_HOME");
	return setenv("XDG_RUNTIME_DIR", *state, 1);
}

static void make(struct overlay_upper *u)
{
	struct err e;

	overlay_upper_init(u);
	if (overlay_upper_make(u, &e) == 0)
		return;
	print_message("skipped: %s\n", e.text);
	skip();
}

static void test_the_upper_folder_is_the_users_alone_and_locked(void **state)
{
	AUTO_FREE char *base = scene_path(state, "hutch/.upper-");
	struct overlay_upper u;
	struct stat st;

	make(&u);
	assert_memory_equal(u.path, base, strlen(base));
	assert_int_equal(stat(u.path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	AUTO_CLOSE int other = open(u.path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
	AUTO_FREE char *upper = text_format("%s/upper", u.path);
	AUTO_FREE char *work = text_format("%s/work", u.path);
	assert_int_equal(access(upper, W_OK) | access(work, W_OK), 0);
	AUTO_FREE char *path = text_copy(u.path);
	overlay_upper_remove(&u);
	assert_int_equal(access(path, F_OK), -1);
	assert_null(u.path);
	assert_int_equal(u.lock, -1);
	overlay_upper_remove(&u);
	overlay_upper_remove(NULL);
}

/* A copy of a whole root is made below the data folder, where images are, and below
 * the state folder only if there is no data folder. */
static void test_a_whole_root_is_where_images_are(void **state)
{
	AUTO_FREE char *data = scene_path(state, "data");
	AUTO_FREE char *place = text_format("%s/hutch", data), *tried = NULL;
	bool shares;
	struct overlay_upper u;
	struct err e;

	assert_int_equal(mkdir(data, 0700) | setenv("XDG_DATA_HOME", data, 1), 0);
	assert_int_equal(overlay_upper_try_root(&tried, &shares, &e), 0);
	assert_int_equal(access(place, F_OK), -1); /* nothing was made */
	overlay_upper_init(&u);
	assert_int_equal(overlay_upper_make_root(&u, &e), 0);
	assert_string_equal(tried, place);
	assert_memory_equal(u.path, place, strlen(place));
	AUTO_FREE char *root = text_format("%s/upper", u.path);
	assert_int_equal(access(root, W_OK), 0);
	overlay_upper_remove(&u);
	assert_int_equal(access(root, F_OK), -1);
	(void)unsetenv("XDG_DATA_HOME");
}

/* Makes so many nested folders that their path is too long, and that a process may
 * not have all of them open. */
static void make_deep(const char *top)
{
	int at = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; i < 3000; i++) {
		CHECK(mkdirat(at, "d", 0755) == 0);
		int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)close(at);
		at = next;
	}
	CHECK(symlinkat("/", at, "up") == 0 && mkdirat(at, "closed", 0) == 0);
	(void)close(at);
}

static void play_inside(void *arg)
{
	CHECK(chdir(arg) == 0);
	CHECK(symlink("../../../kept", "link") == 0 && symlink("/etc", "etc") == 0);
	CHECK(mkdir("closed", 0700) == 0 && mkdir("closed/in", 0700) == 0);
	CHECK(mkdir("sealed", 0700) == 0 && mknod("sealed/f", S_IFIFO | 0600, 0) == 0);
	CHECK(chmod("closed", 0) == 0 && chmod("sealed", 0500) == 0);
	CHECK(mkdir("listed", 0700) == 0 && mkdir("listed/in", 0700) == 0);
	CHECK(chmod("listed", 0400) == 0);
	make_deep(".");
}

static void test_all_files_of_the_inside_are_removed(void **state)
{
	AUTO_FREE char *kept = scene_path(state, "kept/f");
	struct overlay_upper u;

	scene_dir(state, "kept");
	scene_file(state, "kept/f", "x");
	make(&u);
	AUTO_FREE char *path = text_copy(u.path);
	AUTO_FREE char *upper = text_format("%s/upper", u.path);
	unsigned before = scene_open_fds();
	scene_child(play_inside, upper);
	overlay_upper_remove(&u);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access(kept, F_OK), 0);
	assert_true(scene_open_fds() < before); /* its lock was closed as well */
}

static void test_the_next_one_sweeps_what_nobody_locks(void **state)
{
	AUTO_FREE char *left = scene_path(state, "hutch/.upper-left");
	AUTO_FREE char *held = scene_path(state, "hutch/.upper-held");
	AUTO_FREE char *other = scene_path(state, "hutch/other");
	struct overlay_upper u;

	make(&u);
	overlay_upper_remove(&u);
	scene_dir(state, "hutch/.upper-left");
	scene_file(state, "hutch/.upper-left/f", "x");
	scene_dir(state, "hutch/.upper-held");
	scene_dir(state, "hutch/other");
	scene_link(state, "hutch/.upper-link", "other");
	scene_file(state, "hutch/other/f", "x");
	AUTO_CLOSE int lock = open(held, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
	make(&u);
	assert_int_equal(access(left, F_OK), -1);
	assert_int_equal(access(held, F_OK), 0);
	AUTO_FREE char *kept = text_format("%s/f", other);
	assert_int_equal(access(kept, F_OK), 0);
	overlay_upper_remove(&u);
}

static void test_a_trial_leaves_nothing(void **state)
{
	AUTO_FREE char *hutch = scene_path(state, "hutch");
	AUTO_FREE char *place = NULL;
	struct err e = { 0 };

	if (overlay_upper_try(&place, &e) < 0) {
		print_message("skipped: %s\n", e.text);
		skip();
	}
	assert_string_equal(place, hutch);
	assert_int_equal(access(hutch, F_OK), -1);
}

static void test_a_trial_without_a_place_says_what_would_help(void **state)
{
	AUTO_FREE char *place = NULL;
	struct err e = { 0 };

	assert_int_equal(chmod(*state, 0555), 0);
	assert_int_equal(setenv("XDG_DATA_HOME", *state, 1), 0);
	assert_int_equal(overlay_upper_try(&place, &e), -1);
	assert_null(place);
	assert_non_null(strstr(e.text, "a writable image needs a place"));
	assert_non_null(strstr(e.remedy, "--read-only"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, home_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_the_upper_folder_is_the_users_alone_and_locked),
		TEST(test_a_whole_root_is_where_images_are),
		TEST(test_all_files_of_the_inside_are_removed),
		TEST(test_the_next_one_sweeps_what_nobody_locks),
		TEST(test_a_trial_leaves_nothing),
		TEST(test_a_trial_without_a_place_says_what_would_help),
	};

	scene_leave_root();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
