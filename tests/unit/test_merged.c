/* merged: layers look as overlayfs shows them, and no link leads out of them;
 * files that are placed over them go where the links lead. */
#include "rootfs-tools/layers/merged.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "rootfs-tools/build/copy_layer.h"

static char place[] = "/tmp/hutch-test.XXXXXX";
static struct merged tree;

static void folder(const char *path)
{
	assert_int_equal(mkdir(path, 0755), 0);
}

static void file(const char *path, const char *text)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void whiteout(const char *path)
{
	assert_int_equal(mknod(path, S_IFCHR, makedev(0, 0)), 0);
}

/* Makes the three layers "a", "b" and "c", of which "c" is the uppermost. */
static int make_layers(void **state)
{
	struct list hexes = { 0 };
	struct err e;

	(void)state;
	if (!mkdtemp(place) || chdir(place) < 0)
		return -1;
	const char *const folders[] = {
		"a",	     "a/fs",	  "a/fs/etc", "a/fs/usr", "a/fs/usr/lib",
		"a/fs/gone", "a/fs/once", "b",	      "b/fs",	  "b/fs/etc",
		"b/fs/once", "c",	  "c/fs",     "c/fs/etc"
	};
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		folder(folders[i]);
	file("a/fs/etc/passwd", "root:x:0:0::/:\nada:x:7:8::/:\nbad:x:y:z\n");
	file("a/fs/etc/group", "babbage:x:9:\n");
	file("a/fs/etc/only-a", "a");
	file("a/fs/etc/all", "a");
	file("b/fs/etc/all", "b");
	file("c/fs/etc/all", "c");
	file("a/fs/once/hidden", "a");
	file("b/fs/once/shown", "b");
	whiteout("b/fs/gone");
	whiteout("c/fs/etc/only-a");
	if (symlink("usr/lib", "a/fs/lib") < 0 || symlink("/../../etc", "b/fs/up") < 0 ||
	    symlink("gone", "c/fs/to_gone") < 0 || symlink("once", "c/fs/to_once") < 0 ||
	    symlink("usr/lib/", "c/fs/slash") < 0 || symlink("loop", "b/fs/loop") < 0 ||
	    symlink("new/x", "c/fs/dangling") < 0 ||
	    symlink("/etc", "a/fs/usr/far") < 0 ||
	    setxattr("b/fs/once", "user.overlay.opaque", "y", 1, 0) < 0 ||
	    setxattr("b/fs/etc/all", "user.hutch.stat", "1 1 0", 5, 0) < 0 ||
	    setxattr("c/fs/etc/all", "user.hutch.stat", "5 6 4000", 8, 0) < 0)
		return -1;
	list_add(&hexes, "a");
	list_add(&hexes, "b");
	list_add(&hexes, "c");
	AUTO_CLOSE int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int rc = merged_open_layers(&tree, here, &hexes, &e);
	list_done(&hexes);
	return rc;
}

static int remove_layers(void **state)
{
	AUTO_FREE char *command = text_format("rm -rf %s", place);

	(void)state;
	merged_done(&tree);
	return system(command);
}

static void test_paths_lead_where_overlayfs_would_lead(void **state)
{
	static const struct {
		const char *path;
		bool follows;
		const char *is, *missing;
		size_t layer; /* 0 is the uppermost */
	} samples[] = {
		{ "/", true, "", "", 0 },
		{ "etc/all", true, "etc/all", "", 0 },
		{ "/etc//./all", true, "etc/all", "", 0 },
		{ "etc/passwd", true, "etc/passwd", "", 2 },
		{ "etc/only-a", true, "etc", "only-a", 0 },
		{ "gone/x/y", true, "", "gone/x/y", 0 },
		{ "gone/x/../y", true, "", "gone/y", 0 },
		{ "gone/../etc/all", true, "etc/all", "", 0 },
		{ "once/hidden", true, "once", "hidden", 1 },
		{ "once/shown", true, "once/shown", "", 1 },
		{ "lib", true, "usr/lib", "", 2 },
		{ "lib", false, "lib", "", 2 },
		{ "lib/", false, "lib", "", 2 },
		{ "lib/x", false, "usr/lib", "x", 2 },
		{ "lib/.", false, "usr/lib", "", 2 },
		{ "slash", true, "usr/lib", "", 2 },
		{ "slash", false, "slash", "", 0 },
		{ "loop", false, "loop", "", 1 },
		{ "etc/passwd/", true, "etc/passwd", "", 2 },
		{ "etc/passwd/..", true, "etc", "", 0 },
		/* A link whose target the middle layer has hidden or removed. */
		{ "to_gone", true, "", "gone", 0 },
		{ "to_gone/x", true, "", "gone/x", 0 },
		{ "to_once/hidden", true, "once", "hidden", 1 },
		{ "to_once/shown", true, "once/shown", "", 1 },
		{ "usr/far/all", true, "etc/all", "", 0 },
		{ "up/all", true, "etc/all", "", 0 },
		{ "../../../../etc/all", true, "etc/all", "", 0 },
		{ "usr/../../etc", true, "etc", "", 0 },
		{ "dangling", true, "", "new/x", 0 },
		{ "dangling/y", true, "", "new/x/y", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		AUTO_FREE char *missing = NULL;
		struct merged_at at;
		struct err e = { 0 };
		if (merged_resolve(&tree, samples[i].path, samples[i].follows, &at,
				   &missing, &e) < 0)
			fail_msg("%s: %s", samples[i].path, e.text);
		if (strcmp(at.path, samples[i].is) ||
		    strcmp(missing, samples[i].missing) || at.layer != samples[i].layer)
			fail_msg("%s: '%s' '%s' %zu", samples[i].path, at.path, missing,
				 at.layer);
		merged_at_done(&at);
	}
}

static void test_a_path_that_leads_nowhere_is_an_error(void **state)
{
	static const struct {
		const char *path, *says;
	} samples[] = {
		{ "loop", "/loop: too many links" },
		{ "loop/x", "/loop: too many links" },
		{ "etc/all/x", "/etc/all is no folder" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		AUTO_FREE char *missing = NULL;
		struct merged_at at;
		struct err e = { 0 };
		assert_int_equal(
			merged_resolve(&tree, samples[i].path, true, &at, &missing, &e),
			-1);
		if (!strstr(e.text, samples[i].says))
			fail_msg("%s says: %s", samples[i].path, e.text);
	}
}

static void test_owners_are_those_of_the_layer_that_shows(void **state)
{
	AUTO_FREE char *missing = NULL;
	struct merged_at at;
	struct err e;

	(void)state;
	assert_int_equal(merged_resolve(&tree, "etc/all", true, &at, &missing, &e), 0);
	assert_int_equal(at.st.st_uid, 5);
	assert_int_equal(at.st.st_gid, 6);
	assert_int_equal(at.st.st_mode & 07777, 04644);
	merged_at_done(&at);
}

static void test_names_are_sorted_and_come_once(void **state)
{
	static const char *const expected[] = { "all", "group", "only-a", "passwd" };
	AUTO_FREE char *missing = NULL;
	struct list names = { 0 };
	struct merged_at at;
	struct err e;

	(void)state;
	assert_int_equal(merged_resolve(&tree, "etc", true, &at, &missing, &e), 0);
	assert_int_equal(merged_names(&tree, &at, &names, &e), 0);
	assert_int_equal(names.count, ARRAY_LEN(expected));
	for (size_t i = 0; i < names.count; i++)
		assert_string_equal(names.items[i], expected[i]);
	list_done(&names);
	merged_at_done(&at);
}

static void test_owners_by_the_images_own_names(void **state)
{
	static const struct {
		const char *owner;
		uid_t uid;
		gid_t gid;
		const char *says;
	} samples[] = {
		{ "5", 5, 5, NULL },
		{ "5:6", 5, 6, NULL },
		{ "0", 0, 0, NULL },
		{ "ada", 7, 8, NULL },
		{ "ada:babbage", 7, 9, NULL },
		{ "5:babbage", 5, 9, NULL },
		{ "root", 0, 0, NULL },
		{ "ada:3", 7, 3, NULL },
		{ "nobody", 0, 0, "no user nobody" },
		{ "bad", 0, 0, "no user bad" },
		{ "ada:none", 0, 0, "no group none" },
		{ "4294967295", 0, 0, "no user" },
		{ "99999999999", 0, 0, "no user" },
		{ "-1", 0, 0, "no user" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		uid_t uid = 0;
		gid_t gid = 0;
		struct err e = { 0 };
		int rc = copy_layer_owner(&tree, samples[i].owner, &uid, &gid, &e);
		if ((rc < 0) != (samples[i].says != NULL) ||
		    (rc < 0 && !strstr(e.text, samples[i].says)) ||
		    (rc == 0 && (uid != samples[i].uid || gid != samples[i].gid)))
			fail_msg("%s: %d %u:%u %s", samples[i].owner, rc, uid, gid,
				 e.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths_lead_where_overlayfs_would_lead),
		cmocka_unit_test(test_a_path_that_leads_nowhere_is_an_error),
		cmocka_unit_test(test_owners_are_those_of_the_layer_that_shows),
		cmocka_unit_test(test_names_are_sorted_and_come_once),
		cmocka_unit_test(test_owners_by_the_images_own_names),
	};

	return cmocka_run_group_tests(tests, make_layers, remove_layers);
}
