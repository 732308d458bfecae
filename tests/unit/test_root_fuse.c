/* root_fuse: finds fuse-overlayfs, knows which images it may serve, and reports its
 * end. */
#include "sandbox/root/root_fuse.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "sandbox/plan/plan.h"
#include "tests/unit/scene.h"

/* Makes a file with that mode under the program's name, in the only folder of
 * PATH. */
static void install(void **state, mode_t mode)
{
	AUTO_FREE char *path = scene_path(state, "fuse-overlayfs");
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(setenv("PATH", *state, 1), 0);
}

static void is_not_found(enum err_kind kind, const char *words)
{
	struct root_fuse_overlayfs f = { .program.fd = -1 };
	struct err e;

	assert_int_equal(root_fuse_find(&f, &e), -1);
	assert_int_equal(e.kind, kind);
	assert_non_null(strstr(e.text, words));
	assert_true(e.remedy[0]);
	assert_int_equal(f.program.fd, -1);
	root_fuse_overlayfs_done(&f);
}

static void test_without_one_it_is_not_installed(void **state)
{
	static const char *const paths[] = { "", "/nonexistent", ".", "/nonexistent::" };

	install(state, 0755);
	assert_int_equal(chdir(*state), 0);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		assert_int_equal(setenv("PATH", paths[i], 1), 0);
		is_not_found(ERR_NOT_FOUND, "not installed");
	}
	assert_int_equal(unsetenv("PATH"), 0);
	is_not_found(ERR_NOT_FOUND, "not installed");
}

static void test_one_that_cannot_be_executed_is_none(void **state)
{
	install(state, 0644);
	is_not_found(ERR_NOT_FOUND, "not installed");
}

static void test_one_that_others_can_write_is_refused(void **state)
{
	install(state, 0775);
	is_not_found(ERR_REFUSED, "can be written by others");
	install(state, 0757);
	is_not_found(ERR_REFUSED, "can be written by others");
}

static void test_one_of_somebody_else_is_refused(void **state)
{
	if (geteuid() != 0)
		skip();
	AUTO_FREE char *path = scene_path(state, "fuse-overlayfs");

	install(state, 0755);
	assert_int_equal(chown(path, 65534, 65534), 0);
	is_not_found(ERR_REFUSED, "can be written by others");
}

/* --- what it may serve ------------------------------------------------------------ */

static bool suits(const char *image)
{
	char copy[4096];
	struct step root = { .kind = STEP_OVERLAY, .source = copy };
	const struct plan p = { .steps = &root, .count = 1 };

	(void)snprintf(copy, sizeof(copy), "%s", image);
	return root_fuse_suits(&p);
}

static void test_no_image_with_a_folder_of_ours_in_it(void **state)
{
	AUTO_FREE char *data = scene_path(state, "home/data");
	AUTO_FREE char *home = scene_path(state, "home");
	AUTO_FREE char *beside = scene_path(state, "ho");
	AUTO_FREE char *link = scene_path(state, "link");
	AUTO_FREE char *run = scene_path(state, "run");
	AUTO_FREE char *link_to_data = text_format("%s/data", link);

	assert_int_equal(mkdir(home, 0700) | mkdir(run, 0700) | mkdir(beside, 0700), 0);
	assert_int_equal(symlink("home", link), 0);
	(void)setenv("HOME", run, 1);
	(void)setenv("XDG_RUNTIME_DIR", run, 1);
	(void)unsetenv("XDG_CACHE_HOME");
	(void)unsetenv("XDG_CONFIG_HOME");
	(void)unsetenv("XDG_DATA_HOME");
	assert_true(suits(home));
	(void)setenv("HOME", home, 1); /* this home has no folder .local yet */
	assert_false(suits(home));
	(void)setenv("HOME", run, 1);
	assert_int_equal(mkdir(data, 0700), 0);
	(void)setenv("XDG_DATA_HOME", data, 1);
	assert_true(suits(beside));
	assert_false(suits(home));
	assert_false(suits(data));
	assert_false(suits(run));
	assert_false(suits("/"));
	(void)setenv("XDG_DATA_HOME", link_to_data, 1);
	assert_false(suits(home));
}

static void test_any_image_of_the_store(void **state)
{
	struct step root = { .kind = STEP_OVERLAY };
	const struct plan p = { .steps = &root, .count = 1 };

	(void)state;
	assert_true(root_fuse_suits(&p));
}

/* --- its end ---------------------------------------------------------------------- */

/* Starts a process in place of fuse-overlayfs: it prints `words` and exits with
 * `code`, or is killed by the signal -`code`. */
static struct root_fuse one_that_ends(const char *words, int code)
{
	struct root_fuse f;
	int ends[2];

	root_fuse_init(&f);
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	f.pid = fork();
	assert_true(f.pid >= 0);
	if (f.pid == 0) {
		(void)io_write_all(ends[1], words, strlen(words));
		if (code < 0)
			(void)raise(-code);
		_exit(code);
	}
	(void)close(ends[1]);
	f.words = ends[0];
	return f;
}

static void ends(const char *words, int code, const char *expected)
{
	struct root_fuse f = one_that_ends(words, code);
	struct err e = { 0 };

	assert_int_equal(root_fuse_has_failed(&f, &e), expected != NULL);
	if (expected)
		assert_string_equal(e.text, expected);
	assert_int_equal(f.pid, 0);
	root_fuse_done(&f);
	assert_int_equal(f.words, -1);
}

#define IT "fuse-overlayfs, which serves the sandbox's root, "

static void test_the_last_words_of_the_server_are_told(void **state)
{
	(void)state;
	ends("a line\nthe last\n", 3, IT "ended with code 3: the last");
	ends("the only one", 1, IT "ended with code 1: the only one");
	ends("\n\n", 1, IT "ended with code 1");
	ends("", -SIGKILL, IT "was ended by signal 9");
	ends("escape \033[2J", 1, IT "ended with code 1: escape ?[2J");
	ends("unknown argument\n", 0, NULL);
}

static void test_one_that_runs_is_ended(void **state)
{
	struct root_fuse f;

	(void)state;
	root_fuse_init(&f);
	root_fuse_done(&f); /* there is no process */
	f.pid = fork();
	if (f.pid == 0)
		for (;;)
			(void)pause();
	pid_t pid = f.pid;
	root_fuse_done(&f);
	assert_int_equal(kill(pid, 0), -1);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_without_one_it_is_not_installed),
		IN_FOLDER(test_one_that_cannot_be_executed_is_none),
		IN_FOLDER(test_one_that_others_can_write_is_refused),
		IN_FOLDER(test_one_of_somebody_else_is_refused),
		IN_FOLDER(test_no_image_with_a_folder_of_ours_in_it),
		cmocka_unit_test(test_any_image_of_the_store),
		cmocka_unit_test(test_the_last_words_of_the_server_are_told),
		cmocka_unit_test(test_one_that_runs_is_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
