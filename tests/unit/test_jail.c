/* Work in the jail that tries what it must not be able to do. */
#include "sandbox/jail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/kernel.h"
#include "tests/unit/scene.h"

/* What the jail says: the first claim that did not hold. */
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

struct world {
	const char *folder;
	uid_t uid;
	gid_t gid;
	uint64_t file_max;
	void (*work)(const void *arg, int folder, int in, void *result);
	struct report report;
	struct err e;
};

/* In a child: who calls is not what it was. */
static void play(void *arg)
{
	struct world *w = arg;
	int in[2], leash[2];

	CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(leash, O_CLOEXEC) == 0);
	CHECK(write(in[1], "\1\2\3\4", 4) == 4 && close(in[1]) == 0);
	const struct jail j = {
		.folder = open(w->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.in = in[0], .leash = leash[1], .uid = w->uid, .gid = w->gid,
		.file_max = w->file_max, .work = w->work, .arg = w,
		.result_len = sizeof(w->report),
	};
	CHECK(j.folder >= 0);
	if (jail_run(&j, &w->report, &w->e) < 0)
		(void)dprintf(2, "%s\n", w->e.text);
	else if (w->report.claim[0])
		(void)dprintf(2, "in the jail: %s: %s\n", w->report.claim,
			      strerror(w->report.sys));
	else
		_exit(0);
	_exit(w->e.kind == ERR_REFUSED ? SCENE_NO_NAMESPACES : 2);
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
	CLAIM(r, mkdirat(folder, "below", 0755) == 0 && symlinkat("new", folder, "link") == 0);
	CLAIM(r, linkat(folder, "new", folder, "twin", 0) == 0);
}

static void test_it_makes_files_in_the_folder_as_its_caller(void **state)
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
	CLAIM(r, open("/here", O_RDONLY) >= 0);
	CLAIM(r, open("/etc/passwd", O_RDONLY) < 0 && errno == ENOENT);
	CLAIM(r, open("/proc/self", O_RDONLY) < 0 && errno == ENOENT);
	CLAIM(r, open(w->folder, O_RDONLY) < 0 && errno == ENOENT);
	CLAIM(r, fstatat(folder, "..", &up, 0) == 0 && fstat(folder, &root) == 0);
	CLAIM(r, up.st_ino == root.st_ino && up.st_dev == root.st_dev);
	CLAIM(r, openat(folder, "../../../../etc/passwd", O_RDONLY) < 0 && errno == ENOENT);
	CLAIM(r, openat(folder, "out", O_RDONLY) < 0 && errno == ENOENT);
}

static void test_nothing_but_the_folder_can_be_reached(void **state)
{
	const struct world w = world(state, look_outside);

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
	CLAIM(r, syscall(SYS_unshare, CLONE_NEWUSER) < 0 && errno == EPERM); /* the floor's */
	CLAIM(r, fcntl(0, F_SETPIPE_SZ, 1 << 20) < 0 && errno == EPERM);
	NONE(r, syscall(SYS_prctl, 0, 0, 0, 0, 0));
	NONE(r, syscall(SYS_mknodat, folder, "node", S_IFIFO | 0600, 0));
	NONE(r, syscall(SYS_fchownat, folder, "here", 1, 1, 0));
	NONE(r, syscall(SYS_fsetxattr, folder, "user.x", "x", 1, 0));
	NONE(r, syscall(SYS_ioctl, folder, 0, 0));
	NONE(r, syscall(SYS_io_uring_setup, 1, NULL));
	NONE(r, syscall(SYS_prlimit64, 0, 0, NULL, NULL));
	NONE(r, mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
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
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == ENOMEM);
#endif
}

static void test_memory_and_the_size_of_a_file_are_bounded(void **state)
{
	const struct world w = world(state, use_much);

	assert_int_equal(run(&w), 0);
}

/* A capability over its own namespace would open files that are closed to it. */
static void open_a_closed_file(const void *arg, int folder, int in, void *result)
{
	struct report *r = result;

	(void)arg, (void)in;
	CLAIM(r, openat(folder, "closed", O_RDONLY) < 0 && errno == EACCES);
}

static void test_it_has_no_capability(void **state)
{
	const struct world w = world(state, open_a_closed_file);
	AUTO_FREE char *file = scene_path(state, "closed");

	scene_file(state, "closed", "x");
	assert_int_equal(chmod(file, 0), 0);
	assert_int_equal(run(&w), 0);
}

static void fault(const void *arg, int folder, int in, void *result)
{
	(void)arg, (void)folder, (void)in, (void)result;
	__builtin_trap();
}

static void test_work_that_dies_is_an_error(void **state)
{
	const struct world w = world(state, fault);

	assert_int_equal(run(&w), 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_it_makes_files_in_the_folder_as_its_caller),
		TEST(test_roots_is_the_user_to_whom_the_folder_belongs),
		TEST(test_nothing_but_the_folder_can_be_reached),
		TEST(test_no_call_is_left_that_a_tar_does_not_take),
		TEST(test_memory_and_the_size_of_a_file_are_bounded),
		TEST(test_it_has_no_capability),
		TEST(test_work_that_dies_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
