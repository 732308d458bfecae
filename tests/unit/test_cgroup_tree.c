/* cgroup_tree: a tree of any depth is visited and removed with few descriptors.  Ordinary
 * folders stand in for cgroups; those of a container are in tests/run/oci_cgroup.bats. */
#include "sandbox/kernel/cgroup_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"

#define DEPTH 3000 /* far more than RLIMIT_NOFILE below */

static char place[64];
static int top;

static int make(void **state)
{
	(void)state;
	(void)snprintf(place, sizeof(place), "/tmp/hutch-cgroup-tree.XXXXXX");
	assert_non_null(mkdtemp(place));
	top = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(top >= 0);
	return 0;
}

static int unmake(void **state)
{
	(void)state;
	own_close(&top);
	return rmdir(place);
}

static void write_procs(int folder, const char *text)
{
	AUTO_CLOSE int fd = openat(folder, "cgroup.procs",
				   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
}

/* Makes `depth` folders, each in the one before, and returns the deepest. */
static int make_deep(int at, int depth)
{
	int folder = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; i < depth; i++) {
		assert_int_equal(mkdirat(folder, "below", 0700), 0);
		const int below =
			openat(folder, "below", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(below >= 0);
		own_close(&folder);
		folder = below;
	}
	return folder;
}

static void limit_descriptors(struct rlimit *ret_was)
{
	assert_int_equal(getrlimit(RLIMIT_NOFILE, ret_was), 0);
	const struct rlimit few = { 16, ret_was->rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
}

static void test_the_processes_of_a_deep_tree_are_found_with_few_descriptors(void **state)
{
	AUTO_FREE pid_t *pids = NULL;
	struct rlimit was;
	struct err e;
	size_t count;

	(void)state;
	assert_int_equal(mkdirat(top, "box", 0700), 0);
	AUTO_CLOSE int box = openat(top, "box", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int deep = make_deep(box, DEPTH);
	write_procs(box, "11\n12\n");
	write_procs(deep, "13\n");
	limit_descriptors(&was);
	assert_int_equal(cgroup_tree_pids(box, &pids, &count, &e), 0);
	assert_int_equal(count, 3);
	assert_true(pids[0] == 11 && pids[1] == 12 && pids[2] == 13);
	assert_int_equal(unlinkat(box, "cgroup.procs", 0), 0);
	assert_int_equal(unlinkat(deep, "cgroup.procs", 0), 0);
	assert_int_equal(cgroup_tree_remove(top, "box", &e), 0);
	assert_int_equal(faccessat(top, "box", F_OK, 0), -1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
}

/* Makes `width` folders in each of `width` folders. */
static void make_wide(int at, int width)
{
	char name[32];

	for (int i = 0; i < width * width; i++) {
		(void)snprintf(name, sizeof(name), "%d", i / width);
		(void)mkdirat(at, name, 0700); /* it is there from the second on */
		(void)snprintf(name, sizeof(name), "%d/%d", i / width, i);
		assert_int_equal(mkdirat(at, name, 0700), 0);
	}
}

static int count_one(int folder, void *arg, struct err *e)
{
	(void)folder;
	(void)e;
	++*(int *)arg;
	return 0;
}

static void test_each_folder_of_a_wide_tree_is_visited_once_and_removed(void **state)
{
	int seen = 0;
	struct err e;

	(void)state;
	assert_int_equal(mkdirat(top, "box", 0700), 0);
	AUTO_CLOSE int box = openat(top, "box", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_wide(box, 20);
	assert_int_equal(cgroup_tree_visit(box, count_one, &seen, &e), 0);
	assert_int_equal(seen, 1 + 20 + 400);
	assert_int_equal(cgroup_tree_remove(top, "box", &e), 0);
	assert_int_equal(faccessat(top, "box", F_OK, 0), -1);
	assert_int_equal(cgroup_tree_remove(top, "box", &e), 0);
}

static void
test_a_folder_that_cannot_be_removed_is_named_and_no_link_is_followed(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(mkdirat(top, "box", 0700), 0);
	assert_int_equal(mkdirat(top, "box/held", 0700), 0);
	assert_int_equal(mkdirat(top, "box/held/free", 0700), 0);
	assert_int_equal(mkdirat(top, "other", 0700), 0);
	assert_int_equal(symlinkat("../../other", top, "box/held/link"), 0);
	assert_int_equal(cgroup_tree_remove(top, "box", &e), -1);
	assert_string_equal(e.text, "remove the cgroup 'held': it still has processes");
	assert_int_equal(faccessat(top, "box/held/free", F_OK, 0), -1);
	assert_int_equal(unlinkat(top, "box/held/link", 0), 0);
	assert_int_equal(cgroup_tree_remove(top, "box", &e), 0);
	assert_int_equal(unlinkat(top, "other", AT_REMOVEDIR), 0);
}

static int refuse(int folder, void *arg, struct err *e)
{
	(void)folder;
	return ++*(int *)arg == 2 ? err_set(e, ERR_BUSY, "no more") : 0;
}

static void test_a_failure_ends_the_visit(void **state)
{
	struct err e = { 0 };
	int seen = 0;

	(void)state;
	AUTO_CLOSE int deep = make_deep(top, 5);
	assert_int_equal(cgroup_tree_visit(top, refuse, &seen, &e), -1);
	assert_int_equal(seen, 2);
	assert_string_equal(e.text, "no more");
	assert_int_equal(cgroup_tree_remove(top, "below", &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_the_processes_of_a_deep_tree_are_found_with_few_descriptors),
		cmocka_unit_test(
			test_each_folder_of_a_wide_tree_is_visited_once_and_removed),
		cmocka_unit_test(
			test_a_folder_that_cannot_be_removed_is_named_and_no_link_is_followed),
		cmocka_unit_test(test_a_failure_ends_the_visit),
	};

	return cmocka_run_group_tests(tests, make, unmake);
}
