/* raw_mounts: the steps of a raw plan are done in new namespaces, and a process inside
 * checks the result. */
#include "sandbox/raw/raw_mounts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include "base/err.h"
#include "base/kernel.h"
#include "sandbox/kernel/pivot.h"
#include "sandbox/raw/raw_plan.h"
#include "tests/unit/scene.h"

#define SAFE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* A plan, and what is checked after it, for a child. */
struct world {
	struct raw_plan plan;
	const char *host; /* the path of the test's folder on the host */
	/* Checks the result inside; NULL: the plan must fail with `says`. */
	void (*look)(const struct world *w);
	const char *says;
};

static struct raw_step *add_bind(struct world *w, const char *source, const char *target,
				 uint64_t attr)
{
	struct raw_step *s = raw_plan_add(&w->plan, RAW_BIND, target);

	s->source = text_copy(source);
	s->is_tree = true;
	s->tree_flags.set = attr;
	return s;
}

static void add_text(struct world *w, enum raw_kind kind, const char *target, mode_t mode)
{
	struct raw_step *s = raw_plan_add(&w->plan, kind, target);

	s->mode = mode;
	s->fd = memfd_create("text", MFD_CLOEXEC);
	assert_int_equal(write(s->fd, "text", 4), 4);
	assert_int_equal(lseek(s->fd, 0, SEEK_SET), 0);
}

static void begin(struct world *w, void **state)
{
	*w = (struct world){ .host = *state };
	raw_plan_init(&w->plan);
}

static void run_steps(void *arg)
{
	const struct world *w = arg;
	struct err e = { 0 };
	int root = -1;

	(void)umask(0);
	if (raw_mounts_make(&w->plan, &root, &e) == 0 &&
	    pivot_into(root, false, &e) == 0 && w->look) {
		own_close(&root);
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
	raw_plan_done(&w->plan);
}

static bool is_readonly(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) == 0 && (fs.f_flag & ST_RDONLY);
}

static void look_at_host(const struct world *w)
{
	AUTO_FREE char *made = text_format("%s/made", w->host);
	AUTO_FREE char *up = text_format("/..%s/made", w->host);

	CHECK(is_readonly("/") && is_readonly("/.."));
	CHECK(mkdir(made, 0755) < 0 && errno == EROFS);
	CHECK(mkdir(up, 0755) < 0 && errno == EROFS);
	CHECK(chdir("/") == 0 && chdir("..") == 0 && mkdir("made", 0755) < 0);
	CHECK(errno == EROFS);
}

/* The new root is the host's own directory, so device and inode are those of the old one:
 * only the number of the mount tells them apart. */
static void test_the_hosts_root_shown_read_only_is_not_left_by_dots(void **state)
{
	struct world w;

	begin(&w, state);
	add_bind(&w, "/", "/", SAFE | MOUNT_ATTR_RDONLY);
	w.look = look_at_host;
	run(&w);
}

static void look_at_order(const struct world *w)
{
	CHECK(scene_holds("/x/f", "two") && !is_readonly("/x"));
	CHECK(access("/one/f", F_OK) == 0 && scene_holds("/one/f", "one"));
	CHECK(access("/absent", F_OK) < 0 && access(w->host, F_OK) < 0);
	CHECK(is_readonly("/one"));
}

static void test_steps_are_done_in_their_order(void **state)
{
	AUTO_FREE char *one = scene_path(state, "one"), *two = scene_path(state, "two");
	AUTO_FREE char *none = scene_path(state, "none");
	struct world w;

	scene_dir(state, "one");
	scene_dir(state, "two");
	scene_file(state, "one/f", "one");
	scene_file(state, "two/f", "two");
	begin(&w, state);
	add_bind(&w, one, "x//", SAFE);
	add_bind(&w, two, "/./x", SAFE);
	add_bind(&w, one, "/one", SAFE);
	raw_plan_add(&w.plan, RAW_REMOUNT, "/one")->flags.set = MOUNT_ATTR_RDONLY;
	add_bind(&w, none, "/absent", SAFE)->may_be_absent = true;
	w.look = look_at_order;
	run(&w);
}

static void test_a_source_that_is_absent_is_an_error(void **state)
{
	AUTO_FREE char *none = scene_path(state, "none");
	struct world w;

	begin(&w, state);
	add_bind(&w, none, "/none", SAFE)->from = "--bind none /none";
	w.says = "No such file or directory (from --bind none /none)";
	run(&w);
}

static void look_at_files(const struct world *w)
{
	struct stat st;
	char link[16] = { 0 };

	(void)w;
	CHECK(stat("/a/b", &st) == 0 && (st.st_mode & 07777) == 0700);
	CHECK(stat("/a", &st) == 0 && (st.st_mode & 07777) == 0705);
	CHECK(stat("/file", &st) == 0 && (st.st_mode & 07777) == 0604 &&
	      scene_holds("/file", "text"));
	CHECK(stat("/data", &st) == 0 && (st.st_mode & 07777) == 0640 &&
	      scene_holds("/data", "text"));
	CHECK(readlink("/link", link, sizeof(link) - 1) == 4 && !strcmp(link, "file"));
	CHECK(open("/data", O_WRONLY) >= 0 && unlink("/data") < 0 && errno == EBUSY);
}

static void test_files_have_the_modes_that_were_asked_for(void **state)
{
	struct world w;

	begin(&w, state);
	struct raw_step *dir = raw_plan_add(&w.plan, RAW_DIR, "/a/b");
	dir->mode = 0700;
	dir->parent_mode = 0705;
	add_text(&w, RAW_FILE, "/file", 0600);
	raw_plan_add(&w.plan, RAW_CHMOD, "/file")->mode = 0604;
	add_text(&w, RAW_DATA, "/data", 0640);
	raw_plan_add(&w.plan, RAW_SYMLINK, "/link")->source = text_copy("file");
	raw_plan_add(&w.plan, RAW_SYMLINK, "/link")->source = text_copy("file");
	w.look = look_at_files;
	run(&w);
}

static void test_a_link_to_another_place_is_an_error(void **state)
{
	struct world w;

	begin(&w, state);
	raw_plan_add(&w.plan, RAW_SYMLINK, "/link")->source = text_copy("a");
	raw_plan_add(&w.plan, RAW_SYMLINK, "/link")->source = text_copy("b");
	w.says = "make the link /link: existing destination is a";
	run(&w);
}

static void look_at_trap(const struct world *w)
{
	(void)w;
	CHECK(scene_holds("/inside/f", "secret"));
	CHECK(access("/inside/made", F_OK) == 0);
}

/* A link of a folder that the user may write leads, as a target, to a place inside. */
static void test_a_target_follows_no_link_to_the_host(void **state)
{
	AUTO_FREE char *trap = scene_path(state, "trap"), *aim = scene_path(state, "aim");
	AUTO_FREE char *link = scene_path(state, "trap/link");
	AUTO_FREE char *host = scene_path(state, "aim/made");
	AUTO_FREE char *inside = text_format("%s", aim);
	struct world w;

	scene_dir(state, "trap");
	scene_dir(state, "aim");
	scene_file(state, "aim/f", "secret");
	assert_int_equal(symlink("/inside", link), 0);
	begin(&w, state);
	add_bind(&w, trap, "/trap", SAFE);
	raw_plan_add(&w.plan, RAW_DIR, "/inside")->mode = 0755;
	add_bind(&w, inside, "/trap/link", SAFE);
	raw_plan_add(&w.plan, RAW_DIR, "/trap/link/made")->mode = 0755;
	w.look = look_at_trap;
	run(&w);
	assert_int_equal(access(host, F_OK), 0);
	assert_int_equal(access("/inside", F_OK), -1);
}

static void look_at_layers(const struct world *w)
{
	(void)w;
	CHECK(scene_holds("/merged/f", "upper") && scene_holds("/merged/low", "low"));
	CHECK(mkdir("/merged/made", 0755) == 0 && unlink("/merged/low") == 0);
	CHECK(access("/upper-0", F_OK) < 0 && access("/merged/upper-0", F_OK) < 0);
}

static void test_an_overlay_writes_to_memory(void **state)
{
	AUTO_FREE char *one = scene_path(state, "one"), *two = scene_path(state, "t:w,o");
	AUTO_FREE char *made = scene_path(state, "one/made");
	struct world w;

	scene_dir(state, "one");
	scene_dir(state, "t:w,o");
	scene_file(state, "one/f", "lower");
	scene_file(state, "one/low", "low");
	scene_file(state, "t:w,o/f", "upper");
	begin(&w, state);
	struct raw_step *s = raw_plan_add(&w.plan, RAW_OVERLAY, "/merged");
	list_add(&s->lowers, one);
	list_add(&s->lowers, two);
	s->is_scratch = true;
	w.look = look_at_layers;
	run(&w);
	assert_int_equal(access(made, F_OK), -1);
}

static void look_at_overlaid_root(const struct world *w)
{
	(void)w;
	CHECK(scene_holds("/f", "x") && scene_holds("/etc/g", "text"));
}

static void test_a_step_after_an_overlay_of_the_root_works_in_it(void **state)
{
	AUTO_FREE char *one = scene_path(state, "one");
	struct world w;

	scene_dir(state, "one");
	scene_file(state, "one/f", "x");
	begin(&w, state);
	struct raw_step *s = raw_plan_add(&w.plan, RAW_OVERLAY, "/");
	list_add(&s->lowers, one);
	s->is_scratch = true;
	add_text(&w, RAW_FILE, "/etc/g", 0644);
	w.look = look_at_overlaid_root;
	run(&w);
}

static void look_at_masks(const struct world *w)
{
	struct stat st;

	(void)w;
	CHECK(stat("/d/f", &st) == 0 && S_ISCHR(st.st_mode));
	CHECK(access("/d/dir/in", F_OK) < 0 && mkdir("/d/dir/x", 0755) < 0 && errno == EROFS);
	CHECK(is_readonly("/d/cover") && !is_readonly("/d"));
	CHECK(access("/proc/self/status", F_OK) == 0);
}

static void test_masks_hide_and_covers_make_read_only(void **state)
{
	AUTO_FREE char *d = scene_path(state, "d");
	struct world w;

	scene_dir(state, "d");
	scene_dir(state, "d/dir");
	scene_dir(state, "d/dir/in");
	scene_dir(state, "d/cover");
	scene_file(state, "d/f", "secret");
	begin(&w, state);
	add_bind(&w, d, "/d", SAFE);
	raw_plan_add(&w.plan, RAW_MOUNT, "/proc")->type = text_copy("proc");
	raw_plan_add(&w.plan, RAW_MASK, "/d/f");
	raw_plan_add(&w.plan, RAW_MASK, "/d/dir");
	raw_plan_add(&w.plan, RAW_MASK, "/d/absent");
	raw_plan_add(&w.plan, RAW_COVER, "/d/cover");
	raw_plan_add(&w.plan, RAW_COVER, "/d/absent");
	w.look = look_at_masks;
	run(&w);
}

static void look_at_fd(const struct world *w)
{
	(void)w;
	CHECK(scene_holds("/x/f", "x"));
}

static void test_a_source_may_be_a_descriptor(void **state)
{
	AUTO_FREE char *one = scene_path(state, "one");
	struct world w;

	scene_dir(state, "one");
	scene_file(state, "one/f", "x");
	begin(&w, state);
	raw_plan_add(&w.plan, RAW_BIND, "/x")->fd = open(one, O_PATH | O_CLOEXEC);
	w.look = look_at_fd;
	run(&w);
}

static void test_a_descriptor_whose_path_leads_elsewhere_is_refused(void **state)
{
	AUTO_FREE char *one = scene_path(state, "one"), *two = scene_path(state, "two");
	AUTO_FREE char *away = scene_path(state, "away");
	struct world w;

	scene_dir(state, "one");
	scene_dir(state, "two");
	begin(&w, state);
	const int fd = open(one, O_PATH | O_CLOEXEC);
	raw_plan_add(&w.plan, RAW_BIND, "/x")->fd = fd;
	assert_int_equal(rename(one, away), 0);
	assert_int_equal(rmdir(away), 0);
	w.says = "No such file or directory";
	run(&w);
}

/* From here on mknodat(2) reports success, and does nothing: the file is whatever another
 * process has put there. */
static void fake_mknod(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mknodat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { ARRAY_LEN(code), code };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void run_without_mknod(void *arg)
{
	fake_mknod();
	run_steps(arg);
}

static void test_a_link_in_the_place_of_a_device_gets_neither_owner_nor_mode(void **state)
{
	AUTO_FREE char *root = scene_path(state, "root");
	AUTO_FREE char *secret = scene_path(state, "secret");
	AUTO_FREE char *link = scene_path(state, "root/pipe");
	struct stat was, is;
	struct world w;

	scene_dir(state, "root");
	scene_file(state, "secret", "x");
	assert_int_equal(chmod(secret, 0600), 0);
	assert_int_equal(symlink(secret, link), 0);
	assert_int_equal(stat(secret, &was), 0);
	begin(&w, state);
	w.plan.root = root;
	struct raw_step *s = raw_plan_add(&w.plan, RAW_DEVICE, "/pipe");
	s->mode = S_IFIFO | 0666;
	s->uid = 1000;
	s->gid = 1000;
	w.says = "make the device /pipe: another file is there";
	scene_first(run_without_mknod, &w);
	raw_plan_done(&w.plan);
	assert_int_equal(stat(secret, &is), 0);
	assert_int_equal(is.st_mode, was.st_mode);
	assert_int_equal(is.st_uid, was.st_uid);
}

int main(void)
{
	scene_leave_root();
#define T(name) cmocka_unit_test_setup_teardown(name, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
		T(test_the_hosts_root_shown_read_only_is_not_left_by_dots),
		T(test_steps_are_done_in_their_order),
		T(test_a_source_that_is_absent_is_an_error),
		T(test_files_have_the_modes_that_were_asked_for),
		T(test_a_link_to_another_place_is_an_error),
		T(test_a_target_follows_no_link_to_the_host),
		T(test_an_overlay_writes_to_memory),
		T(test_a_step_after_an_overlay_of_the_root_works_in_it),
		T(test_masks_hide_and_covers_make_read_only),
		T(test_a_source_may_be_a_descriptor),
		T(test_a_descriptor_whose_path_leads_elsewhere_is_refused),
		T(test_a_link_in_the_place_of_a_device_gets_neither_owner_nor_mode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
