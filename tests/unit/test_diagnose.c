/* diagnose: each cause of a failed start is produced for real, in a child. */
#include "sandbox/kernel/diagnose.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/syscall.h>

#include "base/err.h"
#include "tests/unit/refuse.h"
#include "tests/unit/scene.h"

#define ALL                                                                       \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | \
	 CLONE_NEWUTS | CLONE_NEWCGROUP)

static void expect(const struct err *e, const char *text, const char *remedy)
{
	if (strstr(e->text, text) && strstr(e->remedy, remedy))
		return;
	(void)dprintf(2, "said: %s; %s\n", e->text, e->remedy);
	_exit(1);
}

struct bound {
	const char *sysctl, *name;
};

static void play_bound(void *arg)
{
	const struct bound *b = arg;
	AUTO_FREE char *path = text_format("/proc/sys/user/%s", b->sysctl);
	AUTO_FREE char *text = text_format("make %s namespace", b->name);
	AUTO_FREE char *remedy = text_format("sysctl -w user.%s=", b->sysctl);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
	struct err e = { 0 };

	CHECK(write(fd, "0", 1) == 1);
	errno = ENOSPC;
	CHECK(diagnose_clone(ALL, &e) == -1);
	CHECK(e.kind == ERR_LIMIT);
	expect(&e, text, remedy);
}

static void test_a_bound_that_is_reached(void **state)
{
	static const struct bound bounds[] = {
		{ "max_user_namespaces", "a user" },
		{ "max_mnt_namespaces", "a mount" },
		{ "max_pid_namespaces", "a pid" },
		{ "max_net_namespaces", "a network" },
		{ "max_ipc_namespaces", "an ipc" },
		{ "max_uts_namespaces", "a uts" },
		{ "max_cgroup_namespaces", "a cgroup" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
		struct bound b = bounds[i];
		scene_inside(0, 0, play_bound, &b);
	}
}

static void play_filter(void *arg)
{
	struct err e = { 0 };

	(void)arg;
	refuse_call(SYS_clone3, EPERM); /* as a container's filter does */
	errno = EPERM;
	CHECK(diagnose_clone(ALL, &e) == -1 && e.kind == ERR_REFUSED);
	expect(&e, "seccomp filter around this process", "seccomp=unconfined");
	e = (struct err){ .sys = EPERM, .text = "mount a tmpfs" };
	diagnose_setup(&e);
	expect(&e, "mount a tmpfs", "seccomp filter");
}

static void test_a_filter_around_us(void **state)
{
	(void)state;
	scene_child(play_filter, NULL);
}

static void play_chroot(void *arg)
{
	struct err e = { 0 };

	CHECK(chroot(arg) == 0 && chdir("/") == 0);
	errno = EPERM;
	CHECK(diagnose_clone(ALL, &e) == -1 && e.kind == ERR_REFUSED);
	expect(&e, "make a user namespace: Operation not permitted", "chroot");
}

static void test_a_chroot_around_us(void **state)
{
	scene_inside(CLONE_NEWNS, 0, play_chroot, *state);
}

static void play_try(void *arg)
{
	struct err e = { 0 };

	(void)arg;
	CHECK(diagnose_try(ALL, &e) == 0 && !e.text[0]);
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	CHECK(!diagnose_is_filtered());
	refuse_call(SYS_clone3, EPERM); /* as a container's filter does */
	CHECK(diagnose_is_filtered());
	CHECK(diagnose_try(ALL, &e) == -1);
	expect(&e, "make a user namespace: ", "seccomp");
}

static void test_a_trial_leaves_no_process(void **state)
{
	(void)state;
	scene_inside(0, 0, play_try, NULL);
}

static void play_nothing(void *arg)
{
	struct err e = { 0 };

	(void)arg;
	errno = ENOMEM;
	CHECK(diagnose_clone(CLONE_NEWUSER | CLONE_NEWUTS, &e) == -1);
	CHECK(e.sys == ENOMEM);
	expect(&e, "start a process in new namespaces: ", "");
}

static void test_an_error_that_no_trial_repeats_is_told_as_it_was(void **state)
{
	(void)state;
	scene_inside(0, 0, play_nothing, NULL);
}

static void test_an_error_with_a_remedy_or_another_cause_is_left_alone(void **state)
{
	struct err e = { .sys = EPERM, .text = "a", .remedy = "b" };

	(void)state;
	diagnose_setup(&e);
	assert_string_equal(e.text, "a");
	assert_string_equal(e.remedy, "b");
	e = (struct err){ .sys = ENOENT, .text = "a" };
	diagnose_setup(&e);
	assert_string_equal(e.text, "a");
	assert_string_equal(e.remedy, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_bound_that_is_reached),
		cmocka_unit_test(test_a_filter_around_us),
		cmocka_unit_test(test_a_chroot_around_us),
		cmocka_unit_test(test_a_trial_leaves_no_process),
		cmocka_unit_test(test_an_error_that_no_trial_repeats_is_told_as_it_was),
		cmocka_unit_test(
			test_an_error_with_a_remedy_or_another_cause_is_left_alone),
	};

	return cmocka_run_group_tests(tests, scene_setup, scene_teardown);
}
