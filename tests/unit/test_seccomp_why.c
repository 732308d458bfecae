/* seccomp_why: `hutch why` predicts the filter program's answer, for every call of
 * both architectures, with arguments that its rules test and with others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/answer.h"
#include "policy/seccomp/call_number.h"
#include "policy/seccomp/seccomp_why.h"
#include "tests/unit/profile_build.h"

/* Returns a value with which some rule compares an argument, or a value near it. */
static uint64_t some_argument(const struct build *b, uint64_t *seed)
{
	const struct profile_rule *rule =
		&b->profile.rules[bpf_run_random(seed) % b->profile.count];
	static const uint64_t of_floor[] = { 0,	     1,	     2,	       3,	   8,
					     0x5412, 0x541c, 0x20000, 0x10000000, 1031 };
	const uint64_t r = bpf_run_random(seed);

	if (rule->test_count && r % 3 == 0)
		return rule->tests[r / 3 % rule->test_count].value + r % 5 - 2;
	return r % 5 ? of_floor[r / 5 % ARRAY_LEN(of_floor)] | (r & 1ull << 40) : r;
}

static void compare(const struct build *b, const char *name, uint32_t nr, uint64_t *seed)
{
	struct seccomp_data data = { .nr = (int)nr, .arch = audit_archs[b->arch] };
	struct call_asked c = { .name = name, .arch = b->arch, .profile = &b->profile,
				.line = "it" };
	struct answer a = { 0 };
	struct err e;

	for (size_t i = 0; i < CALL_ARGS; i++)
		data.args[i] = c.args[i] = some_argument(b, seed);
	const uint32_t does = build_run(b, &data);
	assert_int_equal(seccomp_why(&c, &a, &e), 0);
	if (a.is_yes != (does == SECCOMP_RET_ALLOW))
		fail_msg("%s: %s (%s), and the program %#x", name, a.text, a.line, does);
	const char *answers = strstr(a.text, " answers ");
	if (answers) {
		const char *wanted = strerrorname_np((int)(does & SECCOMP_RET_DATA));
		assert_non_null(wanted);
		assert_int_equal(strncmp(answers + 9, wanted, strlen(wanted)), 0);
	}
	answer_done(&a);
}

static void compare_all(struct build *b)
{
	uint64_t seed = 0x5eed;

	for (uint32_t nr = 0; nr < NUMBERS; nr++) {
		char *name = call_number_name(b->arch, (int)nr);
		for (int i = 0; name && i < 12; i++)
			compare(b, name, nr, &seed);
		free(name);
	}
	build_free(b);
}

static void test_the_default_profile(void **state)
{
	(void)state;
	compare_all(build_default(ARCH_X86_64));
	compare_all(build_default(ARCH_AARCH64));
}

static void test_a_profile_with_rules_that_overlap(void **state)
{
	static const char text[] =
		"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":["
		"{\"names\":[\"read\",\"fcntl\",\"ioctl\"],\"action\":\"SCMP_ACT_ERRNO\","
		"\"errnoRet\":7,\"args\":[{\"index\":1,\"value\":2,\"op\":\"SCMP_CMP_GT\"}]},"
		"{\"names\":[\"read\",\"clone\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":9,"
		"\"args\":[{\"index\":0,\"value\":1,\"op\":\"SCMP_CMP_EQ\"},"
		"{\"index\":2,\"value\":3,\"op\":\"SCMP_CMP_NE\"}]},"
		"{\"names\":[\"write\"],\"action\":\"SCMP_ACT_KILL_PROCESS\","
		"\"args\":[{\"index\":0,\"value\":8,\"op\":\"SCMP_CMP_LE\"}]},"
		"{\"names\":[\"write\"],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":1}]}";

	(void)state;
	compare_all(build(text, strlen(text), ARCH_X86_64));
	compare_all(build(text, strlen(text), ARCH_AARCH64));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_default_profile),
		cmocka_unit_test(test_a_profile_with_rules_that_overlap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
