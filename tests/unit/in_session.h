/* in_session -- an executor, and session 1 in the folder that is HOME inside, where this
 * test is too.  To be included once in each test; inline, since one may begin or end in
 * a way of its own. */
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
