/* program: hutch finds its own programs beside itself, and executes them from a file
 * that no process inside can write to. */
#include "sandbox/kernel/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/sendfile.h>

#include "base/err.h"
#include "sandbox/root/mounts.h"
#include "tests/unit/scene.h"

/* As the first argument: this program searches for a program of hutch and prints its
 * path. */
#define FIND "--find"

static int find_and_print(const char *name)
{
	AUTO_FREE char *path = NULL;
	struct err e;

	if (program_find(name, &path, &e) < 0)
		(void)printf("%s", e.text);
	else
		(void)printf("%s", path);
	return path ? 0 : 1;
}

/* Copies this program into the folder of the test. */
static void copy_self(void **state, const char *name)
{
	AUTO_FREE char *path = scene_path(state, name);
	AUTO_CLOSE int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	AUTO_CLOSE int to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	ssize_t n;

	while ((n = sendfile(to, from, NULL, 1u << 30)) > 0)
		;
	assert_int_equal(n, 0);
}

static void make_program(void **state, const char *name)
{
	AUTO_FREE char *path = scene_path(state, name);

	scene_file(state, name, "x");
	assert_int_equal(chmod(path, 0755), 0);
}

static int ask(void **state, const char *copy, char got[512])
{
	AUTO_FREE char *self = scene_path(state, copy);
	AUTO_FREE char *command = text_format("%s " FIND " tool", self);
	FILE *out = popen(command, "re");

	assert_non_null(out);
	got[fread(got, 1, 511, out)] = '\0';
	return pclose(out);
}

static void test_the_executor_is_found_beside_this_program(void **state)
{
	AUTO_FREE char *built = scene_path(state, "bin/libexec/tool");
	AUTO_FREE char *installed = scene_path(state, "bin/../libexec/hutch/tool");
	char got[512];

	scene_dir(state, "bin");
	scene_dir(state, "bin/libexec");
	scene_dir(state, "libexec");
	scene_dir(state, "libexec/hutch");
	copy_self(state, "bin/self");
	assert_int_not_equal(ask(state, "bin/self", got), 0);
	assert_non_null(strstr(got, "tool is neither at "));
	assert_non_null(strstr(got, "moved or copied"));
	make_program(state, "libexec/hutch/tool");
	assert_int_equal(ask(state, "bin/self", got), 0);
	assert_string_equal(got, installed);
	make_program(state, "bin/libexec/tool");
	assert_int_equal(ask(state, "bin/self", got), 0);
	assert_string_equal(got, built);
	/* A file that cannot be executed does not count. */
	assert_int_equal(chmod(built, 0644), 0);
	assert_int_equal(ask(state, "bin/self", got), 0);
	assert_string_equal(got, installed);
}

static struct program open_tool(const char *path)
{
	struct program p = { .path = text_copy(path),
			     .fd = open(path, O_RDONLY | O_CLOEXEC) };
	struct stat st;

	assert_int_equal(fstat(p.fd, &st), 0);
	p.dev = st.st_dev;
	p.ino = st.st_ino;
	return p;
}

/* A process that opens the file again, as through /proc/1/exe, must not get write
 * access. */
static void check_not_writable(int fd)
{
	char path[64], got[8] = { 0 };

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int again = open(path, O_WRONLY | O_CLOEXEC);
	CHECK(again < 0 || write(again, "y", 1) < 0);
	CHECK(truncate(path, 0) < 0);
	AUTO_CLOSE int reader = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(read(reader, got, sizeof(got)) == 7 && !strcmp(got, "content"));
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static void play_seal(void *arg)
{
	struct err e = { 0 };
	int fd = program_seal(arg, &e);

	CHECK(fd >= 0);
	check_not_writable(fd);
	/* Seals exist only on a copy in a memfd, so this is a mount. */
	CHECK(fcntl(fd, F_GET_SEALS) < 0);
}

static void test_the_executor_is_sealed_by_a_mount(void **state)
{
	AUTO_FREE char *path = scene_path(state, "tool");

	scene_file(state, "tool", "content");
	assert_int_equal(chmod(path, 0777), 0);
	struct program p = open_tool(path);
	scene_inside(CLONE_NEWNS, 1000, play_seal, &p);
	program_done(&p);
	program_done(&p);
	program_done(NULL);
}

static void play_replaced(void *arg)
{
	struct err e = { 0 };

	CHECK(program_seal(arg, &e) < 0);
	CHECK(e.kind == ERR_REFUSED && strstr(e.text, "was replaced during the launch"));
}

static void test_one_that_was_replaced_is_refused(void **state)
{
	AUTO_FREE char *path = scene_path(state, "tool"),
		       *aside = scene_path(state, "aside");

	scene_file(state, "tool", "content");
	struct program p = open_tool(path);
	assert_int_equal(rename(path, aside), 0);
	scene_file(state, "tool", "evil");
	scene_inside(CLONE_NEWNS, 1000, play_replaced, &p);
	program_done(&p);
}

static void play_copy(void *arg)
{
	struct err e = { 0 };

	scene_leave_root();
	CHECK(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0);
	int fd = program_seal(arg, &e);
	CHECK(fd >= 0);
	check_not_writable(fd);
	const int all = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
	CHECK((fcntl(fd, F_GET_SEALS) & all) == all);
}

/* Root becomes a user that may not enter the program's folder, so the program is
 * copied to a sealed memfd. */
static void test_where_it_cannot_be_reached_it_is_a_sealed_copy(void **state)
{
	if (geteuid() != 0) {
		print_message("skipped: needs root\n");
		skip();
	}
	AUTO_FREE char *path = scene_path(state, "closed/tool");
	AUTO_FREE char *closed = scene_path(state, "closed");
	scene_dir(state, "closed");
	scene_file(state, "closed/tool", "content");
	assert_int_equal(chmod(closed, 0700), 0);
	struct program p = open_tool(path);
	scene_child(play_copy, &p);
	program_done(&p);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_executor_is_found_beside_this_program),
		cmocka_unit_test_setup_teardown(test_the_executor_is_sealed_by_a_mount,
						scene_setup, scene_teardown),
		cmocka_unit_test_setup_teardown(test_one_that_was_replaced_is_refused,
						scene_setup, scene_teardown),
		cmocka_unit_test_setup_teardown(
			test_where_it_cannot_be_reached_it_is_a_sealed_copy, scene_setup,
			scene_teardown),
	};

	if (argc == 3 && !strcmp(argv[1], FIND))
		return find_and_print(argv[2]);
	return cmocka_run_group_tests(tests, scene_setup, scene_teardown);
}
