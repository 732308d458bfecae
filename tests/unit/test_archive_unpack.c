/* unpack: a tar's entries are made below the folder; hostile entries are
 * refused, and no file outside of the folder is touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/kernel.h"
#include "tests/unit/archive.h"

/* Also makes files beside the folder that is unpacked into; every test checks that
 * they are unchanged. */
static int setup(void **state)
{
	if (scene_setup(state) < 0)
		return -1;
	scene_dir(state, "outside");
	scene_file(state, "outside/kept", "as it was");
	scene_dir(state, "in");
	return 0;
}

static void check_outside(void **state)
{
	AUTO_FREE char *path = scene_path(state, "outside");
	DIR *dir = opendir(path);
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	assert_int_equal(count, 3); /* with "." and ".." */
	scene_check_text(state, "outside/kept", "as it was");
	assert_int_equal(scene_stat(state, "outside/kept").st_mode & 07777, 0644);
	assert_int_equal(scene_stat(state, "outside/kept").st_nlink, 1);
	assert_false(scene_has(state, "escaped"));
}

static void refuse(void **state, struct buffer *tar, enum err_kind kind, const char *says)
{
	struct unpack u = { 0 };
	struct err e = { 0 };

	tar_finish(tar);
	assert_int_equal(tar_unpack(state, "in", tar, &u, &e), -1);
	if (e.kind != (int)kind || !strstr(e.text, says))
		fail_msg("%s: %s", err_kind_name(e.kind), e.text);
	check_outside(state);
	buffer_done(tar);
}

static void take(void **state, struct buffer *tar, struct unpack *u)
{
	struct err e = { 0 };

	tar_finish(tar);
	if (tar_unpack(state, "in", tar, u, &e) < 0)
		fail_msg("%s", e.text);
	check_outside(state);
	buffer_done(tar);
}

/* --- what is made ------------------------------------------------------------ */

static void test_files_links_and_folders_are_made(void **state)
{
	AUTO_FREE char *link = scene_path(state, "in/link");
	struct unpack u = { 0 };
	struct buffer tar;
	char to[64] = "";

	tar_start(&tar);
	tar_folder(&tar, "folder");
	tar_file(&tar, "folder/file", "text");
	tar_link(&tar, "link", "folder/file");
	tar_hard_link(&tar, "hard", "folder/file");
	take(state, &tar, &u);
	scene_check_text(state, "in/folder/file", "text");
	assert_int_equal(scene_stat(state, "in/hard").st_ino,
			 scene_stat(state, "in/folder/file").st_ino);
	assert_int_equal(readlink(link, to, sizeof(to) - 1), 11);
	assert_string_equal(to, "folder/file");
	assert_int_equal(u.entries, 4);
	assert_int_equal(u.bytes, 4);
	assert_int_equal(u.left_out + u.links_out, 0);
}

static void test_names_are_freed_of_what_says_nothing(void **state)
{
	struct unpack u = { 0 };
	struct buffer tar;

	tar_start(&tar);
	tar_folder(&tar, "./");
	tar_file(&tar, "./a//b/./c", "1");
	tar_file(&tar, "/etc/passwd", "2");
	tar_file(&tar, "...", "3");
	tar_file(&tar, "new\nline", "4");
	take(state, &tar, &u);
	scene_check_text(state, "in/a/b/c", "1");
	scene_check_text(state, "in/etc/passwd", "2");
	scene_check_text(state, "in/...", "3");
	scene_check_text(state, "in/new\nline", "4");
}

static void test_the_first_part_gets_another_name(void **state)
{
	struct unpack u = { .rename = "x" };
	struct buffer tar;

	tar_start(&tar);
	tar_folder(&tar, "a");
	tar_file(&tar, "a/file", "1");
	tar_hard_link(&tar, "./a/hard", "./a/file");
	tar_file(&tar, "/other/one", "2");
	take(state, &tar, &u);
	scene_check_text(state, "in/x/hard", "1");
	scene_check_text(state, "in/x/one", "2");
	assert_false(scene_has(state, "in/a") || scene_has(state, "in/other"));
}

static void test_a_name_that_is_none_is_refused(void **state)
{
	static const char *const names[] = { "", ".", "..", "a/b", "/" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct unpack u = { .rename = names[i] };
		struct buffer tar;
		struct err e;
		tar_start(&tar);
		tar_file(&tar, "a", "1");
		tar_finish(&tar);
		assert_int_equal(tar_unpack(state, "in", &tar, &u, &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
		buffer_done(&tar);
	}
	check_outside(state);
}

static void put_with(struct buffer *tar, enum tar_type type, const char *path, mode_t mode,
		     int64_t mtime)
{
	tar_encode(tar, &(struct tar_entry){ .type = type, .path = path, .mode = mode,
					     .mtime = mtime, .mtime_ns = 123456789 });
}

static void check_looks(void **state, const char *name, mode_t mode, int64_t mtime)
{
	struct stat st = scene_stat(state, name);

	if ((st.st_mode & 07777) != mode || st.st_mtim.tv_sec != mtime ||
	    st.st_mtim.tv_nsec != 123456789)
		fail_msg("%s: mode %o, time %lld.%ld", name, st.st_mode & 07777,
			 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

static void test_modes_and_times_are_set_whatever_the_umask(void **state)
{
	struct unpack u = { 0 };
	struct buffer tar;
	mode_t mask = umask(077);

	tar_start(&tar);
	put_with(&tar, TAR_FOLDER, "closed", 0555, 1000);
	put_with(&tar, TAR_FILE, "closed/open", 0666, 2000);
	put_with(&tar, TAR_FILE, "closed/shut", 0, 3000);
	put_with(&tar, TAR_FOLDER, "closed/in", 0, 4000);
	put_with(&tar, TAR_FILE, "closed/in/file", 06755, -5);
	take(state, &tar, &u);
	(void)umask(mask);
	check_looks(state, "in/closed", 0555, 1000);
	check_looks(state, "in/closed/open", 0666, 2000);
	check_looks(state, "in/closed/shut", 0, 3000);
	check_looks(state, "in/closed/in", 0, 4000);
	AUTO_FREE char *in = scene_path(state, "in/closed/in");
	assert_int_equal(chmod(in, 0700), 0);
	check_looks(state, "in/closed/in/file", 0755, -5);
}

static void test_setuid_bits_only_where_asked_for(void **state)
{
	struct unpack u = { .keeps_setid = true };
	struct buffer tar;

	tar_start(&tar);
	put_with(&tar, TAR_FILE, "file", 06755, 1000);
	put_with(&tar, TAR_FOLDER, "folder", 01777, 1000);
	take(state, &tar, &u);
	check_looks(state, "in/file", 06755, 1000);
	check_looks(state, "in/folder", 01777, 1000);
}

/* Entries may have any order, as `tar -T` writes them: a folder may come after
 * its content, and unpack may leave it, return to it, and find it read-only by
 * then. */
static void test_a_folder_that_is_come_back_to_keeps_its_looks(void **state)
{
	struct unpack u = { 0 };
	struct buffer tar;

	tar_start(&tar);
	put_with(&tar, TAR_FOLDER, "a", 0555, 1000);
	put_with(&tar, TAR_FOLDER, "a/b", 0500, 2000);
	put_with(&tar, TAR_FILE, "c/file", 0644, 3000);
	put_with(&tar, TAR_FOLDER, "c", 0511, 4000);
	put_with(&tar, TAR_FILE, "a/b/late", 0644, 5000);
	put_with(&tar, TAR_FILE, "c/late", 0644, 6000);
	take(state, &tar, &u);
	check_looks(state, "in/a", 0555, 1000);
	check_looks(state, "in/a/b", 0500, 2000);
	check_looks(state, "in/c", 0511, 4000);
	check_looks(state, "in/a/b/late", 0644, 5000);
}

static void test_existing_files_are_replaced_and_folders_stay(void **state)
{
	AUTO_FREE char *folder = scene_path(state, "in/folder");
	struct unpack u = { 0 };
	struct buffer tar;

	scene_dir(state, "in/folder");
	assert_int_equal(chmod(folder, 0711), 0);
	scene_file(state, "in/folder/old", "old");
	scene_file(state, "in/folder/other", "other");
	scene_link(state, "in/link", "../outside/kept");
	scene_link(state, "in/gone", "../escaped");
	tar_start(&tar);
	put_with(&tar, TAR_FOLDER, "folder", 0777, 1000);
	put_with(&tar, TAR_FOLDER, ".", 0777, 1000);
	tar_file(&tar, "folder/old", "new");
	tar_file(&tar, "link", "a file");
	tar_file(&tar, "gone", "a file too");
	tar_link(&tar, "folder/other", "x");
	take(state, &tar, &u);
	scene_check_text(state, "in/folder/old", "new");
	scene_check_text(state, "in/link", "a file");
	scene_check_text(state, "in/gone", "a file too");
	assert_true(S_ISLNK(scene_stat(state, "in/folder/other").st_mode));
	assert_int_equal(scene_stat(state, "in/folder").st_mode & 07777, 0711);
	assert_int_not_equal(scene_stat(state, "in/folder").st_mtime, 1000);
	assert_int_equal(scene_stat(state, "in").st_mode & 07777, 0755);
}

/* When a file is replaced, a hard link to it keeps the old content. */
static void test_a_file_with_two_names_is_not_written_through(void **state)
{
	AUTO_FREE char *kept = scene_path(state, "kept"), *name = scene_path(state, "in/name");
	struct unpack u = { 0 };
	struct buffer tar;

	scene_file(state, "kept", "as it was");
	assert_int_equal(link(kept, name), 0);
	tar_start(&tar);
	tar_file(&tar, "name", "new");
	take(state, &tar, &u);
	scene_check_text(state, "kept", "as it was");
	scene_check_text(state, "in/name", "new");
}

static void test_zeros_become_a_hole(void **state)
{
	static char data[3 << 20];
	struct unpack u = { 0 };
	struct buffer tar;

	data[0] = data[1 << 20] = 1;
	tar_start(&tar);
	const struct tar_entry entry = { .path = "f", .mode = 0600, .size = sizeof(data) };
	tar_encode(&tar, &entry);
	tar_content(&tar, data, sizeof(data));
	take(state, &tar, &u);
	struct stat st = scene_stat(state, "in/f");
	assert_int_equal(st.st_size, sizeof(data));
	assert_true(st.st_blocks * 512 < 1 << 20);
	AUTO_FREE char *path = scene_path(state, "in/f"), *got = malloc(sizeof(data));
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(io_read_full(fd, got, sizeof(data)), sizeof(data));
	assert_memory_equal(got, data, sizeof(data));
}

/* Each component has 255 bytes; the whole is longer than PATH_MAX. */
static void test_names_are_longer_than_a_path_may_be(void **state)
{
	char path[40 * 256] = "", part[257];
	struct unpack u = { 0 };
	struct buffer tar;

	memset(part, 'p', 255);
	strcpy(part + 255, "/");
	for (int i = 0; i < 30; i++)
		strcat(path, part);
	strcat(path, "file");
	tar_start(&tar);
	tar_file(&tar, path, "deep");
	tar_hard_link(&tar, "hard", path);
	take(state, &tar, &u);
	scene_check_text(state, "in/hard", "deep");
	assert_int_equal(u.entries, 32);
}

static void few_descriptors(void *arg)
{
	const struct rlimit few = { 200, 200 };
	void *scene = arg;
	struct unpack u = { 0 };
	struct buffer tar;
	struct err e;
	char path[2 * DIR_STACK_DEPTH_MAX + 16] = "";

	CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
	for (int i = 0; i < DIR_STACK_DEPTH_MAX - 1; i++)
		strcat(path, "d/");
	tar_start(&tar);
	strcat(path, "f");
	tar_file(&tar, path, "deepest");
	tar_file(&tar, "g", "after it");
	tar_file(&tar, path, "again");
	tar_finish(&tar);
	CHECK(tar_unpack(&scene, "in", &tar, &u, &e) == 0);
	CHECK(u.entries == DIR_STACK_DEPTH_MAX + 2);
	buffer_done(&tar);
}

static void test_the_deepest_takes_few_descriptors(void **state)
{
	scene_child(few_descriptors, *state);
	scene_check_text(state, "in/g", "after it");
}

/* --- what is refused --------------------------------------------------------- */

static void test_a_name_that_leads_up_is_refused(void **state)
{
	static const char *const names[] = {
		"..", "../escaped", "a/../../escaped", "a/..", "/../escaped", "./../escaped",
		"a/b/../c", "..//escaped",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct buffer file, folder, link;
		tar_start(&file);
		tar_file(&file, names[i], "x");
		refuse(state, &file, ERR_PROTOCOL, "\"..\"");
		tar_start(&folder);
		tar_folder(&folder, names[i]);
		refuse(state, &folder, ERR_PROTOCOL, "\"..\"");
		tar_start(&link);
		tar_file(&link, "f", "x");
		tar_hard_link(&link, "l", names[i]);
		refuse(state, &link, ERR_PROTOCOL, "\"..\"");
	}
}

/* No entry is made through a link to a folder, whether the link was in the tar or
 * there before, absolute or relative. */
static void test_nothing_is_made_through_a_link(void **state)
{
	AUTO_FREE char *outside = scene_path(state, "outside");
	const char *const to[] = { "../outside", outside, "/tmp", ".", "" };

	scene_link(state, "in/there", "../outside");
	for (size_t i = 0; to[i][0]; i++) {
		struct buffer file, folder, hard;
		tar_start(&file);
		tar_link(&file, "l", to[i]);
		tar_file(&file, "l/escaped", "x");
		refuse(state, &file, ERR_EXISTS, "not followed");
		tar_start(&folder);
		tar_link(&folder, "l", to[i]);
		tar_folder(&folder, "l");
		refuse(state, &folder, ERR_EXISTS, "not followed");
		tar_start(&hard);
		tar_link(&hard, "l", to[i]);
		tar_hard_link(&hard, "h", "l/kept");
		refuse(state, &hard, ERR_PROTOCOL, "has not made");
	}
	struct buffer there;
	tar_start(&there);
	tar_file(&there, "there/kept", "x");
	refuse(state, &there, ERR_EXISTS, "not followed");
}

static void test_a_file_and_a_folder_do_not_replace_each_other(void **state)
{
	struct buffer file, folder, link, under, hard;

	scene_dir(state, "in/folder");
	scene_file(state, "in/file", "x");
	tar_start(&file);
	tar_file(&file, "folder", "x");
	refuse(state, &file, ERR_EXISTS, "folder is a folder");
	tar_start(&folder);
	tar_folder(&folder, "file");
	refuse(state, &folder, ERR_EXISTS, "file: a folder is to be there");
	tar_start(&link);
	tar_link(&link, "folder", "x");
	refuse(state, &link, ERR_EXISTS, "folder is a folder");
	tar_start(&under);
	tar_file(&under, "file/x", "x");
	refuse(state, &under, ERR_EXISTS, "file: a folder is to be there");
	tar_start(&hard);
	tar_file(&hard, "new", "x");
	tar_hard_link(&hard, "folder", "new");
	refuse(state, &hard, ERR_EXISTS, "folder is a folder");
	scene_check_text(state, "in/file", "x");
}

static void test_hard_links_are_to_files_of_the_same_tar(void **state)
{
	static const char *const targets[] = { "there", "folder", "nothing", "a/b", ".",
					       "/", "made", "" };

	scene_file(state, "in/there", "x");
	for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
		struct buffer tar;
		tar_start(&tar);
		tar_folder(&tar, "made");
		tar_folder(&tar, "folder");
		tar_file(&tar, "new", "x");
		tar_hard_link(&tar, "link", targets[i]);
		refuse(state, &tar, ERR_PROTOCOL, "has not made");
	}
	assert_int_equal(scene_stat(state, "in/there").st_nlink, 1);
	assert_false(scene_has(state, "in/link"));
}

static void test_a_hard_link_to_itself_stays(void **state)
{
	struct unpack u = { 0 };
	struct buffer tar;

	tar_start(&tar);
	tar_file(&tar, "a", "text");
	tar_hard_link(&tar, "a", "a");
	tar_hard_link(&tar, "b", "a");
	tar_hard_link(&tar, "a", "b");
	take(state, &tar, &u);
	scene_check_text(state, "in/a", "text");
	assert_int_equal(scene_stat(state, "in/a").st_nlink, 2);
}

/* A link of the tar is hard-linked to another name, which a later file entry
 * replaces. */
static void test_a_link_that_is_linked_hard_is_not_followed(void **state)
{
	struct unpack u = { 0 };
	struct buffer tar;

	tar_start(&tar);
	tar_link(&tar, "l", "../outside/kept");
	tar_hard_link(&tar, "h", "l");
	tar_file(&tar, "h", "x");
	take(state, &tar, &u);
	scene_check_text(state, "in/h", "x");
	assert_true(S_ISLNK(scene_stat(state, "in/l").st_mode));
}

static void test_devices_and_the_unknown_are_left_out_and_told(void **state)
{
	struct told told = { 0 };
	struct unpack u = { .context = &told, .on_left_out = told_left_out };
	struct buffer tar;

	tar_start(&tar);
	tar_raw(&tar, '3', "char", "", 0);
	tar_raw(&tar, '4', "block", "", 0);
	tar_raw(&tar, '6', "fifo", "", 0);
	tar_raw(&tar, 'Z', "new", "content", 7);
	tar_file(&tar, "file", "x");
	take(state, &tar, &u);
	assert_int_equal(u.left_out, 4);
	assert_int_equal(told.left_out.count, 4);
	assert_string_equal(told.left_out.items[0], "char: a device, which is not made");
	assert_string_equal(told.left_out.items[2], "fifo: a FIFO, which is not made");
	assert_string_equal(told.left_out.items[3], "new: something of an unknown kind");
	assert_false(scene_has(state, "in/char") || scene_has(state, "in/fifo") ||
		     scene_has(state, "in/new"));
	scene_check_text(state, "in/file", "x");
	told_done(&told);
}

static void check_links(void **state, const char *rename, const char *expected)
{
	static const struct {
		const char *name, *to;
	} links[] = {
		{ "a", "b" },	      { "d/a", "../b" },     { "d/b", "../../b" },
		{ "d/c", "/etc" },    { "d/d", "x/../../d" }, { "d/e/f", "../../d/e" },
		{ "d/e/g", "../f" },  { "d/h", "..." },	     { "d/i", "./.." },
	};
	char got[ARRAY_LEN(links) + 1] = "";
	struct told told = { 0 };
	struct unpack u = { .rename = rename,
			    .context = &told,
			    .on_link_out = told_link };
	struct buffer tar;

	tar_start(&tar);
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		tar_link(&tar, links[i].name, links[i].to);
	take(state, &tar, &u);
	assert_int_equal(told.links.count, u.links_out);
	for (size_t i = 0; i < told.links.count; i++) {
		const char *arrow = strstr(told.links.items[i], " -> ");
		strncat(got, arrow - 1, 1);
	}
	assert_string_equal(got, expected);
	told_done(&told);
}

static void test_links_that_lead_out_are_told(void **state)
{
	check_links(state, NULL, "bc");
}

/* Unpacks only "x", whose first entry is the link "a".  All links lead out of "x"
 * then, and are reported. */
static void test_links_that_lead_out_of_the_new_name_are_told(void **state)
{
	static const char *const to[] = { "b", "../b", "sub", "sub/../..", "./sub/.." };
	struct told told = { 0 };
	struct unpack u = { .rename = "x", .context = &told, .on_link_out = told_link };
	struct buffer tar;

	tar_start(&tar);
	for (size_t i = 0; i < ARRAY_LEN(to); i++) {
		char name[] = "a/0";
		name[2] = (char)('0' + i);
		tar_link(&tar, name, to[i]);
	}
	take(state, &tar, &u);
	assert_int_equal(told.links.count, 2);
	assert_string_equal(told.links.items[0], "x/1 -> ../b");
	assert_string_equal(told.links.items[1], "x/3 -> sub/../..");
	told_done(&told);
}

/* --- limits ------------------------------------------------------------------ */

static void limit(void **state, struct buffer *tar, struct unpack u, const char *says)
{
	struct err e = { 0 };

	tar_finish(tar);
	assert_int_equal(tar_unpack(state, "in", tar, &u, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	assert_non_null(strstr(e.text, says));
	buffer_done(tar);
}

static void test_more_bytes_than_allowed_are_not_begun(void **state)
{
	struct unpack u = { .bytes_max = 10 };
	struct buffer fits, one, two, huge;

	tar_start(&fits);
	tar_file(&fits, "a", "12345");
	tar_file(&fits, "b", "67890");
	tar_file(&fits, "c", "");
	take(state, &fits, &u);
	tar_start(&one);
	tar_file(&one, "d", "12345678901");
	limit(state, &one, (struct unpack){ .bytes_max = 10 }, "10 bytes");
	tar_start(&two);
	tar_file(&two, "a", "123456");
	tar_file(&two, "d", "12345");
	limit(state, &two, (struct unpack){ .bytes_max = 10 }, "10 bytes");
	tar_start(&huge);
	tar_encode(&huge, &(struct tar_entry){ .path = "d", .size = INT64_MAX });
	limit(state, &huge, (struct unpack){ .bytes_max = 10 }, "10 bytes");
	assert_false(scene_has(state, "in/d"));
}

/* The bytes of long names count, too. */
static void test_extended_headers_count_as_bytes(void **state)
{
	AUTO_FREE char *name = memset(calloc(1, 5001), '/', 5000);
	struct buffer tar;

	tar_start(&tar);
	for (int i = 0; i < 3; i++) {
		tar_raw(&tar, 'L', "x", name, 5000);
		tar_raw(&tar, '0', "file", "x", 1);
	}
	tar_raw(&tar, '0', "file", "x", 1);
	limit(state, &tar, (struct unpack){ .bytes_max = 15000 }, "bytes");
}

static void test_more_entries_than_allowed_are_not_made(void **state)
{
	struct unpack u = { .entries_max = 3 };
	struct buffer fits, files, folders, devices;

	tar_start(&fits);
	tar_file(&fits, "a/b/c", "");
	take(state, &fits, &u);
	assert_int_equal(u.entries, 3);
	tar_start(&files);
	for (int i = 0; i < 4; i++)
		tar_file(&files, (char[]){ (char)('h' + i), 0 }, "");
	limit(state, &files, (struct unpack){ .entries_max = 3 }, "3 entries");
	assert_false(scene_has(state, "in/k"));
	tar_start(&folders);
	tar_file(&folders, "o/p/q/r", "");
	limit(state, &folders, (struct unpack){ .entries_max = 3 }, "3 entries");
	assert_false(scene_has(state, "in/o/p/q/r"));
	tar_start(&devices);
	for (int i = 0; i < 4; i++)
		tar_raw(&devices, '3', "null", "", 0);
	limit(state, &devices, (struct unpack){ .entries_max = 3 }, "3 entries");
}

static void test_names_that_are_too_long_or_too_deep_are_refused(void **state)
{
	AUTO_FREE char *longer = memset(calloc(1, 257), 'l', 256);
	AUTO_FREE char *deep = calloc(1, 2 * DIR_STACK_DEPTH_MAX + 16);
	struct buffer part, depth;

	tar_start(&part);
	tar_file(&part, longer, "");
	refuse(state, &part, ERR_PROTOCOL, "too long");
	for (int i = 0; i <= DIR_STACK_DEPTH_MAX; i++)
		memcpy(deep + (size_t)2 * i, "d/", 3);
	strcat(deep, "f");
	tar_start(&depth);
	tar_file(&depth, deep, "");
	refuse(state, &depth, ERR_LIMIT, "deeper than");
}

/* --- what goes wrong --------------------------------------------------------- */

static void test_a_half_file_is_removed_and_the_rest_stays(void **state)
{
	struct unpack u = { 0 };
	struct buffer tar;
	struct err e;

	tar_start(&tar);
	put_with(&tar, TAR_FOLDER, "d", 0750, 1000);
	tar_file(&tar, "d/whole", "whole");
	tar_file(&tar, "d/half", "half of it is missing");
	tar.end -= 508;
	assert_int_equal(tar_unpack(state, "in", &tar, &u, &e), -1);
	assert_int_equal(e.kind, ERR_PROTOCOL);
	assert_non_null(strstr(e.text, "stops"));
	scene_check_text(state, "in/d/whole", "whole");
	assert_false(scene_has(state, "in/d/half"));
	check_looks(state, "in/d", 0750, 1000);
	buffer_done(&tar);
}

static void too_large(void *arg)
{
	const struct rlimit small = { 100000, 100000 };
	static char data[300000];
	void *scene = arg;
	struct unpack u = { 0 };
	struct buffer tar;
	struct err e;

	memset(data, 'x', sizeof(data));
	tar_start(&tar);
	tar_encode(&tar, &(struct tar_entry){ .path = "f", .size = sizeof(data) });
	CHECK(buffer_append(&tar, data, sizeof(data)));
	AUTO_CLOSE int in = tar_open(&tar);
	AUTO_FREE char *path = scene_path(&scene, "in");
	u.in = in;
	u.root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
	CHECK(unpack_all(&u, &e) == -1);
	CHECK(e.sys == EFBIG && strstr(e.text, "write f"));
	CHECK(close(u.root) == 0);
	buffer_done(&tar);
}

static void test_a_file_that_cannot_be_written_is_told_and_removed(void **state)
{
	scene_child(too_large, *state);
	assert_false(scene_has(state, "in/f"));
}

/* Bytes behind the tar's end are read, too: otherwise its writer would die of
 * SIGPIPE and report a failure. */
static void test_bytes_behind_the_end_are_read(void **state)
{
	static char rest[1 << 20];
	AUTO_FREE char *in = scene_path(state, "in");
	struct buffer tar;
	struct err e;
	int ends[2];

	memset(rest, 'r', sizeof(rest));
	tar_start(&tar);
	tar_file(&tar, "f", "x");
	tar_finish(&tar);
	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		(void)close(ends[0]);
		CHECK(io_write_all(ends[1], buffer_data(&tar), buffer_len(&tar)) == 0);
		CHECK(io_write_all(ends[1], rest, sizeof(rest)) == 0);
		_exit(0);
	}
	(void)close(ends[1]);
	AUTO_CLOSE int root = open(in, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct unpack u = { .in = ends[0], .root = root };
	assert_int_equal(unpack_all(&u, &e), 0);
	(void)close(ends[0]);
	assert_int_equal(scene_child_code(pid), 0);
	buffer_done(&tar);
}

/* Another process puts a link in the place of a folder, again and again. */
static void swap_for_ever(const char *in)
{
	/* If an assertion fails, the test does not kill this process. */
	CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
	CHECK(chdir(in) == 0);
	for (;;)
		(void)sys_renameat2(AT_FDCWD, "d", AT_FDCWD, "l", RENAME_EXCHANGE);
}

static void test_a_folder_that_becomes_a_link_leads_nowhere(void **state)
{
	AUTO_FREE char *in = scene_path(state, "in");
	struct buffer tar;
	struct err e;

	scene_dir(state, "in/d");
	scene_link(state, "in/l", "../outside");
	tar_start(&tar);
	tar_file(&tar, "d/f", "x");
	tar_hard_link(&tar, "d/g", "d/f");
	tar_finish(&tar);
	pid_t pid = fork();
	if (pid == 0)
		swap_for_ever(in);
	unsigned done = 0;
	for (int i = 0; i < 3000; i++) {
		struct unpack u = { 0 };
		done += tar_unpack(state, "in", &tar, &u, &e) == 0;
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	(void)scene_child_code(pid);
	print_message("# %u of 3000 found the folder\n", done);
	check_outside(state);
	buffer_done(&tar);
}

static void give_away(void *arg)
{
	void *scene = arg;
	struct unpack u = { .keeps_ids = true, .keeps_setid = true };
	struct buffer tar;
	struct err e;

	tar_start(&tar);
	tar_encode(&tar, &(struct tar_entry){ .path = "f", .mode = 04755, .uid = 12,
					      .gid = 34 });
	tar_encode(&tar, &(struct tar_entry){ .type = TAR_LINK, .path = "l", .link = "f",
					      .uid = 12, .gid = 34 });
	tar_encode(&tar, &(struct tar_entry){ .type = TAR_FOLDER, .path = "d", .mode = 0700,
					      .uid = 12, .gid = 34 });
	tar_file(&tar, "d/e", "x");
	tar_finish(&tar);
	CHECK(tar_unpack(&scene, "in", &tar, &u, &e) == 0);
	buffer_done(&tar);
	tar_start(&tar);
	tar_encode(&tar, &(struct tar_entry){ .path = "f", .uid = UINT32_MAX });
	tar_finish(&tar);
	CHECK(tar_unpack(&scene, "in", &tar, &u, &e) == -1);
	buffer_done(&tar);
}

static void test_owners_are_kept_where_asked_for(void **state)
{
	static const char *const names[] = { "in/f", "in/l", "in/d" };

	if (geteuid() != 0)
		skip(); /* only root can change the owner of a file */
	scene_child(give_away, *state);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct stat st = scene_stat(state, names[i]);
		assert_int_equal(st.st_uid, 12);
		assert_int_equal(st.st_gid, 34);
	}
	assert_int_equal(scene_stat(state, "in/f").st_mode & 07777, 04755);
	assert_int_equal(scene_stat(state, "in/d/e").st_uid, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, tree_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_files_links_and_folders_are_made),
		TEST(test_names_are_freed_of_what_says_nothing),
		TEST(test_the_first_part_gets_another_name),
		TEST(test_a_name_that_is_none_is_refused),
		TEST(test_modes_and_times_are_set_whatever_the_umask),
		TEST(test_setuid_bits_only_where_asked_for),
		TEST(test_a_folder_that_is_come_back_to_keeps_its_looks),
		TEST(test_existing_files_are_replaced_and_folders_stay),
		TEST(test_a_file_with_two_names_is_not_written_through),
		TEST(test_zeros_become_a_hole),
		TEST(test_names_are_longer_than_a_path_may_be),
		TEST(test_the_deepest_takes_few_descriptors),
		TEST(test_a_name_that_leads_up_is_refused),
		TEST(test_nothing_is_made_through_a_link),
		TEST(test_a_file_and_a_folder_do_not_replace_each_other),
		TEST(test_hard_links_are_to_files_of_the_same_tar),
		TEST(test_a_hard_link_to_itself_stays),
		TEST(test_a_link_that_is_linked_hard_is_not_followed),
		TEST(test_devices_and_the_unknown_are_left_out_and_told),
		TEST(test_links_that_lead_out_are_told),
		TEST(test_links_that_lead_out_of_the_new_name_are_told),
		TEST(test_more_bytes_than_allowed_are_not_begun),
		TEST(test_extended_headers_count_as_bytes),
		TEST(test_more_entries_than_allowed_are_not_made),
		TEST(test_names_that_are_too_long_or_too_deep_are_refused),
		TEST(test_a_half_file_is_removed_and_the_rest_stays),
		TEST(test_a_file_that_cannot_be_written_is_told_and_removed),
		TEST(test_bytes_behind_the_end_are_read),
		TEST(test_a_folder_that_becomes_a_link_leads_nowhere),
		TEST(test_owners_are_kept_where_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
