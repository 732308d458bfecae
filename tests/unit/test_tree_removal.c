/* rm_tree: removes trees while another process moves parts of them. */
#include "store/rm_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <signal.h>

#include "tests/unit/scene.h"

/* Rounds in which the tree existed when its removal began; others do not count. */
#define ROUNDS 50

static int open_scene(void **state)
{
	int fd = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static bool is_there(int at, const char *name)
{
	return faccessat(at, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void test_everything_goes_links_are_not_followed(void **state)
{
	AUTO_CLOSE int at = open_scene(state);

	scene_dir(state, "kept");
	scene_file(state, "kept/file", "x");
	scene_dir(state, "tree");
	scene_dir(state, "tree/a");
	scene_dir(state, "tree/a/b");
	scene_dir(state, "tree/c");
	scene_file(state, "tree/a/b/file", "x");
	scene_link(state, "tree/a/link", "../../kept");
	scene_link(state, "tree/c/link", "../../kept/file");
	assert_int_equal(fchmodat(at, "tree/a/b", 0, 0), 0);
	rm_tree_remove(at, "tree");
	assert_false(is_there(at, "tree"));
	assert_true(is_there(at, "kept/file"));
	rm_tree_remove(at, "tree"); /* it does not exist */
	rm_tree_remove(at, "kept/file");
	assert_true(is_there(at, "kept/file")); /* it is no folder */
}

/* Moves a folder with files into the tree and out again, as fast as it can. */
static _Noreturn void move_about(int at)
{
	char name[32];

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		(void)mkdirat(at, "out/a", 0755);
		for (int i = 0; i < 100; i++) {
			(void)snprintf(name, sizeof(name), "out/a/%d", i);
			(void)mkdirat(at, name, 0755);
		}
		(void)mkdirat(at, "tree", 0755);
		for (int i = 0; i < 10; i++) {
			(void)renameat(at, "out/a", at, "tree/a");
			(void)renameat(at, "tree/a", at, "out/a");
		}
	}
}

static void test_a_folder_that_is_moved_out_does_not_lead_elsewhere(void **state)
{
	AUTO_CLOSE int at = open_scene(state);

	scene_dir(state, "out");
	scene_file(state, "out/victim", "x");
	scene_file(state, "other", "x");
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		move_about(at);
	for (int round = 0; round < ROUNDS;) {
		round += is_there(at, "tree");
		rm_tree_remove(at, "tree");
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	(void)scene_child_code(pid);
	assert_true(is_there(at, "out/victim"));
	assert_true(is_there(at, "other"));
	rm_tree_remove(at, "tree");
	assert_false(is_there(at, "tree"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_everything_goes_links_are_not_followed),
		TEST(test_a_folder_that_is_moved_out_does_not_lead_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
