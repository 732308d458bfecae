#include "policy/syscalls.h"

#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "base/own.h"

static void test_names_are_those_of_this_machine(void **state)
{
	(void)state;
	assert_string_equal(syscall_name(SYS_read), "read");
	assert_string_equal(syscall_name(SYS_mount), "mount");
	assert_string_equal(syscall_name(SYS_clone3), "clone3");
	assert_string_equal(syscall_name(SYS_landlock_restrict_self),
			    "landlock_restrict_self");
	assert_null(syscall_name(-1));
	assert_null(syscall_name(-2147483647));
	assert_null(syscall_name(1000));
	assert_null(syscall_name(2147483647));
#ifdef __x86_64__
	assert_string_equal(syscall_name(0), "read");
	/* 400 is in the gap below the numbers that all architectures share. */
	assert_null(syscall_name(400));
#endif
}

static void test_the_argument_that_decides_is_told_with_the_call(void **state)
{
	static const struct {
		int nr;
		uint64_t args[3];
		const char *text, *question;
	} cases[] = {
		{ SYS_mount, { 17 }, "mount", "hutch why syscall mount" },
		{ SYS_socket,
		  { 17 },
		  "socket(AF_PACKET)",
		  "hutch why syscall socket 0x11" },
		{ SYS_socket,
		  { 0x100000011 },
		  "socket(AF_PACKET)",
		  "hutch why syscall socket 0x11" },
		{ SYS_socket, { 12345 }, "socket", "hutch why syscall socket" },
		{ SYS_ioctl,
		  { 0, 0x5412 },
		  "ioctl(TIOCSTI)",
		  "hutch why syscall ioctl 0 0x5412" },
		{ SYS_ioctl, { 0x5412, 0 }, "ioctl", "hutch why syscall ioctl" },
		{ SYS_unshare,
		  { CLONE_NEWUSER | CLONE_NEWNET },
		  "unshare(CLONE_NEWUSER)",
		  "hutch why syscall unshare 0x10000000" },
		{ 1000, { 0 }, "call 1000", "hutch why" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct seccomp_data data = { .nr = cases[i].nr };

		for (int n = 0; n < 3; n++)
			data.args[n] = cases[i].args[n];
		const struct syscall_kind kind = syscall_of(&data);
		AUTO_FREE char *text = syscall_text(kind);
		AUTO_FREE char *question = syscall_question(kind);
		assert_string_equal(text, cases[i].text);
		assert_string_equal(question, cases[i].question);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_those_of_this_machine),
		cmocka_unit_test(test_the_argument_that_decides_is_told_with_the_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
