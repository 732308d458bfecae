/* apply_maker: files are made by two processes, whatever happens to the second one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "rootfs-tools/changes/apply_maker.h"
#include "tests/patience.h"
#include "tests/unit/archive.h"

#define TEMPORARY ".made"

static int setup(void **state)
{
	if (scene_setup(state) < 0)
		return -1;
	scene_dir(state, "host");
	return 0;
}

/* Starts, with the folder host/. */
static void start(void **state, struct apply_maker *m, int held)
{
	AUTO_FREE char *host = scene_path(state, "host");
	AUTO_CLOSE int at = open(host, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err e;

	assert_int_equal(apply_maker_start(m, TEMPORARY, held, &e), 0);
	assert_true(apply_maker_enter(m, at));
}

static void put_one(struct apply_maker *m, const char *compared)
{
	struct apply_job *j = apply_maker_next(m);

	(void)strcpy(j->compared, compared);
	j->attributes = (struct apply_attributes){ .mode = 0640, .group = (gid_t)-1 };
	j->len = strlen("text");
	memcpy(j->data, "text", j->len);
	apply_maker_put(m);
}

static void put_all(struct apply_maker *m)
{
	while (!apply_maker_is_full(m))
		put_one(m, "");
}

static int take(struct apply_maker *m, const struct apply_job **ret, struct err *e)
{
	const char *temporary;

	const int result = apply_maker_wait(m, ret, &temporary, e);
	if (result == 0 && (*ret)->end == APPLY_JOB_MADE)
		assert_int_equal(unlinkat(m->at, temporary, 0), 0);
	if (result == 0)
		apply_maker_drop(m);
	return result;
}

static void check_empty(void **state)
{
	for (unsigned i = 0; i < APPLY_MAKER_JOBS; i++) {
		struct apply_name name;
		apply_maker_name(&name, "host/" TEMPORARY, i);
		assert_false(scene_has(state, name.text));
	}
}

static void take_all(struct apply_maker *m)
{
	const struct apply_job *job;
	struct err e;

	while (!apply_maker_is_empty(m)) {
		assert_int_equal(take(m, &job, &e), 0);
		assert_int_equal(job->end, APPLY_JOB_MADE);
	}
}

static void test_all_jobs_are_done_many_times_around(void **state)
{
	const unsigned before = scene_open_fds();
	struct apply_maker m;

	start(state, &m, -1);
	for (int i = 0; i < 50; i++) {
		put_all(&m);
		take_all(&m);
	}
	apply_maker_end(&m);
	check_empty(state);
	assert_int_equal(scene_open_fds(), before);
}

static void test_a_job_says_why_nothing_was_made(void **state)
{
	const struct apply_job *job;
	struct apply_maker m;
	struct err e;

	start(state, &m, -1);
	scene_file(state, "host/same", "text");
	scene_file(state, "host/longer", "text.");
	scene_dir(state, "host/" TEMPORARY "-2"); /* in the way */
	put_one(&m, "same");
	put_one(&m, "longer");
	put_one(&m, "missing");
	assert_int_equal(take(&m, &job, &e), 0);
	assert_int_equal(job->end, APPLY_JOB_SAME);
	assert_int_equal(take(&m, &job, &e), 0);
	assert_int_equal(job->end, APPLY_JOB_MADE);
	assert_int_equal(take(&m, &job, &e), 0);
	assert_int_equal(job->end, APPLY_JOB_UNMADE);
	assert_int_equal(job->error, EEXIST);
	apply_maker_end(&m);
}

static void test_a_file_that_was_left_is_in_no_jobs_way(void **state)
{
	const struct apply_job *job;
	struct apply_maker m;
	struct err e;

	start(state, &m, -1);
	scene_file(state, "host/" TEMPORARY "-0", "left");
	put_one(&m, "");
	assert_int_equal(take(&m, &job, &e), 0);
	assert_int_equal(job->end, APPLY_JOB_MADE);
	apply_maker_end(&m);
	check_empty(state);
}

static void test_each_folder_has_the_files_that_were_put_for_it(void **state)
{
	struct apply_maker m;

	start(state, &m, -1);
	for (int i = 0; i < 20; i++) {
		AUTO_FREE char *name = text_format("host/%d", i);
		scene_dir(state, name);
		AUTO_FREE char *path = scene_path(state, name);
		AUTO_CLOSE int at = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(apply_maker_enter(&m, at));
		put_all(&m);
		take_all(&m);
	}
	apply_maker_end(&m);
}

static void test_a_second_process_that_stands_still_keeps_no_job_waiting(void **state)
{
	struct apply_maker m;
	siginfo_t stopped;

	start(state, &m, -1);
	assert_int_equal(kill(m.worker.pid, SIGSTOP), 0);
	assert_int_equal(waitid(P_PID, (id_t)m.worker.pid, &stopped, WSTOPPED), 0);
	put_all(&m);
	take_all(&m);
	apply_maker_end(&m);
}

static void stop(int signo)
{
	(void)signo;
	(void)raise(SIGSTOP);
}

/* The second process may write nothing, and stops at its first write, which fails when it
 * goes on. */
static void test_a_second_process_that_is_stopped_at_a_job_goes_on(void **state)
{
	const struct rlimit none = { 0, 0 };
	const struct apply_job *job;
	struct apply_maker m;
	siginfo_t stopped;
	struct err e;
	size_t failed = 0;

	assert_true(signal(SIGXFSZ, stop) != SIG_ERR);
	start(state, &m, -1);
	assert_true(signal(SIGXFSZ, SIG_DFL) != SIG_ERR);
	assert_int_equal(prlimit(m.worker.pid, RLIMIT_FSIZE, &none, NULL), 0);
	put_all(&m);
	assert_int_equal(waitid(P_PID, (id_t)m.worker.pid, &stopped, WSTOPPED), 0);
	while (!failed) {
		assert_int_equal(take(&m, &job, &e), 0);
		failed += job->end == APPLY_JOB_UNWRITTEN && job->error == EFBIG;
	}
	apply_maker_end(&m);
	check_empty(state);
}

/* The second process may write nothing, as if the disk were full of the files behind. */
static void
test_a_job_that_has_failed_is_done_again_without_the_files_behind(void **state)
{
	const struct rlimit none = { 0, 0 };
	const struct apply_job *job;
	struct apply_maker m;
	const char *temporary;
	struct err e;

	assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	start(state, &m, -1);
	assert_true(signal(SIGXFSZ, SIG_DFL) != SIG_ERR);
	assert_int_equal(prlimit(m.worker.pid, RLIMIT_FSIZE, &none, NULL), 0);
	do {
		put_all(&m);
		assert_int_equal(apply_maker_wait(&m, &job, &temporary, &e), 0);
		if (job->end == APPLY_JOB_MADE)
			assert_int_equal(take(&m, &job, &e), 0);
	} while (job->end == APPLY_JOB_MADE);
	while (!apply_maker_is_empty(&m)) {
		assert_int_equal(apply_maker_again(&m, &e), 0);
		assert_int_equal(take(&m, &job, &e), 0);
		assert_int_equal(job->end, APPLY_JOB_MADE);
		check_empty(state);
	}
	apply_maker_end(&m);
}

/* The second process may write nothing, and is killed by its first write.  The first process
 * does no job before. */
static void test_a_second_process_that_dies_at_a_job_is_an_error(void **state)
{
	const struct rlimit none = { 0, 0 };
	const struct apply_job *job;
	struct apply_maker m;
	siginfo_t dead;
	struct err e;
	int result;

	start(state, &m, -1);
	assert_int_equal(prlimit(m.worker.pid, RLIMIT_FSIZE, &none, NULL), 0);
	put_all(&m);
	assert_int_equal(waitid(P_PID, (id_t)m.worker.pid, &dead, WEXITED | WNOWAIT), 0);
	do {
		result = take(&m, &job, &e);
	} while (result == 0 && !apply_maker_is_empty(&m));
	assert_int_equal(result, -1);
	assert_string_equal(e.text,
			    "the process that makes files was ended by signal 25");
	assert_int_equal(take(&m, &job, &e), -1);
	apply_maker_end(&m);
	check_empty(state);
}

static void test_the_files_of_jobs_that_are_not_taken_are_removed(void **state)
{
	struct apply_maker m;

	start(state, &m, -1);
	put_all(&m);
	apply_maker_end(&m);
	check_empty(state);
}

static bool is_made(void *context)
{
	return scene_has(context, "host/" TEMPORARY "-0");
}

/* The second process has closed its other descriptors when it has made a file. */
static void test_a_lock_is_held_until_the_second_process_has_ended(void **state)
{
	AUTO_FREE char *path = scene_path(state, "lock");
	AUTO_CLOSE int mine = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	AUTO_CLOSE int others = open(path, O_RDWR | O_CLOEXEC);
	struct apply_maker m;

	assert_int_equal(flock(mine, LOCK_EX), 0);
	start(state, &m, mine);
	own_close(&mine);
	put_one(&m, "");
	patience_wait(is_made, state);
	assert_int_equal(flock(others, LOCK_EX | LOCK_NB), -1);
	apply_maker_end(&m);
	assert_int_equal(flock(others, LOCK_EX | LOCK_NB), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, tree_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_all_jobs_are_done_many_times_around),
		TEST(test_a_job_says_why_nothing_was_made),
		TEST(test_a_file_that_was_left_is_in_no_jobs_way),
		TEST(test_each_folder_has_the_files_that_were_put_for_it),
		TEST(test_a_second_process_that_stands_still_keeps_no_job_waiting),
		TEST(test_a_second_process_that_is_stopped_at_a_job_goes_on),
		TEST(test_a_job_that_has_failed_is_done_again_without_the_files_behind),
		TEST(test_a_second_process_that_dies_at_a_job_is_an_error),
		TEST(test_the_files_of_jobs_that_are_not_taken_are_removed),
		TEST(test_a_lock_is_held_until_the_second_process_has_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
