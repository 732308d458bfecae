#include "policy/seccomp/bpf.h"

#include <stdlib.h>

#include "base/own.h"
#include "tests/unit/bpf_run.h"

#define RANGES 120

static uint32_t run(const struct bpf *b, uint32_t nr)
{
	const struct seccomp_data data = { .nr = (int)nr };

	return bpf_run(bpf_begin(b), b->count, &data);
}

static void equal_returns_are_shared(void **state)
{
	AUTO_FREE struct bpf *b = calloc(1, sizeof(*b));
	const size_t one = bpf_ret(b, 7);

	(void)state;
	assert_int_equal(one, 1);
	assert_int_equal(bpf_ret(b, 8), 2);
	assert_int_equal(bpf_ret(b, 7), 1);
	assert_int_equal(b->count, 2);
}

static void a_far_jump_gets_a_trampoline(void **state)
{
	AUTO_FREE struct bpf *b = calloc(1, sizeof(*b));
	const size_t far = bpf_ret(b, 1);

	(void)state;
	for (uint32_t i = 0; i < 600; i++)
		(void)bpf_jump(b, BPF_JEQ, i, b->count, b->count); /* adds distance */

	const size_t near = bpf_ret(b, 2);
	const size_t test = bpf_jump(b, BPF_JGT, 5, far, near);

	(void)bpf_load(b, 0, test);
	assert_int_equal(run(b, 5), 2);
	assert_int_equal(run(b, 6), 1);
}

static void both_ways_may_be_far(void **state)
{
	AUTO_FREE struct bpf *b = calloc(1, sizeof(*b));
	const size_t yes = bpf_ret(b, 1), no = bpf_ret(b, 2);

	(void)state;
	for (uint32_t i = 0; i < 250; i++)
		(void)bpf_jump(b, BPF_JEQ, i, b->count, b->count); /* adds distance */
	(void)bpf_load(b, 0, bpf_jump(b, BPF_JSET, 4, yes, no));
	assert_int_equal(run(b, 4), 1);
	assert_int_equal(run(b, 3), 2);
}

static void a_statement_goes_on_where_it_was_told_to(void **state)
{
	AUTO_FREE struct bpf *b = calloc(1, sizeof(*b));
	const size_t yes = bpf_ret(b, 1), no = bpf_ret(b, 2);
	const size_t test = bpf_jump(b, BPF_JEQ, 8, yes, no);

	(void)state;
	(void)bpf_ret(b, 3); /* lies between the two */
	(void)bpf_load(b, 0, bpf_and(b, 12, test));
	assert_int_equal(run(b, 9), 1);
	assert_int_equal(run(b, 12), 2);
}

static uint32_t linear(const struct bpf_range *ranges, size_t count, uint32_t nr)
{
	while (count > 1 && ranges[count - 1].first > nr)
		count--;
	return ranges[count - 1].target.ret;
}

/* Searches `count` numbers for one of so many answers. With few answers the program
 * needs many islands (jumps to jumps), with many answers it needs many returns far
 * away. */
static void check_search(uint64_t *seed, size_t count, unsigned answers)
{
	AUTO_FREE struct bpf *b = calloc(1, sizeof(*b));
	struct bpf_range ranges[RANGES] = { { 0, { .ret = 1 } } };

	for (size_t i = 1; i < count; i++) {
		const uint32_t step = 1 + (uint32_t)(bpf_run_random(seed) % 3);

		ranges[i].first = ranges[i - 1].first + step;
		ranges[i].target.ret = 1 + (uint32_t)(bpf_run_random(seed) % answers);
	}
	(void)bpf_load(b, 0, bpf_search(b, ranges, count));
	for (uint32_t nr = 0; nr < 3 * RANGES + 3; nr++)
		assert_int_equal(run(b, nr), linear(ranges, count, nr));
	assert_int_equal(run(b, UINT32_MAX), ranges[count - 1].target.ret);
}

static void a_search_finds_what_a_walk_finds(void **state)
{
	uint64_t seed = 88172645463325252u;

	(void)state;
	for (size_t count = 1; count <= RANGES; count++)
		for (unsigned answers = 1; answers <= 256; answers *= 4)
			check_search(&seed, count, answers);
}

static void a_program_may_outgrow_its_room(void **state)
{
	AUTO_FREE struct bpf *b = calloc(1, sizeof(*b));

	(void)state;
	for (uint32_t i = 0; i < BPF_MAXINSNS; i++)
		(void)bpf_ret(b, i); /* only their number matters */
	assert_true(bpf_fits(b));
	assert_int_equal(bpf_begin(b)->k, BPF_MAXINSNS - 1);
	(void)bpf_jump(b, BPF_JEQ, 1, bpf_ret(b, 1u << 20), 1);
	assert_false(bpf_fits(b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_returns_are_shared),
		cmocka_unit_test(a_far_jump_gets_a_trampoline),
		cmocka_unit_test(both_ways_may_be_far),
		cmocka_unit_test(a_statement_goes_on_where_it_was_told_to),
		cmocka_unit_test(a_search_finds_what_a_walk_finds),
		cmocka_unit_test(a_program_may_outgrow_its_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
