#include "sandbox/root/etc_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>

#include <cmocka.h>

#include "base/clock.h"
#include "sandbox/plan/plan.h"
#include "tests/unit/scene.h"

#define END "0/1/2/3/4/5/6/7/8/9/a/b/c/d/e/f" /* the folder of the tree and of the key */

/* Adds the step that mounts the scene's file or folder, as sandbox/plan/image.c does. */
static struct step *add_bind(void **state, struct plan *p, const char *name,
			     const char *target)
{
	struct step *s = plan_add(p, STEP_BIND, target);
	struct stat st;

	s->source = scene_path(state, name);
	assert_int_equal(lstat(s->source, &st), 0);
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	s->size = st.st_size;
	s->changed_ns = clock_ns(&st.st_ctim);
	s->attr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	s->is_public = st.st_mode & S_IROTH;
	s->is_dir = S_ISDIR(st.st_mode);
	return s;
}

static struct step *add_text(struct plan *p, enum step_kind kind, const char *target,
			     const char *text)
{
	struct step *s = plan_add(p, kind, target);

	s->data = text_copy(text);
	s->mode = 0644;
	return s;
}

/* Plans a root with a file, a folder, a link and a file of hutch's in /etc. */
static void plan_some(void **state, struct plan *p)
{
	plan_init(p);
	plan_add(p, STEP_ROOT, "/");
	(void)add_bind(state, p, "services", "/etc/services");
	(void)add_bind(state, p, "ssl", "/etc/ssl");
	(void)add_text(p, STEP_SYMLINK, "/etc/localtime", "/usr/share/zoneinfo/UTC");
	(void)add_text(p, STEP_FILE, "/etc/X11/passwd", "root:x:0:0\n");
	plan_add(p, STEP_SCRATCH, "/tmp")->mode = 01777;
}

static int setup(void **state)
{
	if (scene_setup(state) < 0 || setenv("XDG_RUNTIME_DIR", *state, 1) < 0)
		return -1;
	scene_file(state, "services", "ssh 22/tcp\n");
	scene_dir(state, "ssl");
	return 0;
}

static void expect_content(const char *folder, const char *name, const char *wanted)
{
	AUTO_FREE char *path = text_format("%s/%s", folder, name);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[64] = "";

	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	assert_string_equal(text, wanted);
}

/* Returns the number of prepared folders. */
static size_t count_entries(void **state)
{
	AUTO_FREE char *path = scene_path(state, "hutch/.prepared");
	DIR *dir = opendir(path);
	size_t count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count - 2; /* . and .. */
}

static void test_single_files_are_copied_and_folders_stay_mounts(void **state)
{
	struct etc_folder f;
	struct plan p, q;

	plan_some(state, &p);
	etc_folder_init(&f);
	assert_true(etc_folder_use(&f, &p, true, &q));
	assert_int_equal(q.count, 4);
	assert_int_equal(p.count, 6);
	const struct step *folder = &q.steps[1], *ssl = &q.steps[2];
	assert_string_equal(folder->target, "/etc");
	assert_true(folder->attr & MOUNT_ATTR_RDONLY);
	expect_content(folder->source, "services", "ssh 22/tcp\n");
	expect_content(folder->source, "X11/passwd", "root:x:0:0\n");
	AUTO_FREE char *link = text_format("%s/localtime", folder->source);
	char to[64] = "";
	assert_true(readlink(link, to, sizeof(to) - 1) > 0);
	assert_string_equal(to, "/usr/share/zoneinfo/UTC");
	assert_string_equal(ssl->target, "/etc/ssl");
	assert_true(ssl->is_placed);
	assert_false(q.steps[3].is_placed);
	etc_folder_done(&f);
	plan_done(&p);
}

/* Uses a prepared folder for the plan of plan_some(), and returns its path, allocated. */
static char *use_once(void **state)
{
	struct etc_folder f;
	struct plan p, q;

	plan_some(state, &p);
	etc_folder_init(&f);
	assert_true(etc_folder_use(&f, &p, true, &q));
	char *path = text_copy(q.steps[1].source);
	etc_folder_done(&f);
	plan_done(&p);
	return path;
}

static void test_a_folder_is_made_only_if_it_may_be(void **state)
{
	struct etc_folder f;
	struct plan p, q;

	plan_some(state, &p);
	etc_folder_init(&f);
	assert_false(etc_folder_use(&f, &p, false, &q));
	assert_ptr_equal(q.steps, p.steps);
	etc_folder_make(&p);
	assert_true(etc_folder_use(&f, &p, false, &q));
	etc_folder_done(&f);
	plan_done(&p);
}

static void test_the_same_files_lead_to_the_same_folder(void **state)
{
	AUTO_FREE char *first = use_once(state), *second = use_once(state);

	assert_string_equal(first, second);
	assert_int_equal(count_entries(state), 1);
}

static void test_a_changed_file_leads_to_another_folder(void **state)
{
	AUTO_FREE char *first = use_once(state);
	scene_file(state, "services", "ssh 2222/tcp\n");
	AUTO_FREE char *second = use_once(state);

	assert_string_not_equal(first, second);
	expect_content(second, "services", "ssh 2222/tcp\n");
}

static void test_a_file_that_changes_after_the_plan_is_not_copied(void **state)
{
	struct etc_folder f;
	struct plan p, q;

	plan_some(state, &p);
	scene_file(state, "services", "changed\n");
	etc_folder_init(&f);
	assert_false(etc_folder_use(&f, &p, true, &q));
	assert_int_equal(q.count, 6);
	assert_int_equal(count_entries(state), 0);
	plan_done(&p);
}

static void test_a_file_that_is_closed_to_others_stays_a_mount(void **state)
{
	AUTO_FREE char *services = scene_path(state, "services");
	struct etc_folder f;
	struct plan p, q;

	assert_int_equal(chmod(services, 0640), 0);
	plan_some(state, &p);
	etc_folder_init(&f);
	assert_true(etc_folder_use(&f, &p, true, &q));
	assert_string_equal(q.steps[2].target, "/etc/services");
	expect_content(q.steps[1].source, "services", "");
	etc_folder_done(&f);
	plan_done(&p);
}

static void test_a_file_of_one_sandbox_is_not_kept(void **state)
{
	struct etc_folder f;
	struct plan p, q;

	plan_some(state, &p);
	add_text(&p, STEP_FILE, "/etc/hostname", "secret\n")->is_own = true;
	etc_folder_init(&f);
	assert_true(etc_folder_use(&f, &p, true, &q));
	expect_content(q.steps[1].source, "hostname", "");
	assert_true(q.steps[q.count - 1].is_placed);
	etc_folder_done(&f);
	plan_done(&p);
}

static void test_binds_follow_the_folder_at_once(void **state)
{
	struct etc_folder f;
	struct plan p, q;

	plan_some(state, &p);
	plan_add(&p, STEP_DIR, "/var");
	scene_dir(state, "fonts");
	(void)add_bind(state, &p, "fonts", "/etc/fonts");
	etc_folder_init(&f);
	assert_true(etc_folder_use(&f, &p, true, &q));
	assert_int_equal(q.count, 6);
	assert_true(q.steps[1].is_prepared);
	assert_string_equal(q.steps[2].target, "/etc/ssl");
	assert_string_equal(q.steps[3].target, "/etc/fonts");
	assert_true(q.steps[3].is_placed);
	etc_folder_done(&f);
	plan_done(&p);
}

static void test_a_bind_with_other_flags_needs_the_plans_own_steps(void **state)
{
	struct etc_folder f;
	struct plan p, q;

	plan_some(state, &p);
	p.steps[1].attr = 0;
	etc_folder_init(&f);
	assert_false(etc_folder_use(&f, &p, true, &q));
	etc_folder_done(&f);
	plan_done(&p);
}

static void test_a_mount_of_the_caller_in_etc_needs_the_plans_own_steps(void **state)
{
	static const char *const targets[] = { "/etc", "/etc/mine" };
	struct etc_folder f;

	for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
		struct plan p, q;
		plan_some(state, &p);
		add_bind(state, &p, "ssl", targets[i])->from = "-v";
		etc_folder_init(&f);
		assert_false(etc_folder_use(&f, &p, true, &q));
		assert_int_equal(q.count, 7);
		plan_done(&p);
	}
}

static int64_t changed_ns(const char *folder, const char *name)
{
	AUTO_FREE char *path = text_format("%s/%s", folder, name);
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return clock_ns(&st.st_ctim);
}

static void add_to_key(const char *entry)
{
	AUTO_FREE char *path = text_format("%s/" END "/key", entry);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_int_equal(write(fd, "more\n", 5), 5);
}

static void replace_key_by_fifo(const char *entry)
{
	AUTO_FREE char *path = text_format("%s/" END "/key", entry);

	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
}

static void open_to_group(const char *entry)
{
	assert_int_equal(chmod(entry, 0770), 0);
}

/* Removes a file of the tree at a later time of the kernel, which may be as coarse as a
 * tick. */
static void remove_services(const char *entry)
{
	AUTO_FREE char *path = text_format("%s/" END "/tree/services", entry);

	while (changed_ns(entry, END "/tree") <= changed_ns(entry, END "/key")) {
		AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		assert_true(fd >= 0 && unlink(path) == 0);
	}
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	return at->level ? remove(path) : 0;
}

/* Removes all that the entry has, as a program that removes old files does at last. */
static void empty(const char *entry)
{
	assert_int_equal(nftw(entry, remove_one, 64, FTW_DEPTH | FTW_PHYS), 0);
}

/* Returns the path of the entry of a tree, allocated. */
static char *entry_of(const char *tree)
{
	return text_format("%.*s", (int)(strlen(tree) - strlen("/" END "/tree")), tree);
}

/* Spoils an entry, and expects that the next use makes it anew. */
static void expect_anew(void **state, void (*spoil)(const char *entry))
{
	AUTO_FREE char *tree = use_once(state);
	AUTO_FREE char *entry = entry_of(tree);
	struct stat st;

	spoil(entry);
	AUTO_FREE char *again = use_once(state);
	assert_string_equal(again, tree);
	expect_content(again, "services", "ssh 22/tcp\n");
	assert_int_equal(stat(entry, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(count_entries(state), 1);
}

static void test_an_entry_with_another_key_is_made_anew(void **state)
{
	expect_anew(state, add_to_key);
}

static void test_a_fifo_in_place_of_the_key_is_not_waited_for(void **state)
{
	expect_anew(state, replace_key_by_fifo);
}

static void test_an_entry_that_others_may_write_to_is_made_anew(void **state)
{
	expect_anew(state, open_to_group);
}

static void test_an_entry_that_was_emptied_is_made_anew(void **state)
{
	expect_anew(state, empty);
}

static void test_an_entry_that_has_lost_a_file_is_made_anew(void **state)
{
	expect_anew(state, remove_services);
}

static void test_a_link_in_place_of_the_folder_of_entries_is_not_followed(void **state)
{
	AUTO_FREE char *tree = use_once(state);
	AUTO_FREE char *entries = scene_path(state, "hutch/.prepared");
	AUTO_FREE char *moved = scene_path(state, "moved");
	struct etc_folder f;
	struct plan p, q;

	assert_int_equal(rename(entries, moved), 0);
	assert_int_equal(symlink(moved, entries), 0);
	plan_some(state, &p);
	etc_folder_init(&f);
	assert_false(etc_folder_use(&f, &p, true, &q));
	plan_done(&p);
}

static void test_an_entry_that_is_spoilt_and_in_use_is_left_alone(void **state)
{
	struct etc_folder alive, f;
	struct plan p, q, again, unused;

	plan_some(state, &p);
	etc_folder_init(&alive);
	assert_true(etc_folder_use(&alive, &p, true, &q));
	AUTO_FREE char *entry = entry_of(q.steps[1].source);
	add_to_key(entry);
	plan_some(state, &again);
	etc_folder_init(&f);
	assert_false(etc_folder_use(&f, &again, true, &unused));
	expect_content(q.steps[1].source, "services", "ssh 22/tcp\n");
	etc_folder_done(&alive);
	plan_done(&p);
	plan_done(&again);
}

static void test_the_callers_umask_does_not_count(void **state)
{
	const mode_t was = umask(0077);
	AUTO_FREE char *tree = use_once(state);
	AUTO_FREE char *folder = text_format("%s/X11", tree);
	AUTO_FREE char *file = text_format("%s/X11/passwd", tree);
	const char *const paths[] = { tree, folder, file };
	static const mode_t modes[] = { 0755, 0755, 0644 };
	struct stat st;

	assert_int_equal(umask(was), 0077);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		assert_int_equal(stat(paths[i], &st), 0);
		assert_int_equal(st.st_mode & 0777, modes[i]);
	}
}

static void test_entries_that_no_sandbox_uses_are_removed(void **state)
{
	struct etc_folder alive;
	struct plan p, q;

	plan_some(state, &p);
	etc_folder_init(&alive);
	assert_true(etc_folder_use(&alive, &p, true, &q));
	for (int i = 1; i < ETC_ENTRIES_MAX; i++) {
		AUTO_FREE char *text = text_format("%0*d\n", i, i);
		scene_file(state, "services", text);
		AUTO_FREE char *unused = use_once(state);
	}
	assert_int_equal(count_entries(state), ETC_ENTRIES_MAX);
	scene_file(state, "services", "one more, of another size\n");
	AUTO_FREE char *last = use_once(state);
	assert_int_equal(count_entries(state), 2);
	expect_content(q.steps[1].source, "services", "ssh 22/tcp\n");
	expect_content(last, "services", "one more, of another size\n");
	etc_folder_done(&alive);
	plan_done(&p);
}

/* Plays a program that removes old files: it removes all but the tree, which is busy with
 * newer files, and spares folders that are locked if `spares`, as systemd-tmpfiles(8) does.
 * Returns the depth of the first folder that it spares, or -1. */
static int clean(const char *entry, bool spares)
{
	AUTO_FREE char *key = text_format("%s/" END "/key", entry);

	for (int i = 0; i < 16 && spares; i++) {
		AUTO_FREE char *path = text_format("%s/%.*s", entry, 2 * i + 1, END);
		AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (flock(fd, LOCK_EX | LOCK_NB) < 0)
			return i;
	}
	assert_int_equal(unlink(key), 0);
	for (int i = 15; i >= 0; i--) {
		AUTO_FREE char *path = text_format("%s/%.*s", entry, 2 * i + 1, END);
		assert_int_equal(rmdir(path), -1);
	}
	return -1;
}

static void test_a_cleaned_entry_is_kept_for_the_sandbox_that_uses_it(void **state)
{
	struct etc_folder alive;
	struct plan p, q;

	plan_some(state, &p);
	etc_folder_init(&alive);
	assert_true(etc_folder_use(&alive, &p, true, &q));
	AUTO_FREE char *entry = entry_of(q.steps[1].source);
	assert_int_equal(clean(entry, true), getpid() % 16);
	assert_int_equal(clean(entry, false), -1);
	for (int i = 1; i < ETC_ENTRIES_MAX + 3; i++) {
		AUTO_FREE char *text = text_format("%0*d\n", i, i);
		scene_file(state, "services", text);
		AUTO_FREE char *unused = use_once(state);
	}
	expect_content(q.steps[1].source, "services", "ssh 22/tcp\n");
	etc_folder_done(&alive);
	plan_done(&p);
}

/* As many prepared folders as there may be, each with one of its locks held. */
static void test_each_of_its_locks_keeps_an_entry(void **state)
{
	int locks[ETC_ENTRIES_MAX];
	struct etc_folder f;
	struct plan p, q;

	for (unsigned i = 0; i < ETC_ENTRIES_MAX; i++) {
		AUTO_FREE char *text = text_format("%0*u\n", i + 1, i);
		scene_file(state, "services", text);
		AUTO_FREE char *tree = use_once(state);
		AUTO_FREE char *entry = entry_of(tree);
		AUTO_FREE char *lock =
			text_format("%s/%.*s", entry, (int)(2 * i + 1), END);
		locks[i] = open(lock, O_RDONLY | O_CLOEXEC);
		assert_true(locks[i] >= 0 && flock(locks[i], LOCK_SH) == 0);
	}
	scene_file(state, "services", "one more, of another size\n");
	plan_some(state, &p);
	etc_folder_init(&f);
	assert_false(etc_folder_use(&f, &p, true, &q));
	assert_int_equal(count_entries(state), ETC_ENTRIES_MAX);
	own_close(&locks[ETC_ENTRIES_MAX - 1]);
	assert_true(etc_folder_use(&f, &p, true, &q));
	assert_int_equal(count_entries(state), ETC_ENTRIES_MAX);
	for (unsigned i = 0; i < ETC_ENTRIES_MAX; i++)
		own_close(&locks[i]);
	etc_folder_done(&f);
	plan_done(&p);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, scene_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_single_files_are_copied_and_folders_stay_mounts),
		TEST(test_a_folder_is_made_only_if_it_may_be),
		TEST(test_the_same_files_lead_to_the_same_folder),
		TEST(test_a_changed_file_leads_to_another_folder),
		TEST(test_a_file_that_changes_after_the_plan_is_not_copied),
		TEST(test_a_file_that_is_closed_to_others_stays_a_mount),
		TEST(test_a_file_of_one_sandbox_is_not_kept),
		TEST(test_binds_follow_the_folder_at_once),
		TEST(test_a_bind_with_other_flags_needs_the_plans_own_steps),
		TEST(test_a_mount_of_the_caller_in_etc_needs_the_plans_own_steps),
		TEST(test_an_entry_with_another_key_is_made_anew),
		TEST(test_a_fifo_in_place_of_the_key_is_not_waited_for),
		TEST(test_an_entry_that_others_may_write_to_is_made_anew),
		TEST(test_an_entry_that_has_lost_a_file_is_made_anew),
		TEST(test_an_entry_that_was_emptied_is_made_anew),
		TEST(test_an_entry_that_is_spoilt_and_in_use_is_left_alone),
		TEST(test_each_of_its_locks_keeps_an_entry),
		TEST(test_a_cleaned_entry_is_kept_for_the_sandbox_that_uses_it),
		TEST(test_a_link_in_place_of_the_folder_of_entries_is_not_followed),
		TEST(test_the_callers_umask_does_not_count),
		TEST(test_entries_that_no_sandbox_uses_are_removed),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
