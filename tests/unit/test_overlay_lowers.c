/* overlay_lowers: looks names up in an image's layers as the overlay will show them. */
#include "sandbox/plan/overlay_lowers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <cmocka.h>

#include "base/list.h"
#include "tests/unit/scene.h"

static struct list layers;

static int make_layers(void **state)
{
	if (scene_setup(state) < 0)
		return -1;
	scene_dir(state, "low");
	scene_dir(state, "high");
	scene_dir(state, "low/etc");
	scene_file(state, "low/etc/file", "low");
	scene_file(state, "low/etc/both", "low");
	scene_dir(state, "high/etc");
	scene_file(state, "high/etc/both", "high");
	for (int i = 0; i < 2; i++) {
		AUTO_FREE char *path = scene_path(state, i ? "high" : "low");
		list_add(&layers, path);
	}
	return 0;
}

static int drop_layers(void **state)
{
	list_done(&layers);
	return scene_teardown(state);
}

/* Returns the first byte of the file, 'l' or 'h', or a negative errno. */
static int content(const char *path)
{
	char first = 0;
	AUTO_CLOSE int fd = overlay_lowers_open(&layers, path, O_RDONLY);

	if (fd < 0)
		return -errno;
	assert_int_equal(read(fd, &first, 1), 1);
	return first;
}

static int look(const char *path, bool follows)
{
	struct overlay_lowers_entry entries[] = { { .path = "none" },
					  { .path = path, .follows = follows } };

	overlay_lowers_look(&layers, entries, 2);
	assert_int_equal(entries[0].error, ENOENT);
	return entries[1].error;
}

static void link_at(void **state, const char *name, const char *to)
{
	AUTO_FREE char *path = scene_path(state, name);

	assert_int_equal(symlink(to, path), 0);
}

static void delete_in(void **state, const char *name)
{
	AUTO_FREE char *path = scene_path(state, name);

	assert_int_equal(mknod(path, S_IFCHR, makedev(0, 0)), 0);
}

static void test_the_topmost_is_found(void **state)
{
	(void)state;
	assert_int_equal(content("etc/both"), 'h');
	assert_int_equal(content("etc/file"), 'l');
	assert_int_equal(content("etc/none"), -ENOENT);
	assert_int_equal(content("none/file"), -ENOENT);
	assert_int_equal(look("etc/both", false) | look("etc/file", false), 0);
	assert_int_equal(look("etc/none", false), ENOENT);
	assert_int_equal(look("none/of/it", false), ENOENT);
}

static void test_a_file_that_is_deleted_above_is_not_there(void **state)
{
	delete_in(state, "high/etc/file");
	assert_int_equal(content("etc/file"), -ENOENT);
	assert_int_equal(look("etc/file", false), ENOENT);
}

static void test_a_file_below_a_deleted_folder_is_not_there(void **state)
{
	AUTO_FREE char *file = scene_path(state, "high/etc/both"),
		       *dir = scene_path(state, "high/etc");

	assert_int_equal(unlink(file) | rmdir(dir), 0);
	delete_in(state, "high/etc");
	assert_int_equal(content("etc/file"), -ENOENT);
	assert_int_equal(look("etc/file", false), ENOENT);
	assert_int_equal(look("etc", false), ENOENT);
}

static void test_an_opaque_folder_hides_what_is_below(void **state)
{
	AUTO_FREE char *dir = scene_path(state, "high/etc");

	if (setxattr(dir, "user.overlay.opaque", "y", 1, 0) < 0)
		skip(); /* this file system has no user.* attributes */
	assert_int_equal(content("etc/file"), -ENOENT);
	assert_int_equal(content("etc/both"), 'h');
	assert_int_equal(look("etc/file", false), ENOENT);
}

static void test_no_link_leads_out_of_a_layer(void **state)
{
	scene_file(state, "secret", "secret");
	AUTO_FREE char *secret = scene_path(state, "secret");
	link_at(state, "high/etc/absolute", secret);
	link_at(state, "high/etc/upwards", "../../secret");
	link_at(state, "high/out", "..");
	link_at(state, "high/magic", "/proc/self/root");
	assert_int_equal(content("etc/absolute"), -ENOENT);
	assert_int_equal(content("etc/upwards"), -ENOENT);
	assert_int_equal(content("out/secret"), -ENOENT);
	assert_int_equal(look("etc/absolute", true), ENOENT);
	assert_int_equal(look("etc/absolute", false), 0);
	assert_int_equal(look("magic", true), ENOENT);
}

static void test_a_link_within_its_layer_is_followed(void **state)
{
	link_at(state, "high/inner", "etc/both");
	link_at(state, "high/loop", "loop");
	assert_int_equal(content("inner"), 'h');
	assert_int_equal(look("inner", true), 0);
	assert_int_equal(content("loop"), -ELOOP);
}

static void test_a_layer_that_is_not_there(void **state)
{
	(void)state;
	list_add(&layers, "/nonexistent/layer");
	assert_int_equal(content("etc/file"), -ENOENT);
	assert_int_equal(look("etc/file", false), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_layers, drop_layers)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_topmost_is_found),
		TEST(test_a_file_that_is_deleted_above_is_not_there),
		TEST(test_a_file_below_a_deleted_folder_is_not_there),
		TEST(test_an_opaque_folder_hides_what_is_below),
		TEST(test_no_link_leads_out_of_a_layer),
		TEST(test_a_link_within_its_layer_is_followed),
		TEST(test_a_layer_that_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
