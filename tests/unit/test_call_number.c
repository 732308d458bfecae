/* call_number: knows a system call's number and name on both architectures, also of
 * calls that are newer than libseccomp. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"
#include "policy/seccomp/call_number.h"

static const struct {
	const char *name;
	int numbers[ARCH_COUNT];
} rows[] = {
	{ "read", { [ARCH_X86_64] = 0, [ARCH_AARCH64] = 63 } },
	{ "openat2", { [ARCH_X86_64] = 437, [ARCH_AARCH64] = 437 } },
	{ "statmount", { [ARCH_X86_64] = 457, [ARCH_AARCH64] = 457 } },
	{ "file_setattr", { [ARCH_X86_64] = 469, [ARCH_AARCH64] = 469 } },
	{ "open", { [ARCH_X86_64] = 2, [ARCH_AARCH64] = CALL_ELSEWHERE } },
	{ "arch_prctl", { [ARCH_X86_64] = 158, [ARCH_AARCH64] = CALL_ELSEWHERE } },
	{ "opne", { [ARCH_X86_64] = CALL_UNKNOWN, [ARCH_AARCH64] = CALL_UNKNOWN } },
	{ "", { [ARCH_X86_64] = CALL_UNKNOWN, [ARCH_AARCH64] = CALL_UNKNOWN } },
};

static void test_a_name_has_the_number_of_its_architecture(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (enum arch a = 0; a < ARCH_COUNT; a++)
			assert_int_equal(call_number(a, rows[i].name),
					 rows[i].numbers[a]);
}

static void test_a_number_has_its_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (enum arch a = 0; a < ARCH_COUNT; a++) {
			if (rows[i].numbers[a] < 0)
				continue;
			AUTO_FREE char *name = call_number_name(a, rows[i].numbers[a]);
			assert_string_equal(name, rows[i].name);
		}
	assert_null(call_number_name(ARCH_X86_64, 1023));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_name_has_the_number_of_its_architecture),
		cmocka_unit_test(test_a_number_has_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
