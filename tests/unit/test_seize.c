/* seize: reads from a process's status file whether it may be traced.
 * tests/run/pause.bats checks that all processes are stopped; here the tracer would
 * find those of the whole machine. */
#include "executor/process/seize.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/own.h"

#define SELF 40
#define HEAD "Name:\ta\nUmask:\t0022\n"

static void test_a_process_that_may_not_be_seized_is_told_apart(void **state)
{
	static const struct {
		const char *text;
		enum seize_verdict verdict;
	} rows[] = {
		{ HEAD "State:\tZ (zombie)\nPPid:\t1\nTracerPid:\t0\n", SEIZE_IS_GONE },
		{ HEAD "State:\tX (dead)\nPPid:\t1\nTracerPid:\t7\n", SEIZE_IS_GONE },
		{ HEAD, SEIZE_IS_GONE },
		{ "", SEIZE_IS_GONE },
		{ HEAD "State:\tt (tracing stop)\nPPid:\t1\nTracerPid:\t40\n",
		  SEIZE_IS_OURS },
		{ HEAD "State:\tt (tracing stop)\nPPid:\t1\nTracerPid:\t4\n",
		  SEIZE_IS_TRACED },
		{ HEAD "State:\tS (sleeping)\nPPid:\t4\nTracerPid:\t401\n",
		  SEIZE_IS_TRACED },
		{ HEAD "State:\tR (running)\nPPid:\t0\nTracerPid:\t0\n",
		  SEIZE_IS_ENTERED },
		{ HEAD "State:\tR (running)\nPPid:\t1\nTracerPid:\t0\n",
		  SEIZE_IS_DENIED },
		{ HEAD "State:\tR (running)\n", SEIZE_IS_DENIED },
		/* The kernel escapes newlines in a process's name, so a name cannot
		 * forge a line. */
		{ "Name:\tTracerPid:\t40\nState:\tR (running)\nPPid:\t1\nTracerPid:\t0\n",
		  SEIZE_IS_DENIED },
		{ "Name:\tState:\tZ\\n\nState:\tR (running)\nPPid:\t1\nTracerPid:\t9\n",
		  SEIZE_IS_TRACED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (seize_judge(rows[i].text, SELF) != rows[i].verdict)
			fail_msg("row %zu: %d", i, seize_judge(rows[i].text, SELF));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_process_that_may_not_be_seized_is_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
