#include "base/lean.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"

static void test_the_limit_of_data_is_what_it_was(void **state)
{
	struct rlimit before, now;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
	lean_heap();
	assert_int_equal(getrlimit(RLIMIT_DATA, &now), 0);
	assert_true(now.rlim_cur == before.rlim_cur && now.rlim_max == before.rlim_max);
	char *large = malloc(1 << 22);
	assert_non_null(large);
	free(large);
}

/* Reads what was on the stack of its caller, in a child: it never returns. */
__attribute__((noreturn, noinline)) static void look(const volatile char *callers,
						     size_t len, const char *path)
{
	size_t left = 0;

	lean_stack(__builtin_frame_address(0));
	for (size_t i = 0; i < len; i++)
		left += callers[i] != 0;
	/* A page at either end may hold something else, too. */
	_exit(left > 2 * (size_t)getpagesize() || strcmp(getenv("PATH"), path) != 0);
}

static void test_the_callers_stack_is_given_back_and_the_environment_stays(void **state)
{
	char block[1 << 18];
	int status = 0;

	(void)state;
	assert_non_null(getenv("PATH"));
	AUTO_FREE char *path = strdup(getenv("PATH"));
	memset(block, 'x', sizeof(block));
	const pid_t pid = fork();
	if (pid == 0)
		look(block, sizeof(block), path);
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	assert_int_equal(status, 0);
	assert_true(block[0] == 'x' && block[sizeof(block) / 2] == 'x');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_limit_of_data_is_what_it_was),
		cmocka_unit_test(
			test_the_callers_stack_is_given_back_and_the_environment_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
