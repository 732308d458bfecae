/* lint: what a linter finds about an edit, through a real executor.  Where the
 * wording matters the linters are scripts of this test; elsewhere they are those of
 * the machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "executor/edit/editor.h"
#include "executor/edit/lints.h"
#include "executor/process/all_processes.h"
#include "executor/process/processes.h"
#include "executor/process/user.h"
#include "executor/process/workers.h"
#include "executor/wire/send_queue.h"
#include "tests/unit/actor.h"
#include "tests/unit/in_session.h"

/* Starts an executor with a session whose PATH begins with the test's folder bin/. */
static int setup_programs(void **state)
{
	(void)state;
	actor_begin(&a);
	assert_int_equal(chdir(a.home), 0);
	assert_int_equal(mkdir("bin", 0755), 0);
	AUTO_FREE char *path = text_format("PATH=%s/bin:/usr/bin:/bin", a.home);
	AUTO_FREE char *home = text_format("HOME=%s", a.home);
	actor_open(&a, 1, a.home, ARGV(path, home, TEXT("TERM=dumb")));
	struct act x = actor_expect(&a, 1);
	assert_int_equal(x.type, MSG_STARTED);
	act_done(&x);
	a.file_session = 1;
	return 0;
}

static void put(const char *path, const char *text, mode_t mode)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
}

static void put_program(const char *name, const char *script)
{
	AUTO_FREE char *path = text_format("bin/%s", name);
	AUTO_FREE char *text = text_format("#!/bin/sh\n%s\n", script);

	put(path, text, 0755);
}

static struct edit_request replacing(const char *path, const char *old, const char *new)
{
	return (struct edit_request){ .flags = EDIT_OLD_STR | EDIT_NEW_STR | EDIT_LINT,
				      .command = "str_replace",
				      .path = path,
				      .old_str = bytes_of(old),
				      .new_str = bytes_of(new) };
}

/* Returns the linter's part of the answer: the text between the snippet and the
 * advice that follows it. */
static char *words_of(const struct act *x)
{
	const char *end = strstr(x->content, "Review the changes and make sure");

	assert_int_equal(x->type, MSG_EDITED);
	assert_non_null(end);
	const char *tab = memrchr(x->content, '\t', (size_t)(end - x->content));
	const char *at = strchr(tab, '\n') + 1;
	return text_format("%.*s", (int)(end - at), at);
}

static void check_words(struct act *x, const char *expected, size_t row)
{
	AUTO_FREE char *words = words_of(x);

	if (strcmp(words, expected) != 0)
		fail_msg("row %zu: '%s' instead of '%s'", row, words, expected);
	act_done(x);
}

static void lints(struct edit_request r, const char *expected, size_t row)
{
	AUTO_FREE char *path = text_format("%s/%s", a.home, r.path);

	r.path = path;
	struct act x = actor_edit(&a, r);
	check_words(&x, expected, row);
}

#define FOUND(text) "\nLinting issues found in the changes:\n" text "\n\n"
#define NOTHING	    "\nNo linting issues found in the changes.\n"

/* A linter that reports capital letters. */
#define PICKY "awk '{ at = match($0, /[A-Z]/) } at { print \"stdin:\" NR \":\" at \": capital \" " \
	      "substr($0, at, 1) }'"

static void test_findings_of_the_edit_alone_are_told(void **state)
{
	static const struct {
		const char *file, *old, *new, *says;
	} rows[] = {
		{ "a\nb\nc\n", "b", "x", NOTHING },
		{ "a\nb\nc\n", "b", " B", FOUND("- Line 2, Column 2: capital B") },
		{ "a\nB\nc\n", "B", "b", NOTHING },
		/* Findings about the text before the edit are not shown, even if
		 * their lines have moved. */
		{ "A\nb\nC\n", "b", "x", NOTHING },
		{ "A\nb\nC\n", "b", "x\ny\nz", NOTHING },
		{ "A\nb\nc\nd\nE\n", "b\nc\n", "", NOTHING },
		{ "b\nC", "b\n", "", NOTHING },
		{ "b\nC", "b", "x\nb", NOTHING },
		/* They are shown if the edit changed their line. */
		{ "A\nB\nC\n", "B", "B!", FOUND("- Line 2, Column 1: capital B") },
		{ "A\nB\nC\n", "B", "B\nB", FOUND("- Line 3, Column 1: capital B") },
		{ "a\nb\n", "a\nb", "X\n Y", FOUND("- Line 1, Column 1: capital X\n"
						     "- Line 2, Column 2: capital Y") },
		{ "caf\xe9\nb\n", "b", "B", FOUND("- Line 2, Column 1: capital B") },
	};

	(void)state;
	put_program("flake8", PICKY);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		put("f.py", rows[i].file, 0600);
		lints(replacing("f.py", rows[i].old, rows[i].new), rows[i].says, i);
	}
	/* An insert shows only new findings, too. */
	put("f.py", "A\nb\n", 0600);
	struct edit_request r = replacing("f.py", "", "C");
	r.command = "insert";
	r.line = "2";
	r.flags = EDIT_LINE | EDIT_NEW_STR | EDIT_LINT;
	lints(r, FOUND("- Line 3, Column 1: capital C"), 99);
}

/* The machine's linters. */
static void test_each_kind_of_file_has_its_linter(void **state)
{
	static const struct {
		const char *path, *file, *old, *new, *says;
	} rows[] = {
		{ "a.py", "x = 1\n", "1", "(1",
		  FOUND("- Line 1, Column 1: '(' was never closed") },
		{ "a.py", "x = 1\n", "1", "2", NOTHING },
		{ "a.py", "x = (\n", "x", "y",
		  FOUND("- Line 1, Column 1: '(' was never closed") },
		{ "a.json", "{\n}\n", "}", "x}",
		  FOUND("- Line 2, Column 1: Expecting property name "
			"enclosed in double quotes") },
		{ "a.sh", "true\n", "true", "if true\nfi",
		  FOUND("- Line 2, Column 1: syntax error near unexpected token `fi'\n"
			"- Line 2, Column 1: `fi'") },
		{ "b.sh", "true\n", "true", "exit 1", NOTHING },
		{ "a.txt", "(\n", "(", "((", "" },
		{ "py", "(\n", "(", "((", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		put(rows[i].path, rows[i].file, 0600);
		lints(replacing(rows[i].path, rows[i].old, rows[i].new), rows[i].says, i);
	}
}

/* Linters that fail, that never end, or whose output cannot be read. */
static void test_a_linter_that_does_not_work(void **state)
{
	static const struct {
		const char *script, *says;
	} rows[] = {
		/* The first linter fails, so the next one is asked. */
		{ "exit 3", FOUND("- Line 1, Column 1: '(' was never closed") },
		{ "kill -9 $$", FOUND("- Line 1, Column 1: '(' was never closed") },
		{ "echo stdin:1:1: x; kill -9 $$",
		  FOUND("- Line 1, Column 1: '(' was never closed") },
		{ "exit 0", NOTHING },
		{ "echo other:1:1: x; echo stdin:x:1: y; echo stdin:; echo; exit 0",
		  NOTHING },
		{ "echo stdin:1:1: x; exit 1", FOUND("- Line 1, Column 1: x") },
		{ "echo stdin:1: x", FOUND("- Line 1, Column 1: x") },
		/* A line beyond the end of the text, in both versions. */
		{ "echo stdin:7: x", NOTHING },
		{ "echo stdin:0:0: x", FOUND("- Line 1, Column 1: x") },
		{ "printf 'stdin:1:9: z\\nstdin:1:1: b\\nstdin:1:1: a'",
		  FOUND("- Line 1, Column 1: b\n- Line 1, Column 1: a\n"
			"- Line 1, Column 9: z") },
		{ "printf 'stdin:1:1: a\\033[31m\\377b\\t'",
		  FOUND("- Line 1, Column 1: a [31m\xef\xbf\xbd"
			"b") },
		{ "echo stdin:99999999999:1: x", NOTHING },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		put_program("flake8", rows[i].script);
		put("f.py", "x = 1\n", 0600);
		lints(replacing("f.py", "1", "(1"), rows[i].says, i);
	}
}

static void test_a_flood_of_findings_is_bounded(void **state)
{
	struct act x;

	(void)state;
	put_program("flake8", "yes 'stdin:1:1: too much of it'");
	put("f.py", "x = 1\n", 0600);
	AUTO_FREE char *path = text_format("%s/f.py", a.home);
	x = actor_edit(&a, replacing(path, "1", "2"));
	AUTO_FREE char *words = words_of(&x);
	act_done(&x);
	size_t lines = 0;
	for (const char *at = words; (at = strstr(at, "\n- Line 1")); at++)
		lines++;
	assert_int_equal(lines, 100);
}

/* A linter that never ends.  It writes the pid of its child to a file, and then a
 * line to the FIFO. */
#define HANG "cd ${PATH%%/bin:*}; sleep 1000 & echo $! >pid; echo >fifo; wait"

/* Sends an edit whose linter never ends. When the linter is cancelled, its process
 * group is killed; the executor does not block meanwhile. */
static void hang(uint32_t *ret_id)
{
	AUTO_FREE char *path = text_format("%s/f.py", a.home);

	put_program("flake8", HANG);
	actor_make_fifo(&a, "fifo");
	put("f.py", "x = 1\n", 0600);
	*ret_id = actor_send_edit(&a, replacing(path, "1", "2"));
	actor_check(&a, "read <fifo; echo hi", "hi", 0);
}

static void check_gone(void)
{
	actor_check(&a, "while kill -0 $(cat pid) 2>/dev/null; do :; done; echo gone",
		    "gone", 0);
}

static void test_a_linter_that_hangs_is_ended_by_a_cancel(void **state)
{
	uint32_t id;

	(void)state;
	hang(&id);
	actor_cancel(&a, id);
	struct act x = actor_expect(&a, id);
	check_words(&x, "", 0);
	check_gone();
}

/* The time at which the linter is started. */
#define T0 1000

static pid_t pid_in(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[32] = "";

	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	return (pid_t)atoi(text);
}

static bool has_ended(void *pid)
{
	/* The process may have become a child of the test. */
	(void)waitpid(*(pid_t *)pid, NULL, WNOHANG);
	return kill(*(pid_t *)pid, 0) < 0;
}

/* The test calls the linter's functions as the executor does, and gives them the
 * time of its own choice. */
static void test_a_linter_that_hangs_is_ended_by_time(void **state)
{
	AUTO_FREE char *path = text_format("PATH=%s/bin:/usr/bin:/bin", a.home);
	const struct exec exec = { .uid = getuid(), .gid = getgid(), .env = ARGV(path) };
	const struct lint_edit edit = { "f.py", bytes_of("x = 1\n"), bytes_of("x = 2\n"),
					&exec };
	struct editor_answer answer = { .id = 7 };
	struct all_processes all_processes = { 0 };
	struct send_queue replies = { 0 };
	struct processes processes;
	struct user user;

	(void)state;
	processes_init(&processes);
	assert_int_equal(user_init(&user), 0);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	put_program("flake8", HANG);
	actor_make_fifo(&a, "fifo");
	buffer_init(&answer.say, 1);
	struct workers s = { .replies = &replies, .processes = &processes, .user = &user,
			     .all_processes = &all_processes };
	assert_true(lints_start(&s, &edit, &answer, T0));
	(void)close(actor_open_fifo(&a, "fifo", O_RDONLY));
	pid_t linter = pid_in("pid");
	assert_true(workers_due(&s) == T0 + LINTS_MS);
	workers_expire(&s, T0 + LINTS_MS - 1);
	assert_null(replies.first);
	workers_expire(&s, T0 + LINTS_MS);
	const char late[] =
		"\nThe linter was ended, since it took more than 5 seconds.\n";
	assert_true(replies.first && replies.first->len == strlen(late));
	assert_memory_equal(replies.first->bytes, late, strlen(late));
	assert_true(workers_reaped(&s, waitpid(s.all[0]->pid, NULL, 0)));
	patience_wait(has_ended, &linter);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
	workers_done(&s);
	send_queue_done(&replies);
	processes_done(&processes);
}

static void test_nobody_is_asked_where_nobody_wants_it(void **state)
{
	struct edit_request r = replacing("f.py", "1", "B");
	struct act x;

	(void)state;
	put_program("flake8", PICKY);
	put("f.py", "x = 1\n", 0600);
	r.flags &= ~(uint32_t)EDIT_LINT;
	lints(r, "", 0);
	r = replacing("f.py", "B", "C");
	a.file_session = 0; /* without a session there is no PATH to find a linter */
	lints(r, "", 1);
	a.file_session = 1;
	/* If an edit fails, and if a file is created, no linter is asked. */
	AUTO_FREE char *path = text_format("%s/f.py", a.home);
	x = actor_edit(&a, replacing(path, "none", "x"));
	assert_non_null(strstr(x.content, "did not appear verbatim"));
	assert_null(strstr(x.content, "inting issues"));
	act_done(&x);
	r = replacing(path, "", "");
	r.flags = EDIT_LINT;
	r.command = "undo_edit";
	x = actor_edit(&a, r);
	assert_non_null(strstr(x.content, "undone successfully"));
	assert_null(strstr(x.content, "inting issues"));
	act_done(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_programs, teardown)
		TEST(test_findings_of_the_edit_alone_are_told),
		TEST(test_each_kind_of_file_has_its_linter),
		TEST(test_a_linter_that_does_not_work),
		TEST(test_a_flood_of_findings_is_bounded),
		TEST(test_a_linter_that_hangs_is_ended_by_a_cancel),
		TEST(test_a_linter_that_hangs_is_ended_by_time),
		TEST(test_nobody_is_asked_where_nobody_wants_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
