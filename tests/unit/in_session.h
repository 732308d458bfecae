/* in_session -- an executor with session 1 in the folder that is HOME inside;
 * the test's own working directory is that folder, too.  Include it once in
 * each test; its functions are inline, since a test may replace the setup or
 * the teardown. */
#pragma once
#include <unistd.h>

#include "tests/unit/actor.h"

static struct actor a;

static inline int setup(void **state)
{
	(void)state;
	actor_start(&a);
	assert_int_equal(chdir(a.home), 0);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	assert_int_equal(chdir("/"), 0);
	actor_end(&a);
	return 0;
}
