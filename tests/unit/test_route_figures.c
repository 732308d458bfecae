/* figures: what a pod tells, and which one gets the next sandbox. */
#include "gateway/route/figures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"

static void figures_are_those_of_hutch_serve(void **state)
{
	struct figures f;

	(void)state;
	figures_read("# TYPE x gauge\nhutch_sandboxes_alive 3\nhutch_sandboxes_max 9\n"
		     "hutch_memory_free_bytes 1000\n",
		     &f);
	assert_true(f.is_known && f.alive == 3 && f.max == 9 && f.memory == 1000);
	figures_read("hutch_sandboxes_alive 3\n", &f);
	assert_false(f.is_known);
	figures_read("<html>", &f);
	assert_false(f.is_known);
}

static void the_pod_with_the_most_room_is_chosen(void **state)
{
	const uint64_t gib = 1ull << 30;
	const struct {
		struct figures all[3];
		int chosen;
	} rows[] = {
		{ { { true, 1, 9, gib, 0 },
		    { true, 0, 9, gib, 0 },
		    { true, 2, 9, gib, 0 } },
		  1 },
		{ { { true, 1, 9, gib, 0 },
		    { true, 1, 9, 2 * gib, 0 },
		    { true, 2, 9, gib, 0 } },
		  1 },
		/* Places count before memory, since a bound says what the operator wants. */
		{ { { true, 1, 9, 9 * gib, 0 }, { true, 0, 9, gib, 0 }, { false } }, 1 },
		/* Those that are on their way count. */
		{ { { true, 0, 9, gib, 2 }, { true, 1, 9, gib, 0 }, { false } }, 1 },
		{ { { true, 0, 9, gib, 9 },
		    { true, 9, 9, gib, 0 },
		    { true, 10, 9, gib, 0 } },
		  -1 },
		/* A pod without memory is full; one that does not know is not. */
		{ { { true, 0, 9, FIGURES_MEMORY_MIN - 1, 0 },
		    { true, 8, 9, gib, 0 },
		    { false } },
		  1 },
		{ { { true, 0, 9, 0, 0 }, { true, 1, 9, gib, 0 }, { false } }, 0 },
		{ { { true, UINT64_MAX - 1, UINT64_MAX, gib, 5 }, { false }, { false } },
		  -1 },
		{ { { false }, { false }, { false } }, -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(figures_choose(rows[i].all, 3), rows[i].chosen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_are_those_of_hutch_serve),
		cmocka_unit_test(the_pod_with_the_most_room_is_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
