/* jail: the work in a jail tries operations that must fail there. */
#include "base/worker.h"
#include "sandbox/root/jail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "base/io.h"
#include "base/kernel.h"
#include "sandbox/kernel/idmap.h"
#include "sandbox/kernel/rlimits.h"
#include "tests/unit/scene.h"
#include "tests/unit/subids.h"

/* The result of work in the jail: the first check that failed there, with errno. */
struct report {
	int sys;
	char claim[200];
	uint64_t sum;
};

#define CLAIM(r, x) \
	do { \
		errno = 0; \
		if (!(x) && !(r)->claim[0]) { \
			(r)->sys = errno; \
			(void)snprintf((r)->claim, sizeof((r)->claim), "%s", #x); \
		} \
	} while (0)
#define NONE(r, x) CLAIM(r, (long)(x) == -1 && errno == ENOSYS)

#define BY_FD (AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW)

struct world {
	const char *folder, *beside; /* beside NULL: none */
	const struct idmaps *ranges; /* NULL: one id */
	enum jail_role role;
	bool reads_all;
	bool is_apart; /* the folder is a detached copy of a mount */
	uid_t uid;
	gid_t gid;
	uint64_t file_max;
	void (*work)(const void *arg, int folder, int in, void *result);
	struct report report;
	struct err e;
};

/* Makes a detached copy of the mount, as a caller with a mount namespace of its own
 * may. */
static int clone_apart(const char *path)
{
	struct idmap uid, gid;
	struct err e;

	(void)idmap_single(&uid, geteuid(), geteuid());
	(void)idmap_single(&gid, getegid(), getegid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		_exit(SCENE_NO_NAMESPACES);
	CHECK(idmap_write_both(&uid, &gid, &e) == 0);
	return sys_open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
}

/* Runs the work in a child, since the caller changes its own credentials for it. */
static void play(void *arg)
{
	struct world *w = arg;
	int in[2], leash[2];

	CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(leash, O_CLOEXEC) == 0);
	CHECK(write(in[1], "\1\2\3\4", 4) == 4 && close(in[1]) == 0);
	const struct jail j = {
		.folder = w->is_apart
				  ? clone_apart(w->folder)
				  : open(w->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.in = in[0],
		.leash = leash[1],
		.uid = w->uid,
		.gid = w->gid,
		.file_max = w->file_max,
		.work = w->work,
		.arg = w,
		.ranges = w->ranges,
		.role = w->role,
		.reads_all = w->reads_all,
		.result_len = sizeof(w->report),
		.beside = w->beside ? open(w->beside, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
				    : 0,
	};
	CHECK(j.folder >= 0 && j.beside >= 0);
	if (jail_run(&j, &w->report, &w->e) < 0)
		(void)dprintf(2, "%s\n", w->e.text);
	else if (w->report.claim[0])
		(void)dprintf(2, "in the jail: %s: %s\n", w->report.claim,
			      strerror(w->report.sys));
	else
		_exit(0);
	_exit(w->e.kind == ERR_REFUSED && !w->ranges ? SCENE_NO_NAMESPACES : 2);
}

static int run(const struct world *w)
{
	struct world mine = *w;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		play(&mine);
	int code = scene_child_code(pid);
	if (code == SCENE_NO_NAMESPACES)
		skip();
	return code;
}

static struct world world(void **state, void (*work)(const void *, int, int, void *))
{
	return (struct world){ .folder = *state, .uid = geteuid(), .gid = getegid(),
			       .file_max = 1 << 20, .work = work };
}

/* --- what it is for --------------------------------------------------------------- */

static void make_a_file(const void *arg, int folder, int in, void *result)
{
	struct report *r = result;
	uint8_t bytes[8];

	(void)arg;
	CLAIM(r, read(in, bytes, sizeof(bytes)) == 4);
	int fd = openat(folder, "new", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
	CLAIM(r, fd >= 0 && write(fd, bytes, 4) == 4 && fchmod(fd, 0640) == 0);
	CLAIM(r, mkdirat(folder, "below", 0755) == 0 &&
			 symlinkat("new", folder, "link") == 0);
	CLAIM(r, linkat(folder, "new", folder, "twin", 0) == 0);
}

static void make_what_layers_have(const void *arg, int folder, int in, void *result)
{
	struct report *r = result;

	(void)arg, (void)in;
	CLAIM(r, mknodat(folder, "pipe", S_IFIFO | 0600, 0) == 0);
	CLAIM(r, mknodat(folder, "gone", S_IFCHR, 0) == 0);
	CLAIM(r, fsetxattr(folder, "user.x", "1", 1, 0) == 0);
}

static void test_the_jail_makes_whiteouts_and_fifos(void **state)
{
	const struct world w = world(state, make_what_layers_have);
	AUTO_FREE char *pipe_path = scene_path(state, "pipe");
	AUTO_FREE char *gone = scene_path(state, "gone");
	struct stat st;

	assert_int_equal(run(&w), 0);
	assert_int_equal(stat(pipe_path, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(stat(gone, &st), 0);
	assert_true(S_ISCHR(st.st_mode) && st.st_rdev == 0);
}

static void test_the_jail_makes_files_in_the_folder_as_its_caller(void **state)
{
	const struct world w = world(state, make_a_file);
	AUTO_FREE char *file = scene_path(state, "new");
	struct stat st;

	assert_int_equal(run(&w), 0);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_uid, w.uid);
	assert_int_equal(st.st_gid, w.gid);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(st.st_mode, S_IFREG | 0640);
	assert_int_equal(st.st_nlink, 2);
}

static void test_roots_is_the_user_to_whom_the_folder_belongs(void **state)
{
	struct world w = world(state, make_a_file);
	struct stat st;

	if (geteuid() != 0)
		skip();
	AUTO_FREE char *file = scene_path(state, "new");
	w.uid = 1234;
	w.gid = 1235;
	assert_int_equal(chown(*state, 1234, 1235), 0);
	assert_int_equal(run(&w), 0);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_uid, 1234);
	assert_int_equal(st.st_gid, 1235);
}

/* --- what is refused ---------------------------------------------------------------- */

static void look_outside(const void *arg, int folder, int in, void *result)
{
	const struct world *w = arg;
	struct report *r = result;
	struct stat root, up;

	(void)in;
	for (int fd = 6; fd < 256; fd++)
		CLAIM(r, fcntl(fd, F_GETFD) < 0 && errno == EBADF);
	CLAIM(r, openat(folder, "here", O_RDONLY) >= 0);
	if (w->is_apart) {
		CLAIM(r, open("/here", O_RDONLY) < 0 && errno == ENOENT);
		CLAIM(r, mkdirat(AT_FDCWD, "/new", 0755) < 0 && errno == EROFS);
	} else {
		CLAIM(r, open("/here", O_RDONLY) >= 0);
	}
	CLAIM(r, open("/etc/passwd", O_RDONLY) < 0 && errno == ENOENT);
	CLAIM(r, open("/proc/self", O_RDONLY) < 0 && errno == ENOENT);
	CLAIM(r, open(w->folder, O_RDONLY) < 0 && errno == ENOENT);
	CLAIM(r, fstatat(folder, "..", &up, 0) == 0 && fstat(folder, &root) == 0);
	CLAIM(r, up.st_ino == root.st_ino && up.st_dev == root.st_dev);
	CLAIM(r,
	      openat(folder, "../../../../etc/passwd", O_RDONLY) < 0 && errno == ENOENT);
	CLAIM(r, openat(folder, "out", O_RDONLY) < 0 && errno == ENOENT);
}

static void test_nothing_but_the_folder_can_be_reached(void **state)
{
	const struct world w = world(state, look_outside);

	scene_file(state, "here", "x");
	scene_link(state, "out", "/etc/passwd");
	assert_int_equal(run(&w), 0);
}

/* The second folder is a read-only detached copy of a mount: writes to it are
 * refused, and no path leads from it to the rest of the host. */
static void look_beside(const void *arg, int folder, int in, void *result)
{
	const int beside = JAIL_BESIDE;
	struct report *r = result;
	struct stat up, root;

	(void)arg, (void)in;
	CLAIM(r, fcntl(JAIL_BESIDE + 1, F_GETFD) < 0 && errno == EBADF);
	int text = openat(beside, "text", O_RDONLY | O_NOFOLLOW);
	CLAIM(r, text >= 0);
	CLAIM(r, openat(beside, "text", O_WRONLY) < 0 && errno == EROFS);
	CLAIM(r, mkdirat(beside, "new", 0755) < 0 && errno == EROFS);
	CLAIM(r, fchmod(text, 0600) < 0 && errno == EROFS);
	CLAIM(r,
	      fstatat(beside, "..", &up, 0) == 0 && fstatat(beside, ".", &root, 0) == 0);
	CLAIM(r, up.st_ino == root.st_ino && up.st_dev == root.st_dev);
	CLAIM(r, openat(beside, "../folder", O_PATH) < 0 && errno == ENOENT);
	CLAIM(r, openat(folder, "../beside", O_PATH) < 0 && errno == ENOENT);
	int copy = openat(folder, "copy", O_WRONLY | O_CREAT | O_EXCL, 0600);
	CLAIM(r, copy_file_range(text, NULL, copy, NULL, 4, 0) == 4);
}

static void test_a_folder_beside_it_can_be_read_and_no_more(void **state)
{
	AUTO_FREE char *folder = scene_path(state, "folder");
	AUTO_FREE char *beside = scene_path(state, "beside");
	struct world w = world(state, look_beside);

	assert_int_equal(mkdir(folder, 0755) | mkdir(beside, 0755), 0);
	scene_file(state, "beside/text", "text");
	w.folder = folder;
	w.beside = beside;
	assert_int_equal(run(&w), 0);
}

static void test_a_folder_that_is_attached_nowhere_is_no_way_out(void **state)
{
	struct world w = world(state, look_outside);

	w.is_apart = true;
	scene_file(state, "here", "x");
	scene_link(state, "out", "/etc/passwd");
	assert_int_equal(run(&w), 0);
}

static void call_others(const void *arg, int folder, int in, void *result)
{
	struct report *r = result;
	struct clone_args args = { 0 };
	char *argv[] = { NULL };

	(void)arg, (void)in;
	NONE(r, socket(AF_UNIX, SOCK_STREAM, 0));
	NONE(r, syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	NONE(r, syscall(SYS_clone3, &args, sizeof(args)));
	NONE(r, syscall(SYS_execveat, folder, "here", argv, argv, 0));
	NONE(r, syscall(SYS_ptrace, PTRACE_TRACEME, 0, NULL, NULL));
	NONE(r, syscall(SYS_kill, -1, 0));
	NONE(r, syscall(SYS_tgkill, 1, 1, 0));
	NONE(r, syscall(SYS_mount, "x", "/below", "tmpfs", 0, NULL));
	NONE(r, syscall(SYS_fsopen, "proc", 0));
	NONE(r, syscall(SYS_open_tree, folder, "", 0));
	CLAIM(r, syscall(SYS_unshare, CLONE_NEWUSER) < 0 &&
			 errno == EPERM); /* the floor's */
	CLAIM(r, fcntl(0, F_SETPIPE_SZ, 1 << 20) < 0 && errno == EPERM);
	NONE(r, syscall(SYS_prctl, 0, 0, 0, 0, 0));
	NONE(r, syscall(SYS_mknodat, folder, "node", S_IFCHR | 0600, 0x103));
	NONE(r, syscall(SYS_mknodat, folder, "node", S_IFBLK | 0600, 0));
	NONE(r, syscall(SYS_mknodat, folder, "node", S_IFSOCK | 0600, 0));
	NONE(r, syscall(SYS_mknodat, folder, "node", S_IFREG | 0600, 0));
	NONE(r, syscall(SYS_fchownat, folder, "here", 1, 1, 0));
	CLAIM(r, syscall(SYS_fchownat, folder, "", 1, 1, BY_FD) < 0 && errno == EINVAL);
	NONE(r, syscall(SYS_setxattr, "/here", "user.x", "x", 1, 0));
	NONE(r, syscall(SYS_ioctl, folder, 0, 0));
	NONE(r, syscall(SYS_io_uring_setup, 1, NULL));
	NONE(r, syscall(SYS_prlimit64, 0, 0, NULL, NULL));
	NONE(r,
	     mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	NONE(r, mprotect((void *)0x1000, 4096, PROT_EXEC));
}

static void test_no_call_is_left_that_a_tar_does_not_take(void **state)
{
	const struct world w = world(state, call_others);

	assert_int_equal(run(&w), 0);
}

static void use_much(const void *arg, int folder, int in, void *result)
{
	struct report *r = result;
	int fd = openat(folder, "large", O_WRONLY | O_CREAT, 0600);

	(void)arg, (void)in;
	CLAIM(r, fd >= 0 && ftruncate(fd, 1 << 20) == 0);
	CLAIM(r, ftruncate(fd, (1 << 20) + 1) < 0 && errno == EFBIG);
	CLAIM(r, pwrite(fd, "x", 1, 1 << 20) < 0 && errno == EFBIG);
#ifndef __SANITIZE_ADDRESS__
	CLAIM(r, mmap(NULL, (size_t)JAIL_MEMORY_MAX, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
			 errno == ENOMEM);
#endif
}

static void test_memory_and_the_size_of_a_file_are_bounded(void **state)
{
	const struct world w = world(state, use_much);

	assert_int_equal(run(&w), 0);
}

static void wait_to_be_looked_at(const void *arg, int folder, int in, void *result)
{
	struct report *r = result;
	uint8_t byte;

	(void)arg, (void)folder;
	CLAIM(r, write(JAIL_OUT, "", 1) == 1); /* the work begins */
	CLAIM(r, read(in, &byte, 1) == 0);
}

/* The jail's memory must not reach a core handler of the host. */
static _Noreturn void look_at_limits(struct world *w)
{
	struct worker child;
	char limits[4096];
	struct rlimit own;
	int in[2], out[2];

	CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	const struct jail j = {
		.folder = open(w->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.in = in[0],
		.out = out[1],
		.uid = w->uid,
		.gid = w->gid,
		.work = w->work,
		.result_len = sizeof(w->report),
	};
	if (jail_start(&j, &child, &w->e) < 0)
		_exit(w->e.kind == ERR_REFUSED ? SCENE_NO_NAMESPACES : 2);
	CHECK(close(out[1]) == 0 && read(out[0], limits, 1) == 1);
	AUTO_FREE char *path = text_format("/proc/%d/limits", child.pid);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : io_read_full(fd, limits, sizeof(limits) - 1);
	CHECK(len > 0);
	limits[len] = '\0';
	const char *core = strstr(limits, "Max core file size");
	long soft = -1, hard = -1;
	CHECK(core && sscanf(core, "Max core file size %ld %ld", &soft, &hard) == 2);
	CHECK(getrlimit(RLIMIT_CORE, &own) == 0);
	CHECK(soft == (own.rlim_max ? RLIMITS_NO_CORE : 0) && hard == soft);
	CHECK(close(in[1]) == 0);
	CHECK(jail_wait(&child, &w->report, &w->e) == 0);
	CHECK(!w->report.claim[0]);
	_exit(0);
}

static void test_the_jail_leaves_no_core(void **state)
{
	struct world w = world(state, wait_to_be_looked_at);
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		look_at_limits(&w);
	int code = scene_child_code(pid);
	if (code == SCENE_NO_NAMESPACES)
		skip();
	assert_int_equal(code, 0);
}

/* A capability over its own namespace would open files that are closed to their
 * owner. */
static void open_a_closed_file(const void *arg, int folder, int in, void *result)
{
	struct report *r = result;

	(void)arg, (void)in;
	CLAIM(r, openat(folder, "closed", O_RDONLY) < 0 && errno == EACCES);
}

static void test_the_jail_has_no_capability(void **state)
{
	const struct world w = world(state, open_a_closed_file);
	AUTO_FREE char *file = scene_path(state, "closed");

	scene_file(state, "closed", "x");
	assert_int_equal(chmod(file, 0), 0);
	assert_int_equal(run(&w), 0);
}

static void error_set(const void *arg, int folder, int in, void *result)
{
	(void)arg, (void)folder, (void)in, (void)result;
	__builtin_trap();
}

static void test_work_that_dies_is_an_error(void **state)
{
	const struct world w = world(state, error_set);

	assert_int_equal(run(&w), 2);
}

/* --- ranges ----------------------------------------------------------------------- */

struct in_ranges {
	struct idmaps maps;
	struct world world;
};

static void ranges_begin(struct in_ranges *r, void **state, enum jail_role role,
			 void (*work)(const void *, int, int, void *))
{
	r->world = world(state, work);
	subids_find(&r->maps, &r->world.uid, &r->world.gid);
	r->world.ranges = &r->maps;
	r->world.role = role;
	if (geteuid() == 0)
		assert_int_equal(chown(*state, r->world.uid, r->world.gid), 0);
}

static int give(int folder, const char *name, uid_t uid, gid_t gid)
{
	return fchownat(folder, name, uid, gid, BY_FD);
}

/* Makes three files with other owners and a folder, whose owners outside the tests
 * then check. */
static void give_away(const void *arg, int folder, int in, void *result)
{
	struct report *r = result;

	(void)arg, (void)in;
	CLAIM(r, getuid() == 1000 && getgid() == 1000);
	int fd = openat(folder, "theirs", O_WRONLY | O_CREAT | O_EXCL, 0600);
	CLAIM(r, give(fd, "", 33, 34) == 0 && fchmod(fd, 06751) == 0);
	CLAIM(r, symlinkat("theirs", folder, "link") == 0 &&
			 give(folder, "link", 0, 0) == 0);
	int closed = openat(folder, "closed", O_WRONLY | O_CREAT | O_EXCL, 0);
	CLAIM(r, give(closed, "", 65535, 65535) == 0);
	CLAIM(r, linkat(folder, "closed", folder, "twin", 0) == 0);
	CLAIM(r,
	      mkdirat(folder, "sealed", 0700) == 0 && give(folder, "sealed", 5, 5) == 0);
	/* Ids beyond the range are refused. */
	CLAIM(r, give(folder, "link", 65537, 0) < 0 && errno == EINVAL);
	CLAIM(r, give(folder, "link", 1u << 31, 0) < 0 && errno == EINVAL);
	NONE(r, syscall(SYS_fchownat, folder, "link", 0, 0, 0));
	NONE(r, syscall(SYS_fchown, folder, 0, 0));
	CLAIM(r, openat(folder, "closed", O_RDONLY) < 0 && errno == EACCES);
	CLAIM(r, openat(folder, "closed", O_WRONLY) < 0 && errno == EACCES);
	CLAIM(r, mkdirat(folder, "sealed/x", 0700) < 0 && errno == EACCES);
	CLAIM(r, fsetxattr(fd, "security.capability",
			   "\1\0\0\2\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0", 20, 0) < 0 &&
			 errno == EPERM);
	CLAIM(r, fsetxattr(fd, "trusted.x", "x", 1, 0) < 0 && errno == EPERM);
	NONE(r, syscall(SYS_setresuid, 33, 33, 33));
	NONE(r, syscall(SYS_setgroups, 0, NULL));
	NONE(r, syscall(SYS_capset, NULL, NULL));
	NONE(r, syscall(SYS_mount, "x", "/sealed", "tmpfs", 0, NULL));
	NONE(r, syscall(SYS_chroot, "/sealed"));
	NONE(r, syscall(SYS_mknodat, folder, "node", S_IFCHR | 0600, 0x103));
}

static void test_with_ranges_files_are_given_to_others(void **state)
{
	AUTO_FREE char *theirs = scene_path(state, "theirs");
	AUTO_FREE char *link = scene_path(state, "link");
	AUTO_FREE char *twin = scene_path(state, "twin");
	AUTO_FREE char *sealed = scene_path(state, "sealed");
	struct in_ranges r;
	struct stat st;

	ranges_begin(&r, state, JAIL_GIVES, give_away);
	const uint32_t first = r.maps.uids[0].outside;
	assert_int_equal(run(&r.world), 0);
	assert_int_equal(stat(theirs, &st), 0);
	assert_int_equal(st.st_uid, first + 33);
	assert_int_equal(st.st_gid, r.maps.gids[0].outside + 34);
	assert_int_equal(st.st_mode, S_IFREG | 06751);
	assert_int_equal(lstat(link, &st), 0);
	assert_int_equal(st.st_uid, first);
	assert_int_equal(stat(twin, &st), 0);
	/* 1000 is not in the range, so the owner is the overflow id. */
	assert_int_equal(st.st_uid, first + 65534);
	assert_int_equal(st.st_nlink, 2);
	assert_int_equal(rmdir(sealed), 0);
}

static void make_sealed(const void *arg, int folder, int in, void *result)
{
	struct report *r = result;

	(void)arg, (void)in;
	CLAIM(r, mkdirat(folder, "sealed", 0700) == 0);
	CLAIM(r, close(openat(folder, "sealed/x", O_WRONLY | O_CREAT | O_EXCL, 0)) == 0);
	CLAIM(r,
	      give(folder, "sealed/x", 6, 6) == 0 && give(folder, "sealed", 5, 5) == 0);
}

static void remove_sealed(const void *arg, int folder, int in, void *result)
{
	struct report *r = result;

	(void)arg, (void)in;
	CLAIM(r, give(folder, "sealed/x", 7, 7) < 0 && errno == EPERM);
	CLAIM(r, give(folder, "", 5, 5) < 0 && errno == EPERM);
	CLAIM(r, unlinkat(folder, "sealed/x", 0) == 0);
	CLAIM(r, unlinkat(folder, "sealed", AT_REMOVEDIR) == 0);
}

static void read_sealed(const void *arg, int folder, int in, void *result)
{
	const struct world *w = arg;
	struct report *r = result;
	struct stat st;

	(void)in;
	CLAIM(r, (openat(folder, "sealed/x", O_RDONLY) >= 0) == w->reads_all);
	CLAIM(r, !w->reads_all ||
			 (fstatat(folder, "sealed/x", &st, 0) == 0 && st.st_uid == 6));
	CLAIM(r, openat(folder, "sealed/x", O_WRONLY) < 0 && errno == EACCES);
	CLAIM(r, give(folder, "sealed", 7, 7) < 0 && errno == EPERM);
	CLAIM(r, unlinkat(folder, "sealed/x", 0) < 0 && errno == EACCES);
}

/* Only the jail that removes may write to every folder, and only the jail that reads
 * may read every folder. */
static void test_with_ranges_each_role_does_what_it_is_for(void **state)
{
	AUTO_FREE char *sealed = scene_path(state, "sealed");
	struct in_ranges r;
	struct stat st;

	ranges_begin(&r, state, JAIL_GIVES, make_sealed);
	assert_int_equal(run(&r.world), 0);
	r.world.role = JAIL_READS;
	r.world.work = read_sealed;
	assert_int_equal(run(&r.world), 0);
	r.world.reads_all = true;
	assert_int_equal(run(&r.world), 0);
	r.world.reads_all = false;
	r.world.role = JAIL_REMOVES;
	r.world.work = remove_sealed;
	assert_int_equal(run(&r.world), 0);
	assert_int_equal(stat(sealed, &st), -1);
}

static void test_with_ranges_nothing_else_is_in_reach_either(void **state)
{
	static const enum jail_role roles[] = { JAIL_READS, JAIL_GIVES, JAIL_REMOVES };
	struct in_ranges r;

	ranges_begin(&r, state, JAIL_READS, look_outside);
	scene_file(state, "here", "x");
	scene_link(state, "out", "/etc/passwd");
	for (size_t i = 0; i < ARRAY_LEN(roles); i++) {
		r.world.role = roles[i];
		assert_int_equal(run(&r.world), 0);
	}
}

/* The jail's work gets an error, which the caller receives; no child is left to be
 * waited for. */
static void ask_for_others(void *arg)
{
	struct in_ranges *r = arg;
	struct world *w = &r->world;
	struct err e;
	int leash[2];

	CHECK(pipe2(leash, O_CLOEXEC) == 0);
	const struct jail j = {
		.folder = open(w->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.in = -1,
		.leash = leash[1],
		.uid = w->uid,
		.gid = w->gid,
		.ranges = w->ranges,
		.role = w->role,
		.work = w->work,
		.arg = w,
		.result_len = sizeof(w->report),
	};
	CHECK(jail_run(&j, &w->report, &e) < 0);
	if (e.kind != ERR_REFUSED || !strstr(e.text, "newuidmap"))
		(void)dprintf(2, "%s\n", e.text);
	CHECK(e.kind == ERR_REFUSED && strstr(e.text, "newuidmap"));
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static void test_ids_that_are_not_the_callers_are_an_error(void **state)
{
	struct in_ranges r;

	ranges_begin(&r, state, JAIL_GIVES, give_away);
	r.maps.uids[0].outside = 1;
	scene_child(ask_for_others, &r);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_jail_makes_files_in_the_folder_as_its_caller),
		TEST(test_the_jail_makes_whiteouts_and_fifos),
		TEST(test_roots_is_the_user_to_whom_the_folder_belongs),
		TEST(test_nothing_but_the_folder_can_be_reached),
		TEST(test_a_folder_beside_it_can_be_read_and_no_more),
		TEST(test_a_folder_that_is_attached_nowhere_is_no_way_out),
		TEST(test_no_call_is_left_that_a_tar_does_not_take),
		TEST(test_memory_and_the_size_of_a_file_are_bounded),
		TEST(test_the_jail_leaves_no_core),
		TEST(test_the_jail_has_no_capability),
		TEST(test_work_that_dies_is_an_error),
		TEST(test_with_ranges_files_are_given_to_others),
		TEST(test_with_ranges_each_role_does_what_it_is_for),
		TEST(test_with_ranges_nothing_else_is_in_reach_either),
		TEST(test_ids_that_are_not_the_callers_are_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
