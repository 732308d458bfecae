/* Each case in a child, since a domain is for ever. */
#include "sandbox/landlock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/prctl.h>

#include "base/err.h"
#include "tests/unit/scene.h"

static void play_without_bit(void *arg)
{
	struct err e = { 0 };

	(void)arg;
	CHECK(landlock_try(&e) == -1 && e.sys == EPERM);
}

static void play_try(void *arg)
{
	struct err e = { 0 };

	(void)arg;
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(landlock_try(&e) == 0);
	if (landlock_abi() >= LANDLOCK_ABI_SCOPES)
		CHECK(kill(getppid(), 0) == -1 && errno == EPERM);
	/* Domains nest; this one denied what no test needs. */
	CHECK(landlock_try(&e) == 0);
}

static void need_landlock(void)
{
	if (landlock_abi() > 0)
		return;
	print_message("skipped: this host has no Landlock\n");
	skip();
}

static void test_it_needs_no_new_privs(void **state)
{
	(void)state;
	need_landlock();
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		skip(); /* in a sandbox there is no way without */
	scene_child(play_without_bit, NULL);
}

static void test_a_trial_confines(void **state)
{
	(void)state;
	need_landlock();
	scene_child(play_try, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_needs_no_new_privs),
		cmocka_unit_test(test_a_trial_confines),
	};

	scene_leave_root();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
