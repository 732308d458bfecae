/* changes: makes a layer of an image from an upper layer, in whatever state the
 * processes inside may have left that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include "archive/outcome.h"
#include "base/mem.h"
#include "rootfs-tools/changes/changes.h"
#include "rootfs-tools/changes/upper_scan.h"
#include "tests/unit/archive.h"

static int setup(void **state)
{
	if (scene_setup(state) < 0)
		return -1;
	scene_dir(state, "upper");
	scene_dir(state, "outside");
	scene_file(state, "outside/secret", "SECRET");
	return 0;
}

static void gone(void **state, const char *name)
{
	AUTO_FREE char *path = scene_path(state, name);

	assert_int_equal(mknod(path, S_IFCHR | 0600, makedev(0, 0)), 0);
}

static void attribute(void **state, const char *name, const char *key, const char *value)
{
	AUTO_FREE char *path = scene_path(state, name);

	if (setxattr(path, key, value, strlen(value), 0) < 0 && errno == EOPNOTSUPP)
		skip(); /* a tmpfs before Linux 6.6 has no user.* attributes */
}

/* Gives each file the same time, so that the tars of two trees can be compared. */
static int age(const char *path, const struct stat *st, int type, struct FTW *where)
{
	const struct timespec times[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };

	(void)st, (void)type, (void)where;
	return utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

/* Writes the tar of a layer.  Skips the test if this process may make no namespaces,
 * since apart from that only a broken jail fails so. */
static int write_tar(void **state, const char *name, int out, uint64_t max,
		     struct outcome *ret)
{
	AUTO_FREE char *path = scene_path(state, name);
	AUTO_CLOSE int upper = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned before = scene_open_fds();
	struct err e;

	assert_true(upper >= 0);
	const struct changes c = { .upper = upper, .out = out, .max = max };
	int result = changes_tar(&c, ret, &e);
	if (result < 0 && e.kind == ERR_REFUSED)
		skip();
	if (result < 0)
		(void)fprintf(stderr, "%s\n", e.text);
	assert_int_equal(scene_open_fds(), before);
	return result;
}

/* Returns the tar of the layer `name`, allocated. */
static char *bytes_of(void **state, const char *name, size_t *ret_len, struct outcome *o)
{
	AUTO_CLOSE int out = memfd_create("tar", MFD_CLOEXEC);
	char *bytes;
	struct err e;

	assert_int_equal(write_tar(state, name, out, 0, o), 0);
	assert_int_equal(lseek(out, 0, SEEK_SET), 0);
	assert_int_equal(io_read_file(out, "tar", 64 << 20, &bytes, ret_len, &e), 0);
	return bytes;
}

/* Lists the layer's tar with tar(1), an independent reader, one line an entry. */
static char *listing(void **state, struct outcome *o, const char *flags)
{
	AUTO_FREE char *path = scene_path(state, "layer.tar");
	AUTO_FREE char *line = text_format("tar %s -f %s 2>&1", flags, path);
	AUTO_CLOSE int out = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	char *text = mem_zeroed(1, 64 << 10);

	assert_int_equal(write_tar(state, "upper", out, 0, o), 0);
	FILE *tar = popen(line, "re");
	assert_non_null(tar);
	size_t len = fread(text, 1, (64 << 10) - 1, tar);
	assert_true(len < (64 << 10) - 1);
	assert_int_equal(pclose(tar), 0);
	return text;
}

static void check_listing(void **state, const char *expected)
{
	struct outcome o;
	AUTO_FREE char *text = listing(state, &o, "-t");

	assert_string_equal(text, expected);
}

static void test_a_layer_has_what_is_new_and_what_is_gone_in_order(void **state)
{
	scene_dir(state, "upper/etc");
	scene_file(state, "upper/etc/passwd", "root");
	gone(state, "upper/etc/motd");
	scene_file(state, "upper/b", "");
	scene_link(state, "upper/a", "/outside");
	gone(state, "upper/zebra");
	check_listing(state, "a\nb\netc/\netc/.wh.motd\netc/passwd\n.wh.zebra\n");
}

static void test_an_opaque_folder_says_so_in_front_of_what_is_in_it(void **state)
{
	scene_dir(state, "upper/d");
	attribute(state, "upper/d", "user.overlay.opaque", "y");
	scene_file(state, "upper/d/!first", "");
	scene_dir(state, "upper/e");
	attribute(state, "upper/e", "user.overlay.opaque", "x");
	check_listing(state, "d/\nd/.wh..wh..opq\nd/!first\ne/\n");
}

static void test_owners_are_root_or_what_was_kept_of_them(void **state)
{
	AUTO_FREE char *tool = scene_path(state, "upper/tool");
	struct outcome o;

	scene_file(state, "upper/tool", "x");
	scene_file(state, "upper/mine", "x");
	scene_file(state, "upper/odd", "x");
	assert_int_equal(chmod(tool, 0750), 0);
	attribute(state, "upper/tool", "user.hutch.stat", "101 5000000 4755");
	attribute(state, "upper/odd", "user.hutch.stat", "-1 0 4755");
	AUTO_FREE char *upper = scene_path(state, "upper");
	assert_int_equal(nftw(upper, age, 16, FTW_PHYS), 0);
	AUTO_FREE char *text = listing(state, &o, "-tv --utc --numeric-owner");
	assert_string_equal(text, "-rw-r--r-- 0/0               1 2001-09-09 01:46 mine\n"
				  "-rw-r--r-- 0/0               1 2001-09-09 01:46 odd\n"
				  "-rwsr-x--- 101/5000000       1 2001-09-09 01:46 tool\n");
	assert_int_equal(o.entries, 3);
	assert_int_equal(o.bytes, 3);
	assert_int_equal(o.left_out, 0);
}

static void test_attributes_of_the_insides_are_kept_and_no_others(void **state)
{
	struct outcome o;

	scene_file(state, "upper/f", "x");
	attribute(state, "upper/f", "user.mime", "text/plain");
	attribute(state, "upper/f", "user.a", "1");
	attribute(state, "upper/f", "user.overlay.origin", "o");
	attribute(state, "upper/f", "user.hutch.stat", "0 0 0");
	AUTO_FREE char *text = listing(state, &o, "-tvv --xattrs --xattrs-include=*");
	assert_non_null(strstr(text, "  x: 1 user.a\n  x: 10 user.mime\n"));
	assert_null(strstr(text, "overlay"));
	assert_null(strstr(text, "hutch"));
}

static void test_a_second_name_is_a_hard_link(void **state)
{
	AUTO_FREE char *one = scene_path(state, "upper/one"), *two = scene_path(state, "upper/two");
	struct outcome o;

	scene_file(state, "upper/one", "content");
	assert_int_equal(link(one, two), 0);
	AUTO_FREE char *text = listing(state, &o, "-tv --utc --numeric-owner");
	assert_non_null(strstr(text, "two link to one\n"));
	assert_int_equal(o.bytes, strlen("content"));
}

static void test_a_fifo_is_in_it_and_nobody_waits_for_it(void **state)
{
	AUTO_FREE char *fifo = scene_path(state, "upper/fifo");
	struct outcome o;

	assert_int_equal(mkfifo(fifo, 0600), 0);
	AUTO_FREE char *text = listing(state, &o, "-tv --utc --numeric-owner");
	assert_memory_equal(text, "prw-------", 10);
}

static void test_a_file_that_no_layer_can_hold_is_told(void **state)
{
	AUTO_FREE char *path = scene_path(state, "upper/socket");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct outcome o;

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(bind(fd, (void *)&address, sizeof(address)), 0);
	scene_file(state, "upper/.wh.victim", "");
	scene_dir(state, "upper/.wh..wh..opq");
	scene_file(state, "upper/.wh..wh..opq/x", "");
	AUTO_FREE char *text = listing(state, &o, "-t");
	assert_string_equal(text, "");
	assert_int_equal(o.left_out, 3);
	assert_non_null(strstr(o.first, ".wh."));
}

/* A command may have taken all permissions from a folder or file; both must be in
 * the layer all the same. */
static void test_a_folder_without_permissions_is_in_the_layer(void **state)
{
	AUTO_FREE char *file = scene_path(state, "upper/shut/file"),
		       *folder = scene_path(state, "upper/shut");
	struct outcome o;

	scene_dir(state, "upper/shut");
	scene_file(state, "upper/shut/file", "text");
	assert_true(chmod(file, 0) == 0 && chmod(folder, 0) == 0);
	AUTO_FREE char *text = listing(state, &o, "-tv --utc --numeric-owner");
	assert_memory_equal(text, "d---------", 10);
	assert_non_null(strstr(text, "shut/file"));
	assert_int_equal(o.left_out, 0);
	assert_int_equal(o.bytes, 4);
}

static void test_a_link_leads_nowhere(void **state)
{
	AUTO_FREE char *outside = scene_path(state, "outside");
	struct outcome o;

	scene_link(state, "upper/out", outside);
	scene_link(state, "upper/up", "..");
	AUTO_FREE char *text = listing(state, &o, "-t");
	assert_string_equal(text, "out\nup\n");
}

/* Makes a folder with these names, in the order of the list; the order must not show
 * in the tar. */
static void fill(void **state, const char *name, const char *const *names)
{
	scene_dir(state, name);
	for (; *names; names++) {
		AUTO_FREE char *path = text_format("%s/%s", name, *names);
		size_t last = strlen(path) - 1;
		bool is_folder = path[last] == '/';
		if (is_folder)
			path[last] = '\0';
		if (is_folder)
			scene_dir(state, path);
		else
			scene_file(state, path, *names);
	}
	AUTO_FREE char *top = scene_path(state, name);
	assert_int_equal(nftw(top, age, 16, FTW_PHYS | FTW_DEPTH), 0);
}

static void test_equal_trees_give_equal_bytes(void **state)
{
	struct outcome o;
	size_t len, other;

	fill(state, "first", (const char *[]){ "a", "b/", "b/c", "d", "e/", "e/f", NULL });
	fill(state, "second", (const char *[]){ "e/", "e/f", "d", "b/", "b/c", "a", NULL });
	AUTO_FREE char *one = bytes_of(state, "first", &len, &o);
	AUTO_FREE char *two = bytes_of(state, "second", &other, &o);
	assert_int_equal(len, other);
	assert_memory_equal(one, two, len);
}

/* Makes `count` nested folders; returns the deepest one, opened. */
static int dig(void **state, const char *name, unsigned count)
{
	AUTO_FREE char *path = scene_path(state, name);
	int at = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(mkdirat(at, "d", 0755), 0);
		int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)close(at);
		at = next;
		assert_true(at >= 0);
	}
	return at;
}

static void test_folders_are_followed_as_deep_as_is_allowed(void **state)
{
	struct outcome o;
	size_t len;

	AUTO_CLOSE int deepest = dig(state, "upper", DIR_STACK_DEPTH_MAX);
	AUTO_CLOSE int file = openat(deepest, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	assert_true(file >= 0);
	AUTO_FREE char *tar = bytes_of(state, "upper", &len, &o);
	assert_int_equal(o.entries, DIR_STACK_DEPTH_MAX + 1);
	assert_int_equal(o.left_out, 0);
}

static void test_files_that_are_too_deep_are_left_out_and_the_rest_is_not(void **state)
{
	struct outcome o;
	size_t len;

	AUTO_CLOSE int deepest = dig(state, "upper", DIR_STACK_DEPTH_MAX + 1);
	scene_file(state, "upper/z", "");
	AUTO_FREE char *tar = bytes_of(state, "upper", &len, &o);
	assert_int_equal(o.entries, DIR_STACK_DEPTH_MAX + 1);
	assert_int_equal(o.left_out, 1);
}

/* An entry for which the tar has no room is not begun at all. */
static void test_a_tar_is_no_larger_than_it_may_be(void **state)
{
	AUTO_CLOSE int out = memfd_create("tar", MFD_CLOEXEC);
	AUTO_FREE char *zeros = mem_zeroed(1, 1 << 20);
	struct outcome o;

	memset(zeros, '0', (1 << 20) - 1);
	scene_file(state, "upper/large", zeros);
	assert_int_equal(write_tar(state, "upper", out, 1 << 20, &o), -1);
	assert_int_equal(o.error.kind, ERR_LIMIT);
	assert_int_equal(o.error.sys, EFBIG);
	assert_string_equal(o.error.text,
			    "the written files are more than 1048576 bytes");
	assert_true(lseek(out, 0, SEEK_END) <= 1 << 20);
	assert_int_equal(ftruncate(out, 0), 0);
	assert_int_equal(lseek(out, 0, SEEK_SET), 0);
	assert_int_equal(write_tar(state, "upper", out, 2 << 20, &o), 0);
	assert_true(lseek(out, 0, SEEK_END) > 1 << 20);
}

/* --- the walk by itself ------------------------------------------------------- */

static void begin(void **state, struct upper_scan *d)
{
	AUTO_FREE char *path = scene_path(state, "upper");
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err e;

	assert_true(folder >= 0);
	assert_int_equal(upper_scan_begin(d, folder, &e), 0);
}

static void test_more_changes_than_allowed_are_an_error(void **state)
{
	struct upper_scan d = { .entries_max = 2 };
	struct upper_scan_item item;
	struct err e;

	scene_file(state, "upper/1", "");
	scene_file(state, "upper/2", "");
	scene_file(state, "upper/3", "");
	begin(state, &d);
	assert_int_equal(upper_scan_next(&d, &item, &e), 1);
	assert_int_equal(upper_scan_next(&d, &item, &e), 1);
	assert_int_equal(upper_scan_next(&d, &item, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	upper_scan_done(&d);
}

static void test_an_opaque_folder_covers_the_files_below_it(void **state)
{
	struct upper_scan d = { 0 };
	struct upper_scan_item item;
	AUTO_FREE char *seen = text_copy("");
	struct err e;

	scene_dir(state, "upper/a");
	scene_dir(state, "upper/a/b");
	scene_file(state, "upper/a/b/c", "");
	scene_file(state, "upper/z", "");
	attribute(state, "upper/a", "user.overlay.opaque", "y");
	begin(state, &d);
	while (upper_scan_next(&d, &item, &e) > 0) {
		char *more = text_format("%s%s:%d%d%d ", seen, item.path, item.kind,
					 item.is_opaque, item.is_covered);
		free(seen);
		seen = more;
	}
	assert_string_equal(seen, "a:011 a/b:001 a/b/c:201 a/b:101 a:101 z:200 ");
	upper_scan_done(&d);
}

static void test_a_folder_that_moves_away_meanwhile_leads_nowhere(void **state)
{
	AUTO_FREE char *deep = scene_path(state, "upper/d/d");
	AUTO_FREE char *away = scene_path(state, "outside/moved");
	struct upper_scan d = { 0 };
	struct upper_scan_item item;
	int more;
	struct err e;

	AUTO_CLOSE int deepest = dig(state, "upper", DIR_STACK_HELD + 10);
	begin(state, &d);
	for (int i = 0; i < DIR_STACK_HELD + 5; i++)
		assert_int_equal(upper_scan_next(&d, &item, &e), 1);
	assert_int_equal(rename(deep, away), 0);
	while ((more = upper_scan_next(&d, &item, &e)) > 0)
		assert_null(strstr(item.path, "secret"));
	assert_int_equal(more, -1);
	assert_int_equal(e.kind, ERR_BUSY);
	upper_scan_done(&d);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, tree_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_layer_has_what_is_new_and_what_is_gone_in_order),
		TEST(test_an_opaque_folder_says_so_in_front_of_what_is_in_it),
		TEST(test_owners_are_root_or_what_was_kept_of_them),
		TEST(test_attributes_of_the_insides_are_kept_and_no_others),
		TEST(test_a_second_name_is_a_hard_link),
		TEST(test_a_fifo_is_in_it_and_nobody_waits_for_it),
		TEST(test_a_file_that_no_layer_can_hold_is_told),
		TEST(test_a_folder_without_permissions_is_in_the_layer),
		TEST(test_a_link_leads_nowhere),
		TEST(test_equal_trees_give_equal_bytes),
		TEST(test_folders_are_followed_as_deep_as_is_allowed),
		TEST(test_files_that_are_too_deep_are_left_out_and_the_rest_is_not),
		TEST(test_a_tar_is_no_larger_than_it_may_be),
		TEST(test_more_changes_than_allowed_are_an_error),
		TEST(test_an_opaque_folder_covers_the_files_below_it),
		TEST(test_a_folder_that_moves_away_meanwhile_leads_nowhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
