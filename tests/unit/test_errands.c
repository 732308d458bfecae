/* Errands: each is answered once, whatever becomes of its process, and nobody waits. */
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

#include "base/action.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/own.h"
#include "executor/errands.h"
#include "tests/unit/actor.h"

/* Takes a while, on any machine. */
static const struct errand_request everything = { .kind = ERRAND_LIST, .path = "/",
						  .depth = ERRAND_DEPTH_MAX, .limit = 1 };

static int setup(void **state)
{
	struct actor *a = calloc(1, sizeof(*a));

	assert_non_null(a);
	actor_begin(a);
	a->file_session = 0;
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

/* The executor's only child; 0: none. */
static pid_t child_of(const struct actor *a)
{
	AUTO_FREE char *path = text_format("/proc/%d/task/%d/children", (int)a->s.pid,
					   (int)a->s.pid);
	FILE *f = fopen(path, "r");
	int pid = 0;

	assert_non_null(f);
	if (fscanf(f, "%d", &pid) != 1)
		pid = 0;
	(void)fclose(f);
	return pid;
}

/* It has come to be one.  Where procfs hides what nobody may look into, as in a
 * sandbox, it is seen no more from then on. */
static bool is_errand(pid_t pid)
{
	AUTO_FREE char *path = text_format("/proc/%d/comm", (int)pid);
	char name[32] = "";
	FILE *f = fopen(path, "r");

	if (!f)
		return kill(pid, 0) == 0;
	bool is_one = fgets(name, sizeof(name), f) && !strcmp(name, "hutch-errand\n");
	(void)fclose(f);
	return is_one;
}

/* Its process, stopped when it is at it. */
static pid_t stop_child(const struct actor *a)
{
	int64_t until = clock_ms() + ANSWER_MS;
	pid_t pid;

	while ((pid = child_of(a)) == 0 || !is_errand(pid))
		assert_true(clock_ms() < until);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	return pid;
}

static void until_gone(const struct actor *a)
{
	int64_t until = clock_ms() + ANSWER_MS;

	while (child_of(a) != 0)
		assert_true(clock_ms() < until);
}

static void test_a_cancel_is_answered_at_once_and_ends_the_process(void **state)
{
	struct actor *a = *state;
	const struct errand_request list = { .kind = ERRAND_LIST, .path = ".", .depth = 1,
					     .limit = 1 };
	uint32_t id = actor_send_errand(a, everything);

	(void)stop_child(a);
	expect(a, list, OUTCOME_DONE, ""); /* meanwhile */
	actor_cancel(a, id);
	struct act x = actor_expect(a, id);
	assert_true(x.type == MSG_RETURNED && x.outcome == OUTCOME_CANCELLED);
	act_done(&x);
	actor_cancel(a, id); /* they may cross */
	until_gone(a);
	expect(a, list, OUTCOME_DONE, "");
}

static void test_what_hangs_is_given_up_after_its_time_out(void **state)
{
	struct actor *a = *state;
	struct errand_request r = everything;
	int64_t begun = clock_ms();

	r.timeout_ms = 300;
	uint32_t id = actor_send_errand(a, r);
	(void)stop_child(a);
	struct act x = actor_expect(a, id);
	assert_true(x.outcome == OUTCOME_TIMED_OUT && clock_ms() - begun >= 300);
	act_done(&x);
	until_gone(a);
}

static void test_what_is_late_tells_what_it_has(void **state)
{
	struct actor *a = *state;
	struct errand_request r = everything;

	r.timeout_ms = 20;
	r.limit = ERRAND_LIMIT_MAX;
	struct act x = actor_errand(a, r);
	/* A machine with much to do may not let it tell anything in what is left of so little. */
	while (x.outcome == OUTCOME_TIMED_OUT && r.timeout_ms < 1000) {
		act_done(&x);
		r.timeout_ms *= 2;
		x = actor_errand(a, r);
	}
	assert_int_equal(x.outcome, OUTCOME_DONE);
	assert_non_null(strstr(x.content, "[It took too long, and was ended after "));
	act_done(&x);
}

static void test_one_that_is_killed_is_answered_for(void **state)
{
	struct actor *a = *state;
	uint32_t id = actor_send_errand(a, everything);

	assert_int_equal(kill(stop_child(a), SIGKILL), 0);
	struct act x = actor_expect(a, id);
	assert_true(x.outcome == OUTCOME_ERROR && x.sys == EINTR);
	assert_string_equal(x.path, "/");
	act_done(&x);
}

/* Whoever breaks into it finds no way to the supervisor, and nobody looks into it: it is
 * not dumpable. */
static void test_its_process_has_no_descriptor_of_the_executor(void **state)
{
	struct actor *a = *state;
	uint32_t id = actor_send_errand(a, everything);
	AUTO_FREE char *path = text_format("/proc/%d/fd", (int)stop_child(a));
	DIR *dir = opendir(path);

	if (getuid() != 0)
		assert_true(!dir && (errno == EACCES || errno == EPERM || errno == ENOENT));
	for (struct dirent *d; dir && (d = readdir(dir));) {
		char to[64] = "";
		if (readlinkat(dirfd(dir), d->d_name, to, sizeof(to) - 1) <= 0)
			continue;
		/* The pipe, and folders that it walks through. */
		if (to[0] != '/' && (strncmp(to, "pipe:", 5) != 0 || atoi(d->d_name) > 2))
			fail_msg("descriptor %s is %s", d->d_name, to);
	}
	if (dir)
		(void)closedir(dir);
	actor_cancel(a, id);
	struct act x = actor_expect(a, id);
	act_done(&x);
}

/* --- many -------------------------------------------------------------------------- */

static void test_so_many_go_at_a_time_and_no_more(void **state)
{
	struct actor *a = *state;
	uint32_t first = a->next;

	for (int i = 0; i < ERRANDS_MAX; i++)
		(void)actor_send_errand(a, everything);
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
	until_gone(a);
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
		until_gone(a);
		fds = supervisor_fds(&a->s);
		kib = supervisor_memory(&a->s);
	}
	until_gone(a);
	assert_int_equal(supervisor_fds(&a->s), fds);
#ifndef __SANITIZE_ADDRESS__ /* which keeps what was freed */
	assert_in_range(supervisor_memory(&a->s), 0, kib + 200);
#else
	(void)kib;
#endif
}

/* --- for whom ---------------------------------------------------------------------- */

static void test_it_is_done_as_the_sessions_user_in_its_directory(void **state)
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
		TEST(test_what_hangs_is_given_up_after_its_time_out),
		TEST(test_what_is_late_tells_what_it_has),
		TEST(test_one_that_is_killed_is_answered_for),
		TEST(test_its_process_has_no_descriptor_of_the_executor),
		TEST(test_so_many_go_at_a_time_and_no_more),
		TEST(test_nothing_is_left_of_them),
		TEST(test_it_is_done_as_the_sessions_user_in_its_directory),
	};

	(void)alarm(300);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
