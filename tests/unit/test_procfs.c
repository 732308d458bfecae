/* procfs: a write goes to the file that its path names, whatever another process has mounted
 * over /proc.  The mounts are real ones, in namespaces of their own. */
#include "sandbox/kernel/procfs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sched.h>
#include <sys/mount.h>

#include "base/err.h"
#include "tests/unit/scene.h"

/* A mount over a part of /proc, and the answer to a write to self/oom_score_adj. */
struct row {
	const char *source, *target, *type;
	enum err_kind kind;
};

static void write_score(const struct row *row)
{
	struct err e = { 0 };
	const int rc = procfs_write("self/oom_score_adj", "777", &e);

	if (row->kind == ERR_NONE) {
		CHECK(rc == 0);
		return;
	}
	CHECK(rc == -1);
	if (e.kind != (int)row->kind)
		(void)dprintf(2, "said: %s\n", e.text);
	CHECK(e.kind == (int)row->kind);
}

static void play_row(void *arg)
{
	const struct row *row = arg;

	/* Inside, this process is root, with mounts of its own, as one that has joined a
	 * container with CAP_SYS_ADMIN. */
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	if (row->target)
		CHECK(mount(row->source, row->target, row->type, row->type ? 0 : MS_BIND,
			    NULL) == 0);
	write_score(row);
}

static void test_a_mount_over_any_part_of_the_path_is_refused(void **state)
{
	static const struct row rows[] = {
		{ NULL, NULL, NULL, ERR_NONE },
		{ "/proc/self/coredump_filter", "/proc/self/oom_score_adj", NULL,
		  ERR_REFUSED },
		{ "/proc/self/task", "/proc/self", NULL, ERR_REFUSED },
		{ "/proc/sys", "/proc", NULL, ERR_REFUSED },
		{ "t", "/proc", "tmpfs", ERR_REFUSED },
		/* elsewhere it does no harm */
		{ "t", "/proc/sys", "tmpfs", ERR_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		scene_inside(CLONE_NEWNS, 0, play_row, (void *)&rows[i]);
}

static void test_links_out_of_procfs_and_absent_files_are_told_apart(void **state)
{
	struct err e = { 0 };

	(void)state;
	AUTO_CLOSE int root = procfs_open_root("/proc", &e);
	assert_true(root >= 0);
	assert_int_equal(procfs_open(root, "self/root/etc/passwd", O_RDONLY, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_int_equal(procfs_open(root, "../etc/passwd", O_RDONLY, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_int_equal(procfs_open(root, "self/no-such-file", O_RDONLY, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_int_equal(procfs_open_root("/proc/self", &e), -1);
	assert_int_equal(procfs_open_root("/", &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
		T(test_a_mount_over_any_part_of_the_path_is_refused),
		T(test_links_out_of_procfs_and_absent_files_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
