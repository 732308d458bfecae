/* spawn: makes pid 1 of a sandbox from a plan.  This program is also the executor:
 * started as such, it checks its surroundings, and sends everything that is wrong
 * through the channel. */
#include "sandbox/launch/spawn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/err.h"
#include "base/io.h"
#include "policy/policy.h"
#include "sandbox/kernel/host_user.h"
#include "sandbox/kernel/program.h"
#include "sandbox/kernel/seccomp.h"
#include "sandbox/plan/plan.h"
#include "tests/unit/scene.h"

#define EXECUTOR "hutch-executor"
/* The executor's argument: the capabilities that users other than root get. */
#define OTHER_CAPS "15"
#define CHANNEL	 3
#define PROC	 4
#define LOOKED	 42 /* exit code of the executor after its checks */

/* CHECK() for the executor, which can report a failure only through the channel. */
#define INSIDE(claim) ((claim) ? (void)0 : complain(#claim))

__attribute__((noreturn)) static void complain(const char *claim)
{
	(void)send(CHANNEL, claim, strlen(claim), MSG_NOSIGNAL);
	_exit(1);
}

/* Checks that the procfs shows the processes of this pid namespace, and no others. */
static void look_at_own_proc(void)
{
	struct statfs fs;
	char self[16] = { 0 };

	INSIDE(fstatfs(PROC, &fs) == 0 && fs.f_type == 0x9fa0);
	INSIDE(readlinkat(PROC, "self", self, sizeof(self)) == 1 && self[0] == '1');
	INSIDE(faccessat(PROC, "1/stat", R_OK, 0) == 0);
	INSIDE(faccessat(PROC, "sys", F_OK, 0) < 0 && errno == ENOENT);
	INSIDE(faccessat(PROC, "../etc", F_OK, 0) < 0); /* it is mounted nowhere */
}

static void look_at_descriptors(void)
{
	struct stat st;

	for (int fd = 0; fd < CHANNEL; fd++) {
		INSIDE(fstat(fd, &st) == 0 && S_ISCHR(st.st_mode));
		INSIDE(st.st_rdev == makedev(1, 3));
	}
	INSIDE(fstat(CHANNEL, &st) == 0 && S_ISSOCK(st.st_mode));
	/* "." and "..", four or five descriptors of the executor, and the one that
	 * lists them. */
	INSIDE(scene_open_fds() == 2u + 4 + 1 + (fstat(PROC, &st) == 0));
	if (fstat(PROC, &st) == 0)
		look_at_own_proc();
}

static bool says(const char *file, const char *line)
{
	static char text[65536];
	AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t len = read(fd, text, sizeof(text) - 1);

	text[len > 0 ? len : 0] = '\0';
	return strstr(text, line) != NULL;
}

static void look_at_rights(void)
{
	/* With a procfs the executor keeps CAP_SYS_PTRACE, which commands do not
	 * inherit. */
	const bool traces = faccessat(PROC, "1/stat", F_OK, 0) == 0;
	const char *own = traces ? "\nCapPrm:\t0000000000080000\n"
				 : "\nCapPrm:\t0000000000000000\n";

	INSIDE(getpid() == 1 && getppid() == 0);
	INSIDE(getuid() == 1000 && getgid() == 1000);
	INSIDE(says("/proc/self/status", "\nNoNewPrivs:\t1\n"));
	INSIDE(says("/proc/self/status", "\nSeccomp:\t2\n"));
	INSIDE(says("/proc/self/status", own));
	INSIDE(says("/proc/self/status", "\nCapBnd:\t0000000000000000\n"));
	INSIDE(says("/proc/self/status", "\nSigBlk:\t0000000000000000\n"));
	INSIDE(unshare(CLONE_NEWUSER) < 0);
	INSIDE(open("/proc/self/exe", O_WRONLY) < 0);
	int death = 0;
	INSIDE(prctl(PR_GET_PDEATHSIG, &death) == 0 && death == SIGKILL);
}

static void look_at_world(void)
{
	char name[64], cwd[64];
	extern char **environ;

	INSIDE(gethostname(name, sizeof(name)) == 0 && !strcmp(name, "hutch"));
	INSIDE(getcwd(cwd, sizeof(cwd)) && !strcmp(cwd, "/"));
	INSIDE(!environ || !*environ);
	INSIDE(umask(0) == 022);
	INSIDE(access("/usr", R_OK) == 0 && mkdir("/x", 0755) < 0 && errno == EROFS);
	INSIDE(access("/tmp", W_OK) == 0 && access("/root", F_OK) < 0);
	INSIDE(access("/etc/shadow", F_OK) < 0);
	INSIDE(open("/proc/keys", O_RDONLY) < 0);
}

static int look_around(void)
{
	look_at_descriptors();
	look_at_rights();
	look_at_world();
	_exit(LOOKED);
}

struct world {
	struct policy policy;
	struct plan plan;
	struct program program;
	struct seccomp_program filter;
	struct sandbox box;
	bool has_proc;
	struct err e;
};

static int world_setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	const struct host_user user = { .uid = geteuid(), .gid = getegid() };
	char self[PATH_MAX] = { 0 };
	struct stat st;

	if (!w || readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return -1;
	policy_init(&w->policy);
	plan_init(&w->plan);
	sandbox_init(&w->box);
	seccomp_default(SECCOMP_FLAT, &w->filter);
	list_add(&w->policy.argv, "true");
	w->program = (struct program){ .path = text_copy(self),
				       .fd = open(self, O_RDONLY | O_CLOEXEC) };
	if (fstat(w->program.fd, &st) < 0)
		return -1;
	w->program.dev = st.st_dev;
	w->program.ino = st.st_ino;
	*state = w;
	int built = plan_build(&w->plan, &w->policy, &user, &w->e);
	w->plan.other_caps = 0x15;
	return built;
}

static int world_teardown(void **state)
{
	struct world *w = *state;

	sandbox_done(&w->box);
	program_done(&w->program);
	seccomp_done(&w->filter);
	plan_done(&w->plan);
	policy_done(&w->policy);
	free(w);
	return 0;
}

static void spawn(struct world *w)
{
	const struct spawn_parts parts = { .plan = &w->plan, .executor = &w->program,
					   .filter = &w->filter, .cgroup = -1,
					   .has_proc = w->has_proc,
					   .tells = true };

	if (spawn_sandbox(&parts, &w->box, &w->e) == 0)
		return;
	print_message("skipped: %s\n", w->e.text);
	skip();
}

/* Returns the next message of the child, after those about descriptors. */
static enum spawn_news hear(struct world *w)
{
	enum spawn_news news;

	do {
		assert_true(scene_readable(w->box.failure, PATIENCE_MS));
		news = spawn_hear(&w->box, &w->e);
	} while (news == SPAWN_GOES_ON);
	return news;
}

/* Serves the filter's listener (instance.h), which answers refused calls, until the
 * executor has ended. */
static void serve(struct world *w)
{
	pid_t pid;

	do {
		struct pollfd polls[] = { { .fd = w->box.pidfd, .events = POLLIN },
					  denials_watch(&w->box.denials) };

		assert_true(poll(polls, ARRAY_LEN(polls), PATIENCE_MS) > 0);
		(void)denials_take(&w->box.denials, &pid, 1);
	} while (!scene_readable(w->box.pidfd, 0));
}

/* Waits for the executor.  Prints its complaint, and returns its exit code. */
static int finish(struct world *w)
{
	char claim[256] = { 0 };
	int status = -1;

	serve(w);
	(void)io_read_full(w->box.channel, claim, sizeof(claim) - 1);
	if (*claim)
		print_message("not so inside: %s\n", claim);
	assert_int_equal(waitpid(w->box.pid, &status, 0), w->box.pid);
	w->box.pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void test_the_executor_finds_itself_confined(void **state)
{
	struct world *w = *state;
	unsigned before = scene_open_fds();
	sigset_t usr1;

	/* A descriptor that a caller may have left open must not get in. */
	AUTO_CLOSE int secret = open("/", O_RDONLY | O_DIRECTORY);
	assert_true(secret >= 0);
	assert_int_equal(sigemptyset(&usr1) | sigaddset(&usr1, SIGUSR1), 0);
	assert_int_equal(sigprocmask(SIG_BLOCK, &usr1, NULL), 0);
	spawn(w);
	assert_int_equal(sigprocmask(SIG_UNBLOCK, &usr1, NULL), 0);
	assert_int_equal(hear(w), SPAWN_DONE);
	assert_int_equal(finish(w), LOOKED);
	assert_true(scene_readable(w->box.pidfd, 0));
	sandbox_done(&w->box);
	own_close(&secret);
	assert_int_equal(scene_open_fds(), before);
}

static void test_with_a_procfs_of_its_own(void **state)
{
	struct world *w = *state;

	w->has_proc = true;
	spawn(w);
	assert_int_equal(hear(w), SPAWN_DONE);
	assert_int_equal(finish(w), LOOKED);
}

static void test_a_child_that_fails_says_why_and_is_gone(void **state)
{
	struct world *w = *state;
	struct step *s = plan_add(&w->plan, STEP_BIND, "/tmp/x");

	s->source = text_copy("/nonesuch/y");
	s->from = "-v /nonesuch/y:/tmp/x";
	spawn(w);
	assert_int_equal(hear(w), SPAWN_GAVE_UP);
	assert_non_null(strstr(w->e.text, "mount /nonesuch/y: No such file"));
	assert_non_null(strstr(w->e.text, "(from -v /nonesuch/y:/tmp/x)"));
	assert_int_equal(finish(w), 125);
}

static void test_a_program_that_is_none_is_said(void **state)
{
	struct world *w = *state;
	AUTO_CLOSE int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	struct stat st;

	free(w->program.path);
	w->program.path = text_copy("/etc/passwd");
	assert_int_equal(fstat(fd, &st), 0);
	w->program.dev = st.st_dev;
	w->program.ino = st.st_ino;
	spawn(w);
	assert_int_equal(hear(w), SPAWN_GAVE_UP);
	assert_non_null(strstr(w->e.text, "execute /etc/passwd"));
}

static void test_done_ends_what_still_runs(void **state)
{
	struct world *w = *state;

	spawn(w);
	pid_t pid = w->box.pid;
	sandbox_done(&w->box);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(w->box.pid, 0);
	assert_int_equal(w->box.channel, -1);
	sandbox_done(&w->box);
	sandbox_done(NULL);
}

int main(int argc, char **argv)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_the_executor_finds_itself_confined),
		TEST(test_with_a_procfs_of_its_own),
		TEST(test_a_child_that_fails_says_why_and_is_gone),
		TEST(test_a_program_that_is_none_is_said),
		TEST(test_done_ends_what_still_runs),
	};

	if (argc == 2 && !strcmp(argv[0], EXECUTOR) && !strcmp(argv[1], OTHER_CAPS))
		return look_around();
	scene_leave_root();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
