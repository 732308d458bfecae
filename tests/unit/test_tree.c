/* tree: all processes that a command has started end with it, and no others do. */
#include "executor/process/tree.h"

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
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/list.h"
#include "base/own.h"
#include "tests/unit/inside.h"
#include "tests/unit/requests.h"
#include "tests/unit/scene.h"

/* --- lines of /proc ---------------------------------------------------------- */

#define REST " S 2 3 4 34816 -1 4194304 1 2 3 4 5 6 7 8 20 -5 1 0 987654321 1 2 3"

static void test_a_line_is_read_whatever_the_name(void **state)
{
	static const char *const good[] = {
		"5 (sh)" REST, "5 ()" REST, "5 (a) S 9 9 9 (b)" REST, "5 (\n)" REST,
		"5 ()))) )" REST, "5 (S 7 7 7 7 7)" REST,
	};
	static const char *const bad[] = {
		"",
		"5",
		("5 sh" REST),
		"5 (sh)",
		"5 (sh) ",
		"5 (sh) S",
		"5 (sh) S 2 3 4",
		"5 (sh) S 2 3 4 x 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21",
		"5 (sh) S 2 3 99999999999999999999999 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20",
	};
	struct tree_process p;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_true(tree_parse(good[i], &p));
		assert_int_equal(p.pid, 5);
		assert_int_equal(p.parent, 2);
		assert_int_equal(p.group, 3);
		assert_int_equal(p.session, 4);
		assert_int_equal(p.birth, 987654321);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(tree_parse(bad[i], &p));
}

static void test_only_a_procfs_of_ones_own_is_looked_at(void **state)
{
	AUTO_CLOSE int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int below = open("/proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int other = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_true(tree_can_look(proc));
	assert_false(tree_can_look(below));
	assert_false(tree_can_look(other));
	assert_false(tree_can_look(-1));
}

/* --- whole trees ------------------------------------------------------------- */

/* A command, and the pipe that is its stdout and that of all processes it starts: at
 * the pipe's end all of them have ended.  `ready` processes write a byte each to it
 * first. */
struct grove {
	struct supervisor s;
	int out;
};

static void plant(struct grove *g, struct ask *a, unsigned ready)
{
	char byte;
	int ends[2];

	make_pipe(ends);
	a->fds[1] = ends[1];
	supervisor_ask(&g->s, a);
	(void)close(ends[1]);
	g->out = ends[0];
	(void)supervisor_expect(&g->s, MSG_STARTED, a->id);
	for (unsigned i = 0; i < ready; i++) {
		struct pollfd p = { .fd = g->out, .events = POLLIN };
		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		if (read(g->out, &byte, 1) != 1)
			fail_msg("%u of %u were ready", i, ready);
	}
}

/* Ends the process tree of the command.  Checks that the command is reported as
 * killed, and that no process holds the pipe any more. */
static void fell(struct grove *g, uint32_t id)
{
	supervisor_end_tree(&g->s, id);
	struct exited x = supervisor_expect(&g->s, MSG_EXITED, id).exited;
	assert_true(x.is_signaled);
	assert_int_equal(x.status, SIGKILL);
	free(read_all(g->out));
	own_close(&g->out);
}

#define SAY "printf . ; "
#define STAY SAY "exec sleep 1000"

static const struct {
	const char *what, *script;
	unsigned ready;
	uint32_t flags;
	bool is_bash;
} trees[] = {
	{ "alone", STAY, 1, 0, false },
	{ "a child", "sh -c '" STAY "' & " SAY "wait", 2, 0, false },
	{ "a session", "setsid sh -c '" STAY "' & " SAY "wait", 2, 0, false },
	{ "a session of a session",
	  "setsid sh -c 'setsid sh -c \"" STAY "\" & " SAY "wait' & " SAY "wait", 3, 0,
	  false },
	{ "nohup", "nohup sh -c '" STAY "' & " SAY "wait", 2, 0, false },
	{ "an orphan in its session", "(sh -c '" STAY "' &) ; " STAY, 2, 0, false },
	{ "an orphaned job", "(set -m; (" STAY ") &) ; " STAY, 2, 0, true },
	{ "a daemon", "(setsid sh -c '(" STAY ") & exit' &) ; " STAY, 2, EXEC_TREE,
	  false },
	{ "daemons of a daemon",
	  "(setsid sh -c '(setsid sh -c \"(" STAY ") & " SAY "\" &)' &) ; " STAY, 3,
	  EXEC_TREE, false },
	{ "jobs", "set -m; (" STAY ") & (" STAY ") | cat & " SAY "wait", 3, 0, true },
	{ "jobs of jobs", "set -m; (set -m; (" STAY ") & " SAY "wait) & " SAY "wait", 3,
	  0, true },
	{ "a deaf process",
	  "trap '' TERM HUP INT; setsid sh -c 'trap \"\" TERM HUP INT; " STAY "' & " SAY
	  "wait",
	  2, 0, false },
	{ "a stopped process",
	  "sh -c '" SAY "kill -STOP $$; exec sleep 1000' & " SAY "wait", 2, 0, false },
	{ "a process that restarts others",
	  "setsid sh -c 'while :; do sh -c \"" STAY "\"; done' & " SAY "wait", 2, 0,
	  false },
};

static void test_a_tree_ends_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(trees); i++) {
		char *name = TEXT(trees[i].is_bash ? "/bin/bash" : "/bin/sh");
		struct ask a = { .id = 1, .flags = trees[i].flags,
				 .argv = ARGV(name, TEXT("-c"), TEXT(trees[i].script)) };
		struct grove g;
		print_message("%s\n", trees[i].what);
		supervisor_start_seeing(&g.s);
		plant(&g, &a, trees[i].ready);
		fell(&g, 1);
		assert_int_equal(WEXITSTATUS(supervisor_end(&g.s)), 1);
	}
}

/* The pid 1 of a new pid namespace is a child of the process that made the
 * namespace, so it belongs to the tree, too. */
static void test_namespaces_of_its_own_do_not_help_it(void **state)
{
	struct ask a = { .id = 1, .argv = SH("unshare -Urpf sh -c 'setsid sh -c \"" STAY
					     "\" & " SAY "wait' & " SAY "wait") };
	struct grove g;

	(void)state;
	if (system("unshare -Urpf true 2>/dev/null") != 0)
		skip(); /* not permitted here */
	supervisor_start_seeing(&g.s);
	plant(&g, &a, 3);
	fell(&g, 1);
	(void)supervisor_end(&g.s);
}

/* A command on a terminal has a relay, and its shell is interactive. */
static void test_a_shell_on_a_terminal_ends_with_its_jobs(void **state)
{
	static char line[] = "sleep 1000 & setsid sleep 1000 | cat &\n";
	struct ask a = { .id = 1, .flags = EXEC_PTY | EXEC_TREE, .rows = 24, .cols = 80,
			 .argv = ARGV(TEXT("/bin/bash"), TEXT("--norc"), TEXT("-i")) };
	struct grove g;
	int in[2];

	(void)state;
	make_pipe(in);
	supervisor_start_seeing(&g.s);
	a.fds[0] = in[0];
	plant(&g, &a, 0);
	assert_int_equal(write(in[1], line, strlen(line)), strlen(line));
	inside_wait(&g.s, 4, false); /* the shell, two sleeps and cat */
	supervisor_end_tree(&g.s, 1);
	assert_int_equal(supervisor_expect(&g.s, MSG_EXITED, 1).exited.status, SIGKILL);
	inside_wait(&g.s, 0, false);
	(void)close(in[0]);
	(void)close(in[1]);
	own_close(&g.out);
	(void)supervisor_end(&g.s);
}

/* Ending one command's tree leaves all processes alone that other commands have
 * started. */
static void test_others_are_left_alone(void **state)
{
	static char work[] = "exec 3<&0; setsid sh -c 'printf .; read x <&3; echo one' & "
			     "(sh -c 'printf .; read x <&3; echo two' &); "
			     "printf .; read x; echo three; wait";
	struct ask victim = { .id = 1,
			      .flags = EXEC_TREE,
			      .argv = SH("setsid sh -c '" STAY "' & " SAY "wait") };
	struct ask other = { .id = 2, .flags = EXEC_TREE, .argv = SH(work) };
	struct grove g, beside;
	int in[2];

	(void)state;
	supervisor_start_seeing(&g.s);
	make_pipe(in);
	other.fds[0] = in[0];
	beside.s = g.s;
	plant(&beside, &other, 3);
	g.s = beside.s;
	plant(&g, &victim, 2);
	fell(&g, 1);
	assert_int_equal(write(in[1], "\n\n\n", 3), 3);
	(void)close(in[1]);
	(void)close(in[0]);
	struct exited x = supervisor_expect(&g.s, MSG_EXITED, 2).exited;
	assert_false(x.is_signaled);
	AUTO_FREE char *said = read_all(beside.out);
	assert_non_null(strstr(said, "one"));
	assert_non_null(strstr(said, "two"));
	assert_non_null(strstr(said, "three"));
	own_close(&beside.out);
	(void)supervisor_end(&g.s);
}

/* --- races ------------------------------------------------------------------- */

/* Python programs that fork as fast as they can; `count` is the largest number of
 * their processes. */
static const struct {
	const char *what, *body;
} bombs[] = {
	{ "each stays", "def go():\n while room(): os.fork()\n time.sleep(1000)\n" },
	{ "each in a session of its own",
	  "def go():\n while room():\n  if os.fork() == 0:\n"
	  "   os.setsid()\n time.sleep(1000)\n" },
	/* Each process starts the next one when it is in its final session. */
	{ "one that never stops", "def go():\n r, w = os.pipe()\n if os.fork() == 0:\n"
				  "  os.setsid()\n"
				  "  while True:\n   if os.fork() == 0: break\n"
				  "   os.read(r, 1)\n  os.setsid()\n  room()\n"
				  "  os.write(w, b'.')\n time.sleep(1000)\n" },
};

#define BOMB 200

static void test_a_fork_bomb_ends(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bombs); i++) {
		struct grove g;
		AUTO_FREE char *program = text_format(
			"import os, time, mmap\n"
			"shared = mmap.mmap(-1, 4096)\n"
			"def room():\n"
			" n = int.from_bytes(shared[:4], 'little') + 1\n"
			" shared[:4] = n.to_bytes(4, 'little')\n"
			" if n == %d: os.write(1, b'.')\n"
			" return n < %d * 2\n"
			"%sgo()\n", BOMB, BOMB, bombs[i].body);
		struct ask a = { .id = 1, /* and no subreaper */
				 .argv = ARGV(TEXT("/usr/bin/python3"), TEXT("-c"),
					      program) };
		supervisor_start_seeing(&g.s);
		plant(&g, &a, 1);
		print_message("%s\n", bombs[i].what);
		fell(&g, 1);
		(void)supervisor_end(&g.s);
	}
}

/* Each process starts the next one and exits, so a pid that was read is out of date
 * at once. */
static void test_a_chain_that_never_stays_ends(void **state)
{
	struct grove g;
	static char program[] = "import os, sys\n"
				"if os.fork():\n"
				" while True:\n"
				"  try: os.wait()\n"
				"  except ChildProcessError: pass\n"
				"if sys.argv[1] == 'far': os.setsid()\n"
				"os.write(1, b'.')\n"
				"while True:\n"
				" if os.fork(): os._exit(0)\n";
	struct ask a = { .id = 1, .flags = EXEC_TREE };

	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		a.argv = ARGV(TEXT("/usr/bin/python3"), TEXT("-c"), program,
			      TEXT(i % 2 ? "near" : "far"));
		supervisor_start_seeing(&g.s);
		plant(&g, &a, 1);
		fell(&g, 1);
		(void)supervisor_end(&g.s);
	}
}

static void test_one_that_has_ended_is_forgotten(void **state)
{
	struct grove g;
	struct ask a = { .id = 1, .argv = true_argv };

	(void)state;
	supervisor_start_seeing(&g.s);
	(void)supervisor_run(&g.s, &a);
	supervisor_end_tree(&g.s, 1);
	a.id = 2;
	(void)supervisor_run(&g.s, &a);
	assert_int_equal(WEXITSTATUS(supervisor_end(&g.s)), 1);
}

/* The request to end comes right after the request to start. */
static void test_one_that_has_hardly_begun_ends(void **state)
{
	struct supervisor s;
	struct ask a = { .argv = sleep_argv };

	(void)state;
	supervisor_start_seeing(&s);
	for (a.id = 1; a.id <= 100; a.id++) {
		supervisor_ask(&s, &a);
		supervisor_end_tree(&s, a.id);
		(void)supervisor_expect(&s, MSG_STARTED, a.id);
		assert_int_equal(supervisor_expect(&s, MSG_EXITED, a.id).exited.status,
				 SIGKILL);
	}
	(void)supervisor_end(&s);
}

static void test_the_request_is_refused_where_no_process_can_be_seen(void **state)
{
	struct supervisor s;
	struct ask a = { .id = 1, .argv = sleep_argv };

	(void)state;
	supervisor_start_init(&s);
	supervisor_ask(&s, &a);
	(void)supervisor_expect(&s, MSG_STARTED, 1);
	supervisor_end_tree(&s, 1);
	supervisor_expect_violation(&s);
}

static void caught(int signo)
{
	(void)signo;
}

static void test_a_process_that_minds_a_signal_catches_or_ignores_it(void **state)
{
	AUTO_CLOSE int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	void (*const handlers[])(int) = { SIG_DFL, SIG_IGN, caught };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(handlers); i++) {
		assert_true(signal(SIGUSR2, handlers[i]) != SIG_ERR);
		assert_int_equal(tree_minds_signal(proc, getpid(), SIGUSR2), i > 0);
		assert_false(tree_minds_signal(proc, getpid(), SIGUSR1));
	}
	assert_true(signal(SIGUSR2, SIG_DFL) != SIG_ERR);
	assert_false(tree_minds_signal(proc, 0x7ffffff0, SIGUSR2)); /* no such pid */
}

static void add_process(int proc, const char *pid, const char *arguments, size_t len)
{
	assert_int_equal(mkdirat(proc, pid, 0755), 0);
	AUTO_CLOSE int folder = openat(proc, pid, O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int fd =
		openat(folder, "cmdline", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, arguments, len), len);
}

/* Runs in a folder that looks like /proc.  In a sandbox the arguments of pid 1 are
 * hidden from its children. */
static void test_a_child_has_its_parents_arguments(void **state)
{
	AUTO_CLOSE int proc = open(*state, O_PATH | O_DIRECTORY | O_CLOEXEC);

	add_process(proc, "1", "sh\0-c", 6);
	add_process(proc, "2", "sh\0-c", 6);
	add_process(proc, "3", "sh\0-x", 6);
	add_process(proc, "4", "sh\0-c\0x", 8);
	add_process(proc, "5", "", 0);
	assert_int_equal(tree_compare_arguments(proc, 1, 2), TREE_SAME_ARGUMENTS);
	assert_int_equal(tree_compare_arguments(proc, 1, 3), TREE_OTHER_ARGUMENTS);
	assert_int_equal(tree_compare_arguments(proc, 1, 4), TREE_OTHER_ARGUMENTS);
	assert_int_equal(tree_compare_arguments(proc, 1, 5), TREE_HAS_ENDED);
	assert_int_equal(tree_compare_arguments(proc, 6, 1), TREE_HAS_ENDED);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_process_that_minds_a_signal_catches_or_ignores_it),
		cmocka_unit_test_setup_teardown(test_a_child_has_its_parents_arguments,
						scene_setup, scene_teardown),
		TEST(test_a_line_is_read_whatever_the_name),
		TEST(test_only_a_procfs_of_ones_own_is_looked_at),
		TEST(test_a_tree_ends_whole),
		TEST(test_namespaces_of_its_own_do_not_help_it),
		TEST(test_a_shell_on_a_terminal_ends_with_its_jobs),
		TEST(test_others_are_left_alone),
		TEST(test_a_fork_bomb_ends),
		TEST(test_a_chain_that_never_stays_ends),
		TEST(test_one_that_has_ended_is_forgotten),
		TEST(test_one_that_has_hardly_begun_ends),
		TEST(test_the_request_is_refused_where_no_process_can_be_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
