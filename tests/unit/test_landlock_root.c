/* landlock_root: tests the operations that the Landlock domain around a sandbox's
 * root permits.  Each case runs in a child, since a process never leaves its domain. */
#include "sandbox/kernel/landlock_root.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "base/err.h"
#include "sandbox/kernel/landlock.h"
#include "tests/unit/scene.h"

#define REFUSED(call, code) CHECK((call) < 0 && errno == (code))

static int touch(const char *path, int flags)
{
	AUTO_CLOSE int fd = open(path, flags | O_CLOEXEC, 0600);

	return fd < 0 ? -1 : 0;
}

static int again(int fd, int flags)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return touch(path, flags);
}

static int place(const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

/* Runs in a folder with root/a/f, root/b/, others/file, others/folder/f and
 * theirs/f. */
static void play_restricted(void *arg)
{
	struct err e = { 0 };
	int ends[2], memory = memfd_create("m", MFD_CLOEXEC);

	CHECK(chdir(arg) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(pipe2(ends, O_CLOEXEC) == 0 && memory >= 0);
	struct landlock_root f = { .root = place("root") };
	int file = open("others/file", O_RDWR | O_CLOEXEC), held = place("theirs");
	landlock_root_add(&f, file);
	landlock_root_add(&f, -1);
	landlock_root_add(&f, ends[0]);
	landlock_root_add(&f, memory);
	landlock_root_add(&f, place("others/folder"));
	CHECK(f.other_count == 4);
	/* Without /proc in the domain descriptors could not be opened again through
	 * /proc/self/fd. */
	landlock_root_add(&f, place("/proc"));
	CHECK(landlock_root_enter(&f, &e) == 0);

	CHECK(touch("root/new", O_RDWR | O_CREAT) == 0 &&
	      mkdir("root/folder", 0700) == 0);
	CHECK(rename("root/a/f", "root/b/f") == 0 && link("root/b/f", "root/a/f") == 0);
	CHECK(truncate("root/b/f", 0) == 0 && mkfifo("root/fifo", 0600) == 0);
	CHECK(touch("others/folder/f", O_RDWR) == 0);
	CHECK(again(file, O_RDWR | O_TRUNC) == 0 && again(memory, O_RDWR) == 0);
	CHECK(again(ends[0], O_RDONLY | O_NONBLOCK) == 0);
	/* The domain restricts access to files, but no signals. */
	CHECK(kill(getppid(), 0) == 0);

	REFUSED(touch("theirs/f", O_RDONLY), EACCES);
	REFUSED(touch("others/other", O_RDONLY), EACCES);
	REFUSED(again(held, O_RDONLY | O_DIRECTORY), EACCES);
	REFUSED(openat(held, "f", O_RDONLY | O_CLOEXEC), EACCES);
	REFUSED(openat(held, "new", O_WRONLY | O_CREAT | O_CLOEXEC, 0600), EACCES);
	REFUSED(unlinkat(held, "f", 0), EACCES);
	REFUSED(mkdirat(held, "new", 0700), EACCES);
	CHECK(linkat(held, "f", f.root, "out", 0) < 0 &&
	      (errno == EXDEV || errno == EACCES));
	REFUSED(execl("/bin/true", "true", NULL), EACCES);
}

static void play_scoped(void *arg)
{
	struct err e = { 0 };
	struct landlock_root f = { .root = place(arg), .hides_abstract = true };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(landlock_root_enter(&f, &e) == 0);
	REFUSED(kill(getppid(), 0), EPERM);
	REFUSED(touch("/etc/passwd", O_RDONLY), EACCES);
}

static void play_without_bit(void *arg)
{
	struct err e = { 0 };
	struct landlock_root f = { .root = place(arg) };

	CHECK(landlock_root_enter(&f, &e) == -1 && e.sys == EPERM && *e.remedy);
}

static void play_closed(void *arg)
{
	struct err e = { 0 };
	struct landlock_root f = { .root = -1 };

	(void)arg;
	CHECK(landlock_root_enter(&f, &e) == -1 && e.sys == EBADF);
	/* The failed call has put this process into no domain. */
	CHECK(touch("/etc/passwd", O_RDONLY) == 0);
}

static void need_abi(int abi)
{
	if (landlock_abi() >= abi)
		return;
	print_message("skipped: no Landlock ABI %d\n", abi);
	skip();
}

static void test_files_below_the_root_and_no_others_are_open(void **state)
{
	static const char *const folders[] = { "root", "root/a", "root/b", "others",
					       "others/folder", "theirs" };
	static const char *const files[] = { "root/a/f", "others/file", "others/other",
					     "others/folder/f", "theirs/f" };

	need_abi(LANDLOCK_ABI_REFER);
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		scene_dir(state, folders[i]);
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		scene_file(state, files[i], "x");
	scene_child(play_restricted, *state);
}

static void test_scopes_are_in_the_same_domain(void **state)
{
	need_abi(LANDLOCK_ABI_SCOPES);
	scene_child(play_scoped, *state);
}

static void test_the_root_needs_no_new_privs(void **state)
{
	need_abi(LANDLOCK_ABI_REFER);
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		skip(); /* no_new_privs is set already, as in every sandbox */
	scene_child(play_without_bit, *state);
}

static void test_without_a_root_there_is_none(void **state)
{
	(void)state;
	scene_child(play_closed, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_files_below_the_root_and_no_others_are_open, scene_setup,
			scene_teardown),
		cmocka_unit_test_setup_teardown(test_scopes_are_in_the_same_domain,
						scene_setup, scene_teardown),
		cmocka_unit_test_setup_teardown(test_the_root_needs_no_new_privs,
						scene_setup, scene_teardown),
		cmocka_unit_test(test_without_a_root_there_is_none),
	};

	scene_leave_root();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
