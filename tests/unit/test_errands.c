/* errand: each errand is answered exactly once, whatever happens to its process, and
 * no other request waits for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/own.h"
#include "executor/fileops/errands.h"
#include "protocol/action.h"
#include "tests/unit/actor.h"
#include "tests/unit/inside.h"

/* Lists the whole file tree, which takes a while. */
static const struct errand_request everything = { .kind = ERRAND_LIST, .path = "/",
						  .depth = ERRAND_DEPTH_MAX, .limit = 1 };

static pid_t shell; /* shell of session 1; 0: there is no session */

static int setup(void **state)
{
	struct actor *a = calloc(1, sizeof(*a));

	assert_non_null(a);
	actor_begin(a);
	a->file_session = 0;
	shell = 0;
	*state = a;
	return 0;
}

static int teardown(void **state)
{
	struct actor *a = *state;

	actor_end(a);
	free(a);
	return 0;
}

static void expect(struct actor *a, struct errand_request r, uint32_t outcome,
		   const char *content)
{
	struct act x = actor_errand(a, r);

	if (x.outcome != outcome || strcmp(x.content, content) != 0)
		fail_msg("%u of %s: %u (%s), '%s'", r.kind, r.path, x.outcome,
			 strerror((int)x.sys), x.content);
	assert_string_equal(x.cwd, a->home);
	act_done(&x);
}

static void test_each_kind_is_done_below_the_directory(void **state)
{
	struct actor *a = *state;
	const struct errand_request make = { .kind = ERRAND_MKDIR, .path = "a/b" },
		list = { .kind = ERRAND_LIST, .path = ".", .depth = 9, .limit = 9 },
		move = { .kind = ERRAND_MOVE, .path = "a/b", .other = "c" },
		glob = { .kind = ERRAND_GLOB, .path = ".", .other = "**/", .limit = 9 },
		take = { .kind = ERRAND_REMOVE, .path = "c" },
		none = { .kind = ERRAND_STAT, .path = "c" },
		link = { .kind = ERRAND_STAT, .path = "l" },
		bad = { .kind = ERRAND_GLOB, .path = ".", .other = "..", .limit = 1 };
	AUTO_FREE char *at = text_format("%s/l", a->home);

	expect(a, make, OUTCOME_DONE, "");
	expect(a, list, OUTCOME_DONE, "a/\na/b/");
	expect(a, move, OUTCOME_DONE, "");
	struct act found = actor_errand(a, glob);
	assert_true(!strcmp(found.content, "a/\nc/") || !strcmp(found.content, "c/\na/"));
	act_done(&found);
	expect(a, take, OUTCOME_DONE, "");
	expect(a, none, OUTCOME_NOT_FOUND, "");
	expect(a, bad, OUTCOME_REFUSED, "A pattern has no parts '.' and '..'; 'path' says where "
					"it begins.");
	assert_int_equal(symlink("none", at), 0);
	struct act x = actor_errand(a, link);
	assert_true(S_ISLNK(x.returned.stat.mode) && x.returned.stat.uid == getuid());
	assert_string_equal(x.interpreter, "none");
	assert_string_equal(x.path, at);
	act_done(&x);
}

static void test_paths_that_are_too_long_together_are_said(void **state)
{
	struct actor *a = *state;
	char path[4096];

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	const struct errand_request r = { .kind = ERRAND_STAT, .path = path };
	struct act x = actor_errand(a, r);
	assert_true(x.outcome == OUTCOME_ERROR && x.sys == ENAMETOOLONG);
	act_done(&x);
}

/* --- its process ------------------------------------------------------------------ */

/* A search in session 1 that never ends: its rg is a script that opens a FIFO
 * without a writer. */
static const struct errand_request hanging = { .kind = ERRAND_GREP, .path = ".", .other = "x",
					       .limit = 1 };

static void be_where_it_hangs(struct actor *a)
{
	AUTO_FREE char *bin = text_format("%s/bin", a->home), *rg = text_format("%s/rg", bin);
	AUTO_FREE char *path = text_format("PATH=%s:/usr/bin:/bin", bin);
	AUTO_FREE char *script = text_format("#!/bin/sh\n>%s/up\nread x <%s/fifo\n", a->home,
					     a->home);

	actor_make_fifo(a, "fifo");
	assert_int_equal(mkdir(bin, 0755), 0);
	AUTO_CLOSE int fd = open(rg, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	assert_int_equal(write(fd, script, strlen(script)), strlen(script));
	own_close(&fd);
	actor_open(a, 1, a->home, ARGV(path));
	struct act x = actor_expect(a, 1);
	assert_int_equal(x.type, MSG_STARTED);
	shell = (pid_t)x.pid;
	act_done(&x);
	a->file_session = 1;
}

/* The child has become an errand. procfs may hide undumpable processes, as in a
 * sandbox; then the child disappears from view at this moment. */
static bool is_errand(pid_t pid)
{
	AUTO_FREE char *path = text_format("/proc/%d/comm", (int)pid);
	char name[32] = "";
	FILE *f = fopen(path, "re");

	if (!f)
		return kill(pid, 0) == 0;
	bool is_one = fgets(name, sizeof(name), f) && !strcmp(name, "hutch-errand\n");
	(void)fclose(f);
	return is_one;
}

static bool is_child(pid_t pid)
{
	return pid != shell;
}

/* Returns the first of the executor's children for which `is_meant` is true, or 0. */
static pid_t first_child(const struct actor *a, bool (*is_meant)(pid_t pid))
{
	AUTO_FREE char *path = text_format("/proc/%d/task/%d/children", (int)a->s.pid,
					   (int)a->s.pid);
	FILE *f = fopen(path, "re");
	int pid = 0;

	assert_non_null(f);
	while (fscanf(f, "%d", &pid) == 1 && !is_meant(pid))
		pid = 0;
	(void)fclose(f);
	return pid;
}

static pid_t errand_of(const struct actor *a)
{
	return first_child(a, is_errand);
}

static bool is_at_it(void *actor)
{
	return errand_of(actor) != 0;
}

/* Whether the executor has no child.  Any child counts: after an early cancel it may
 * never have begun to serve the errand. */
static bool is_gone(void *actor)
{
	return first_child(actor, is_child) == 0;
}

static bool stands_or_has_ended(void *pid)
{
	return strchr("TZ", inside_state(*(const pid_t *)pid));
}

/* Stops the errand's process and returns it; 0: it ended before that. */
static pid_t stop_errand(struct actor *a)
{
	patience_wait(is_at_it, a);
	pid_t pid = errand_of(a);

	if (pid == 0 || kill(pid, SIGSTOP) < 0)
		return 0;
	patience_wait(stands_or_has_ended, &pid);
	return kill(pid, 0) == 0 && inside_state(pid) != 'Z' ? pid : 0;
}

static void test_a_cancel_is_answered_at_once_and_ends_the_process(void **state)
{
	struct actor *a = *state;
	const struct errand_request none = { .kind = ERRAND_STAT, .path = "none" };

	be_where_it_hangs(a);
	uint32_t id = actor_send_errand(a, hanging);
	actor_await_file(a, "up");
	assert_true(stop_errand(a) > 0);
	/* Another errand is answered while this one is stopped. */
	expect(a, none, OUTCOME_NOT_FOUND, "");
	actor_cancel(a, id);
	struct act x = actor_expect(a, id);
	assert_true(x.type == MSG_RETURNED && x.outcome == OUTCOME_CANCELLED);
	act_done(&x);
	/* Cancels a request that is answered already, which is permitted. */
	actor_cancel(a, id);
	patience_wait(is_gone, a);
	expect(a, none, OUTCOME_NOT_FOUND, "");
}

static void test_one_that_is_killed_is_answered_for(void **state)
{
	struct actor *a = *state;

	be_where_it_hangs(a);
	uint32_t id = actor_send_errand(a, hanging);
	actor_await_file(a, "up");
	assert_int_equal(kill(errand_of(a), SIGKILL), 0);
	struct act x = actor_expect(a, id);
	assert_true(x.outcome == OUTCOME_ERROR && x.sys == EINTR);
	assert_string_equal(x.path, ".");
	act_done(&x);
}

/* An attacker in that process finds no way to the supervisor, and no other
 * process can read it: it is not dumpable. */
static void test_the_process_of_an_errand_has_no_descriptor_of_the_executor(void **state)
{
	struct actor *a = *state;
	uint32_t id = actor_send_errand(a, everything);
	struct act x;
	pid_t pid;

	/* The errand was done before it could be stopped: sends another. */
	while (!(pid = stop_errand(a))) {
		x = actor_expect(a, id);
		act_done(&x);
		id = actor_send_errand(a, everything);
	}
	AUTO_FREE char *path = text_format("/proc/%d/fd", (int)pid);
	DIR *dir = opendir(path);

	if (getuid() != 0)
		assert_true(!dir && (errno == EACCES || errno == EPERM || errno == ENOENT));
	for (struct dirent *d; dir && (d = readdir(dir));) {
		char to[64] = "";
		if (readlinkat(dirfd(dir), d->d_name, to, sizeof(to) - 1) <= 0)
			continue;
		/* Only the pipe to the executor, and folders that the errand walks
		 * through. */
		if (to[0] != '/' && (strncmp(to, "pipe:", 5) != 0 || atoi(d->d_name) > 2))
			fail_msg("descriptor %s is %s", d->d_name, to);
	}
	if (dir)
		(void)closedir(dir);
	actor_cancel(a, id);
	x = actor_expect(a, id);
	act_done(&x);
}

/* --- many -------------------------------------------------------------------------- */

static void test_so_many_go_at_a_time_and_no_more(void **state)
{
	struct actor *a = *state;

	be_where_it_hangs(a);
	uint32_t first = a->next;
	for (int i = 0; i < ERRANDS_MAX; i++)
		(void)actor_send_errand(a, hanging);
	const struct errand_request one = { .kind = ERRAND_STAT, .path = "/" };
	uint32_t id = actor_send_errand(a, one);
	struct act x = actor_expect(a, id);
	assert_true(x.outcome == OUTCOME_ERROR && x.sys == EAGAIN);
	act_done(&x);
	for (uint32_t i = 0; i < ERRANDS_MAX; i++)
		actor_cancel(a, first + i);
	for (int i = 0; i < ERRANDS_MAX; i++) {
		x = actor_next(a);
		assert_true(x.type == MSG_RETURNED);
		act_done(&x);
	}
	patience_wait(is_gone, a);
	x = actor_errand(a, one);
	assert_int_equal(x.outcome, OUTCOME_DONE);
	act_done(&x);
}

static void test_nothing_is_left_of_them(void **state)
{
	struct actor *a = *state;
	const struct errand_request one = { .kind = ERRAND_STAT, .path = "/" };

	unsigned fds = 0;
	unsigned long kib = 0;

	for (int i = 0; i < 600; i++) {
		struct act x = actor_errand(a, one);
		assert_int_equal(x.outcome, OUTCOME_DONE);
		act_done(&x);
		if (i != 200)
			continue;
		patience_wait(is_gone, a);
		fds = supervisor_fds(&a->s);
		kib = supervisor_memory(&a->s);
	}
	patience_wait(is_gone, a);
	assert_int_equal(supervisor_fds(&a->s), fds);
#ifndef __SANITIZE_ADDRESS__ /* it keeps freed memory */
	assert_in_range(supervisor_memory(&a->s), 0, kib + 200);
#else
	(void)kib;
#endif
}

/* --- user and directory ------------------------------------------------------------ */

static void test_an_errand_is_done_as_the_sessions_user_in_its_directory(void **state)
{
	const struct errand_request make = { .kind = ERRAND_MKDIR, .path = "mine" },
		list = { .kind = ERRAND_LIST, .path = ".", .depth = 1, .limit = 9 };
	struct actor *a = *state;
	AUTO_FREE char *folder = text_format("%s/work", a->home);
	AUTO_FREE char *mine = text_format("%s/work/mine", a->home);
	uint32_t user = getuid() ? getuid() : 65534;
	struct stat st;

	assert_int_equal(chmod(a->home, 0711), 0);
	assert_true(mkdir(folder, 0755) == 0 && chown(folder, user, (gid_t)-1) == 0);
	if (getuid() == 0)
		actor_open_as(a, 1, folder, user);
	else
		actor_open(a, 1, folder, NULL);
	struct act x = actor_expect(a, 1);
	assert_int_equal(x.type, MSG_STARTED);
	act_done(&x);
	a->file_session = 1;
	x = actor_errand(a, make);
	assert_int_equal(x.outcome, OUTCOME_DONE);
	assert_string_equal(x.path, mine);
	act_done(&x);
	assert_true(stat(mine, &st) == 0 && st.st_uid == user);
	x = actor_errand(a, list);
	assert_string_equal(x.content, "mine/");
	act_done(&x);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_each_kind_is_done_below_the_directory),
		TEST(test_paths_that_are_too_long_together_are_said),
		TEST(test_a_cancel_is_answered_at_once_and_ends_the_process),
		TEST(test_one_that_is_killed_is_answered_for),
		TEST(test_the_process_of_an_errand_has_no_descriptor_of_the_executor),
		TEST(test_so_many_go_at_a_time_and_no_more),
		TEST(test_nothing_is_left_of_them),
		TEST(test_an_errand_is_done_as_the_sessions_user_in_its_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
