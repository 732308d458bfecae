/* unpack: a layer's deletions, replacements and owners are stored as overlayfs
 * expects them, and no file outside of the folder is touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "archive/layer.h"
#include "base/mem.h"
#include "tests/unit/archive.h"

static int setup(void **state)
{
	(void)umask(022);
	if (scene_setup(state) < 0)
		return -1;
	scene_dir(state, "outside");
	scene_file(state, "outside/kept", "as it was");
	return 0;
}

static void check_outside(void **state)
{
	scene_check_text(state, "outside/kept", "as it was");
	assert_int_equal(scene_stat(state, "outside/kept").st_nlink, 1);
	assert_false(scene_has(state, "escaped"));
}

/* Unpacks the layer into "in"; the counts go to *u. */
static int unpack_layer(void **state, struct buffer *tar, struct unpack *u, struct err *e)
{
	AUTO_FREE char *path = scene_path(state, "in");
	static struct unpack_layer layer; /* *u points to it */

	layer = (struct unpack_layer){ .remove = rm_tree_remove };
	(void)mkdir(path, 0700);
	AUTO_CLOSE int in = tar_open(tar);
	AUTO_CLOSE int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(root >= 0);
	unsigned before = scene_open_fds();
	u->in = in;
	u->root = root;
	u->layer = &layer;
	int result = unpack_all(u, e);
	assert_int_equal(scene_open_fds(), before);
	check_outside(state);
	buffer_done(tar);
	return result;
}

static struct unpack take(void **state, struct buffer *tar)
{
	struct unpack u = { 0 };
	struct err e = { 0 };

	tar_finish(tar);
	if (unpack_layer(state, tar, &u, &e) < 0)
		fail_msg("%s", e.text);
	return u;
}

static void refuse(void **state, struct buffer *tar, enum err_kind kind, const char *says)
{
	struct unpack u = { 0 };
	struct err e = { 0 };

	tar_finish(tar);
	assert_int_equal(unpack_layer(state, tar, &u, &e), -1);
	if (e.kind != (int)kind || !strstr(e.text, says))
		fail_msg("%s: %s", err_kind_name(e.kind), e.text);
}

/* Returns the text of an attribute, or "-". */
static const char *attribute(void **state, const char *name, const char *attr)
{
	AUTO_FREE char *path = scene_path(state, name);
	static char text[256];
	ssize_t len = lgetxattr(path, attr, text, sizeof(text) - 1);

	text[len < 0 ? 0 : len] = '\0';
	return len < 0 && errno == ENODATA ? "-" : text;
}

static bool is_whiteout(void **state, const char *name)
{
	struct stat st = scene_stat(state, name);

	return S_ISCHR(st.st_mode) && st.st_rdev == makedev(0, 0);
}

static void check_opaque(void **state, const char *name, bool is_opaque)
{
	assert_true(S_ISDIR(scene_stat(state, name).st_mode));
	assert_string_equal(attribute(state, name, "user.overlay.opaque"),
			    is_opaque ? "y" : "-");
}

/* Adds an entry whose header has these values. */
static void put(struct buffer *tar, enum tar_type type, const char *path, uint32_t mode,
		uint64_t uid, uint64_t gid)
{
	const struct tar_entry entry = { .type = type,
					 .path = path,
					 .mode = mode,
					 .uid = uid,
					 .gid = gid,
					 .mtime = 1000000000 };

	tar_encode(tar, &entry);
}

/* --- what is deleted ---------------------------------------------------------------- */

static void test_a_whiteout_hides_what_is_below(void **state)
{
	struct buffer tar;

	tar_start(&tar);
	tar_folder(&tar, "etc");
	tar_file(&tar, "etc/.wh.passwd", "");
	tar_file(&tar, ".wh.var", "");
	tar_file(&tar, "usr/share/.wh.doc", "its content is nothing");
	struct unpack u = take(state, &tar);
	assert_true(is_whiteout(state, "in/etc/passwd"));
	assert_true(is_whiteout(state, "in/var"));
	assert_true(is_whiteout(state, "in/usr/share/doc"));
	assert_false(scene_has(state, "in/.wh.var"));
	check_opaque(state, "in/etc", false);
	assert_int_equal(u.left_out, 0);
	assert_int_equal(u.entries, 6);
}

static void test_an_opaque_folder_hides_all_below(void **state)
{
	struct buffer tar;

	tar_start(&tar);
	tar_folder(&tar, "first");
	tar_file(&tar, "first/.wh..wh..opq", "");
	tar_file(&tar, "first/new", "1");
	tar_file(&tar, "later/new", "2");
	tar_file(&tar, "later/.wh..wh..opq", "");
	struct unpack u = take(state, &tar);
	check_opaque(state, "in/first", true);
	check_opaque(state, "in/later", true);
	scene_check_text(state, "in/first/new", "1");
	scene_check_text(state, "in/later/new", "2");
	assert_false(u.layer->hides_all);
	check_opaque(state, "in", false);
}

static void test_an_opaque_root_is_told(void **state)
{
	struct buffer tar;

	tar_start(&tar);
	tar_file(&tar, "./.wh..wh..opq", "");
	struct unpack u = take(state, &tar);
	assert_true(u.layer->hides_all);
}

/* The specification: a whiteout applies to lower layers only, so it does not
 * delete an entry of its own layer. */
static void test_a_whiteout_deletes_no_file_of_its_own_layer(void **state)
{
	struct buffer tar;

	tar_start(&tar);
	tar_file(&tar, "file", "1");
	tar_file(&tar, ".wh.file", "");
	tar_file(&tar, "folder/file", "2");
	tar_file(&tar, ".wh.folder", "");
	put(&tar, TAR_FOLDER, "closed", 0, 0, 0);
	tar_folder(&tar, "other");
	tar_file(&tar, ".wh.closed", "");
	tar_file(&tar, ".wh.again", "");
	tar_file(&tar, "again", "3");
	tar_file(&tar, ".wh.twice", "");
	tar_file(&tar, ".wh.twice", "");
	(void)take(state, &tar);
	scene_check_text(state, "in/file", "1");
	scene_check_text(state, "in/folder/file", "2");
	check_opaque(state, "in/folder", true);
	assert_int_equal(scene_stat(state, "in/closed").st_mode, S_IFDIR);
	scene_check_text(state, "in/again", "3");
	assert_true(is_whiteout(state, "in/twice"));
	AUTO_FREE char *closed = scene_path(state, "in/closed");
	assert_int_equal(chmod(closed, 0700), 0);
	check_opaque(state, "in/closed", true);
}

static void test_a_folder_in_place_of_what_is_deleted_is_opaque(void **state)
{
	struct buffer tar;

	tar_start(&tar);
	tar_file(&tar, ".wh.a", "");
	tar_folder(&tar, "a");
	tar_file(&tar, ".wh.b", "");
	tar_file(&tar, "b/c/file", "1");
	(void)take(state, &tar);
	check_opaque(state, "in/a", true);
	check_opaque(state, "in/b", true);
	check_opaque(state, "in/b/c", false);
	scene_check_text(state, "in/b/c/file", "1");
}

static void test_names_that_delete_nothing_are_refused(void **state)
{
	static const struct {
		const char *name, *says;
	} samples[] = {
		{ ".wh.", "this deletes something without a name" },
		{ ".wh..", "this deletes something without a name" },
		{ ".wh...", "this deletes something without a name" },
		{ "a/.wh.", "this deletes something without a name" },
		{ "a/.wh..", "this deletes something without a name" },
		{ "a/.wh...", "this deletes something without a name" },
		{ ".wh.a/b", "lies in a whiteout" },
		{ "a/.wh.b/c/d", "lies in a whiteout" },
	};

	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		struct buffer tar;
		tar_start(&tar);
		tar_file(&tar, samples[i].name, "");
		refuse(state, &tar, ERR_PROTOCOL, samples[i].says);
	}
}

static void test_aufs_own_names_say_nothing(void **state)
{
	struct buffer tar;

	tar_start(&tar);
	tar_folder(&tar, ".wh..wh.plnk");
	tar_file(&tar, ".wh..wh.plnk/1.2", "text");
	tar_file(&tar, ".wh..wh.aufs", "");
	tar_file(&tar, "a/.wh..wh.orph/b/.wh.c", "");
	tar_file(&tar, ".wh..wh..opq/below", "");
	struct unpack u = take(state, &tar);
	AUTO_FREE char *path = scene_path(state, "in");
	assert_int_equal(rmdir(path), 0); /* it has no entries */
	assert_int_equal(u.entries, 5);
}

static void test_a_whiteout_behind_a_link_deletes_nothing_elsewhere(void **state)
{
	AUTO_FREE char *outside = scene_path(state, "outside");
	struct buffer tar;

	tar_start(&tar);
	tar_link(&tar, "link", outside);
	tar_file(&tar, "link/.wh.kept", "");
	tar_link(&tar, "other", outside);
	tar_file(&tar, "other/.wh..wh..opq", "");
	(void)take(state, &tar);
	assert_true(is_whiteout(state, "in/link/kept"));
	check_opaque(state, "in/other", true);
	assert_string_equal(attribute(state, "outside", "user.overlay.opaque"), "-");
}

/* --- what takes the place of something ----------------------------------------- */

static void test_a_later_entry_takes_the_place_of_any_kind_of_file(void **state)
{
	AUTO_FREE char *outside = scene_path(state, "outside");
	struct buffer tar;

	tar_start(&tar);
	tar_file(&tar, "a/b/c", "1");
	tar_link(&tar, "a", outside);
	tar_file(&tar, "a/kept", "2");
	tar_file(&tar, "f/g", "3");
	tar_file(&tar, "f", "4");
	tar_file(&tar, "h", "5");
	tar_folder(&tar, "h");
	tar_link(&tar, "l", outside);
	tar_folder(&tar, "l");
	tar_folder(&tar, "stays");
	tar_file(&tar, "stays/file", "6");
	tar_folder(&tar, "stays");
	(void)take(state, &tar);
	scene_check_text(state, "in/a/kept", "2");
	assert_false(scene_has(state, "in/a/b"));
	check_opaque(state, "in/a", true);
	scene_check_text(state, "in/f", "4");
	check_opaque(state, "in/h", true);
	check_opaque(state, "in/l", true);
	scene_check_text(state, "in/stays/file", "6");
	check_opaque(state, "in/stays", false);
}

static void test_a_closed_tree_can_be_replaced(void **state)
{
	struct buffer tar;

	tar_start(&tar);
	put(&tar, TAR_FOLDER, "a", 0, 0, 0);
	put(&tar, TAR_FOLDER, "a/b", 0555, 0, 0);
	tar_file(&tar, "a/b/c", "1");
	tar_folder(&tar, "else");
	tar_file(&tar, "a", "2");
	tar_folder(&tar, "else");
	put(&tar, TAR_FOLDER, "a", 0755, 0, 0);
	put(&tar, TAR_FOLDER, "stays/a", 0, 0, 0);
	tar_folder(&tar, "else");
	tar_file(&tar, "stays/a", "a file at the end");
	(void)take(state, &tar);
	scene_check_text(state, "in/stays/a", "a file at the end");
	assert_int_equal(scene_stat(state, "in/a").st_mode, S_IFDIR | 0755);
	assert_false(scene_has(state, "in/a/b"));
}

static void test_hard_links_after_a_replacement_find_what_is_there_now(void **state)
{
	struct buffer tar;

	tar_start(&tar);
	tar_file(&tar, "a/x", "old");
	tar_hard_link(&tar, "one", "a/x");
	tar_file(&tar, "a", "file");
	tar_file(&tar, "a/x", "new");
	tar_hard_link(&tar, "two", "a/x");
	(void)take(state, &tar);
	scene_check_text(state, "in/one", "old");
	scene_check_text(state, "in/two", "new");
}

static void test_a_link_takes_the_place_of_what_it_leads_to(void **state)
{
	struct buffer tar;

	tar_start(&tar);
	tar_file(&tar, "x", "another");
	tar_file(&tar, "a/x", "1");
	tar_hard_link(&tar, "a", "a/x");
	refuse(state, &tar, ERR_PROTOCOL, "has not made");
	scene_check_text(state, "in/x", "another");
}

static void test_the_root_cannot_be_replaced(void **state)
{
	static const char *const names[] = { ".", "/", "./", "//." };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct buffer tar;
		tar_start(&tar);
		tar_link(&tar, names[i], "/etc");
		refuse(state, &tar, ERR_PROTOCOL, "without a name");
	}
}

static void test_nothing_leads_out(void **state)
{
	AUTO_FREE char *kept = scene_path(state, "outside/kept");
	struct buffer tar;

	tar_start(&tar);
	tar_file(&tar, "../escaped", "1");
	refuse(state, &tar, ERR_PROTOCOL, "..");
	tar_start(&tar);
	tar_hard_link(&tar, "hard", kept);
	refuse(state, &tar, ERR_PROTOCOL, "has not made");
	tar_start(&tar);
	tar_link(&tar, "link", kept);
	/* A hard link to the symbolic link, not to its target. */
	tar_hard_link(&tar, "hard", "link");
	tar_file(&tar, "hard", "mine");
	tar_file(&tar, "link", "mine");
	(void)take(state, &tar);
	tar_start(&tar);
	tar_file(&tar, ".wh.gone", "");
	tar_hard_link(&tar, "hard", "gone");
	refuse(state, &tar, ERR_PROTOCOL, "has not made");
}

/* --- modes, owners, attributes ------------------------------------------------- */

static void test_owners_and_bits_are_kept_as_data(void **state)
{
	static const struct {
		enum tar_type type;
		const char *path;
		uint32_t mode;
		uint64_t uid, gid;
		uint32_t on_disk;
		const char *stat;
		unsigned left_out;
	} rows[] = {
		{ TAR_FILE, "plain", 0644, 0, 0, 0644, "-", 0 },
		{ TAR_FILE, "closed", 0, 0, 0, 0, "-", 0 },
		{ TAR_FILE, "owned", 0640, 0, 42, 0640, "0 42 0640", 0 },
		{ TAR_FILE, "read", 0400, 33, 33, 0400, "33 33 0400", 0 },
		{ TAR_FILE, "su", 04755, 0, 0, 0755, "0 0 4755", 0 },
		{ TAR_FILE, "sg", 02711, 0, 8, 0711, "0 8 2711", 0 },
		{ TAR_FILE, "sticky", 01644, 0, 0, 0644, "0 0 1644", 0 },
		{ TAR_FILE, "high", 0600, 4294967294, 4294967294, 0600,
		  "4294967294 4294967294 0600", 0 },
		{ TAR_FILE, "none", 0600, 4294967295, 0, 0600, "-", 1 },
		{ TAR_FILE, "far", 04600, 1ull << 40, 7, 0600, "0 0 4600", 1 },
		{ TAR_FOLDER, "tmp", 01777, 0, 0, 01777, "-", 0 },
		{ TAR_FOLDER, "mail", 02775, 0, 8, 0775, "0 8 2775", 0 },
		{ TAR_FOLDER, "shut", 0, 5, 5, 0, "5 5 0000", 0 },
		{ TAR_FOLDER, "ro", 0555, 0, 0, 0555, "-", 0 },
	};
	struct buffer tar;
	unsigned left_out = 0;

	tar_start(&tar);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		put(&tar, rows[i].type, rows[i].path, rows[i].mode, rows[i].uid,
		    rows[i].gid);
		left_out += rows[i].left_out;
	}
	struct unpack u = take(state, &tar);
	assert_int_equal(u.left_out, left_out);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_FREE char *name = text_format("in/%s", rows[i].path);
		AUTO_FREE char *path = scene_path(state, name);
		struct stat st = scene_stat(state, name);
		if ((st.st_mode & 07777) != rows[i].on_disk)
			fail_msg("%s: %o", name, st.st_mode);
		assert_int_equal(st.st_mtim.tv_sec, 1000000000);
		assert_int_equal(st.st_uid, geteuid());
		assert_int_equal(chmod(path, 0700), 0);
		assert_string_equal(attribute(state, name, "user.hutch.stat"),
				    rows[i].stat);
	}
}

static void test_a_folder_that_comes_twice_is_as_the_last_says(void **state)
{
	struct buffer tar;

	tar_start(&tar);
	put(&tar, TAR_FOLDER, "a", 0, 5, 6);
	put(&tar, TAR_FOLDER, "a", 0750, 0, 0);
	put(&tar, TAR_FOLDER, "b", 0, 5, 6);
	put(&tar, TAR_FOLDER, "c", 0755, 0, 0);
	put(&tar, TAR_FOLDER, "b", 0751, 0, 0);
	(void)take(state, &tar);
	assert_int_equal(scene_stat(state, "in/a").st_mode, S_IFDIR | 0750);
	assert_int_equal(scene_stat(state, "in/b").st_mode, S_IFDIR | 0751);
	assert_string_equal(attribute(state, "in/a", "user.hutch.stat"), "-");
	assert_string_equal(attribute(state, "in/b", "user.hutch.stat"), "-");
}

static void test_closed_folders_let_later_entries_in(void **state)
{
	struct buffer tar;

	tar_start(&tar);
	put(&tar, TAR_FOLDER, "a", 0, 0, 0);
	put(&tar, TAR_FOLDER, "a/b", 0111, 0, 0);
	tar_folder(&tar, "other");
	tar_file(&tar, "a/b/file", "1");
	tar_folder(&tar, "other/again");
	tar_file(&tar, "a/.wh.gone", "");
	put(&tar, TAR_FOLDER, "ro", 0500, 0, 0);
	tar_folder(&tar, "other/third");
	tar_file(&tar, "ro/file", "2");
	(void)take(state, &tar);
	AUTO_FREE char *a = scene_path(state, "in/a");
	struct stat st = scene_stat(state, "in/a");
	assert_int_equal(st.st_mode, S_IFDIR);
	assert_int_equal(st.st_mtim.tv_sec, 1000000000);
	assert_int_equal(scene_stat(state, "in/ro").st_mode, S_IFDIR | 0500);
	assert_int_equal(scene_stat(state, "in/ro").st_mtim.tv_sec, 1000000000);
	assert_int_equal(chmod(a, 0700), 0);
	assert_int_equal(scene_stat(state, "in/a/b").st_mode, S_IFDIR | 0111);
	assert_int_equal(scene_stat(state, "in/a/b").st_mtim.tv_sec, 1000000000);
	scene_check_text(state, "in/a/b/file", "1");
	scene_check_text(state, "in/ro/file", "2");
	assert_true(is_whiteout(state, "in/a/gone"));
}

static void test_the_root_gets_what_its_entry_says(void **state)
{
	struct buffer tar;

	tar_start(&tar);
	put(&tar, TAR_FOLDER, "./", 0551, 3, 4);
	tar_file(&tar, "./file", "1");
	(void)take(state, &tar);
	assert_int_equal(scene_stat(state, "in").st_mode, S_IFDIR | 0551);
	assert_int_equal(scene_stat(state, "in").st_mtim.tv_sec, 1000000000);
	assert_string_equal(attribute(state, "in", "user.hutch.stat"), "3 4 0551");
	scene_check_text(state, "in/file", "1");
}

static void test_without_its_entry_the_root_is_open_to_all(void **state)
{
	struct buffer tar;

	tar_start(&tar);
	tar_file(&tar, "file", "1");
	(void)take(state, &tar);
	assert_int_equal(scene_stat(state, "in").st_mode, S_IFDIR | 0755);
}

/* Adds a pax record with any bytes as its value. */
static void put_record(struct buffer *records, const char *key, const char *value,
		       size_t len)
{
	size_t rest = strlen(key) + len + 3, all = rest + 1;
	char front[512];

	while (all != rest + (size_t)snprintf(NULL, 0, "%zu", all))
		all++;
	(void)snprintf(front, sizeof(front), "%zu %s=", all, key);
	assert_true(buffer_append(records, front, strlen(front)));
	assert_true(buffer_append(records, value, len));
	assert_true(buffer_append(records, "\n", 1));
}

static void put_xattr(struct buffer *tar, const char *name, const char *value, size_t len)
{
	AUTO_FREE char *key = text_format("SCHILY.xattr.%s", name);
	struct buffer records;

	buffer_init(&records, 1 << 20);
	put_record(&records, key, value, len);
	tar_raw(tar, 'x', "records", buffer_data(&records), buffer_len(&records));
	buffer_done(&records);
}

static void test_only_attributes_of_anybodys_come_in(void **state)
{
	static const char *const none[] = {
		"security.capability",
		"trusted.overlay.opaque",
		"system.posix_acl_access",
		"user.overlay.opaque",
		"user.overlay.redirect",
		"user.hutch.stat",
		"user.",
		"user",
		"",
		"odd",
		"User.x",
	};
	AUTO_FREE char *path = NULL;
	struct buffer tar;
	char names[256];

	tar_start(&tar);
	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		put_xattr(&tar, none[i], "y", 1);
	put_xattr(&tar, "user.two", "a\0b", 3);
	put_xattr(&tar, "user.empty", "", 0);
	put(&tar, TAR_FILE, "file", 0400, 0, 0);
	put_xattr(&tar, "user.folder", "1", 1);
	put_xattr(&tar, "trusted.overlay.opaque", "y", 1);
	put(&tar, TAR_FOLDER, "folder", 0500, 0, 0);
	put_xattr(&tar, "user.link", "1", 1);
	tar_link(&tar, "link", "file");
	struct unpack u = take(state, &tar);
	path = scene_path(state, "in/file");
	ssize_t len = llistxattr(path, names, sizeof(names));
	assert_int_equal(len, strlen("user.two") + strlen("user.empty") + 2);
	assert_int_equal(lgetxattr(path, "user.two", names, sizeof(names)), 3);
	assert_memory_equal(names, "a\0b", 3);
	assert_string_equal(attribute(state, "in/file", "user.empty"), "");
	assert_string_equal(attribute(state, "in/folder", "user.folder"), "1");
	check_opaque(state, "in/folder", false);
	assert_int_equal(scene_stat(state, "in/file").st_mode, S_IFREG | 0400);
	assert_int_equal(u.left_out, ARRAY_LEN(none) + 1);
}

static void test_attributes_that_are_too_much_are_left_out(void **state)
{
	AUTO_FREE char *large = mem_zeroed(1, 100000);
	struct buffer tar;

	tar_start(&tar);
	for (size_t i = 0; i < TAR_XATTRS_MAX / 2; i++) {
		AUTO_FREE char *name = text_format("user.%zu", i);
		put_xattr(&tar, name, "1", 1);
	}
	put(&tar, TAR_FILE, "sixteen", 0644, 0, 0);
	put_xattr(&tar, "user.large", large, 100000);
	put(&tar, TAR_FILE, "file", 0644, 7, 7);
	struct unpack u = take(state, &tar);
	assert_int_equal(u.left_out, 1);
	assert_string_equal(attribute(state, "in/sixteen", "user.15"), "1");
	assert_string_equal(attribute(state, "in/file", "user.large"), "-");
	assert_string_equal(attribute(state, "in/file", "user.hutch.stat"), "7 7 0644");
}

static void test_fifos_are_made_and_devices_counted(void **state)
{
	struct buffer tar;

	tar_start(&tar);
	tar_raw(&tar, '6', "pipe", "", 0);
	tar_raw(&tar, '3', "null", "", 0);
	tar_raw(&tar, '4', "disk", "", 0);
	tar_raw(&tar, 's', "odd", "", 0);
	struct unpack u = take(state, &tar);
	assert_int_equal(scene_stat(state, "in/pipe").st_mode, S_IFIFO | 0644);
	assert_int_equal(scene_stat(state, "in/pipe").st_mtim.tv_sec, 0);
	assert_false(scene_has(state, "in/null") || scene_has(state, "in/disk"));
	assert_int_equal(u.left_out, 3);
	assert_int_equal(u.entries, 1);
}

/* --- bounds -------------------------------------------------------------------- */

static void test_whiteouts_count(void **state)
{
	static const struct {
		const char *front, *back;
	} names[] = { { ".wh.", "" }, { "", "/.wh..wh..opq" }, { ".wh..wh.", "" } };

	for (size_t n = 0; n < ARRAY_LEN(names); n++) {
		struct unpack u = { .entries_max = 10 };
		struct buffer tar;
		struct err e;
		tar_start(&tar);
		for (size_t i = 0; i < 20; i++) {
			AUTO_FREE char *name = text_format("%s%zu%s", names[n].front, i,
							   names[n].back);
			tar_file(&tar, name, "");
		}
		assert_int_equal(unpack_layer(state, &tar, &u, &e), -1);
		assert_int_equal(e.kind, ERR_LIMIT);
		assert_true(u.entries <= 11);
	}
}

static void test_too_many_closed_folders_are_refused(void **state)
{
	struct buffer tar;

	tar_start(&tar);
	for (size_t i = 0; i < 4200; i++) {
		AUTO_FREE char *name = text_format("%zu", i);
		put(&tar, TAR_FOLDER, name, 0, 0, 0);
	}
	refuse(state, &tar, ERR_LIMIT, "closed to their owner");
}

/* More nested folders than unpack keeps open. */
static void test_deep_closed_folders_are_closed(void **state)
{
	enum { DEPTH = 200 };
	char path[2 * DEPTH + 1];
	struct buffer tar;

	tar_start(&tar);
	for (size_t i = 0; i < DEPTH; i++) {
		memcpy(path + 2 * i, "d/", 3);
		put(&tar, TAR_FOLDER, path, 0, 0, 0);
	}
	tar_folder(&tar, "else");
	(void)take(state, &tar);
	assert_int_equal(scene_stat(state, "in/d").st_mode, S_IFDIR);
	assert_int_equal(scene_stat(state, "in/d").st_mtim.tv_sec, 1000000000);
}

/* Go's archive/tar accepts a tar without an end mark, so such layers exist. */
static void test_a_tar_may_just_end(void **state)
{
	struct unpack u = { 0 };
	struct err e = { 0 };
	struct buffer tar;

	tar_start(&tar);
	tar_file(&tar, "file", "1");
	assert_int_equal(unpack_layer(state, &tar, &u, &e), 0);
	scene_check_text(state, "in/file", "1");
	tar_start(&tar);
	tar_file(&tar, "file", "1");
	/* `umoci insert` writes tars without their last padding. */
	tar.end -= TAR_BLOCK - 1;
	assert_int_equal(unpack_layer(state, &tar, &u, &e), 0);
	tar_start(&tar);
	tar_file(&tar, "file", "1");
	tar.end -= TAR_BLOCK;
	assert_int_equal(unpack_layer(state, &tar, &u, &e), -1);
	assert_int_equal(e.kind, ERR_PROTOCOL);
	tar_start(&tar);
	put_xattr(&tar, "user.x", "of nothing", 5);
	assert_int_equal(unpack_layer(state, &tar, &u, &e), -1);
	assert_int_equal(e.kind, ERR_PROTOCOL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, tree_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_whiteout_hides_what_is_below),
		TEST(test_an_opaque_folder_hides_all_below),
		TEST(test_an_opaque_root_is_told),
		TEST(test_a_whiteout_deletes_no_file_of_its_own_layer),
		TEST(test_a_folder_in_place_of_what_is_deleted_is_opaque),
		TEST(test_names_that_delete_nothing_are_refused),
		TEST(test_aufs_own_names_say_nothing),
		TEST(test_a_whiteout_behind_a_link_deletes_nothing_elsewhere),
		TEST(test_a_later_entry_takes_the_place_of_any_kind_of_file),
		TEST(test_a_closed_tree_can_be_replaced),
		TEST(test_hard_links_after_a_replacement_find_what_is_there_now),
		TEST(test_a_link_takes_the_place_of_what_it_leads_to),
		TEST(test_the_root_cannot_be_replaced),
		TEST(test_nothing_leads_out),
		TEST(test_owners_and_bits_are_kept_as_data),
		TEST(test_a_folder_that_comes_twice_is_as_the_last_says),
		TEST(test_closed_folders_let_later_entries_in),
		TEST(test_the_root_gets_what_its_entry_says),
		TEST(test_without_its_entry_the_root_is_open_to_all),
		TEST(test_only_attributes_of_anybodys_come_in),
		TEST(test_attributes_that_are_too_much_are_left_out),
		TEST(test_fifos_are_made_and_devices_counted),
		TEST(test_whiteouts_count),
		TEST(test_too_many_closed_folders_are_refused),
		TEST(test_deep_closed_folders_are_closed),
		TEST(test_a_tar_may_just_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
