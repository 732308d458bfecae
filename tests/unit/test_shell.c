/* shell: brings a command's text to bash, and decides which text bash runs.  This
 * test drives a shell directly; test_session.c tests commands in a session. */
#include "executor/session/shell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/frame.h"
#include "base/own.h"
#include "executor/process/user.h"
#include "tests/unit/supervisor.h"

struct stage {
	struct shell shell;
	char home[32];
};

static struct shell_report next_report(struct shell *sh)
{
	struct shell_report r;

	do {
		struct pollfd p = { .fd = sh->reports, .events = POLLIN };
		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
	} while (!shell_report(sh, &r));
	return r;
}

static int setup(void **state)
{
	static struct stage st;
	char *env[] = { TEXT("PATH=/usr/bin:/bin"), NULL };
	const struct exec x = { .flags = EXEC_PTY, .uid = getuid(), .gid = getgid(),
				.rows = 24, .cols = 80, .argv = ARGV(TEXT("bash")),
				.env = env };
	struct user self;
	struct failed why;

	(void)alarm(PATIENCE_S); /* for each test */
	st = (struct stage){ .home = "/tmp/hutch-shell-XXXXXX" };
	assert_non_null(mkdtemp(st.home));
	assert_int_equal(user_init(&self), 0);
	const struct shell_how how = { .exec = &x, .cwd = st.home, .self = &self,
				       .cgroup = -1, .is_bare = true };
	assert_int_equal(shell_start(&st.shell, &how, &why), 0);
	(void)next_report(&st.shell);
	*state = &st;
	return 0;
}

static void end(struct shell *sh)
{
	int status;

	if (!sh->pid)
		return;
	assert_int_equal(kill(sh->pid, SIGKILL), 0);
	assert_int_equal(waitpid(sh->pid, &status, 0), sh->pid);
	sh->pid = 0;
}

static int teardown(void **state)
{
	struct stage *st = *state;

	end(&st->shell);
	shell_done(&st->shell);
	return rmdir(st->home); /* fails if a test has made a file in the folder */
}

static struct bytes bytes_of(const char *text)
{
	return (struct bytes){ (const uint8_t *)text, strlen(text) };
}

static void stop(pid_t pid)
{
	int status;

	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
}

static void test_a_command_is_run_and_reported(void **state)
{
	struct stage *st = *state;

	assert_int_equal(shell_run(&st->shell, bytes_of("cd /usr; (exit 7)")), 0);
	struct shell_report r = next_report(&st->shell);
	assert_int_equal(r.status, 7);
	assert_true(r.has_begun);
	assert_string_equal(r.cwd, "/usr");
}

/* PS1 makes the shell report in the long way (shell_rc.c). */
static void test_the_python_on_the_path_is_reported_in_either_way(void **state)
{
	static const struct {
		const char *command, *python;
	} rows[] = {
		{ "printf '#!/bin/sh\\n' >python; chmod +x python; d=$PWD; PATH=/nowhere",
		  "" },
		{ "PATH=$d", "/python" },
		{ ":", "/python" },
		{ "PS1=x", "/python" },
		{ "PATH=/nowhere PS1=x", "" },
		{ "PATH=/nowhere:$d", "/python" },
		{ "PATH=/usr/bin:/bin; rm $d/python; PATH=$d", "" },
	};
	struct stage *st = *state;
	char path[64];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(shell_run(&st->shell, bytes_of(rows[i].command)), 0);
		(void)snprintf(path, sizeof(path), "%s%s",
			       rows[i].python[0] ? st->home : "", rows[i].python);
		assert_string_equal(next_report(&st->shell).python, path);
	}
}

/* A command runs as the shell's user and can open the shell's descriptors, but not
 * change the text of a command. */
static void test_no_other_process_writes_the_text(void **state)
{
	struct stage *st = *state;
	struct shell *sh = &st->shell;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", sh->text.fd);
	AUTO_CLOSE int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096),
			 -1);
	assert_ptr_equal(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	assert_int_equal(shell_run(sh, bytes_of("exit_code() { return 3; }; exit_code")), 0);
	assert_int_equal(next_report(sh).status, 3);
}

/* The text lacks its final 0 byte, so `read` returns what there is and fails, as
 * after a signal in the middle.  Then bash must not run the text. */
static void test_a_text_that_is_not_read_to_its_end_is_not_run(void **state)
{
	struct stage *st = *state;
	struct shell *sh = &st->shell;

	stop(sh->pid);
	assert_int_equal(shell_run(sh, bytes_of("true")), 0);
	memset(sh->text.map, ' ', SHELL_TEXT_MAX);
	memcpy(sh->text.map, "touch made; ", 12);
	assert_int_equal(kill(sh->pid, SIGCONT), 0);
	struct shell_report r = next_report(sh);
	assert_false(r.has_begun);
	assert_int_equal(r.status, 130);
	/* The next text is complete and runs. */
	assert_int_equal(shell_run(sh, bytes_of("[[ ! -e made ]]")), 0);
	r = next_report(sh);
	assert_true(r.has_begun);
	assert_int_equal(r.status, 0);
}

/* After a SIGINT bash may drop the beginning of hutch's line; the rest alone must
 * not end the shell. */
static void test_the_last_words_of_our_line_alone_end_no_shell(void **state)
{
	struct stage *st = *state;
	static const char rest[] = "__hutch_lost 1\n";

	assert_int_equal(write(st->shell.lines, rest, sizeof(rest) - 1),
			 sizeof(rest) - 1);
	assert_int_equal(shell_run(&st->shell, bytes_of("(exit 7)")), 0);
	assert_int_equal(next_report(&st->shell).status, 7);
}

/* A shell that is killed while it waits for a line may still have taken the line;
 * the text has not begun then. */
static void test_a_shell_that_only_took_the_lines_has_not_begun(void **state)
{
	struct stage *st = *state;
	struct shell *sh = &st->shell;
	char path[64], lines[4096];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", sh->lines);
	AUTO_CLOSE int theirs = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(theirs >= 0);
	stop(sh->pid);
	assert_int_equal(shell_run(sh, bytes_of("touch made")), 0);
	assert_true(read(theirs, lines, sizeof(lines)) > 0);
	assert_int_equal(read(theirs, lines, sizeof(lines)), -1);
	end(sh);
	assert_false(shell_has_begun(sh));
}

static void test_a_shell_that_took_the_text_has_begun(void **state)
{
	struct stage *st = *state;
	struct shell *sh = &st->shell;

	assert_int_equal(shell_run(sh, bytes_of("")), 0);
	(void)next_report(sh);
	end(sh);
	assert_true(shell_has_begun(sh));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_command_is_run_and_reported),
		TEST(test_the_python_on_the_path_is_reported_in_either_way),
		TEST(test_no_other_process_writes_the_text),
		TEST(test_a_text_that_is_not_read_to_its_end_is_not_run),
		TEST(test_the_last_words_of_our_line_alone_end_no_shell),
		TEST(test_a_shell_that_only_took_the_lines_has_not_begun),
		TEST(test_a_shell_that_took_the_text_has_begun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
