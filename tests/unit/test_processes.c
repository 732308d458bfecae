/* processes: starts processes, which may fail, and signals and reaps them, in the
 * real loop of an executor in another process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "executor/process/processes.h"
#include "tests/unit/supervisor.h"

/* Runs a script to its end, and compares its output. */
static void expect_output(struct supervisor *s, struct ask a, const char *expected)
{
	int out[2];

	make_pipe(out);
	a.fds[1] = a.fds[2] = out[1];
	a.id = 1;
	supervisor_ask(s, &a);
	(void)close(out[1]);
	AUTO_FREE char *got = read_all(out[0]);
	(void)close(out[0]);
	assert_string_equal(got, expected);
	supervisor_expect(s, MSG_STARTED, 1);
	supervisor_expect(s, MSG_EXITED, 1);
}

static void test_exit_codes_and_signals_are_told(void **state)
{
	static const struct {
		const char *script;
		uint32_t is_signaled, status;
	} rows[] = {
		{ "exit 0", 0, 0 },	   { "exit 1", 0, 1 },
		{ "exit 255", 0, 255 },	   { "kill -9 $$", 1, SIGKILL },
		{ "kill -TERM $$", 1, SIGTERM }, { "kill -PIPE $$", 1, SIGPIPE },
		{ "kill -64 $$", 1, 64 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct ask a = { .id = 10 + (uint32_t)i, .argv = SH(rows[i].script) };
		struct exited x = supervisor_run(*state, &a);
		assert_int_equal(x.is_signaled, rows[i].is_signaled);
		assert_int_equal(x.status, rows[i].status);
	}
}

static void test_a_failed_start_is_told_with_stage_and_errno(void **state)
{
	char dir[] = "/tmp/test_processes.XXXXXX", path[64], text[64], refused[96];

	assert_non_null(mkdtemp(dir));
	assert_int_equal(chmod(dir, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/plain", dir);
	(void)snprintf(text, sizeof(text), "%s/text", dir);
	(void)snprintf(refused, sizeof(refused), "PATH=/nonexistent:%s:/bin", dir);
	assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0644)), 0);
	int fd = open(text, O_CREAT | O_WRONLY, 0755);
	assert_int_equal(write(fd, "no program", 10), 10);
	assert_int_equal(close(fd), 0);

	const struct {
		struct ask ask;
		uint32_t stage, sys;
	} rows[] = {
		{ { .argv = ARGV(TEXT("nonesuch")) }, EXEC_STAGE_LOOKUP, ENOENT },
		{ { .argv = ARGV(TEXT("")) }, EXEC_STAGE_LOOKUP, ENOENT },
		{ { .argv = ARGV(TEXT("plain")), .env = ARGV(refused) },
		  EXEC_STAGE_LOOKUP, EACCES },
		{ { .argv = ARGV(TEXT("text")), .env = ARGV(refused) },
		  EXEC_STAGE_EXECVE, ENOEXEC },
		{ { .argv = ARGV(TEXT("true")), .env = ARGV(TEXT("PATH=")) },
		  EXEC_STAGE_LOOKUP, ENOENT },
		{ { .argv = ARGV(TEXT("/nonesuch")) }, EXEC_STAGE_LOOKUP, ENOENT },
		{ { .argv = ARGV(path) }, EXEC_STAGE_EXECVE, EACCES },
		{ { .argv = ARGV(text) }, EXEC_STAGE_EXECVE, ENOEXEC },
		{ { .argv = ARGV(dir) }, EXEC_STAGE_EXECVE, EACCES },
		{ { .argv = ARGV(TEXT("./true")), .cwd = "/nonesuch" },
		  EXEC_STAGE_CWD, ENOENT },
		{ { .argv = ARGV(TEXT("true")), .cwd = path }, EXEC_STAGE_CWD, ENOTDIR },
		{ { .argv = ARGV(TEXT("true")), .has_rlimit = true,
		    .rlimit = { RLIMIT_NOFILE, 2, 1 } }, EXEC_STAGE_RLIMIT, EINVAL },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct ask a = rows[i].ask;
		a.id = 1;
		supervisor_ask(*state, &a);
		struct answer got = supervisor_expect(*state, MSG_FAILED, 1);
		assert_int_equal(got.failed.stage, rows[i].stage);
		assert_int_equal(got.failed.sys, rows[i].sys);
	}
	assert_int_equal(unlink(path) | unlink(text) | rmdir(dir), 0);
}

static void test_another_user_is_refused_without_the_capability(void **state)
{
	struct ask a = { .id = 1, .argv = ARGV(TEXT("true")), .is_other_user = true,
			 .uid = getuid() + 1, .gid = getgid() };

	if (getuid() == 0)
		skip();
	supervisor_ask(*state, &a);
	struct answer got = supervisor_expect(*state, MSG_FAILED, 1);
	assert_int_equal(got.failed.stage, EXEC_STAGE_USER);
	/* EINVAL: the user namespace does not map that id. */
	assert_true(got.failed.sys == EPERM || got.failed.sys == EINVAL);
}

static void test_root_becomes_another_user_without_its_groups(void **state)
{
	struct ask a = { .is_other_user = true, .uid = 4711, .gid = 4712,
			 .argv = SH("id -u; id -g; id -G;"
				    "grep NoNew /proc/self/status") };

	/* Root of a namespace with few ids, as in a sandbox, cannot become these
	 * users. */
	if (getuid() != 0 || setegid(4712) < 0 || setegid(0) < 0 || seteuid(4711) < 0 ||
	    seteuid(0) < 0)
		skip();
	expect_output(*state, a, "4711\n4712\n4712\nNoNewPrivs:\t1\n");
}

static void test_arguments_environment_and_directory_arrive(void **state)
{
	char *env[] = { TEXT("PATH=/usr/bin:/bin"), TEXT("A=1=2"), TEXT("B="), NULL };
	struct ask arguments = { .argv = ARGV(TEXT("printf"), TEXT("[%s]"), TEXT(""),
					      TEXT("a b"), TEXT("\n")) };
	struct ask environment = { .argv = ARGV(TEXT("env")), .env = env };
	struct ask directory = { .argv = ARGV(TEXT("/bin/pwd")), .cwd = "/usr" };

	expect_output(*state, arguments, "[][a b][\n]");
	expect_output(*state, environment, "PATH=/usr/bin:/bin\nA=1=2\nB=\n");
	expect_output(*state, directory, "/usr\n");
}

static void test_path_is_searched_in_order_and_has_a_default(void **state)
{
	struct ask in_cwd = { .argv = ARGV(TEXT("echo"), TEXT("x")), .cwd = "/bin",
			      .env = ARGV(TEXT("PATH=/nonexistent:")) };
	struct ask no_path = { .argv = ARGV(TEXT("echo"), TEXT("x")),
			       .env = ARGV(TEXT("A=b")) };

	expect_output(*state, in_cwd, "x\n");
	expect_output(*state, no_path, "x\n");
}

static void test_a_huge_environment_arrives(void **state)
{
	enum { VARIABLES = 16, LENGTH = 100000 };
	char *env[VARIABLES + 1] = { NULL }, expected[64];

	for (int i = 0; i < VARIABLES; i++) {
		env[i] = malloc(LENGTH + 1);
		assert_non_null(env[i]);
		memset(env[i], 'x', LENGTH);
		env[i][0] = (char)('a' + i);
		env[i][1] = '=';
		env[i][LENGTH] = '\0';
	}
	struct ask a = { .env = env, .argv = ARGV(TEXT("/usr/bin/wc"), TEXT("-c"),
						  TEXT("/proc/self/environ")) };
	(void)snprintf(expected, sizeof(expected), "%d /proc/self/environ\n",
		       VARIABLES * (LENGTH + 1));
	expect_output(*state, a, expected);
	for (int i = 0; i < VARIABLES; i++)
		free(env[i]);
}

static void test_a_command_has_three_descriptors_and_default_signals(void **state)
{
	struct ask fds = { .argv = ARGV(TEXT("/bin/ls"), TEXT("/proc/self/fd")) };
	struct ask signals = { .argv = SH("grep -E '^Sig(Blk|Ign)' /proc/self/status") };

	/* Descriptor 3 is the folder /proc/self/fd, which ls reads. */
	expect_output(*state, fds, "0\n1\n2\n3\n");
	expect_output(*state, signals, "SigBlk:\t0000000000000000\n"
				       "SigIgn:\t0000000000000000\n");
}

static void test_a_command_is_its_own_session(void **state)
{
	struct ask a = { .argv = SH("set -- $(cut -d' ' -f1,5,6 /proc/$$/stat);"
				    "[ $1 = $2 ] && [ $1 = $3 ] && echo yes") };

	expect_output(*state, a, "yes\n");
}

static void test_limits_are_the_command_s_only(void **state)
{
	struct ask a = { .argv = SH("ulimit -Sn; ulimit -Hn"), .has_rlimit = true,
			 .rlimit = { RLIMIT_NOFILE, 17, 18 } };

	expect_output(*state, a, "17\n18\n");
	/* The limit of one command does not apply to the next, which has the
	 * executor's own. */
	struct rlimit ours;
	char expected[32];
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &ours), 0);
	(void)snprintf(expected, sizeof(expected), "%llu\n",
		       (unsigned long long)ours.rlim_cur);
	expect_output(*state, (struct ask){ .argv = SH("ulimit -Sn") }, expected);
}

static void test_a_filter_is_the_command_s_only(void **state)
{
	static const struct sock_filter no_uname[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_uname, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	static const struct sock_filter no_program[] = { { 0xffff, 0, 0, 0 } };
	struct ask a = { .argv = SH("uname >/dev/null 2>&1 || echo refused"),
			 .filter = no_uname, .filter_len = sizeof(no_uname) };
	struct ask wrong = { .id = 1, .argv = ARGV(TEXT("true")),
			     .filter = no_program, .filter_len = sizeof(no_program) };

	expect_output(*state, a, "refused\n");
	a.filter_len = 0;
	expect_output(*state, a, "");
	supervisor_ask(*state, &wrong);
	struct answer got = supervisor_expect(*state, MSG_FAILED, 1);
	assert_int_equal(got.failed.stage, EXEC_STAGE_FILTER);
	assert_int_equal(got.failed.sys, EINVAL);
}

static void test_a_signal_reaches_the_whole_group(void **state)
{
	struct supervisor *s = *state;
	int out[2];

	make_pipe(out);
	struct ask a = { .id = 5, .fds = { 0, out[1] },
			 .argv = SH("sleep 1000 & sleep 1000 & echo up; wait") };
	supervisor_ask(s, &a);
	(void)close(out[1]);
	read_until(out[0], "up\n");
	supervisor_signal(s, 5, SIGTERM);
	supervisor_expect(s, MSG_STARTED, 5);
	struct exited x = supervisor_expect(s, MSG_EXITED, 5).exited;
	assert_int_equal(x.is_signaled, 1);
	assert_int_equal(x.status, SIGTERM);
	/* The end of file comes only when both sleeping processes have ended, too. */
	AUTO_FREE char *rest = read_all(out[0]);
	assert_string_equal(rest, "");
	(void)close(out[0]);
}

static void test_a_signal_reaches_one_that_is_alone_and_not_its_group(void **state)
{
	struct supervisor *s = *state;
	int in[2], out[2];

	make_pipe(in);
	make_pipe(out);
	struct ask a = {
		.id = 5,
		.flags = EXEC_ALONE,
		.fds = { in[0], out[1] },
		.argv = SH("exec 3<&0; (read x <&3; echo still $x) & echo up; wait")
	};
	supervisor_ask(s, &a);
	(void)close(in[0]);
	(void)close(out[1]);
	read_until(out[0], "up\n");
	supervisor_signal(s, 5, SIGTERM);
	supervisor_expect(s, MSG_STARTED, 5);
	struct exited x = supervisor_expect(s, MSG_EXITED, 5).exited;
	assert_int_equal(x.is_signaled, 1);
	assert_int_equal(write(in[1], "here\n", 5), 5);
	AUTO_FREE char *rest = read_all(out[0]);
	assert_string_equal(rest, "still here\n");
	(void)close(in[1]);
	(void)close(out[0]);
}

static void test_a_signal_that_crosses_the_end_is_ignored(void **state)
{
	struct ask a = { .id = 5, .argv = ARGV(TEXT("true")) };

	supervisor_run(*state, &a);
	supervisor_signal(*state, 5, SIGKILL);
	supervisor_resize(*state, 5, 10, 10);
	supervisor_run(*state, &a);
}

static void test_signals_right_after_the_request_are_not_lost(void **state)
{
	struct ask a = { .argv = ARGV(TEXT("/bin/sleep"), TEXT("1000")) };

	for (a.id = 1; a.id <= 200; a.id++) {
		supervisor_ask(*state, &a);
		supervisor_signal(*state, a.id, SIGKILL);
		supervisor_expect(*state, MSG_STARTED, a.id);
		struct exited x = supervisor_expect(*state, MSG_EXITED, a.id).exited;
		assert_int_equal(x.status, SIGKILL);
	}
}

static void test_times_used_are_told(void **state)
{
	struct ask a = { .id = 1, .argv = SH("i=0; while [ $i -lt 100000 ]; do "
					     "i=$((i+1)); done") };
	struct exited x = supervisor_run(*state, &a);

	assert_true(x.user_us > 1000);
	assert_true(x.user_us + x.sys_us < 60000000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, supervisor_setup, \
						       supervisor_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_exit_codes_and_signals_are_told),
		TEST(test_a_failed_start_is_told_with_stage_and_errno),
		TEST(test_another_user_is_refused_without_the_capability),
		TEST(test_root_becomes_another_user_without_its_groups),
		TEST(test_arguments_environment_and_directory_arrive),
		TEST(test_path_is_searched_in_order_and_has_a_default),
		TEST(test_a_huge_environment_arrives),
		TEST(test_a_command_has_three_descriptors_and_default_signals),
		TEST(test_a_command_is_its_own_session),
		TEST(test_limits_are_the_command_s_only),
		TEST(test_a_filter_is_the_command_s_only),
		TEST(test_a_signal_reaches_the_whole_group),
		TEST(test_a_signal_reaches_one_that_is_alone_and_not_its_group),
		TEST(test_a_signal_that_crosses_the_end_is_ignored),
		TEST(test_signals_right_after_the_request_are_not_lost),
		TEST(test_times_used_are_told),
	};

	/* A descriptor that the executor inherits.  Commands must not have it, since
	 * the executor closes all descriptors for each. */
	return fcntl(STDERR_FILENO, F_DUPFD, 100) < 0 ||
	       cmocka_run_group_tests(tests, NULL, NULL);
}
