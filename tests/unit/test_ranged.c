/* ranged: copies layers with their owners, once, completely or not at all, and
 * removes the copies again. */
#include "rootfs-tools/layers/ranged.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "rootfs-tools/layers/layers.h"
#include "tests/unit/in_store.h"
#include "tests/unit/subids.h"

#define STAT   "user.hutch.stat"
#define OPAQUE "user.overlay.opaque"

static struct idmaps maps;
static bool has_maps;

/* A store with the layer A.  The layer's folder `fs` is the working directory. */
struct shop {
	struct store s;
	struct list hexes;
	char *copies; /* ranged/MAPS, absolute */
	struct err e;
};

static void layer(const struct store *s, const char *hex)
{
	const struct layer_about about = { .entries = 2, .bytes = 3 };
	AUTO_FREE char *folder = text_format("%s/layers/%s", s->path, hex);
	AUTO_FREE char *fs = text_format("%s/fs", folder);

	assert_int_equal(mkdir(folder, 0700) | mkdir(fs, 0755), 0);
	AUTO_CLOSE int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(layers_write_about(fd, &about, NULL), 0);
	assert_int_equal(chdir(fs), 0);
}

static void begin(struct shop *w)
{
	*w = (struct shop){ .e = { 0 } };
	if (!has_maps)
		skip();
	in_store_open(&w->s);
	list_add(&w->hexes, HEX_A);
	AUTO_FREE char *word = idmaps_print(&maps);
	w->copies = text_format("%s/ranged/%s", w->s.path, word);
	layer(&w->s, HEX_A);
}

static int make(struct shop *w)
{
	return ranged_make(&w->s, &maps, &w->hexes, NULL, &w->e);
}

static void done(struct shop *w)
{
	struct list none = { 0 };
	struct ranged_collecting c = { .needed = &none };

	assert_int_equal(chdir("/"), 0);
	assert_int_equal(ranged_collect(&w->s, &c, &w->e), 0);
	list_done(&w->hexes);
	free(w->copies);
	store_done(&w->s);
}

static unsigned entries_of(const char *path)
{
	DIR *dir = opendir(path);
	unsigned count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		(void)closedir(dir);
	return dir ? count - 2 : 0;
}

/* Returns the status of a file in the copied layer. */
static struct stat copy_of(const struct shop *w, const char *path)
{
	AUTO_FREE char *at = text_format("%s/" HEX_A "/fs/%s", w->copies, path);
	struct stat st = { 0 };

	if (lstat(at, &st) < 0)
		fail_msg("%s: %s", at, strerror(errno));
	return st;
}

static ssize_t attribute_of(const struct shop *w, const char *path, const char *name)
{
	AUTO_FREE char *at = text_format("%s/" HEX_A "/fs/%s", w->copies, path);

	return lgetxattr(at, name, NULL, 0);
}

static void file(const char *path, mode_t mode, const char *stat)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, path, strlen(path)), strlen(path));
	if (stat)
		assert_int_equal(fsetxattr(fd, STAT, stat, strlen(stat), 0), 0);
	assert_int_equal(fchmod(fd, mode), 0);
}

static void folder(const char *path, mode_t mode, const char *stat)
{
	assert_int_equal(mkdir(path, 0700), 0);
	if (stat)
		assert_int_equal(setxattr(path, STAT, stat, strlen(stat), 0), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static uint32_t outside(const struct idmap *m, uint32_t id)
{
	return id < 1000    ? m[0].outside + id
	       : id == 1000 ? m[1].outside
			    : m[2].outside + id - 1001;
}

/* An attribute that does not have exactly three numbers is ignored, as in the
 * lookup of an image (merged.h). */
static void test_files_belong_to_whom_the_layer_says(void **state)
{
	static const struct {
		const char *name, *stat;
		mode_t mode;
		uint32_t uid, gid;
		mode_t is;
	} files[] = {
		{ "plain", NULL, 0644, 0, 0, 0644 },
		{ "suid", "33 34 4755", 0755, 33, 34, 04755 },
		{ "sgid", "0 42 2755", 0755, 0, 42, 02755 },
		{ "sticky", "0 0 1600", 0600, 0, 0, 01600 },
		{ "closed", "7 7 0", 0, 7, 7, 0 },
		{ "agents", "1000 1000 644", 0644, 1000, 1000, 0644 },
		{ "next", "1001 999 644", 0644, 1001, 999, 0644 },
		{ "last", "65535 65535 644", 0644, 65535, 65535, 0644 },
		{ "first", "65536 65536 6755", 0755, 65534, 65534, 06755 },
		{ "far", "4000000000 5 644", 0644, 65534, 5, 0644 },
		{ "words", "root root 4755", 0755, 0, 0, 0755 },
		{ "minus", "-1 -1 4755", 0755, 0, 0, 0755 },
		{ "short", "5 5", 0755, 0, 0, 0755 },
		{ "long", "5 5 4755 1", 0755, 0, 0, 0755 },
		{ "mode", "5 5 14755", 0755, 0, 0, 0755 },
	};
	struct shop w;

	(void)state;
	begin(&w);
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		file(files[i].name, files[i].mode, files[i].stat);
	assert_int_equal(make(&w), 0);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		struct stat st = copy_of(&w, files[i].name);
		if (st.st_uid != outside(maps.uids, files[i].uid) ||
		    st.st_gid != outside(maps.gids, files[i].gid) ||
		    (st.st_mode & 07777) != files[i].is)
			fail_msg("%s: %u:%u %o", files[i].name, st.st_uid, st.st_gid,
				 st.st_mode);
	}
	done(&w);
}

static void test_all_that_overlayfs_goes_by_is_kept(void **state)
{
	const struct timespec then[2] = { { 1000, 1 }, { 2000, 2 } };
	struct shop w;

	(void)state;
	begin(&w);
	folder("opaque", 0755, "9 9 2755");
	folder("shut", 0700, "5 5 700");
	file("opaque/file", 0644, "5 5 4711");
	file("shut/first", 0600, "6 6 600");
	assert_int_equal(link("shut/first", "twin"), 0);
	assert_int_equal(link("shut/first", "opaque/twin"), 0);
	assert_int_equal(symlink("../../../etc/passwd", "link") | mkfifo("pipe", 0600) |
			 chmod("pipe", 0620), 0);
	assert_int_equal(mknod("gone", S_IFCHR, makedev(0, 0)), 0);
	assert_int_equal(setxattr("opaque", OPAQUE, "y", 1, 0), 0);
	assert_int_equal(setxattr("opaque", "user.overlay.redirect", "/x", 2, 0), 0);
	assert_int_equal(setxattr("opaque", "user.k", "value", 5, 0), 0);
	assert_int_equal(setxattr(".", STAT, "3 4 755", 7, 0), 0);
	static const char *const timed[] = { "opaque/file", "opaque", "link", "pipe",
					     "" };
	for (size_t i = 0; i < ARRAY_LEN(timed); i++)
		assert_int_equal(utimensat(AT_FDCWD, *timed[i] ? timed[i] : ".", then,
					   AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(chmod(".", 0311), 0);
	assert_int_equal(make(&w), 0);
	for (size_t i = 0; i < ARRAY_LEN(timed); i++) {
		struct stat st = copy_of(&w, timed[i]);
		assert_int_equal(st.st_mtim.tv_sec * 10 + st.st_mtim.tv_nsec, 20002);
	}
	assert_int_equal(copy_of(&w, "").st_uid, outside(maps.uids, 3));
	assert_int_equal(copy_of(&w, "opaque").st_mode, S_IFDIR | 02755);
	assert_int_equal(attribute_of(&w, "opaque", OPAQUE), 1);
	assert_int_equal(attribute_of(&w, "opaque", "user.k"), 5);
	assert_int_equal(attribute_of(&w, "opaque", "user.overlay.redirect"), -1);
	assert_int_equal(attribute_of(&w, "opaque", STAT), -1);
	assert_int_equal(copy_of(&w, "gone").st_mode & S_IFMT, S_IFCHR);
	assert_int_equal(copy_of(&w, "gone").st_rdev, 0);
	assert_int_equal(copy_of(&w, "link").st_uid, outside(maps.uids, 0));
	assert_int_equal(copy_of(&w, "pipe").st_mode, S_IFIFO | 0620);
	assert_int_equal(copy_of(&w, "twin").st_ino, copy_of(&w, "opaque/twin").st_ino);
	assert_int_equal(copy_of(&w, "twin").st_nlink, 3);
	assert_int_equal(copy_of(&w, "twin").st_uid, outside(maps.uids, 6));
	done(&w);
}

static unsigned times_begun;
static struct ranged_todo todo;

static void on_begin(const struct ranged_todo *t)
{
	times_begun++;
	todo = *t;
}

static void test_a_present_copy_is_not_made_again(void **state)
{
	struct shop w;

	(void)state;
	begin(&w);
	times_begun = 0;
	for (int i = 0; i < 2; i++)
		assert_int_equal(ranged_make(&w.s, &maps, &w.hexes, on_begin, &w.e), 0);
	assert_int_equal(times_begun, 1);
	assert_int_equal(todo.layers, 1);
	assert_int_equal(todo.entries, 2);
	ino_t first = copy_of(&w, "").st_ino;
	layer(&w.s, HEX_B);
	list_add(&w.hexes, HEX_B);
	list_add(&w.hexes, HEX_A); /* an image may contain a layer twice */
	assert_int_equal(ranged_make(&w.s, &maps, &w.hexes, on_begin, &w.e), 0);
	assert_int_equal(times_begun, 2);
	assert_int_equal(todo.layers, 1);
	assert_int_equal(copy_of(&w, "").st_ino, first);
	assert_int_equal(entries_of(w.copies), 2);
	done(&w);
}

/* A copy that a killed process or a failure has left incomplete is removed. */
static void test_nothing_half_is_left(void **state)
{
	struct shop w;

	(void)state;
	begin(&w);
	assert_int_equal(make(&w), 0);
	AUTO_FREE char *made = text_format("%s/" HEX_A, w.copies);
	AUTO_FREE char *half = text_format("%s/.stage-0123", w.copies);
	assert_int_equal(rename(made, half), 0);
	file("more", 0644, NULL);
	assert_int_equal(make(&w), 0);
	assert_int_equal(entries_of(w.copies), 1);
	(void)copy_of(&w, "more");
	list_add(&w.hexes, HEX_B); /* the store has no layer B */
	assert_int_equal(make(&w), -1);
	assert_int_equal(w.e.kind, ERR_NOT_FOUND);
	assert_int_equal(entries_of(w.copies), 1);
	done(&w);
}

static void test_ids_that_are_not_granted_leave_nothing(void **state)
{
	struct idmaps others;
	struct shop w;

	(void)state;
	begin(&w);
	AUTO_FREE char *word = text_format("%u.%u.1.1", geteuid(), getegid());
	assert_int_equal(idmaps_parse(word, &others, &w.e), 0);
	assert_int_equal(ranged_make(&w.s, &others, &w.hexes, NULL, &w.e), -1);
	assert_int_equal(w.e.kind, ERR_REFUSED);
	assert_non_null(strstr(w.e.text, "newuidmap"));
	AUTO_FREE char *folder_of_others = text_format("%s/ranged/%s", w.s.path, word);
	assert_int_equal(entries_of(folder_of_others), 0);
	done(&w);
}

static void test_an_unused_copy_is_removed(void **state)
{
	struct list needed = { 0 };
	struct ranged_collecting c = { .needed = &needed, .only_looks = true };
	struct shop w;

	(void)state;
	begin(&w);
	folder("shut", 0, "5 5 0");
	file("x", 0, "6 6 4000");
	layer(&w.s, HEX_B);
	list_add(&w.hexes, HEX_B);
	list_add(&needed, HEX_B);
	assert_int_equal(make(&w), 0);
	assert_int_equal(ranged_bytes(&w.s), 1);
	assert_int_equal(ranged_collect(&w.s, &c, &w.e), 0);
	assert_int_equal(c.count, 1);
	assert_int_equal(c.bytes, 1);
	assert_int_equal(entries_of(w.copies), 2);
	c.only_looks = false;
	assert_int_equal(ranged_collect(&w.s, &c, &w.e), 0);
	assert_int_equal(entries_of(w.copies), 1);
	AUTO_FREE char *kept = text_format("%s/" HEX_B, w.copies);
	assert_int_equal(access(kept, F_OK), 0);
	assert_int_equal(ranged_remove(&w.s, HEX_B, &w.e), 0);
	assert_int_equal(entries_of(w.copies), 0);
	list_done(&needed);
	done(&w);
}

struct wrongs {
	unsigned count, sure;
};

static void on_wrong(void *context, const char *word, const char *hex, bool is_sure,
		     const struct err *why)
{
	struct wrongs *w = context;

	assert_string_equal(hex, HEX_A);
	assert_true(*word && why->kind != ERR_NONE);
	w->count++;
	w->sure += is_sure;
}

static void test_a_changed_copy_is_seen(void **state)
{
	struct wrongs wrongs = { 0 };
	struct ranged_verifying v = { .context = &wrongs, .on_wrong = on_wrong };
	struct shop w;

	(void)state;
	begin(&w);
	folder("shut", 0, "5 5 0");
	assert_int_equal(make(&w), 0);
	assert_int_equal(ranged_verify(&w.s, &v, &w.e), 0);
	assert_int_equal(v.count, 1);
	assert_int_equal(wrongs.count, 0);
	AUTO_FREE char *about = text_format("%s/" HEX_A "/about", w.copies);
	AUTO_FREE char *command = text_format("sed -i 's/^there .*/there 7/' %s", about);
	assert_int_equal(system(command), 0);
	assert_int_equal(ranged_verify(&w.s, &v, &w.e), 0);
	assert_int_equal(wrongs.count, 1);
	assert_int_equal(wrongs.sure, 1);
	done(&w);
}

/* As root, becomes a user with a range of subordinate ids. */
static void become(void)
{
	const struct passwd *pw = getpwuid(geteuid());

	if (access("/usr/bin/newuidmap", X_OK) < 0)
		return;
	has_maps = subids_of(pw, &maps);
	setpwent();
	while (geteuid() == 0 && !has_maps && (pw = getpwent()))
		has_maps = subids_of(pw, &maps);
	if (has_maps && geteuid() == 0 &&
	    (setgroups(0, NULL) < 0 ||
	     setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) < 0 ||
	     setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) < 0 ||
	     prctl(PR_SET_DUMPABLE, 1) < 0))
		abort();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, in_store_setup, scene_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_files_belong_to_whom_the_layer_says),
		TEST(test_all_that_overlayfs_goes_by_is_kept),
		TEST(test_a_present_copy_is_not_made_again),
		TEST(test_nothing_half_is_left),
		TEST(test_ids_that_are_not_granted_leave_nothing),
		TEST(test_an_unused_copy_is_removed),
		TEST(test_a_changed_copy_is_seen),
	};

	(void)umask(022);
	become();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
