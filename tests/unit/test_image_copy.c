/* image_copy: the copy of an image has what overlayfs would show of it, and
 * nothing in the image leads out of the two folders. */
#include "rootfs-tools/layers/image_copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "tests/unit/scene.h"

/* A copy of an image, from the layers `a` and `b` or from the folder `f` of the
 * test's folder, to the folder `to`. */
struct copy {
	const char *from;
	bool has_layers;
	struct image_copy_sum sum;
	struct err e;
};

static void file(const char *path, const char *text)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void folders(const char *const *paths)
{
	for (; *paths; paths++)
		assert_int_equal(mkdir(*paths, 0755), 0);
}

static int enter(void **state)
{
	return scene_setup(state) == 0 && chdir(*state) == 0 && mkdir("to", 0700) == 0
		       ? 0
		       : -1;
}

static int leave(void **state)
{
	return chdir("/") == 0 ? scene_teardown(state) : -1;
}

/* Runs in a child, since the caller changes its working directory. */
static int copy(struct copy *c)
{
	struct list hexes = { 0 };
	int ends[2], code;

	list_add(&hexes, "a");
	list_add(&hexes, "b");
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		const struct image_copy r = {
			.hexes = c->has_layers ? &hexes : NULL,
			.from = open(c->from, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
			.to = open("to", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		};
		CHECK(r.from >= 0 && r.to >= 0);
		code = image_copy_make(&r, &c->sum, &c->e) < 0;
		CHECK(write(ends[1], c, sizeof(*c)) == (ssize_t)sizeof(*c));
		_exit(code && c->e.kind == ERR_REFUSED ? SCENE_NO_NAMESPACES : code);
	}
	code = scene_child_code(pid);
	assert_int_equal(read(ends[0], c, sizeof(*c)), sizeof(*c));
	(void)close(ends[0]);
	(void)close(ends[1]);
	list_done(&hexes);
	if (code == SCENE_NO_NAMESPACES)
		skip();
	if (code)
		print_message("%s\n", c->e.text);
	return code;
}

static struct stat look(const char *path)
{
	struct stat st = { 0 };

	(void)lstat(path, &st); /* all zeros if there is no file */
	return st;
}

static bool is(const char *path, const char *text)
{
	char is_text[64] = { 0 };

	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, is_text, sizeof(is_text) - 1) >= 0 &&
	       !strcmp(is_text, text);
}

static void test_layers_are_merged_as_overlayfs_would(void **state)
{
	const char *const made[] = { "l",
				     "l/a",
				     "l/a/fs",
				     "l/b",
				     "l/b/fs",
				     "l/a/fs/d",
				     "l/b/fs/d",
				     "l/a/fs/gone",
				     "l/a/fs/opaque",
				     "l/b/fs/opaque",
				     "l/a/fs/file",
				     "l/b/fs/folder",
				     NULL };
	struct copy c = { .from = "l", .has_layers = true };

	(void)state;
	folders(made);
	file("l/a/fs/d/low", "low");
	file("l/a/fs/d/both", "low");
	file("l/b/fs/d/both", "high");
	file("l/a/fs/gone/x", "x");
	file("l/a/fs/opaque/hidden", "x");
	file("l/b/fs/opaque/shown", "x");
	file("l/b/fs/file", "in place of a folder");
	file("l/a/fs/folder", "in whose place is a folder");
	assert_int_equal(mknod("l/b/fs/gone", S_IFCHR, makedev(0, 0)), 0);
	assert_int_equal(setxattr("l/b/fs/opaque", "user.overlay.opaque", "y", 1, 0), 0);
	assert_int_equal(copy(&c), 0);
	assert_true(is("to/d/low", "low") && is("to/d/both", "high"));
	assert_true(is("to/file", "in place of a folder") &&
		    S_ISDIR(look("to/folder").st_mode));
	assert_int_equal(look("to/gone").st_mode | look("to/opaque/hidden").st_mode, 0);
	assert_true(is("to/opaque/shown", "x"));
	assert_int_equal(getxattr("to/opaque", "user.overlay.opaque", NULL, 0), -1);
	assert_int_equal(c.sum.left_out, 0);
}

static void test_looks_are_kept(void **state)
{
	const char *const made[] = { "f", "f/sticky", "f/sealed", NULL };
	const struct timespec then[2] = { { 1000, 1 }, { 2000, 2 } };
	struct copy c = { .from = "f" };

	(void)state;
	folders(made);
	file("f/x", "x");
	file("f/closed", "closed");
	file("f/sealed/in", "in");
	assert_int_equal(symlink("../../etc/passwd", "f/link"), 0);
	assert_int_equal(mkfifo("f/pipe", 0600), 0);
	assert_int_equal(link("f/x", "f/sticky/twin"), 0);
	assert_int_equal(setxattr("f/x", "user.k", "value", 5, 0), 0);
	assert_int_equal(chmod("f/x", 06751) | chmod("f/closed", 0) |
				 chmod("f/pipe", 0620) | chmod("f/sticky", 01777) |
				 chmod("f/sealed", 0500),
			 0);
	const char *const timed[] = { "x", "link", "pipe", "sticky", "sealed" };
	for (size_t i = 0; i < ARRAY_LEN(timed); i++) {
		AUTO_FREE char *path = text_format("f/%s", timed[i]);
		assert_int_equal(utimensat(AT_FDCWD, path, then, AT_SYMLINK_NOFOLLOW), 0);
	}
	assert_int_equal(copy(&c), 0);
	for (size_t i = 0; i < ARRAY_LEN(timed); i++) {
		AUTO_FREE char *path = text_format("to/%s", timed[i]);
		assert_int_equal(look(path).st_mtim.tv_sec, 2000);
		assert_int_equal(look(path).st_mtim.tv_nsec, 2);
	}
	/* Setuid and setgid bits are dropped. */
	assert_int_equal(look("to/x").st_mode, S_IFREG | 0751);
	assert_int_equal(look("to/closed").st_mode, S_IFREG);
	assert_int_equal(look("to/pipe").st_mode, S_IFIFO | 0620);
	assert_int_equal(look("to/sticky").st_mode, S_IFDIR | 01777);
	assert_int_equal(look("to/sealed").st_mode, S_IFDIR | 0500);
	assert_int_equal(look("to/x").st_ino, look("to/sticky/twin").st_ino);
	assert_int_equal(look("to/link").st_size, strlen("../../etc/passwd"));
	assert_int_equal(getxattr("to/x", "user.k", NULL, 0), 5);
	assert_int_equal(chmod("to/closed", 0600), 0);
	assert_true(is("to/closed", "closed"));
}

static void test_content_is_kept_and_holes_stay_holes(void **state)
{
	const char *const made[] = { "f", NULL };
	struct copy c = { .from = "f" };

	(void)state;
	folders(made);
	file("f/empty", "");
	file("f/holes", "begin");
	assert_int_equal(truncate("f/holes", 64 << 20), 0);
	AUTO_CLOSE int fd = open("f/holes", O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write(fd, "end", 3), 3);
	assert_int_equal(ftruncate(fd, 128 << 20), 0);
	assert_int_equal(copy(&c), 0);
	assert_int_equal(look("to/empty").st_mode, S_IFREG | 0644);
	assert_int_equal(look("to/holes").st_size, 128 << 20);
	assert_in_range(look("to/holes").st_blocks, 1, 8192);
	assert_int_equal(system("cmp f/holes to/holes"), 0);
}

/* A folder where a link was, a link where a folder was, and links to the host:
 * the copy follows none. */
static void test_no_link_leads_out(void **state)
{
	const char *const made[] = { "l", "l/a", "l/a/fs", "l/b", "l/b/fs", "l/a/fs/up",
				     "l/b/fs/down", "out", NULL };
	struct copy c = { .from = "l", .has_layers = true };
	AUTO_FREE char *out = scene_path(state, "out");

	folders(made);
	file("out/secret", "secret");
	file("l/a/fs/up/x", "low");
	assert_int_equal(symlink(out, "l/b/fs/up") | symlink(out, "l/a/fs/down"), 0);
	file("l/b/fs/down/y", "high");
	assert_int_equal(copy(&c), 0);
	assert_true(S_ISLNK(look("to/up").st_mode) && S_ISDIR(look("to/down").st_mode));
	assert_int_equal(look("to/down/secret").st_mode | look("out/y").st_mode |
			 look("out/x").st_mode, 0);
	assert_true(is("to/down/y", "high"));
}

static void test_devices_and_sockets_are_left_out_and_told(void **state)
{
	const char *const made[] = { "f", NULL };
	struct copy c = { .from = "f" };

	(void)state;
	folders(made);
	assert_int_equal(mknod("f/null", S_IFCHR, makedev(0, 0)) |
			 mknod("f/socket", S_IFSOCK | 0600, 0), 0);
	assert_int_equal(copy(&c), 0);
	assert_int_equal(c.sum.left_out, 2);
	assert_string_equal(c.sum.first, "/null");
	assert_int_equal(look("to/null").st_mode | look("to/socket").st_mode, 0);
}

static void test_a_tree_that_is_too_deep_is_an_error(void **state)
{
	const char *const made[] = { "f", NULL };
	struct copy c = { .from = "f" };
	int at;

	(void)state;
	folders(made);
	at = open("f", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 1100; i++) {
		assert_int_equal(mkdirat(at, "d", 0755), 0);
		int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)close(at);
		at = next;
	}
	(void)close(at);
	assert_int_equal(copy(&c), 1);
	assert_int_equal(c.e.kind, ERR_LIMIT);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_layers_are_merged_as_overlayfs_would),
		TEST(test_looks_are_kept),
		TEST(test_content_is_kept_and_holes_stay_holes),
		TEST(test_no_link_leads_out),
		TEST(test_devices_and_sockets_are_left_out_and_told),
		TEST(test_a_tree_that_is_too_deep_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
