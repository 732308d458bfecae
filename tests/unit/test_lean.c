#include "base/lean.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sys/resource.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_limit_of_data_is_what_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
