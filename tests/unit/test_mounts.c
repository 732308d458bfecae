/* mounts: the steps of a plan are executed in new namespaces, and a process inside
 * checks the result. */
#include "sandbox/root/mounts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <stddef.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include "base/err.h"
#include "base/kernel.h"
#include "sandbox/plan/plan.h"
#include "sandbox/root/overlay_upper.h"
#include "tests/unit/refuse.h"
#include "tests/unit/scene.h"

#define SAFE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* A plan, and what is checked after it, for a child. */
struct world {
	struct plan plan;
	char *host; /* path of the test's folder on the host */
	/* Checks the result inside; NULL: the plan must fail. */
	void (*look)(const struct world *w);
	const char *says;
};

static struct step *add(struct world *w, enum step_kind kind, const char *target,
			mode_t mode, const char *data)
{
	struct step *s = plan_add(&w->plan, kind, target);

	s->mode = mode;
	s->data = data ? text_copy(data) : NULL;
	return s;
}

static struct step *add_bind(struct world *w, const char *source, const char *target,
			     uint64_t attr)
{
	struct step *s = plan_add(&w->plan, STEP_BIND, target);
	struct stat st;

	assert_int_equal(stat(source, &st), 0);
	s->source = text_copy(source);
	s->attr = attr;
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	s->is_dir = S_ISDIR(st.st_mode);
	s->from = "-v a:b";
	return s;
}

static void begin(struct world *w, void **state)
{
	*w = (struct world){ .host = *state };
	plan_init(&w->plan);
	add(w, STEP_ROOT, "/", 0, "size=1m");
}

/* The last run's report about its mounts. */
static struct mounted mounted;

static void run_steps(void *arg)
{
	const struct world *w = arg;
	struct err e = { 0 };

	(void)umask(0);
	if (mounts_run(&w->plan, -1, &mounted, &e) == 0 && w->look) {
		w->look(w);
		_exit(0);
	}
	if (w->says && strstr(e.text, w->says))
		_exit(0);
	(void)dprintf(2, "said: %s\n", e.text);
	_exit(1);
}

static void run(struct world *w)
{
	scene_first(run_steps, w);
	plan_done(&w->plan);
}

static void look_at_root(const struct world *w)
{
	struct stat st;
	char link[16] = { 0 };

	CHECK(scene_holds("/etc/name", "content"));
	CHECK(stat("/etc/name", &st) == 0 && (st.st_mode & 07777) == 0640);
	CHECK(stat("/dir/deep", &st) == 0 && (st.st_mode & 07777) == 01777);
	CHECK(readlink("/link", link, sizeof(link) - 1) == 4 && !strcmp(link, "/dir"));
	/* The root is sealed, except for the writable folders. */
	CHECK(mkdir("/x", 0755) < 0 && errno == EROFS);
	CHECK(open("/etc/name", O_WRONLY) < 0 && errno == EROFS);
	CHECK(mkdir("/scratch/x", 0755) == 0 && mkdir("/tmpfs/x", 0755) == 0);
	struct statvfs fs;
	CHECK(statvfs("/tmpfs", &fs) == 0 && fs.f_blocks * fs.f_frsize == 65536);
	CHECK(fs.f_flag & ST_NOSUID && fs.f_flag & ST_NODEV);
	/* After the change of the root, no path leads to the host's files. */
	CHECK(access(w->host, F_OK) < 0 && access("/usr", F_OK) < 0);
	CHECK(chdir("..") == 0 && access("usr", F_OK) < 0);
	CHECK(scene_open_fds() == 0); /* no /proc */
}

static void test_a_root_of_its_own(void **state)
{
	struct world w;

	begin(&w, state);
	add(&w, STEP_FILE, "/etc/name", 0640, "content");
	add(&w, STEP_DIR, "/dir/deep", 01777, NULL);
	add(&w, STEP_SYMLINK, "/link", 0, "/dir");
	add(&w, STEP_SCRATCH, "/scratch", 0755, NULL);
	add(&w, STEP_TMPFS, "/tmpfs", 0, "size=64k,mode=0755");
	add(&w, STEP_SEAL, "/", 0, NULL);
	w.look = look_at_root;
	run(&w);
}

static void look_at_logs(const struct world *w)
{
	(void)w;
	CHECK(mkdirat(mounted.logs, "made", 0755) == 0);
	CHECK(access("/run/log/made", F_OK) == 0);
	CHECK(mkdir("/run/log/other", 0755) < 0 && errno == EROFS);
}

static void test_logs_are_written_by_one_and_read_by_all(void **state)
{
	struct world w;

	begin(&w, state);
	add(&w, STEP_SCRATCH, "/run", 0755, NULL);
	add(&w, STEP_LOGS, "/run/log", 0, "size=64k,mode=0755");
	add(&w, STEP_SEAL, "/", 0, NULL);
	w.look = look_at_logs;
	run(&w);
}

static void look_at_binds(const struct world *w)
{
	struct statvfs fs;

	(void)w;
	CHECK(scene_holds("/ro/f", "x") && scene_holds("/file", "x"));
	CHECK(open("/ro/f", O_WRONLY) < 0 && errno == EROFS);
	CHECK(open("/file", O_WRONLY) < 0 && errno == EROFS);
	CHECK(mkdir("/rw/made", 0755) == 0);
	CHECK(statvfs("/rw", &fs) == 0);
	CHECK(fs.f_flag & ST_NOSUID && fs.f_flag & ST_NODEV && !(fs.f_flag & ST_RDONLY));
}

static void test_folders_and_files_of_the_host_are_shown(void **state)
{
	AUTO_FREE char *dir = scene_path(state, "src"),
		       *file = scene_path(state, "src/f");
	AUTO_FREE char *made = scene_path(state, "src/made");
	struct world w;

	scene_dir(state, "src");
	scene_file(state, "src/f", "x");
	begin(&w, state);
	add_bind(&w, dir, "/ro", SAFE | MOUNT_ATTR_RDONLY);
	add_bind(&w, dir, "/rw", SAFE);
	add_bind(&w, file, "/file", SAFE | MOUNT_ATTR_RDONLY);
	w.look = look_at_binds;
	run(&w);
	assert_int_equal(access(made, F_OK), 0);
}

/* mount(2) follows a link at the end of a path. */
static void run_without_mount(void *arg)
{
	refuse_call(SYS_mount, EXDEV);
	run_steps(arg);
}

static void look_at_volume(const struct world *w)
{
	(void)w;
	CHECK(scene_holds("/src/made", "x") && scene_holds("/src/below/f", "x"));
	CHECK(open("/src/made", O_WRONLY) < 0 && errno == EROFS);
}

/* Another sandbox that shows the same volume can replace a name by a link as soon as it
 * is made. */
static void test_no_link_is_followed_at_a_name_made_in_a_volume(void **state)
{
	AUTO_FREE char *volume = scene_path(state, "volume"),
		       *dir = scene_path(state, "shown"),
		       *file = scene_path(state, "shown/f");
	struct world w;

	scene_dir(state, "volume");
	scene_dir(state, "shown");
	scene_file(state, "shown/f", "x");
	begin(&w, state);
	add(&w, STEP_DIR, "/src", 0755,
	    NULL); /* a folder that exists needs no mount(2) */
	add_bind(&w, volume, "/src", SAFE);
	add_bind(&w, file, "/src/made", SAFE | MOUNT_ATTR_RDONLY);
	add_bind(&w, dir, "/src/below", SAFE | MOUNT_ATTR_RDONLY);
	w.look = look_at_volume;
	scene_first(run_without_mount, &w);
	plan_done(&w.plan);
}

static void look_at_cover(const struct world *w)
{
	(void)w;
	CHECK(scene_holds("/a/after", "x") && access("/a/before", F_OK) < 0);
	CHECK(scene_holds("/b/c/after", "x") && access("/b/c/before", F_OK) < 0);
	CHECK(scene_holds("/d/after", "x") && access("/d/link", F_OK) < 0);
}

/* A mount point's folder is cached.  When a file system is then mounted above that
 * folder, the next file must be made in the new file system. */
static void test_a_mount_covers_what_was_made_before(void **state)
{
	struct world w;

	begin(&w, state);
	add(&w, STEP_FILE, "/a/before", 0644, "x");
	add(&w, STEP_TMPFS, "/a", 0, "size=64k,mode=0755");
	add(&w, STEP_FILE, "/a/after", 0644, "x");
	add(&w, STEP_DIR, "/b", 0755, NULL);
	add(&w, STEP_SCRATCH, "/b/c", 0755, NULL);
	add(&w, STEP_FILE, "/b/c/before", 0644, "x");
	add(&w, STEP_TMPFS, "/b", 0, "size=64k,mode=0755");
	add(&w, STEP_FILE, "/b/c/after", 0644, "x");
	/* The mount point is a link to the cached folder itself, which the mount
	 * then covers. */
	add(&w, STEP_SYMLINK, "/d/link", 0, "/d");
	add(&w, STEP_TMPFS, "/d/link", 0, "size=64k,mode=0755");
	add(&w, STEP_FILE, "/d/after", 0644, "x");
	w.look = look_at_cover;
	run(&w);
}

/* A folder of the host is bound writable, so commands of an earlier sandbox may have
 * made any links in it. */
static void look_at_links(const struct world *w)
{
	struct statvfs fs;

	(void)w;
	CHECK(statvfs("/src/data/t", &fs) == 0 && fs.f_blocks * fs.f_frsize == 4096);
}

static void test_a_target_below_a_hostile_link_stays_inside(void **state)
{
	AUTO_FREE char *dir = scene_path(state, "hostile");
	AUTO_FREE char *made = scene_path(state, "hostile/data/t");
	struct world w;

	scene_dir(state, "hostile");
	scene_dir(state, "hostile/data");
	scene_link(state, "hostile/link", "/src/data");
	begin(&w, state);
	add_bind(&w, dir, "/src", SAFE);
	add(&w, STEP_TMPFS, "/src/link/t", 0, "size=4k,mode=0755");
	w.look = look_at_links;
	run(&w);
	assert_int_equal(access(made, F_OK), 0);
}

static void test_a_target_that_leads_out_is_an_error(void **state)
{
	AUTO_FREE char *dir = scene_path(state, "out"), *host = scene_path(state, "host");
	struct world w;

	scene_dir(state, "out");
	scene_dir(state, "host");
	scene_link(state, "out/link", host);
	begin(&w, state);
	add_bind(&w, dir, "/src", SAFE);
	add(&w, STEP_TMPFS, "/src/link", 0, "size=4k");
	w.says = "/src/link inside";
	run(&w);
}

/* A file that hutch makes replaces a link, and is never written through the link. */
static void look_at_file(const struct world *w)
{
	(void)w;
	CHECK(scene_holds("/src/hosts", "ours"));
}

static void test_a_file_replaces_a_link(void **state)
{
	AUTO_FREE char *dir = scene_path(state, "img"),
		       *victim = scene_path(state, "victim");
	struct world w;

	scene_dir(state, "img");
	scene_file(state, "victim", "safe");
	scene_link(state, "img/hosts", victim);
	begin(&w, state);
	add_bind(&w, dir, "/src", SAFE);
	add(&w, STEP_FILE, "/src/hosts", 0644, "ours");
	w.look = look_at_file;
	run(&w);
	assert_true(scene_holds(victim, "safe"));
}

static void test_a_source_that_was_replaced_is_refused(void **state)
{
	AUTO_FREE char *dir = scene_path(state, "pinned");
	struct world w;

	scene_dir(state, "pinned");
	begin(&w, state);
	add_bind(&w, dir, "/d", SAFE)->ino++;
	w.says = "was replaced while the sandbox was being made (from -v a:b)";
	run(&w);
	begin(&w, state);
	add_bind(&w, dir, "/d", SAFE)->dev++;
	w.says = "was replaced";
	run(&w);
	begin(&w, state);
	add_bind(&w, dir, "/d", SAFE);
	assert_int_equal(rmdir(dir), 0);
	w.says = "No such file or directory (from -v a:b)";
	run(&w);
}

/* Adds a prepared folder as /etc, and returns the bind over its empty folder ssl. */
static struct step *add_prepared(struct world *w, void **state)
{
	AUTO_FREE char *tree = scene_path(state, "tree"), *ssl = scene_path(state, "ssl");

	add_bind(w, tree, "/etc", MOUNT_ATTR_RDONLY | SAFE)->is_prepared = true;
	struct step *placed = add_bind(w, ssl, "/etc/ssl", MOUNT_ATTR_RDONLY | SAFE);
	placed->is_placed = true;
	return placed;
}

static void look_at_prepared(const struct world *w)
{
	static const char *const folders[] = { "/etc", "/etc/ssl" };
	struct statvfs fs;

	(void)w;
	CHECK(scene_holds("/etc/ssl/name", "content"));
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		CHECK(statvfs(folders[i], &fs) == 0 && fs.f_flag & ST_RDONLY);
		CHECK(fs.f_flag & ST_NOSUID && fs.f_flag & ST_NODEV);
	}
}

static void test_a_prepared_folder_and_the_binds_over_it_get_their_flags(void **state)
{
	struct world w;

	scene_dir(state, "tree");
	scene_dir(state, "tree/ssl");
	scene_dir(state, "ssl");
	scene_file(state, "ssl/name", "content");
	begin(&w, state);
	(void)add_prepared(&w, state);
	w.look = look_at_prepared;
	run(&w);
	begin(&w, state);
	add_prepared(&w, state)->ino++;
	w.says = "/ssl: it was replaced while the sandbox was being made";
	run(&w);
}

/* Targets in several folders, some of the same name.  "/etc" is the prepared folder. */
static const char *const crossing[] = { "/a/one", "/b/one",  "/a/two", "/a/three",
					"/etc",	  "/a/four", "/b/two" };

static void look_at_crossing(const struct world *w)
{
	(void)w;
	for (size_t i = 0; i < ARRAY_LEN(crossing); i++) {
		AUTO_FREE char *file = text_format("%s/is", crossing[i]);
		CHECK(!strcmp(crossing[i], "/etc") || scene_holds(file, crossing[i]));
	}
	CHECK(scene_holds("/etc/ssl/name", "content"));
}

static void test_binds_of_several_folders_meet_their_own_targets(void **state)
{
	struct world w;

	scene_dir(state, "tree");
	scene_dir(state, "tree/ssl");
	scene_dir(state, "ssl");
	scene_file(state, "ssl/name", "content");
	begin(&w, state);
	for (size_t i = 0; i < ARRAY_LEN(crossing); i++) {
		AUTO_FREE char *name = text_format("source%zu", i);
		AUTO_FREE char *file = text_format("%s/is", name);
		AUTO_FREE char *path = scene_path(state, name);
		scene_dir(state, name);
		scene_file(state, file, crossing[i]);
		if (strcmp(crossing[i], "/etc") != 0)
			add_bind(&w, path, crossing[i], SAFE);
		else
			(void)add_prepared(&w, state);
	}
	w.look = look_at_crossing;
	run(&w);
}

static void look_at_proc(const struct world *w)
{
	(void)w;
	CHECK(access("/proc/1/status", F_OK) == 0 && access("/proc/version", F_OK) == 0);
	CHECK(open("/proc/version", O_RDONLY) < 0 && errno == EACCES);
	CHECK(open("/proc/cmdline", O_RDONLY) < 0 && errno == EACCES);
	CHECK(open("/proc/irq", O_RDONLY) < 0 && errno == EACCES);
	CHECK(open("/proc/bus", O_RDONLY) < 0 && errno == EACCES);
	CHECK(open("/secret", O_RDONLY) < 0 && errno == EACCES);
	CHECK(open("/proc/sys/kernel/domainname", O_WRONLY) < 0);
	struct statvfs fs;
	CHECK(statvfs("/proc/sys", &fs) == 0 && fs.f_flag & ST_RDONLY);
	CHECK(access("/dev/pts/ptmx", R_OK | W_OK) == 0);
}

/* A look-up in the folder leaves no trace in the host's procfs, and the mount over
 * /proc/sys does not make it read-only. */
static void look_at_sysctls(const struct world *w)
{
	struct stat theirs, ours;

	(void)w;
	CHECK(fstat(mounted.sysctls, &theirs) == 0 && stat("/proc/sys", &ours) == 0);
	CHECK(theirs.st_dev == ours.st_dev);
	AUTO_CLOSE int fd =
		openat(mounted.sysctls, "user/max_user_namespaces", O_WRONLY | O_CLOEXEC);
	CHECK(fd >= 0 && write(fd, "0", 1) == 1);
	CHECK(open("/proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC) < 0);
	CHECK(errno == EROFS);
}

static void test_the_sysctls_of_the_new_procfs_are_left_open(void **state)
{
	struct world w;

	begin(&w, state);
	add(&w, STEP_DIR, "/proc", 0555, NULL);
	add(&w, STEP_PROC, "/proc", 0, NULL);
	add(&w, STEP_READONLY, "/proc/sys", 0, NULL);
	w.look = look_at_sysctls;
	run(&w);
}

static void test_masks_hide_what_they_cover(void **state)
{
	struct world w;

	begin(&w, state);
	add(&w, STEP_FILE, "/secret", 0666, "secret");
	add(&w, STEP_DIR, "/proc", 0555, NULL);
	add(&w, STEP_PROC, "/proc", 0, NULL);
	add(&w, STEP_MASK, "/proc/version", 0, NULL);
	add(&w, STEP_MASK, "/proc/irq", 0, NULL);
	/* The second mask of a kind is bound from the first (masks.h). */
	add(&w, STEP_MASK, "/proc/cmdline", 0, NULL);
	add(&w, STEP_MASK, "/proc/bus", 0, NULL);
	add(&w, STEP_MASK, "/proc/nonesuch", 0, NULL); /* absent in some kernels */
	add(&w, STEP_MASK, "/secret", 0, NULL);
	add(&w, STEP_READONLY, "/proc/sys", 0, NULL);
	add(&w, STEP_DIR, "/dev/pts", 0755, NULL);
	add(&w, STEP_DEVPTS, "/dev/pts", 0, NULL);
	w.look = look_at_proc;
	run(&w);
}

static void look_at_overlay(const struct world *w)
{
	(void)w;
	struct stat root, above;

	CHECK(stat("/", &root) == 0 && stat("/..", &above) == 0);
	CHECK(root.st_dev == above.st_dev && root.st_ino == above.st_ino);
	CHECK(scene_holds("/f", "x") && unlink("/f") == 0 && access("/f", F_OK) < 0);
	CHECK(mkdir("/d/new", 0755) == 0 && rename("/d/new", "/e") == 0);
	CHECK(rmdir("/d") == 0 && mkdir("/d", 0755) == 0 && rmdir("/e") == 0);
}

/* Adds an overlay as root, over the folder "lower" of the scene, which it makes. */
static struct step *add_overlay(struct world *w, void **state)
{
	AUTO_FREE char *dir = scene_path(state, "lower");
	struct stat st;

	*w = (struct world){ .host = *state };
	scene_dir(state, "lower");
	scene_dir(state, "lower/d");
	scene_file(state, "lower/f", "x");
	assert_int_equal(stat(dir, &st), 0);
	plan_init(&w->plan);
	struct step *s = add(w, STEP_OVERLAY, "/", 0, "size=1m");
	s->source = text_copy(dir);
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	(void)add(w, STEP_MERGE, "/", 0, NULL);
	return s;
}

static void test_an_image_that_is_written_to_stays_as_it_was(void **state)
{
	AUTO_FREE char *file = scene_path(state, "lower/f");
	AUTO_FREE char *kept = scene_path(state, "lower/d");
	struct world w;

	(void)add_overlay(&w, state);
	if (!overlay_upper_tmpfs_suffices()) {
		plan_done(&w.plan);
		skip(); /* this kernel's tmpfs has no user.* attributes */
	}
	w.look = look_at_overlay;
	run(&w);
	assert_true(scene_holds(file, "x"));
	assert_int_equal(access(kept, F_OK), 0);
}

/* Adds an overlay whose upper layer is in the folder `dir`, with the identity
 * that the host side saw. */
static void add_disk(struct world *w, void **state, const char *dir)
{
	struct step *s = add_overlay(w, state);
	struct stat st;

	assert_int_equal(stat(dir, &st), 0);
	s->upper = dir;
	s->upper_dev = st.st_dev;
	s->upper_ino = st.st_ino;
}

static void test_written_bytes_go_to_the_disk(void **state)
{
	AUTO_FREE char *disk = scene_path(state, "disk"),
		       *made = scene_path(state, "disk/upper/e");
	struct world w;

	scene_dir(state, "disk");
	scene_dir(state, "disk/upper");
	scene_dir(state, "disk/work");
	add_disk(&w, state, disk);
	w.look = look_at_overlay;
	run(&w);
	/* look_at_overlay() made this folder and removed it. */
	assert_int_equal(access(made, F_OK), -1);
	AUTO_FREE char *gone = scene_path(state, "disk/upper/f");
	assert_int_equal(access(gone, F_OK), 0); /* a whiteout */
}

static void test_a_disk_that_was_replaced_is_refused(void **state)
{
	AUTO_FREE char *disk = scene_path(state, "disk"), *old = scene_path(state, "old");
	struct world w;

	scene_dir(state, "disk");
	add_disk(&w, state, disk);
	assert_int_equal(rename(disk, old), 0);
	scene_dir(state, "disk");
	scene_dir(state, "disk/upper");
	scene_dir(state, "disk/work");
	w.says = "was replaced while the sandbox was being made";
	run(&w);
}

/* Both folders of the disk are symbolic links, which is refused.  An overlay needs
 * both on one mount, so a single link would fail in any case. */
static void test_the_folders_of_a_disk_are_no_links(void **state)
{
	AUTO_FREE char *disk = scene_path(state, "disk");
	AUTO_FREE char *upper = scene_path(state, "other/upper"),
		       *work = scene_path(state, "other/work");
	struct world w;

	scene_dir(state, "other");
	scene_dir(state, "other/upper");
	scene_dir(state, "other/work");
	scene_dir(state, "disk");
	scene_link(state, "disk/upper", upper);
	scene_link(state, "disk/work", work);
	add_disk(&w, state, disk);
	w.says = "mount the overlay";
	run(&w);
}

/* A test with a scene, that is a temporary folder, of its own. */
#define OVERLAY(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_root_of_its_own),
		cmocka_unit_test(test_logs_are_written_by_one_and_read_by_all),
		cmocka_unit_test(test_folders_and_files_of_the_host_are_shown),
		cmocka_unit_test(test_no_link_is_followed_at_a_name_made_in_a_volume),
		cmocka_unit_test(test_a_mount_covers_what_was_made_before),
		cmocka_unit_test(test_a_target_below_a_hostile_link_stays_inside),
		cmocka_unit_test(test_a_target_that_leads_out_is_an_error),
		cmocka_unit_test(test_a_file_replaces_a_link),
		cmocka_unit_test(test_a_source_that_was_replaced_is_refused),
		cmocka_unit_test(
			test_a_prepared_folder_and_the_binds_over_it_get_their_flags),
		OVERLAY(test_binds_of_several_folders_meet_their_own_targets),
		cmocka_unit_test(test_masks_hide_what_they_cover),
		cmocka_unit_test(test_the_sysctls_of_the_new_procfs_are_left_open),
		OVERLAY(test_an_image_that_is_written_to_stays_as_it_was),
		OVERLAY(test_written_bytes_go_to_the_disk),
		OVERLAY(test_a_disk_that_was_replaced_is_refused),
		OVERLAY(test_the_folders_of_a_disk_are_no_links),
	};

	scene_leave_root();
	return cmocka_run_group_tests(tests, scene_setup, scene_teardown);
}
