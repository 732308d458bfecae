/* compile: compares filter programs with the answers that their profiles promise,
 * for every call's number and for chosen and random arguments.  The test computes
 * the promise in the simplest way, and libseccomp gives a second opinion where it
 * has one. */
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/profile_build.h"
#include "tests/unit/rounds.h"

/* Compiles the same profile with libseccomp, without the calls that hutch always
 * refuses (the floor). */
static size_t libseccomp_program(const struct build *b, struct sock_filter *insns)
{
	static const enum scmp_compare ops[] = {
		[OP_NE] = SCMP_CMP_NE,
		[OP_LT] = SCMP_CMP_LT,
		[OP_LE] = SCMP_CMP_LE,
		[OP_EQ] = SCMP_CMP_EQ,
		[OP_GE] = SCMP_CMP_GE,
		[OP_GT] = SCMP_CMP_GT,
		[OP_MASKED_EQ] = SCMP_CMP_MASKED_EQ,
	};
	const struct profile *p = &b->profile;
	scmp_filter_ctx ctx = seccomp_init(p->default_action);

	assert_non_null(ctx);
	(void)seccomp_arch_remove(ctx, SCMP_ARCH_NATIVE);
	assert_int_equal(seccomp_arch_add(ctx, scmp_archs[b->arch]), 0);
	for (size_t i = 0; i < p->count; i++) {
		const struct profile_rule *r = &p->rules[i];
		struct scmp_arg_cmp args[PROFILE_ARGS];
		const int nr =
			seccomp_syscall_resolve_name_arch(scmp_archs[b->arch], r->name);

		for (size_t t = 0; t < r->test_count; t++) {
			const struct profile_test *test = &r->tests[t];
			const bool masked = test->op == OP_MASKED_EQ;

			args[t] =
				(struct scmp_arg_cmp){ test->arg, ops[test->op],
						       masked ? test->mask : test->value,
						       test->value };
		}
		if (nr < 0 || r->action == p->default_action)
			continue;
		/* libseccomp wants the number of the name on this machine,
		 * whatever architecture the filter has. */
		assert_int_equal(
			seccomp_rule_add_array(ctx, r->action,
					       seccomp_syscall_resolve_name(r->name),
					       (unsigned)r->test_count, args),
			0);
	}

	AUTO_CLOSE int fd = memfd_create("filter", MFD_CLOEXEC);
	assert_int_equal(seccomp_export_bpf(ctx, fd), 0);
	seccomp_release(ctx);
	const ssize_t size = pread(fd, insns, BPF_MAXINSNS * sizeof(*insns), 0);
	assert_true(size > 0);
	return (size_t)size / sizeof(*insns);
}

/* Computes the floor's answer to a call in the simplest way; 0 if it has none. */
static uint32_t floor_answer(int arch, const struct seccomp_data *data)
{
	size_t count;
	const struct floor_row *rows = floor_rows(&count);

	for (size_t i = 0; i < count; i++) {
		bool refused = rows[i].test_count == 0;

		if (rows[i].nr[arch] != (uint32_t)data->nr)
			continue;
		for (size_t t = 0; t < rows[i].test_count; t++) {
			const struct floor_test *test = &rows[i].tests[t];
			const uint32_t arg = (uint32_t)data->args[test->arg];

			refused |= test->bits ? arg & test->value : arg == test->value;
		}
		return refused ? SECCOMP_RET_ERRNO | (uint32_t)rows[i].answer : 0;
	}
	return 0;
}

static bool holds(const struct profile_test *t, uint64_t arg)
{
	switch (t->op) {
	case OP_NE:
		return arg != t->value;
	case OP_LT:
		return arg < t->value;
	case OP_LE:
		return arg <= t->value;
	case OP_EQ:
		return arg == t->value;
	case OP_GE:
		return arg >= t->value;
	case OP_GT:
		return arg > t->value;
	case OP_MASKED_EQ:
		return (arg & t->mask) == t->value;
	case OP_COUNT:
		break;
	}
	fail_msg("operator %d", (int)t->op);
	return false;
}

static bool applies(const struct profile_rule *r, const struct seccomp_data *data)
{
	for (size_t t = 0; t < r->test_count; t++)
		if (!holds(&r->tests[t], data->args[r->tests[t].arg]))
			return false;
	return true;
}

/* Computes the answer that compile.h promises, in the simplest way. `nrs` has the
 * numbers of the rules' calls. */
static uint32_t promised(const struct build *b, const int *nrs,
			 const struct seccomp_data *data)
{
	const struct profile_rule *best = NULL;
	const uint32_t refusal = floor_answer((int)b->arch, data);

	for (size_t i = 0; i < b->profile.count; i++) {
		const struct profile_rule *r = &b->profile.rules[i];

		if (nrs[i] != data->nr || !applies(r, data))
			continue;
		if (!best || (int32_t)(r->action & SECCOMP_RET_ACTION_FULL) <
				     (int32_t)(best->action & SECCOMP_RET_ACTION_FULL))
			best = r;
	}
	if (refusal)
		return refusal;
	return best ? best->action : b->profile.default_action;
}

/* Returns a small value, a value of a rule, one near it, or any value. */
static uint64_t random_arg(uint64_t *seed, const struct profile *p)
{
	const uint64_t r = bpf_run_random(seed);

	if (r % 4 == 0 || !p->count)
		return (r >> 8) % 70;
	if (r % 4 == 1)
		return bpf_run_random(seed);

	const struct profile_rule *rule = &p->rules[(r >> 8) % p->count];
	const struct profile_test *test = &rule->tests[(r >> 32) % PROFILE_ARGS];
	const uint64_t value = test->value ^ (r % 4 == 2 ? 0 : 1ull << ((r >> 40) % 64));

	return (r >> 4) % 8 ? value : value + 1;
}

/* libseccomp's program, or none. */
struct opinion {
	const struct sock_filter *insns;
	size_t count;
};

static void compare(const struct build *b, const int *nrs, const struct opinion *theirs,
		    const struct seccomp_data *data)
{
	const uint32_t ours = build_run(b, data);
	const uint32_t promise = promised(b, nrs, data);
	uint32_t second = promise;

	if (theirs && !floor_answer((int)b->arch, data))
		second = bpf_run(theirs->insns, theirs->count, data);
	if (ours != promise || ours != second)
		fail_msg("arch %d, call %d (%#llx, %#llx, %#llx, ...): %#x, "
			 "promised %#x, libseccomp %#x",
			 (int)b->arch, data->nr, (unsigned long long)data->args[0],
			 (unsigned long long)data->args[1],
			 (unsigned long long)data->args[2], ours, promise, second);
}

/* Number of rounds with random arguments for each call. */
#define ROUNDS ROUNDS_OF(200)

static void agree(const struct build *b, uint64_t *seed, int rounds,
		  const struct opinion *theirs)
{
	AUTO_FREE int *nrs = calloc(b->profile.count + 1, sizeof(*nrs));

	for (size_t i = 0; i < b->profile.count; i++)
		nrs[i] = seccomp_syscall_resolve_name_arch(scmp_archs[b->arch],
							   b->profile.rules[i].name);
	for (int i = 0; i < rounds; i++)
		for (int nr = 0; nr < NUMBERS; nr++) {
			struct seccomp_data data = { .nr = nr,
						     .arch = audit_archs[b->arch] };

			for (int k = 0; k < 6; k++)
				data.args[k] = random_arg(seed, &b->profile);
			compare(b, nrs, theirs, &data);
		}
}

static void agree_with_libseccomp(const struct build *b, uint64_t *seed, int rounds)
{
	AUTO_FREE struct sock_filter *insns = calloc(BPF_MAXINSNS, sizeof(*insns));
	const struct opinion theirs = { insns, libseccomp_program(b, insns) };

	agree(b, seed, rounds, &theirs);
}

static void the_default_profile_means_what_libseccomp_says(void **state)
{
	uint64_t seed = 4711;

	(void)state;
	for (int a = 0; a < ARCH_COUNT; a++) {
		struct build *b = build_default((enum arch)a);

		agree_with_libseccomp(b, &seed, ROUNDS);
		build_free(b);
	}
}

static void put_rule(FILE *out, uint64_t *seed, const char *name, const char *action)
{
	static const char *const ops[] = {
		"NE", "LT", "LE", "EQ", "GE", "GT", "MASKED_EQ"
	};
	const unsigned tests = (unsigned)(bpf_run_random(seed) % 4);
	const unsigned first = (unsigned)(bpf_run_random(seed) % 3);

	(void)fprintf(out, ",{\"names\":[\"%s\"],\"action\":\"%s\",\"args\":[", name,
		      action);
	for (unsigned i = 0; i < tests; i++) {
		const uint64_t r = bpf_run_random(seed);
		const uint64_t bits = r % 3 == 0 ? 52 : r % 3 == 1 ? 33 : 4;
		const uint64_t value = (bpf_run_random(seed) >> 8) & ((1ull << bits) - 1);

		(void)fprintf(out,
			      "%s{\"index\":%u,\"op\":\"SCMP_CMP_%s\",\"value\":%llu,"
			      "\"valueTwo\":%llu}",
			      i ? "," : "", first + i, ops[(r >> 8) % ARRAY_LEN(ops)],
			      (unsigned long long)value,
			      (unsigned long long)(value & bpf_run_random(seed)));
	}
	(void)fputs("]}", out);
}

/* Writes 1 to `rules_max` rules for a third of all calls. */
static void put_profile(FILE *out, uint64_t *seed, unsigned rules_max)
{
	static const char *const actions[] = {
		"SCMP_ACT_ALLOW", "SCMP_ACT_LOG",	  "SCMP_ACT_KILL_PROCESS",
		"SCMP_ACT_TRAP",  "SCMP_ACT_KILL_THREAD", "SCMP_ACT_ERRNO"
	};

	(void)fprintf(out,
		      "{\"defaultAction\":\"%s\",\"syscalls\":[{\"names\":[],"
		      "\"action\":\"SCMP_ACT_LOG\"}",
		      actions[bpf_run_random(seed) % ARRAY_LEN(actions)]);
	for (int nr = 0; nr < 460; nr++) {
		const uint64_t r = bpf_run_random(seed);
		char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, nr);

		for (uint64_t i = 0; name && r % 3 == 0 && i < (r >> 8) % rules_max + 1;
		     i++)
			put_rule(out, seed, name,
				 actions[bpf_run_random(seed) % ARRAY_LEN(actions)]);
		free(name);
	}
	(void)fputs("]}", out);
}

static struct build *build_random(uint64_t *seed, unsigned rules_max, enum arch arch)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	put_profile(out, seed, rules_max);
	assert_int_equal(fclose(out), 0);
	struct build *b = build(text, len, arch);
	free(text);
	return b;
}

static void random_profiles_mean_what_is_promised(void **state)
{
	uint64_t seed = 20250707;

	(void)state;
	for (int i = 0; i < ROUNDS_OF(80); i++) {
		struct build *b = build_random(&seed, 4, (enum arch)(i % ARCH_COUNT));

		agree(b, &seed, 10, NULL);
		build_free(b);
	}
}

/* One rule a call.  With several, libseccomp 2.5.4 allows more than any of the
 * rules does: of `a1 <= 10 && a2 == 9` or `a1 <= 20 && a2 == 5` it makes a
 * filter that allows a1 = 15, a2 = 9. */
static void simple_profiles_mean_what_libseccomp_says(void **state)
{
	uint64_t seed = 19700101;

	(void)state;
	for (int i = 0; i < ROUNDS_OF(80); i++) {
		struct build *b = build_random(&seed, 1, (enum arch)(i % ARCH_COUNT));

		agree_with_libseccomp(b, &seed, 10);
		build_free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_default_profile_means_what_libseccomp_says),
		cmocka_unit_test(random_profiles_mean_what_is_promised),
		cmocka_unit_test(simple_profiles_mean_what_libseccomp_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
