/* mount_options: the options of one file system, or the word that this kernel cannot tell
 * them. */
#include "sandbox/kernel/mount_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "tests/unit/scene.h"

static bool can_tell(void)
{
	char options[256];

	return mount_options_read("/", options, sizeof(options)) == 0 || errno != ENOSYS;
}

/* Mounts two procfs of an own pid namespace, one over the other. */
static void play_procfs(void *arg)
{
	char options[256];

	(void)arg;
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid > 0)
		_exit(scene_child_code(pid));
	if (mount("proc", "/proc", "proc", 0, "hidepid=2") < 0)
		_exit(SCENE_NO_NAMESPACES);
	CHECK(mount_options_read("/proc", options, sizeof(options)) == 0);
	CHECK(strstr(options, "hidepid="));
	CHECK(mount("proc", "/proc", "proc", 0, "hidepid=0") == 0);
	CHECK(mount_options_read("/proc", options, sizeof(options)) == 0);
	CHECK(!strstr(options, "hidepid="));
	_exit(0);
}

static void test_the_uppermost_file_system_is_told(void **state)
{
	(void)state;
	if (!can_tell())
		skip(); /* kernel before 6.13 */
	scene_inside(CLONE_NEWNS | CLONE_NEWPID, geteuid() + 1, play_procfs, NULL);
}

static void play_long(void *arg)
{
	char options[16];

	(void)arg;
	CHECK(mount("none", "/tmp", "tmpfs", 0, "size=4096,mode=0700,nr_inodes=10") == 0);
	CHECK(mount_options_read("/tmp", options, sizeof(options)) < 0);
	CHECK(errno == EOVERFLOW);
	_exit(0);
}

static void test_options_that_do_not_fit_are_not_cut(void **state)
{
	(void)state;
	if (!can_tell())
		skip(); /* kernel before 6.13 */
	scene_inside(CLONE_NEWNS, geteuid() + 1, play_long, NULL);
}

static void test_a_path_that_is_not_there(void **state)
{
	char options[16] = "as it was";

	(void)state;
	assert_int_equal(mount_options_read("/nothing/here", options, sizeof(options)),
			 -1);
	assert_int_equal(errno, ENOENT);
	assert_string_equal(options, "as it was");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_uppermost_file_system_is_told),
		cmocka_unit_test(test_options_that_do_not_fit_are_not_cut),
		cmocka_unit_test(test_a_path_that_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
