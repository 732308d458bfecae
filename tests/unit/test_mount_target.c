/* mount_target: mount points are made below a root whose files another user wrote.
 * Files beside the root must never be reached. */
#include "sandbox/kernel/mount_target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "tests/unit/scene.h"

/* Returns the mount point that was made or found, opened. */
static int make(struct targets *t, const char *path, bool is_dir, mode_t mode,
		struct err *e)
{
	struct mount_target at = { .fd = -1 };

	if (mount_target_make(t, path, is_dir, mode, &at, e) < 0)
		return -1;
	if (at.fd >= 0)
		return at.fd;
	return openat(at.dir, at.name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

/* root/ stands for the image, host/ for the files of the host outside of it. */
static int image_setup(void **state)
{
	if (scene_setup(state) < 0)
		return -1;
	scene_dir(state, "root");
	scene_dir(state, "host");
	scene_file(state, "host/secret", "x");
	return 0;
}

static int open_root(void **state)
{
	AUTO_FREE char *path = scene_path(state, "root");
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static ino_t inode(void **state, const char *name)
{
	AUTO_FREE char *path = scene_path(state, name);
	struct stat st;

	return lstat(path, &st) == 0 ? st.st_ino : 0;
}

static ino_t inode_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

static unsigned entries_of_host(void **state)
{
	AUTO_FREE char *path = scene_path(state, "host");
	DIR *dir = opendir(path);
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count;
}

/* A symbolic link in the image, a mount point below it, and the place in the image
 * where that must be made, or an error. */
static const struct {
	const char *link, *to; /* to: %s stands for the path of the test's folder */
	const char *target;
	bool is_dir;
	const char *lands; /* NULL: an error */
} links[] = {
	{ "run", "/data", "/run/x", true, "root/data/x" },
	{ "run", "data", "/run/x", true, "root/data/x" },
	{ "run", "../../../data", "/run/x", true, "root/data/x" },
	{ "run", "/data", "/run/a/b/c", true, "root/data/a/b/c" },
	{ "run", "/data", "/run", true, "root/data" },
	{ "run", "/data", "/run/f", false, "root/data/f" },
	{ "out", "%s/host", "/out", true, NULL },
	{ "out", "%s/host", "/out/x", true, NULL },
	{ "out", "%s/host/secret", "/out", false, NULL },
	{ "out", "../host", "/out", true, NULL },
	{ "out", "../host", "/out/x", true, NULL },
	{ "out", "../host/secret", "/out", false, NULL },
	{ "out", "../../../../../../../../proc/self/cwd", "/out/x", true, NULL },
	{ "out", "/nonesuch", "/out", true, NULL },
	{ "out", "/nonesuch", "/out/x", true, NULL },
	{ "out", "/nonesuch", "/out", false, NULL },
	{ "out", "out", "/out/x", true, NULL },
	{ "out", "/data/file", "/out/x", true, NULL },
	{ "out", "/data/file", "/out", true, NULL },
	{ "out", "/data", "/out", false, NULL },
};

static void try_link(void **state, size_t i)
{
	AUTO_FREE char *to = text_format("%s", links[i].to);
	AUTO_FREE char *name = text_format("root/%s", links[i].link);
	unsigned before = entries_of_host(state);
	struct targets t;
	struct err e = { 0 };

	if (!strncmp(to, "%s", 2)) {
		free(to);
		to = scene_path(state, links[i].to + 3);
	}
	scene_dir(state, "root/data");
	scene_file(state, "root/data/file", "");
	scene_link(state, name, to);
	AUTO_CLOSE int root = open_root(state);
	targets_init(&t, root);
	AUTO_CLOSE int fd = make(&t, links[i].target, links[i].is_dir, 0755, &e);
	if ((fd >= 0) != (links[i].lands != NULL))
		fail_msg("%s -> %s: %d, %s", links[i].link, to, fd, e.text);
	if (links[i].lands)
		assert_int_equal(inode_of(fd), inode(state, links[i].lands));
	else
		assert_non_null(strstr(e.text, links[i].link));
	targets_done(&t);
	assert_int_equal(entries_of_host(state), before);
}

static void test_links_lead_to_places_inside_only(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		void *own;
		assert_int_equal(image_setup(&own), 0);
		try_link(&own, i);
		assert_int_equal(scene_teardown(&own), 0);
	}
}

static void test_magic_links_lead_nowhere(void **state)
{
	AUTO_CLOSE int proc = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct targets t;
	struct err e;

	(void)state;
	targets_init(&t, proc);
	assert_int_equal(mount_target_open(&t, "/cwd", &e), -1);
	assert_int_equal(mount_target_open(&t, "/root/etc", &e), -1);
	assert_int_equal(mount_target_open(&t, "/fd/0", &e), -1);
	AUTO_CLOSE int fd = mount_target_open(&t, "/status", &e);
	assert_true(fd >= 0);
	targets_done(&t);
}

static void test_missing_folders_are_made_with_their_modes(void **state)
{
	AUTO_CLOSE int root = open_root(state);
	mode_t mask = umask(0);
	struct stat st;
	struct targets t;
	struct err e;

	targets_init(&t, root);
	AUTO_CLOSE int dir = make(&t, "/a/b/c", true, 01777, &e);
	assert_int_equal(fstat(dir, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 01777);
	AUTO_CLOSE int parent = mount_target_open(&t, "/a/b", &e);
	assert_int_equal(fstat(parent, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	AUTO_CLOSE int file = make(&t, "/a/file", false, 0644, &e);
	assert_int_equal(fstat(file, &st), 0);
	assert_true(S_ISREG(st.st_mode) && st.st_size == 0);
	/* A folder that exists keeps its mode. */
	AUTO_CLOSE int again = make(&t, "/a/b/c", true, 0700, &e);
	assert_int_equal(fstat(again, &st), 0);
	assert_int_equal(st.st_mode & 07777, 01777);
	targets_done(&t);
	(void)umask(mask);
}

static void test_a_missing_target_says_so(void **state)
{
	AUTO_CLOSE int root = open_root(state);
	struct targets t;
	struct err e;

	targets_init(&t, root);
	assert_int_equal(mount_target_open(&t, "/nonesuch", &e), -1);
	assert_int_equal(e.sys, ENOENT);
	AUTO_CLOSE int top = mount_target_open(&t, "", &e);
	assert_int_equal(inode_of(top), inode(state, "root"));
	targets_done(&t);
	targets_done(NULL);
}

static char *deep_path(unsigned depth)
{
	char *path = calloc(depth + 1, 2);

	assert_non_null(path);
	for (unsigned i = 0; i < depth; i++)
		memcpy(path + 2 * (size_t)i, "/d", 2);
	return path;
}

static void test_a_path_may_be_deep_but_not_endless(void **state)
{
	AUTO_CLOSE int root = open_root(state);
	AUTO_FREE char *deep = deep_path(120), *endless = deep_path(1500);
	struct targets t;
	struct err e;

	targets_init(&t, root);
	AUTO_CLOSE int fd = make(&t, deep, true, 0755, &e);
	assert_true(fd >= 0);
	assert_int_equal(make(&t, endless, true, 0755, &e), -1);
	targets_done(&t);
}

/* The folder of the last mount point is cached; when a mount covers it, the cache is
 * emptied. */
static void test_the_remembered_folder(void **state)
{
	AUTO_CLOSE int root = open_root(state);
	AUTO_FREE char *old = scene_path(state, "root/a"),
		       *aside = scene_path(state, "root/b");
	const char *name;
	struct targets t;
	struct err e;

	targets_init(&t, root);
	int first = mount_target_parent(&t, "/a/x", &name, &e);
	assert_string_equal(name, "x");
	ino_t was = inode_of(first);
	assert_int_equal(mount_target_parent(&t, "/a/y", &name, &e), first);
	assert_string_equal(name, "y");
	/* Replaces the folder, as a mount over it would. */
	assert_int_equal(rename(old, aside), 0);
	scene_dir(state, "root/a");
	assert_int_equal(inode_of(mount_target_parent(&t, "/a/z", &name, &e)), was);
	mount_target_forget(&t);
	assert_int_equal(inode_of(mount_target_parent(&t, "/a/z", &name, &e)),
			 inode(state, "root/a"));
	/* The cached path must be the whole path of the folder, not only its
	 * beginning. */
	was = inode_of(mount_target_parent(&t, "/ab/z", &name, &e));
	assert_int_equal(was, inode(state, "root/ab"));
	assert_int_equal(inode_of(mount_target_parent(&t, "/z", &name, &e)),
			 inode(state, "root"));
	targets_done(&t);
	assert_int_equal(t.folder, -1);
}

static void play_closed(void *arg)
{
	struct targets t;
	struct err e;
	int root = open(arg, O_PATH | O_DIRECTORY | O_CLOEXEC);

	CHECK(root >= 0);
	if (geteuid() == 0)
		CHECK(setresuid(65534, 65534, 65534) == 0);
	targets_init(&t, root);
	CHECK(make(&t, "/x/y", true, 0755, &e) < 0 && e.kind == ERR_REFUSED);
	CHECK(strstr(e.text, "make the folder /x") && e.remedy[0]);
	CHECK(make(&t, "/x", false, 0755, &e) < 0);
	CHECK(strstr(e.text, "make the file /x") && e.remedy[0]);
}

static void test_where_nothing_can_be_made(void **state)
{
	AUTO_FREE char *path = scene_path(state, "root");

	assert_int_equal(chmod(path, 0555), 0);
	scene_child(play_closed, path);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, image_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_links_lead_to_places_inside_only),
		cmocka_unit_test(test_magic_links_lead_nowhere),
		TEST(test_missing_folders_are_made_with_their_modes),
		TEST(test_a_missing_target_says_so),
		TEST(test_a_path_may_be_deep_but_not_endless),
		TEST(test_the_remembered_folder),
		TEST(test_where_nothing_can_be_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
