/* A helper is started at the same descriptor numbers, and its end is noticed. */
#include "sandbox/kernel/beside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>

#include "base/err.h"
#include "base/own.h"
#include "tests/unit/scene.h"

static int put_null_in_place(const void *arg, struct err *e)
{
	AUTO_CLOSE int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	return dup3(null, *(const int *)arg, O_CLOEXEC) < 0 ? err_sys(e, "dup3") : 0;
}

static int refuse(const void *arg, struct err *e)
{
	(void)arg;
	(void)err_set(e, ERR_UNSUPPORTED, "no such thing");
	return err_remedy(e, "get one");
}

static int die(const void *arg, struct err *e)
{
	(void)arg;
	(void)e;
	return raise(SIGKILL);
}

/* In a sandbox of hutch clone3 is ENOSYS. */
static void need_clone3(void)
{
	if (syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS)
		skip();
}

static void test_a_descriptor_of_the_helper_arrives_here(void **state)
{
	unsigned before = scene_open_fds();
	int place = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct beside b;
	struct err e;

	(void)state;
	need_clone3();
	beside_init(&b);
	assert_int_equal(beside_begin(&b, put_null_in_place, &place, &e), 0);
	assert_true(b.helper > 0);
	assert_int_equal(beside_end(&b, &e), 0);
	assert_int_equal(fcntl(place, F_GETFL) & O_ACCMODE, O_WRONLY);
	own_close(&place);
	assert_int_equal(scene_open_fds(), before);
	assert_int_equal(b.helper, 0);
}

static void check_failure(int (*work)(const void *, struct err *), int kind, const char *text)
{
	unsigned before = scene_open_fds();
	struct beside b;
	struct err e;

	need_clone3();
	beside_init(&b);
	assert_int_equal(beside_begin(&b, work, NULL, &e), 0);
	assert_int_equal(beside_end(&b, &e), -1);
	assert_int_equal(e.kind, kind);
	assert_non_null(strstr(e.text, text));
	assert_int_equal(scene_open_fds(), before);
}

static void test_an_error_of_the_helper_is_the_callers_error(void **state)
{
	(void)state;
	check_failure(refuse, ERR_UNSUPPORTED, "no such thing");
}

static void test_a_helper_that_was_killed_is_no_success(void **state)
{
	(void)state;
	check_failure(die, ERR_INTERNAL, "wait status 9");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_descriptor_of_the_helper_arrives_here),
		cmocka_unit_test(test_an_error_of_the_helper_is_the_callers_error),
		cmocka_unit_test(test_a_helper_that_was_killed_is_no_success),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
