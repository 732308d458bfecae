#include "store/folders.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "tests/unit/scene.h"

static const struct {
	enum folder which;
	const char *variable, *below_home;
} homes[] = {
	{ FOLDER_STATE, "XDG_RUNTIME_DIR", NULL },
	{ FOLDER_DATA, "XDG_DATA_HOME", ".local/share/hutch" },
	{ FOLDER_CACHE, "XDG_CACHE_HOME", ".cache/hutch" },
	{ FOLDER_CONFIG, "XDG_CONFIG_HOME", ".config/hutch" },
};

static void expect_path(enum folder which, const char *wanted)
{
	AUTO_FREE char *path = folder_path(which);

	if (wanted)
		assert_string_equal(path, wanted);
	else
		assert_null(path);
}

static void test_the_variable_comes_before_home(void **state)
{
	AUTO_FREE char *named = scene_path(state, "xdg"),
		       *below = scene_path(state, "xdg/hutch");

	scene_dir(state, "xdg");
	assert_int_equal(setenv("HOME", *state, 1), 0);
	for (size_t i = 0; i < ARRAY_LEN(homes); i++) {
		assert_int_equal(setenv(homes[i].variable, named, 1), 0);
		expect_path(homes[i].which, below);
		assert_int_equal(unsetenv(homes[i].variable), 0);
		if (!homes[i].below_home)
			continue;
		AUTO_FREE char *usual = scene_path(state, homes[i].below_home);
		expect_path(homes[i].which, usual);
	}
}

static void test_an_unusable_home_is_passed_over(void **state)
{
	/* Values that are skipped: a relative path, an empty one, a file, a folder
	 * of another user. */
	AUTO_FREE char *file = scene_path(state, "file");
	const char *const bad[] = { "rel", "", file, geteuid() ? "/usr" : "rel" };
	AUTO_FREE char *usual = scene_path(state, ".cache/hutch");

	scene_file(state, "file", "");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(setenv("HOME", *state, 1), 0);
		assert_int_equal(setenv("XDG_CACHE_HOME", bad[i], 1), 0);
		expect_path(FOLDER_CACHE, usual);
		assert_int_equal(setenv("HOME", bad[i], 1), 0);
		expect_path(FOLDER_CACHE, NULL);
	}
	assert_int_equal(unsetenv("HOME"), 0);
	expect_path(FOLDER_CACHE, NULL);
	assert_int_equal(setenv("HOME", "/nonesuch", 1), 0);
	expect_path(FOLDER_CACHE, NULL);
	assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
	expect_path(FOLDER_CACHE, NULL);
}

static void check_closed(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0700);
}

static void test_a_named_one_that_is_not_there_is_made(void **state)
{
	assert_int_equal(setenv("HOME", *state, 1), 0);
	for (size_t i = 0; i < ARRAY_LEN(homes); i++) {
		AUTO_FREE char *name = text_format("new%zu/xdg", i);
		AUTO_FREE char *named = scene_path(state, name);
		AUTO_FREE char *below = text_format("%s/hutch", named);
		struct err e;

		assert_int_equal(setenv(homes[i].variable, named, 1), 0);
		expect_path(homes[i].which, below);
		assert_int_equal(folder_create(below, &e), 0);
		check_closed(named);
		check_closed(below);
		expect_path(homes[i].which, below);
		assert_int_equal(unsetenv(homes[i].variable), 0);
	}
}

static void test_an_error_says_which_option_named_the_folder(void **state)
{
	static const char *const closed[] = { "/proc/nonesuch", "/dev/null/x" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(closed); i++) {
		struct err e = { 0 };

		assert_int_equal(setenv("XDG_DATA_HOME", closed[i], 1), 0);
		AUTO_FREE char *path = folder_path(FOLDER_DATA);
		assert_non_null(path);
		assert_int_equal(folder_create(path, &e), -1);
		assert_non_null(strstr(e.text, closed[i]));
		assert_non_null(strstr(e.remedy, "XDG_DATA_HOME"));
		assert_int_equal(unsetenv("XDG_DATA_HOME"), 0);
	}
}

/* hutch makes no folder of its own in a folder of another user, who could remove it
 * or redirect it. */
static void test_nothing_is_made_where_somebody_else_leads(void **state)
{
	if (geteuid() != 0) {
		print_message("skipped: only root can make what belongs to another\n");
		skip();
	}
	AUTO_FREE char *theirs = scene_path(state, "theirs"), *link = scene_path(state, "to");
	AUTO_FREE char *ours = scene_path(state, "to-ours");
	struct err e = { 0 };

	scene_dir(state, "theirs");
	scene_dir(state, "place");
	scene_link(state, "to", "place");
	scene_link(state, "to-ours", "place");
	assert_int_equal(chown(theirs, 1234, 1234), 0);
	assert_int_equal(lchown(link, 1234, 1234), 0);
	AUTO_FREE char *below = text_format("%s/hutch", theirs);
	AUTO_FREE char *behind = text_format("%s/hutch", link);
	AUTO_FREE char *fine = text_format("%s/hutch", ours);
	assert_int_equal(folder_create(below, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_int_equal(folder_create(behind, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_non_null(strstr(e.text, link));
	assert_int_equal(folder_create(fine, &e), 0);
}

static void test_state_needs_no_home(void **state)
{
	AUTO_FREE char *run = text_format("/run/user/%u/hutch", geteuid());
	AUTO_FREE char *tmp = text_format("/tmp/hutch-%u", geteuid());

	(void)state;
	assert_int_equal(unsetenv("HOME"), 0);
	assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
	AUTO_FREE char *path = folder_path(FOLDER_STATE);
	assert_true(!strcmp(path, run) || !strcmp(path, tmp));
}

static void test_missing_parents_are_made_and_closed_to_others(void **state)
{
	AUTO_FREE char *path = scene_path(state, "a/b/hutch"),
		       *top = scene_path(state, "a");
	struct stat st;
	struct err e;

	assert_int_equal(folder_create(path, &e), 0);
	assert_int_equal(folder_create(path, &e), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(top, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	AUTO_CLOSE int fd = folder_open(path, &e);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static void expect_refused(void **state, const char *name, enum err_kind kind)
{
	AUTO_FREE char *path = scene_path(state, name);
	struct err e = { 0 };

	assert_int_equal(folder_open(path, &e), -1);
	assert_int_equal(folder_create(path, &e), -1);
	assert_non_null(strstr(e.text, path));
	if (kind == ERR_REFUSED) {
		assert_int_equal(e.kind, kind);
		assert_non_null(strstr(e.remedy, "chmod 700"));
	}
}

static void test_somebody_elses_is_refused(void **state)
{
	AUTO_FREE char *group = scene_path(state, "group"),
		       *others = scene_path(state, "others");
	AUTO_FREE char *owned = scene_path(state, "owned");

	scene_dir(state, "ours");
	scene_dir(state, "group");
	scene_dir(state, "others");
	scene_dir(state, "owned");
	scene_file(state, "plain", "");
	scene_link(state, "link", "ours");
	scene_link(state, "dangling", "nonesuch");
	assert_int_equal(chmod(group, 0720), 0);
	assert_int_equal(chmod(others, 0702), 0);
	expect_refused(state, "group", ERR_REFUSED);
	expect_refused(state, "others", ERR_REFUSED);
	expect_refused(state, "link", ERR_NONE);
	expect_refused(state, "dangling", ERR_NONE);
	expect_refused(state, "plain", ERR_NONE);
	expect_refused(state, "plain/below", ERR_NONE);
	if (geteuid() == 0) {
		assert_int_equal(chown(owned, 1234, 1234), 0);
		expect_refused(state, "owned", ERR_REFUSED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_variable_comes_before_home),
		cmocka_unit_test(test_an_unusable_home_is_passed_over),
		cmocka_unit_test(test_a_named_one_that_is_not_there_is_made),
		cmocka_unit_test(test_an_error_says_which_option_named_the_folder),
		cmocka_unit_test(test_nothing_is_made_where_somebody_else_leads),
		cmocka_unit_test(test_state_needs_no_home),
		cmocka_unit_test(test_missing_parents_are_made_and_closed_to_others),
		cmocka_unit_test(test_somebody_elses_is_refused),
	};

	return cmocka_run_group_tests(tests, scene_setup, scene_teardown);
}
