/* checks: runs the probes of `hutch doctor`.  A probe's answer is reported, a probe
 * that hangs is killed, and no process or descriptor is left. */
#include "sandbox/explain/checks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/mount.h>

#include "base/own.h"
#include "sandbox/kernel/host_user.h"
#include "tests/unit/scene.h"

static const struct host_user nobody = { .uid = 65534, .gid = 65534, .why = "a test" };

static struct check try(void (*probe)(struct trial *))
{
	const struct check_kind kind = { "it", probe, "nothing works", false, 1 };
	unsigned before = scene_open_fds();
	struct check c;

	check_try(&kind, &nobody, &c);
	assert_string_equal(c.name, "it");
	assert_int_equal(scene_open_fds(), before);
	assert_true(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	return c;
}

static void say_ok(struct trial *t)
{
	trial_found(t, CHECK_OK, "%s", t->user->why);
	trial_means(t, "x");
	trial_remedy(t, "y");
}

static void say_limited(struct trial *t)
{
	trial_found(t, CHECK_LIMITED, "half");
	trial_remedy(t, "y %d", 1);
}

static void say_failed(struct trial *t)
{
	(void)err_set(&t->e, ERR_REFUSED, "no");
	(void)err_remedy(&t->e, "ask");
	trial_means(t, "less");
	trial_failed(t);
}

static void test_the_answer_comes_as_it_was_given(void **state)
{
	(void)state;
	struct check c = try(say_ok);
	assert_int_equal(c.status, CHECK_OK);
	assert_string_equal(c.detail, "a test");
	assert_string_equal(c.means, ""); /* no remedy, since nothing is missing */
	assert_string_equal(c.remedy, "");
	c = try(say_limited);
	assert_int_equal(c.status, CHECK_LIMITED);
	assert_string_equal(c.means, "nothing works");
	assert_string_equal(c.remedy, "y 1");
	c = try(say_failed);
	assert_int_equal(c.status, CHECK_MISSING);
	assert_string_equal(c.detail, "no");
	assert_string_equal(c.means, "less");
	assert_string_equal(c.remedy, "ask");
}

static void say_nothing(struct trial *t)
{
	(void)t;
}

static void die(struct trial *t)
{
	(void)t;
	(void)raise(SIGKILL);
}

static void test_silence_is_no_yes(void **state)
{
	(void)state;
	struct check c = try(say_nothing);
	assert_int_equal(c.status, CHECK_MISSING);
	assert_string_equal(c.detail, "the trial gave no answer");
	c = try(die);
	assert_int_equal(c.status, CHECK_MISSING);
	assert_string_equal(c.detail, "the trial was ended by signal 9");
	assert_string_equal(c.means, "nothing works");
}

static void hang(struct trial *t)
{
	trial_found(t, CHECK_OK, "there");
	if (fork() == 0)
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		(void)pause();
}

/* try() also checks that the probe's process has ended. */
static void test_a_probe_that_hangs_is_ended(void **state)
{
	(void)state;
	struct check c = try(hang);
	assert_int_equal(c.status, CHECK_MISSING);
	assert_string_equal(c.detail, "the trial did not end within 1 s");
}

/* The answer that a probe gave counts, even if the probe dies after that. */
static void say_and_die(struct trial *t)
{
	trial_found(t, CHECK_OK, "there");
	(void)raise(SIGKILL);
}

static void test_an_answer_outlives_its_process(void **state)
{
	(void)state;
	assert_int_equal(try(say_and_die).status, CHECK_OK);
}

static void print_much(struct trial *t)
{
	char byte;

	trial_found(t,
		    dprintf(1, "x") == 1 && dprintf(2, "x") == 1 && read(0, &byte, 1) == 0
			    ? CHECK_OK
			    : CHECK_MISSING,
		    "printed");
}

static void test_output_of_a_probe_is_not_seen(void **state)
{
	int saved = dup(1), ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_true(dup2(ends[1], 1) == 1);
	struct check c = try(print_much);
	assert_true(dup2(saved, 1) == 1);
	(void)close(saved);
	(void)close(ends[1]);
	assert_int_equal(c.status, CHECK_OK);
	assert_int_equal(read(ends[0], &(char){ 0 }, 1), 0);
	(void)close(ends[0]);
}

static int look_around(struct trial *t)
{
	if (getuid() != 1000 || getgid() != 1000 || getpid() != 1)
		return err_set(&t->e, ERR_INTERNAL, "%u %u %d", getuid(), getgid(),
			       getpid());
	return mount("none", "/", "tmpfs", 0, "") < 0 ? err_sys(&t->e, "mount") : 0;
}

static void go_inside(struct trial *t)
{
	if (trial_inside(t, CLONE_NEWNS | CLONE_NEWPID, look_around) < 0)
		trial_failed(t);
	else
		trial_found(t, access("/proc", F_OK) == 0 ? CHECK_OK : CHECK_LIMITED,
			    "back");
}

static int fail_inside(struct trial *t)
{
	return err_set(&t->e, ERR_LIMIT, "full");
}

static void go_and_fail(struct trial *t)
{
	if (trial_inside(t, 0, fail_inside) < 0)
		trial_failed(t);
	else
		trial_found(t, CHECK_OK, "?");
}

static int die_inside(struct trial *t)
{
	(void)t;
	(void)raise(SIGKILL);
	return 0;
}

static void go_and_die(struct trial *t)
{
	if (trial_inside(t, 0, die_inside) < 0)
		trial_failed(t);
	else
		trial_found(t, CHECK_OK, "?");
}

static void need_user_namespaces(void)
{
	struct check c = try(go_inside);

	if (c.status == CHECK_OK)
		return;
	print_message("skipped: %s\n", c.detail);
	skip();
}

static void test_a_trial_inside_a_namespace_is_reported_outside(void **state)
{
	(void)state;
	need_user_namespaces();
	assert_int_equal(try(go_inside).status, CHECK_OK);
	struct check c = try(go_and_fail);
	assert_int_equal(c.status, CHECK_MISSING);
	assert_string_equal(c.detail, "full");
	c = try(go_and_die);
	assert_int_equal(c.status, CHECK_MISSING);
	assert_string_equal(c.detail, "a trial was ended by signal 9");
}

static void play_all(void *arg)
{
	struct check all[CHECKS_HOST];

	(void)arg;
	checks_host(&nobody, all);
	for (size_t i = 0; i < CHECKS_HOST; i++) {
		CHECK(all[i].name[0] && all[i].detail[0]);
		CHECK(!!all[i].means[0] ==
		      (all[i].status != CHECK_OK && !strstr(all[i].detail, "not tried")));
		CHECK(all[i].status != CHECK_OK || !all[i].remedy[0]);
		for (size_t k = 0; k < i; k++)
			CHECK(strcmp(all[i].name, all[k].name));
	}
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static void play_without_user(void *arg)
{
	AUTO_CLOSE int fd =
		open("/proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC);
	struct check all[CHECKS_HOST];

	CHECK(write(fd, "0", 1) == 1);
	play_all(arg);
	checks_host(&nobody, all);
	unsigned untried = 0;
	for (size_t i = 0; i < CHECKS_HOST; i++)
		untried += !strncmp(all[i].detail, "not tried", 9);
	CHECK(untried == 7);
}

static void test_all_of_a_host(void **state)
{
	(void)state;
	scene_child(play_all, NULL);
	scene_inside(0, 1000, play_all, NULL);
	scene_inside(0, 0, play_without_user, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_answer_comes_as_it_was_given),
		cmocka_unit_test(test_silence_is_no_yes),
		cmocka_unit_test(test_a_probe_that_hangs_is_ended),
		cmocka_unit_test(test_an_answer_outlives_its_process),
		cmocka_unit_test(test_output_of_a_probe_is_not_seen),
		cmocka_unit_test(test_a_trial_inside_a_namespace_is_reported_outside),
		cmocka_unit_test(test_all_of_a_host),
	};

	scene_leave_root();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
