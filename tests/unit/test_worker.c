/* worker: a function runs in a child process; its result comes back, or the reason
 * why it ended. */
#include "base/worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include "tests/unit/scene.h"

/* Inside a sandbox of hutch clone3(2) fails with ENOSYS. */
static void need_clone3(void)
{
	if (syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS)
		skip();
}

/* --- answers ---------------------------------------------------------------------- */

static int add_one(void *arg, void *result, struct err *e)
{
	(void)e;
	*(int *)result = ++*(int *)arg;
	return 0;
}

static void test_the_result_comes_back(void **state)
{
	const unsigned before = scene_open_fds();
	int number = 41, result = 0;
	const struct worker_task task = { .name = "the adder",
					  .work = add_one,
					  .arg = &number,
					  .result_len = sizeof(result) };

	(void)state;
	assert_int_equal(worker_run(&task, &result, NULL), 0);
	assert_int_equal(result, 42);
	assert_int_equal(number, 41); /* only the child's copy was changed */
	assert_int_equal(scene_open_fds(), before);
	assert_true(waitpid(-1, NULL, WNOHANG) < 0);
}

static int set_up(void *arg, struct err *e)
{
	return *(int *)arg == 0 ? err_set(e, ERR_USAGE, "zero is not set up") : 0;
}

static void test_setup_comes_before_the_work_and_its_error_back(void **state)
{
	int number = 41, result = 0;
	const struct worker_task task = { .name = "the adder",
					  .setup = set_up,
					  .work = add_one,
					  .arg = &number,
					  .result_len = sizeof(result) };
	struct err e;

	(void)state;
	assert_int_equal(worker_run(&task, &result, &e), 0);
	assert_int_equal(result, 42);
	number = 0;
	assert_int_equal(worker_run(&task, &result, &e), -1);
	assert_string_equal(e.text, "zero is not set up");
}

static int answer_fd;

/* Plays a worker whose input has taken it over: it returns an error, or writes one
 * as its result. */
static int forge(void *arg, void *result, struct err *e)
{
	(void)result;
	(void)err_set(e, ERR_USAGE, "forged");
	if (*(int *)arg == 1)
		return -1;
	(void)!write(answer_fd, e, sizeof(*e));
	_exit(0);
}

static void test_after_a_setup_the_work_can_report_no_error(void **state)
{
	struct err e, result;
	int way;
	const struct worker_task task = { .name = "the forger",
					  .setup = set_up,
					  .work = forge,
					  .arg = &way,
					  .answer = &answer_fd,
					  .result_len = sizeof(result) };

	(void)state;
	way = 1;
	assert_int_equal(worker_run(&task, &result, &e), -1);
	assert_string_equal(e.text, "the forger ended with code 1 and without a result");
	way = 2; /* the forged bytes are the result, which the caller has to check */
	assert_int_equal(worker_run(&task, &result, &e), 0);
	assert_string_equal(result.text, "forged");
}

static int fill(void *arg, void *result, struct err *e)
{
	(void)arg, (void)e;
	memset(result, 'x', WORKER_RESULT_MAX);
	return 0;
}

static void test_the_largest_result_comes_whole(void **state)
{
	const struct worker_task task = { .name = "it", .work = fill,
					  .result_len = WORKER_RESULT_MAX };
	char result[WORKER_RESULT_MAX + 1] = "";

	(void)state;
	assert_int_equal(worker_run(&task, result, NULL), 0);
	assert_int_equal(strlen(result), WORKER_RESULT_MAX);
}

static int refuse(void *arg, void *result, struct err *e)
{
	(void)arg;
	*(int *)result = 1;
	(void)err_set(e, ERR_UNSUPPORTED, "no such thing");
	return err_remedy(e, "get one");
}

static int say_much(void *arg, void *result, struct err *e)
{
	(void)arg, (void)result;
	e->kind = ERR_LIMIT;
	memset(e->text, 'x', sizeof(e->text));
	memset(e->remedy, '\033', sizeof(e->remedy));
	return -1;
}

static int fail_without_reason(void *arg, void *result, struct err *e)
{
	(void)arg, (void)result, (void)e;
	return -1;
}

static struct err error_of(int (*work)(void *, void *, struct err *))
{
	const unsigned before = scene_open_fds();
	const struct worker_task task = { .name = "the process", .work = work,
					  .result_len = sizeof(int) };
	struct err e = { 0 };
	int result = 0;

	assert_int_equal(worker_run(&task, &result, &e), -1);
	assert_int_equal(result, 0); /* untouched */
	assert_int_equal(scene_open_fds(), before);
	assert_int_equal(worker_run(&task, &result, NULL), -1);
	return e;
}

static void test_the_error_comes_back(void **state)
{
	struct err e = error_of(refuse);

	(void)state;
	assert_int_equal(e.kind, ERR_UNSUPPORTED);
	assert_string_equal(e.text, "no such thing");
	assert_string_equal(e.remedy, "get one");
	assert_int_equal(error_of(fail_without_reason).kind, ERR_INTERNAL);
}

static void test_a_huge_text_is_cut_and_made_safe(void **state)
{
	struct err e = error_of(say_much);

	(void)state;
	assert_int_equal(e.kind, ERR_LIMIT);
	assert_int_equal(strlen(e.text), ERR_TEXT_MAX - 1);
	assert_int_equal(strspn(e.remedy, "?"), ERR_REMEDY_MAX - 1);
}

/* --- ends without an answer ------------------------------------------------------- */

static int die(void *arg, void *result, struct err *e)
{
	(void)arg, (void)result, (void)e;
	(void)kill(getpid(), SIGKILL);
	return 0;
}

static int exit_with_3(void *arg, void *result, struct err *e)
{
	(void)arg, (void)result, (void)e;
	_exit(3);
}

static int exit_with_0(void *arg, void *result, struct err *e)
{
	(void)arg, (void)result, (void)e;
	_exit(0);
}

static void test_the_error_says_how_a_silent_child_ended(void **state)
{
	(void)state;
	assert_string_equal(error_of(die).text, "the process was ended by signal 9");
	assert_int_equal(error_of(die).kind, ERR_SYSTEM);
	assert_string_equal(error_of(exit_with_3).text,
			    "the process ended with code 3 and without a result");
	assert_string_equal(error_of(exit_with_0).text,
			    "the process ended without a result");
}

static int part_answer;

static int answer_in_part(void *arg, void *result, struct err *e)
{
	(void)arg, (void)result;
	CHECK(write(part_answer, e, sizeof(*e)) == sizeof(*e));
	_exit(0);
}

static void test_a_part_of_an_answer_is_none(void **state)
{
	const struct worker_task task = { .name = "it", .work = answer_in_part,
					  .result_len = 1, .answer = &part_answer };
	struct err e;
	char result;

	(void)state;
	assert_int_equal(worker_run(&task, &result, &e), -1);
	assert_string_equal(e.text, "it ended without a result");
}

static int leave_holder(void *arg, void *result, struct err *e)
{
	int *until = arg;
	char byte;

	(void)result, (void)e;
	if (fork() != 0)
		_exit(0);
	(void)close(until[1]);
	(void)!read(until[0], &byte, 1);
	_exit(0);
}

static void test_a_stray_holder_of_the_pipe_is_not_waited_for(void **state)
{
	int until[2];
	const struct worker_task task = {
		.name = "it", .work = leave_holder, .arg = until, .has_all_fds = true
	};
	struct err e;

	(void)state;
	assert_int_equal(pipe2(until, O_CLOEXEC), 0);
	assert_int_equal(worker_run(&task, NULL, &e), -1);
	assert_string_equal(e.text, "it ended without a result");
	(void)close(until[0]), (void)close(until[1]);
}

/* --- descriptors ------------------------------------------------------------------ */

struct look {
	int kept, leash, answer;
};

static int count_fds(void *arg, void *result, struct err *e)
{
	const struct look *l = arg;

	(void)e;
	for (int fd = 3; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			++*(int *)result;
	CHECK(fcntl(l->kept, F_GETFD) >= 0 && fcntl(l->leash, F_GETFD) == FD_CLOEXEC &&
	      fcntl(l->answer, F_GETFD) == FD_CLOEXEC);
	return 0;
}

static void test_the_child_keeps_no_other_descriptor(void **state)
{
	struct look l = { open("/dev/null", O_RDONLY | O_CLOEXEC), -1, -1 };
	const struct worker_task task = { .name = "it",
					  .work = count_fds,
					  .arg = &l,
					  .result_len = sizeof(int),
					  .fds = { l.kept },
					  .fd_count = 1,
					  .leash = &l.leash,
					  .answer = &l.answer };
	int others[2], count = 0;
	struct err e;

	(void)state;
	assert_int_equal(pipe2(others, O_CLOEXEC), 0);
	assert_int_equal(worker_run(&task, &count, &e), 0);
	assert_int_equal(count, 3);
	assert_int_equal(l.leash, -1); /* the parent's copy */
	(void)close(others[0]), (void)close(others[1]), (void)close(l.kept);
}

static int put_null_in_place(void *arg, void *result, struct err *e)
{
	AUTO_CLOSE int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	(void)result;
	return dup3(null, *(int *)arg, O_CLOEXEC) < 0 ? err_sys(e, "dup3") : 0;
}

static int refuse_shared(void *arg, void *result, struct err *e)
{
	(void)arg, (void)result;
	return err_set(e, ERR_REFUSED, "no");
}

static void test_with_a_shared_table_a_file_is_open_in_both(void **state)
{
	const unsigned before = scene_open_fds();
	int place = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct worker_task task = { .name = "it",
				    .work = put_null_in_place,
				    .arg = &place,
				    .has_all_fds = true,
				    .flags = CLONE_FILES };
	struct worker w;
	struct err e;

	(void)state;
	need_clone3();
	assert_int_equal(worker_start(&task, &w, &e), 0);
	assert_true(w.pid > 0);
	assert_int_equal(worker_wait(&w, NULL, &e), 0);
	assert_int_equal(fcntl(place, F_GETFL) & O_ACCMODE, O_WRONLY);
	own_close(&place);
	assert_int_equal(scene_open_fds(), before);
	task.work = refuse_shared;
	assert_int_equal(worker_run(&task, NULL, &e), -1);
	assert_string_equal(e.text, "no");
	task.work = die;
	assert_int_equal(worker_run(&task, NULL, &e), -1);
	assert_string_equal(e.text, "it was ended by signal 9");
	assert_int_equal(scene_open_fds(), before);
}

static void test_a_refused_clone_is_an_error_with_its_errno(void **state)
{
	const unsigned before = scene_open_fds();
	const struct worker_task task = { .name = "it",
					  .work = add_one,
					  .leash = (int[]){ 0 },
					  .flags = CLONE_SIGHAND }; /* needs CLONE_VM */
	struct worker w;
	struct err e;

	(void)state;
	need_clone3();
	assert_int_equal(worker_start(&task, &w, &e), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(w.pid, 0);
	worker_end(&w);
	assert_int_equal(scene_open_fds(), before);
}

/* --- signals and ends ------------------------------------------------------------- */

static int write_to_closed(void *arg, void *result, struct err *e)
{
	int ends[2];

	(void)arg, (void)result, (void)e;
	CHECK(pipe(ends) == 0 && close(ends[0]) == 0);
	CHECK(write(ends[1], "", 1) < 0 && errno == EPIPE);
	return 0;
}

static void test_it_gets_an_error_in_place_of_sigpipe(void **state)
{
	const struct worker_task task = { .name = "it", .work = write_to_closed };
	struct err e;

	(void)state;
	assert_int_equal(worker_run(&task, NULL, &e), 0);
}

static int go[2];

static void on_signal(int number)
{
	(void)number;
	(void)!write(go[1], "", 1); /* there is room */
}

static int signal_the_parent(void *arg, void *result, struct err *e)
{
	char byte;

	(void)arg, (void)result, (void)e;
	(void)kill(getppid(), SIGUSR1);
	CHECK(read(go[0], &byte, 1) == 1);
	return 0;
}

static void test_a_signal_does_not_end_the_wait(void **state)
{
	const struct sigaction handler = { .sa_handler = on_signal }; /* no SA_RESTART */
	const struct worker_task task = { .name = "it", .work = signal_the_parent,
					  .has_all_fds = true };
	struct err e;

	(void)state;
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	assert_int_equal(sigaction(SIGUSR1, &handler, NULL), 0);
	assert_int_equal(worker_run(&task, NULL, &e), 0);
	(void)signal(SIGUSR1, SIG_DFL);
	(void)close(go[0]), (void)close(go[1]);
}

/* Forks a child that holds the worker's leash, and writes a byte when that child
 * runs. */
static int wait_for_ever(void *arg, void *result, struct err *e)
{
	const int *leash = arg;

	(void)result, (void)e;
	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		CHECK(write(*leash, "", 1) == 1);
	}
	for (;;)
		(void)pause();
}

static int end_unset(void *arg, struct err *e)
{
	(void)arg;
	(void)e;
	_exit(3);
}

static void test_a_setup_is_awaited_before_the_work_has_ended(void **state)
{
	const unsigned before = scene_open_fds();
	int number = 41;
	struct worker_task task = { .name = "the adder",
				    .setup = set_up,
				    .work = wait_for_ever,
				    .arg = &number };
	struct worker w;
	struct err e;

	(void)state;
	assert_int_equal(worker_start(&task, &w, &e), 0);
	assert_int_equal(worker_await_setup(&w, &e), 0);
	worker_end(&w);
	number = 0;
	assert_int_equal(worker_start(&task, &w, &e), 0);
	assert_int_equal(worker_await_setup(&w, &e), -1);
	assert_string_equal(e.text, "zero is not set up");
	task.setup = end_unset;
	assert_int_equal(worker_start(&task, &w, &e), 0);
	assert_int_equal(worker_await_setup(&w, &e), -1);
	assert_string_equal(e.text, "the adder ended with code 3 and without a result");
	assert_true(waitpid(-1, NULL, WNOHANG) < 0);
	assert_int_equal(scene_open_fds(), before);
}

static void test_it_is_ended_with_its_own_children(void **state)
{
	int mine = -1;
	const struct worker_task task = {
		.name = "it", .work = wait_for_ever, .arg = &mine, .leash = &mine
	};
	struct worker w;
	struct err e;
	char byte;

	(void)state;
	assert_int_equal(worker_start(&task, &w, &e), 0);
	int leash = fcntl(w.leash, F_DUPFD_CLOEXEC, 3);
	assert_int_equal(read(leash, &byte, 1), 1);
	worker_end(&w);
	/* All processes that held the other end have ended. */
	assert_int_equal(read(leash, &byte, 1), 0);
	(void)close(leash);
	worker_end(&w);
	worker_end(&(struct worker){ 0 });
}

static int hold_for_ever(void *arg, void *result, struct err *e)
{
	const int *told = arg;

	(void)result, (void)e;
	CHECK(write(*told, "", 1) == 1);
	for (;;)
		(void)pause();
}

static void test_it_dies_with_its_parent(void **state)
{
	int alive[2];
	struct worker w;
	struct err e;
	char byte;

	(void)state;
	assert_int_equal(pipe2(alive, O_CLOEXEC), 0);
	pid_t parent = fork();
	if (parent == 0) {
		const struct worker_task task = { .name = "it", .work = hold_for_ever,
						  .arg = &alive[1], .fds = { alive[1] },
						  .fd_count = 1 };
		CHECK(worker_start(&task, &w, &e) == 0);
		(void)pause();
	}
	(void)close(alive[1]);
	assert_int_equal(read(alive[0], &byte, 1), 1); /* the worker works */
	(void)kill(parent, SIGKILL);
	assert_int_equal(worker_reap(parent), SIGKILL);
	assert_int_equal(read(alive[0], &byte, 1), 0);
	(void)close(alive[0]);
}

static void test_a_status_that_is_lost_is_no_success(void **state)
{
	int number = 1, result;
	const struct worker_task task = { .name = "it", .work = add_one, .arg = &number,
					  .result_len = sizeof(result) };
	struct err e;

	(void)state;
	(void)signal(SIGCHLD, SIG_IGN);
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	assert_int_equal(worker_reap(pid), -1);
	assert_int_equal(worker_run(&task, &result, &e), 0); /* its answer is there */
	(void)signal(SIGCHLD, SIG_DFL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_result_comes_back),
		cmocka_unit_test(test_the_largest_result_comes_whole),
		cmocka_unit_test(test_setup_comes_before_the_work_and_its_error_back),
		cmocka_unit_test(test_a_setup_is_awaited_before_the_work_has_ended),
		cmocka_unit_test(test_after_a_setup_the_work_can_report_no_error),
		cmocka_unit_test(test_the_error_comes_back),
		cmocka_unit_test(test_a_huge_text_is_cut_and_made_safe),
		cmocka_unit_test(test_the_error_says_how_a_silent_child_ended),
		cmocka_unit_test(test_a_part_of_an_answer_is_none),
		cmocka_unit_test(test_a_stray_holder_of_the_pipe_is_not_waited_for),
		cmocka_unit_test(test_the_child_keeps_no_other_descriptor),
		cmocka_unit_test(test_with_a_shared_table_a_file_is_open_in_both),
		cmocka_unit_test(test_a_refused_clone_is_an_error_with_its_errno),
		cmocka_unit_test(test_it_gets_an_error_in_place_of_sigpipe),
		cmocka_unit_test(test_a_signal_does_not_end_the_wait),
		cmocka_unit_test(test_it_is_ended_with_its_own_children),
		cmocka_unit_test(test_it_dies_with_its_parent),
		cmocka_unit_test(test_a_status_that_is_lost_is_no_success),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
