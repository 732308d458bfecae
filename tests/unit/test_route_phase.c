/* phase: how long each step of a request may last, with any `now`. */
#include "gateway/route/phase.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"

static void each_phase_ends_at_its_limit(void **state)
{
	static const struct {
		enum phase phase;
		int64_t wait_ms, passed;
		bool is_over;
	} rows[] = {
		{ PHASE_HEAD, 0, 14999, false },
		{ PHASE_HEAD, 0, 15000, true },
		{ PHASE_BODY, 0, 29999, false },
		{ PHASE_BODY, 0, 30000, true },
		{ PHASE_ASK, 0, 4999, false },
		{ PHASE_ASK, 0, 5000, true },
		{ PHASE_SEARCH, 700, 699, false },
		{ PHASE_SEARCH, 700, 700, true },
		{ PHASE_DIAL, 700, 699, false },
		{ PHASE_DIAL, 700, 700, true },
		{ PHASE_TURN, 700, 699, false },
		{ PHASE_TURN, 700, 700, true },
		{ PHASE_DIAL, 0, 0, false },
		{ PHASE_DIAL, 0, 1, true },
		{ PHASE_PASS, 700, INT32_MAX, false },
		{ PHASE_FLUSH, 0, 29999, false },
		{ PHASE_FLUSH, 0, 30000, true },
		{ PHASE_LINGER, 0, 2999, false },
		{ PHASE_LINGER, 0, 3000, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(phase_is_over(rows[i].phase, 5, rows[i].wait_ms,
					       5 + rows[i].passed),
				 rows[i].is_over);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_phase_ends_at_its_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
