/* registry_end: when a sandbox with a name ends, waiting processes learn of it, and
 * one other may take the name.  Killed owners are children of the test, which is a
 * subreaper, so that it can wait for their janitors. */
#include "sandbox/state/registry_end.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>

#include "base/err.h"
#include "base/io.h"
#include "sandbox/cgroup/cgroup.h"
#include "sandbox/kernel/terminal.h"
#include "sandbox/launch/janitor.h"
#include "sandbox/root/overlay_upper.h"
#include "tests/unit/register.h"
#include "tests/unit/rounds.h"

/* --- which processes are killed -------------------------------------------- */

struct owner {
	const char *name, *renamed;
	bool has_janitor, leaves_nothing;
	/* Is killed after the record is written and before the rest is removed. */
	bool writes_record;
};

/* Owns the name until it is killed; writes to its stdout when it has the name. */
__attribute__((noreturn)) static void own(const struct owner *o)
{
	static const struct terminal no_terminal = { .fd = -1 };
	static const struct cgroup no_cgroup;
	struct overlay_upper none;
	struct registry_entry r;
	struct janitor j;
	struct err e;

	overlay_upper_init(&none);
	janitor_init(&j);
	CHECK(registry_create(o->name, &r, &e) == 0);
	if (o->leaves_nothing)
		CHECK(registry_leave_nothing(&r, &e) == 0);
	if (o->has_janitor)
		CHECK(janitor_start(&j,
				    &(struct chores){ &no_terminal, &none, &no_cgroup, &r,
						      -1, NULL },
				    &e) == 0);
	if (o->renamed)
		CHECK(registry_rename(&r, o->renamed, &e) == 0);
	if (o->writes_record)
		CHECK(pwrite(r.lock, RECORD "\n", sizeof(RECORD), 0) == sizeof(RECORD));
	say(1);
	for (;;)
		(void)pause();
}

static pid_t start_owner(const struct owner *o)
{
	int ends[2];
	char byte;

	(void)alarm(PATIENCE_S); /* bounds every step of a test that may hang */
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)alarm(PATIENCE_S);
		CHECK(dup2(ends[1], 1) == 1);
		own(o);
	}
	(void)close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	(void)close(ends[0]);
	return pid;
}

/* Whether the process is blocked in flock(2). */
static bool is_blocked(void *context)
{
	AUTO_FREE char *path = text_format("/proc/%d/stat", (int)*(const pid_t *)context);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[256] = "";

	return read(fd, text, sizeof(text) - 1) > 0 && strstr(text, ") S ");
}

static void kill_owner(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_the_name_of_a_killed_owner_is_free_at_once(void **state)
{
	static const struct owner owners[] = {
		{ .name = "one" },
		{ .name = "one", .has_janitor = true },
	};
	struct registry_entry r;

	(void)state;
	for (int i = 0; i < 100; i++) {
		kill_owner(start_owner(&owners[i % 2]));
		create("one", &r);
		expect_ended("one", i % 2 ? "\"reason\":\"killed\""
					  : "\"reason\":\"host_gone\"");
		end(&r, REGISTRY_REMOVE);
		wait_for_all();
	}
}

static void test_the_janitor_ends_what_its_supervisor_no_longer_can(void **state)
{
	static const struct { struct owner owner; const char *name, *record;
	} cases[] = {
		{ { .name = "a", .has_janitor = true },
		  "a",
		  "{\"reason\":\"killed\",\"exit_code\":137,\"limit\":null,\"message\":\"the "
		  "supervisor was killed\",\"remedy\":null,\"ended\":\"20" },
		{ { .name = "b", .renamed = "b2", .has_janitor = true },
		  "b2",
		  "\"killed\"" },
		{ { .name = "c", .has_janitor = true, .writes_record = true },
		  "c",
		  RECORD },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_FREE char *path = text_format("hutch/%s", cases[i].name);
		kill_owner(start_owner(&cases[i].owner));
		wait_for_all();
		assert_false(is_there(state, path));
		expect_ended(cases[i].name, cases[i].record);
	}
	assert_int_equal(count_in(state, "hutch"), 2);
}

/* Ways to be the first that deals with a sandbox whose owner was killed: here,
 * looking it up. */
static void look_by_open(void)
{
	expect_absent("one");
}

static void look_by_list(void)
{
	struct registry_list list;

	assert_int_equal(registry_list(false, &list, NULL), 0);
	assert_int_equal(list.count, 0);
	registry_list_done(&list);
}

static void look_by_wait(void)
{
	char *record;

	assert_int_equal(registry_wait("one", &record, NULL), 0);
	assert_non_null(strstr(record, "host_gone"));
	free(record);
}

static void look_by_rename(void)
{
	struct registry_entry r;

	create("two", &r);
	assert_int_equal(registry_rename(&r, "one", NULL), 0);
	end(&r, REGISTRY_REMOVE);
}

static void test_one_left_over_is_ended_by_whoever_comes_across_it(void **state)
{
	static void (*const looks[])(void) = { look_by_open, look_by_list, look_by_wait,
					       look_by_rename };

	for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
		kill_owner(start_owner(&(struct owner){ .name = "one" }));
		assert_true(is_there(state, "hutch/one"));
		looks[i]();
		assert_false(is_there(state, "hutch/one"));
		expect_ended("one", "\"reason\":\"host_gone\",\"exit_code\":125,");
		assert_int_equal(registry_forget("one", NULL), 0);
	}
}

static void expect_no_record(const char *name)
{
	struct registry_item item;
	struct err e;

	assert_int_equal(registry_find_ended(name, &item, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
}

static void test_one_that_is_to_leave_nothing_leaves_no_record(void **state)
{
	static void (*const looks[])(void) = { look_by_open, look_by_list, look_by_wait,
					       look_by_rename };

	for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
		kill_owner(start_owner(
			&(struct owner){ .name = "one", .leaves_nothing = true }));
		looks[i]();
		assert_false(is_there(state, "hutch/one"));
		expect_no_record("one");
	}
	kill_owner(start_owner(&(struct owner){
		.name = "one", .leaves_nothing = true, .has_janitor = true }));
	wait_for_all();
	assert_false(is_there(state, "hutch/one"));
	expect_no_record("one");
}

/* A janitor at work holds the lock of the name, and not that of the folder. */
static void test_one_that_is_tidied_up_is_waited_for_and_not_taken(void **state)
{
	struct registry_entry old, r;
	struct registry_list list;
	struct err e;

	(void)state;
	create("one", &old);
	own_close(&old.alive);
	expect_absent("one");
	assert_int_equal(registry_list(false, &list, &e), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].status, REGISTRY_STOPPING);
	registry_list_done(&list);
	pid_t janitor = fork();
	if (janitor == 0) {
		(void)alarm(PATIENCE_S);
		pid_t creator = getppid();
		patience_wait(is_blocked, &creator);
		registry_end_killed(&old);
		_exit(0);
	}
	registry_done(&old);
	create("one", &r);
	expect_ended("one", "\"killed\"");
	end(&r, REGISTRY_REMOVE);
	assert_int_equal(scene_child_code(janitor), 0);
}

static void test_half_made_and_half_removed_entries_are_swept(void **state)
{
	struct registry_entry r;

	create("one", &r);
	scene_dir(state, "hutch/.tmp/left");
	scene_file(state, "hutch/.tmp/left/f", "x");
	scene_dir(state, "hutch/.tmp/held");
	AUTO_FREE char *held = scene_path(state, "hutch/.tmp/held");
	AUTO_CLOSE int lock = open(held, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
	end(&r, REGISTRY_REMOVE);
	create("one", &r);
	assert_false(is_there(state, "hutch/.tmp/left"));
	assert_true(is_there(state, "hutch/.tmp/held"));
	assert_true(is_there(state, "hutch/one"));
	end(&r, REGISTRY_REMOVE);
}

/* --- races ----------------------------------------------------------------- */

#define RACERS 8
#define ROUNDS ROUNDS_OF(200)

/* Waits for the end of file on `go`, takes the name, and keeps it until the end of
 * file on `hold`. */
__attribute__((noreturn)) static void race(int go, int done, int hold)
{
	struct registry_entry r;
	struct err e;
	char byte;

	(void)alarm(PATIENCE_S);
	CHECK(read(go, &byte, 1) == 0);
	bool has_won = registry_create("one", &r, &e) == 0;
	CHECK(has_won || e.kind == ERR_EXISTS);
	say(done);
	CHECK(read(hold, &byte, 1) == 0);
	_exit(has_won ? 7 : 0); /* does not end the sandbox, as if it were killed */
}

static int run_race(void)
{
	int go[2], done[2], hold[2], winners = 0;
	char bytes[RACERS];
	pid_t pids[RACERS];

	(void)alarm(PATIENCE_S);
	assert_int_equal(pipe2(go, O_CLOEXEC) | pipe2(done, O_CLOEXEC) |
				 pipe2(hold, O_CLOEXEC),
			 0);
	for (int i = 0; i < RACERS; i++)
		if ((pids[i] = fork()) == 0) {
			(void)close(go[1]);
			(void)close(hold[1]);
			race(go[0], done[1], hold[0]);
		}
	(void)close(go[1]);
	(void)close(done[1]);
	assert_int_equal(io_read_full(done[0], bytes, RACERS), RACERS);
	(void)close(hold[1]);
	for (int i = 0; i < RACERS; i++) {
		int code = scene_child_code(pids[i]);
		assert_true(code == 0 || code == 7);
		winners += code == 7;
	}
	(void)close(go[0]);
	(void)close(done[0]);
	(void)close(hold[0]);
	return winners;
}

static void test_exactly_one_of_many_creators_wins(void **state)
{
	struct registry_list list;

	for (int i = 0; i < ROUNDS; i++)
		assert_int_equal(run_race(), 1);
	/* No sandbox was ended twice or lost: the number of records is at its bound. */
	assert_int_equal(registry_list(true, &list, NULL), 0);
	assert_int_equal(list.count,
			 ROUNDS < REGISTRY_ENDED_MAX ? ROUNDS : REGISTRY_ENDED_MAX);
	registry_list_done(&list);
	assert_int_equal(count_in(state, "hutch/.tmp"), 0);
}

/* Processes that create and end, that remove and kill, and that list, all at
 * once.  A creator has its name until it ends the sandbox itself. */
__attribute__((noreturn)) static void churn(int seed)
{
	struct registry_entry r;
	struct registry_list list;
	struct registry_item item;
	struct err e;

	(void)alarm(PATIENCE_S);
	for (int i = 0; i < ROUNDS_OF(100); i++) {
		CHECK(registry_list(i & 1, &list, &e) == 0);
		registry_list_done(&list);
		if (registry_create("one", &r, &e) < 0) {
			CHECK(e.kind == ERR_EXISTS);
			continue;
		}
		CHECK(registry_look("one", &item, &e) == 0 && !strcmp(item.id, r.id));
		registry_item_done(&item);
		if ((i + seed) % 3) /* in the other rounds the owner is as if killed */
			CHECK(registry_end(&r, RECORD,
					   i & 2 ? REGISTRY_KEEP : REGISTRY_REMOVE,
					   &e) == 0);
		registry_done(&r);
		(void)registry_forget("one", NULL);
	}
	_exit(0);
}

static void test_a_sandbox_keeps_its_name_against_all_others(void **state)
{
	pid_t pids[4];

	for (int i = 0; i < 4; i++)
		if ((pids[i] = fork()) == 0)
			churn(i);
	for (int i = 0; i < 4; i++)
		assert_int_equal(scene_child_code(pids[i]), 0);
	(void)registry_forget("one", NULL);
	expect_absent("one");
	(void)registry_forget("one", NULL);
	assert_int_equal(count_in(state, "hutch"), 2);
	assert_int_equal(count_in(state, "hutch/.ended") + count_in(state, "hutch/.tmp"),
			 0);
}

/* --- waiting --------------------------------------------------------------- */

/* Forks a child that waits for the end of "one" and prints the record. */
static pid_t start_waiter(int *ret_out)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char *record;
		(void)alarm(PATIENCE_S);
		CHECK(registry_wait("one", &record, NULL) == 0);
		CHECK(io_write_all(ends[1], record, strlen(record)) == 0);
		_exit(0);
	}
	(void)close(ends[1]);
	*ret_out = ends[0];
	return pid;
}

static void await_blocked(pid_t pid)
{
	patience_wait(is_blocked, &pid);
}

static void expect_record(int *out, const char *record)
{
	char text[200] = "";

	assert_true(io_read_full(*out, text, sizeof(text) - 1) >= 0);
	if (!strstr(text, record))
		fail_msg("%s is not in '%s'", record, text);
	own_close(out);
}

static void test_a_waiter_gets_the_record_of_a_kept_or_removed_folder(void **state)
{
	static const enum registry_rest rests[] = { REGISTRY_KEEP, REGISTRY_REMOVE };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rests); i++) {
		struct registry_entry r;
		pid_t pids[3];
		int outs[3];
		create("one", &r);
		for (int w = 0; w < 3; w++) {
			pids[w] = start_waiter(&outs[w]);
			await_blocked(pids[w]);
			assert_false(scene_readable(outs[w], 0));
		}
		/* The sandbox's end releases the lock, although other processes have
		 * the file open. */
		assert_int_equal(registry_end(&r, RECORD, rests[i], NULL), 0);
		for (int w = 0; w < 3; w++)
			expect_record(&outs[w], RECORD);
		registry_done(&r);
		wait_for_all();
	}
}

static void test_a_waiter_learns_of_a_kill(void **state)
{
	static const struct { struct owner owner; const char *record; } cases[] = {
		{ { .name = "one", .has_janitor = true }, "\"killed\"" },
		{ { .name = "one" }, "\"host_gone\"" },
		{ { .name = "two", .renamed = "one" }, "\"host_gone\"" },
	};
	char *record;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int outs[2];
		pid_t owner = start_owner(&cases[i].owner);
		for (int w = 0; w < 2; w++)
			await_blocked(start_waiter(&outs[w]));
		kill_owner(owner);
		for (int w = 0; w < 2; w++)
			expect_record(&outs[w], cases[i].record);
		wait_for_all();
	}
	/* The sandbox has ended, so waiting for it returns at once. */
	assert_int_equal(registry_wait("one", &record, NULL), 0);
	assert_non_null(strstr(record, "host_gone"));
	free(record);
	struct err e;
	assert_int_equal(registry_wait("other", &record, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
}

/* A user removes the folder of a running sandbox by hand. */
static void test_a_waiter_is_told_that_the_folder_is_gone(void **state)
{
	struct registry_entry r;
	struct err e;
	int out;
	AUTO_FREE char *folder = scene_path(state, "hutch/one");
	AUTO_FREE char *aside = scene_path(state, "aside");

	create("one", &r);
	await_blocked(start_waiter(&out));
	assert_int_equal(rename(folder, aside), 0);
	assert_int_equal(registry_end(&r, RECORD, REGISTRY_KEEP, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	expect_record(&out, RECORD);
	registry_done(&r);
	wait_for_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_name_of_a_killed_owner_is_free_at_once),
		TEST(test_the_janitor_ends_what_its_supervisor_no_longer_can),
		TEST(test_one_left_over_is_ended_by_whoever_comes_across_it),
		TEST(test_one_that_is_to_leave_nothing_leaves_no_record),
		TEST(test_one_that_is_tidied_up_is_waited_for_and_not_taken),
		TEST(test_half_made_and_half_removed_entries_are_swept),
		TEST(test_exactly_one_of_many_creators_wins),
		TEST(test_a_sandbox_keeps_its_name_against_all_others),
		TEST(test_a_waiter_gets_the_record_of_a_kept_or_removed_folder),
		TEST(test_a_waiter_learns_of_a_kill),
		TEST(test_a_waiter_is_told_that_the_folder_is_gone),
	};

	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
