/* copy: a copying process interprets its arguments, copies, and reports how it
 * ended. */
#include "executor/process/copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/io.h"
#include "protocol/message.h"
#include "tests/unit/scene.h"

struct ended {
	int code; /* exit code; 128 and more: killed by a signal */
	char said[1000];
};

/* Runs the copying process in the scene's folder, with `tar` as its descriptor 0 or
 * 1. */
static struct ended copy(void **state, uint32_t flags, const char *path, const char *name)
{
	char *argv[] = { (char *)"copy", (char *)(uintptr_t)path, (char *)(uintptr_t)name,
			 NULL };
	const struct exec x = { .flags = flags, .argv = argv, .env = argv + 3 };
	struct ended end = { 0 };
	int said[2];

	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		CHECK(chdir(*state) == 0);
		int tar = open("tar",
			       O_RDWR | O_CREAT | (flags & EXEC_PACK ? O_TRUNC : 0),
			       0600);
		CHECK(tar >= 0 && dup2(tar, flags & EXEC_PACK ? 1 : 0) >= 0);
		CHECK(dup2(said[1], 2) == 2);
		copy_run(&x);
	}
	(void)close(said[1]);
	CHECK(io_read_full(said[0], end.said, sizeof(end.said) - 1) >= 0);
	(void)close(said[0]);
	end.code = scene_child_code(pid);
	return end;
}

static int pack(void **state, uint32_t flags, const char *path)
{
	return copy(state, EXEC_PACK | flags, path, NULL).code;
}

static int unpack(void **state, const char *path, const char *name)
{
	return copy(state, EXEC_UNPACK, path, name).code;
}

static bool is(void **state, const char *name, mode_t type)
{
	AUTO_FREE char *path = scene_path(state, name);
	struct stat st;

	return lstat(path, &st) == 0 && (st.st_mode & S_IFMT) == type;
}

static void make_tree(void **state)
{
	scene_dir(state, "from");
	scene_dir(state, "from/below");
	scene_file(state, "from/below/file", "x");
	scene_link(state, "to-from", "from");
	scene_file(state, "alone", "x");
}

static void test_without_a_name_it_goes_into_a_folder_made_if_need_be(void **state)
{
	make_tree(state);
	assert_int_equal(pack(state, 0, "from"), COPY_DONE);
	assert_int_equal(unpack(state, "new", NULL), COPY_DONE);
	assert_int_equal(unpack(state, "new", NULL), COPY_DONE);
	assert_true(is(state, "new/from/below/file", S_IFREG));
	assert_int_equal(unpack(state, "no/new", NULL), COPY_NOT_FOUND);
	assert_int_equal(unpack(state, "alone", NULL), COPY_NOT_FOUND); /* ENOTDIR */
}

static void test_with_a_name_it_goes_below_a_folder_or_is_it(void **state)
{
	make_tree(state);
	scene_dir(state, "to");
	assert_int_equal(pack(state, 0, "./from/"), COPY_DONE);
	assert_int_equal(unpack(state, "to", "x"), COPY_DONE);
	assert_true(is(state, "to/x/below/file", S_IFREG));
	assert_int_equal(unpack(state, "to/y", "x"), COPY_DONE);
	assert_true(is(state, "to/y/below/file", S_IFREG));
	assert_int_equal(unpack(state, "to/.", "z"), COPY_DONE);
	assert_true(is(state, "to/z/below/file", S_IFREG));
	assert_int_equal(unpack(state, "to/w/", "x"), COPY_NOT_FOUND);
	assert_int_equal(unpack(state, "alone", "x"), COPY_EXISTS);
	assert_true(is(state, "alone", S_IFREG));
}

static void test_a_link_is_one_or_what_it_leads_to(void **state)
{
	make_tree(state);
	assert_int_equal(pack(state, 0, "to-from"), COPY_DONE);
	assert_int_equal(unpack(state, "a", "x"), COPY_DONE);
	assert_true(is(state, "a", S_IFLNK));
	assert_int_equal(pack(state, EXEC_FOLLOW, "to-from"), COPY_DONE);
	assert_int_equal(unpack(state, "b", "x"), COPY_DONE);
	assert_true(is(state, "b/below/file", S_IFREG));
	assert_int_equal(pack(state, 0, "to-from/"), COPY_DONE);
	assert_int_equal(unpack(state, "c", "x"), COPY_DONE);
	assert_true(is(state, "c/below/file", S_IFREG));
	assert_int_equal(pack(state, 0, "to-from/."), COPY_DONE);
	assert_int_equal(unpack(state, "d", NULL), COPY_DONE);
	assert_true(is(state, "d/below/file", S_IFREG));
}

static void test_the_exit_code_says_what_failed_and_a_line_why(void **state)
{
	make_tree(state);
	struct ended end = copy(state, EXEC_PACK, "no\nwhere", NULL);
	assert_int_equal(end.code, COPY_NOT_FOUND);
	assert_string_equal(end.said, "no^Jwhere: No such file or directory\n");
	assert_int_equal(pack(state, 0, "alone/"), COPY_NOT_FOUND);
	assert_int_equal(pack(state, 0, "alone/."), COPY_NOT_FOUND);
	assert_int_equal(pack(state, 0, ""), COPY_INVALID);
	assert_int_equal(unpack(state, "", NULL), COPY_INVALID);
	scene_file(state, "tar", "this is no tar, whatever else it may be");
	assert_int_equal(unpack(state, "a", NULL), COPY_INVALID);
	assert_int_equal(pack(state, 0, "alone"), COPY_DONE);
	static const char *const names[] = { "", ".", "..", "a/b", "/" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_int_equal(unpack(state, "a", names[i]), COPY_INVALID);
}

static void test_a_file_that_is_left_out_is_a_line_and_no_failure(void **state)
{
	AUTO_FREE char *fifo = scene_path(state, "from/fi\nfo");

	make_tree(state);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	struct ended end = copy(state, EXEC_PACK, "from", NULL);
	assert_int_equal(end.code, COPY_DONE);
	assert_true(!strncmp(end.said, "left out from/fi^Jfo: ", 22));
	assert_ptr_equal(strchr(end.said, '\n'), end.said + strlen(end.said) - 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_without_a_name_it_goes_into_a_folder_made_if_need_be),
		TEST(test_with_a_name_it_goes_below_a_folder_or_is_it),
		TEST(test_a_link_is_one_or_what_it_leads_to),
		TEST(test_the_exit_code_says_what_failed_and_a_line_why),
		TEST(test_a_file_that_is_left_out_is_a_line_and_no_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
