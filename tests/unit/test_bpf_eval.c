/* bpf_eval() predicts the kernel's answer: it agrees, for each call on both
 * architectures, with an interpreter that fails on everything that the kernel's
 * checker refuses. */
#include "policy/bpf_eval.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "base/mem.h"
#include "base/own.h"
#include "policy/seccomp/bpf.h"
#include "policy/seccomp/compile.h"
#include "policy/seccomp/floor.h"
#include "policy/seccomp/profile.h"
#include "sandbox/kernel/seccomp.h"
#include "tests/unit/bpf_run.h"

#define CALLS	 600
#define ARGUMENTS 200

static const uint32_t archs[] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64,
				  AUDIT_ARCH_I386 };

/* Returns a small number, a single bit, or one of the values that programs compare
 * with, in the low or the high half. */
static uint64_t argument(uint64_t *random)
{
	const uint64_t n = bpf_run_random(random);

	switch (n % 4) {
	case 0:
		return (n >> 8) % 48;
	case 1:
		return 1ull << (n >> 8) % 64;
	case 2:
		return 0x5400 + (n >> 8) % 64;
	default:
		return n;
	}
}

static void expect_same(const struct sock_filter *insns, size_t count)
{
	uint64_t random = 88172645463325252ull;

	for (size_t i = 0; i < ARRAY_LEN(archs) * CALLS * ARGUMENTS; i++) {
		struct seccomp_data data = {
			.nr = (int)(i % CALLS),
			.arch = archs[i / CALLS % ARRAY_LEN(archs)]
		};
		uint32_t ret = 0;

		for (size_t n = 0; n < ARRAY_LEN(data.args); n++)
			data.args[n] = argument(&random);
		assert_true(bpf_eval(insns, count, &data, &ret));
		if (ret != bpf_run(insns, count, &data))
			fail_msg("call %d of %#x: %#x", data.nr, data.arch, ret);
	}
}

static void test_the_programs_of_this_machine(void **state)
{
	struct seccomp_program program;

	(void)state;
	seccomp_default(SECCOMP_FLAT, &program);
	expect_same(program.insns, program.count);
	seccomp_floor(SECCOMP_FLAT, &program);
	expect_same(program.insns, program.count);
}

/* Builds the profile for each architecture, in the same way as the built-in filter. */
static void test_a_profile_for_each_architecture(void **state)
{
	static const char text[] =
		"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{\"names\":[\"socket\"],"
		"\"action\":\"SCMP_ACT_ALLOW\",\"args\":[{\"index\":0,\"op\":\"SCMP_CMP_LT\","
		"\"value\":4294967300},{\"index\":1,\"op\":\"SCMP_CMP_MASKED_EQ\","
		"\"value\":15,\"valueTwo\":1}]},{\"names\":[\"read\",\"ioctl\",\"clone\"],"
		"\"action\":\"SCMP_ACT_ALLOW\"}]}";

	(void)state;
	for (int arch = 0; arch < ARCH_COUNT; arch++) {
		const struct profile_host host = { .arch = (enum arch)arch };
		AUTO_FREE struct bpf *b = mem_zeroed(1, sizeof(*b));
		struct profile p = { 0 };

		assert_int_equal(profile_parse(text, strlen(text), &host, &p, NULL), 0);
		assert_int_equal(compile_profile(&p, (enum arch)arch, b, NULL), 0);
		expect_same(bpf_begin(b), b->count);
		profile_done(&p);
	}
}

static void test_an_invalid_program_gets_no_answer(void **state)
{
	static const struct {
		const char *what;
		struct sock_filter insns[3];
	} programs[] = {
		{ "no end", { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
			      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 1),
			      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 1) } },
		{ "a jump beyond", { BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 2, 2),
				     BPF_STMT(BPF_RET | BPF_K, 0),
				     BPF_STMT(BPF_RET | BPF_K, 0) } },
		{ "a jump far beyond", { BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff),
					 BPF_STMT(BPF_RET | BPF_K, 0),
					 BPF_STMT(BPF_RET | BPF_K, 0) } },
		{ "a load beyond", { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64),
				     BPF_STMT(BPF_RET | BPF_K, 0) } },
		{ "a load far beyond", { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0xfffffffc),
					 BPF_STMT(BPF_RET | BPF_K, 0) } },
		{ "a load in between", { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2),
					 BPF_STMT(BPF_RET | BPF_K, 0) } },
		{ "a return of A", { BPF_STMT(BPF_RET | BPF_A, 0) } },
		{ "memory", { BPF_STMT(BPF_ST, 0), BPF_STMT(BPF_RET | BPF_K, 0) } },
		{ "a comparison with X", { BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 0),
					   BPF_STMT(BPF_RET | BPF_K, 0) } },
	};
	const struct seccomp_data data = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		uint32_t ret = 7;

		if (bpf_eval(programs[i].insns, 3, &data, &ret) || ret != 7)
			fail_msg("%s was answered with %#x", programs[i].what, ret);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_programs_of_this_machine),
		cmocka_unit_test(test_a_profile_for_each_architecture),
		cmocka_unit_test(test_an_invalid_program_gets_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
