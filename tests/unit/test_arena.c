/* The launcher's memory allocator: it keeps malloc(3)'s promises, and memory use
 * does not grow. */
#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>

static bool holds(const void *p, int byte, size_t len)
{
	const uint8_t *at = p;

	for (size_t i = 0; i < len; i++)
		if (at[i] != (uint8_t)byte)
			return false;
	return true;
}

static void test_blocks_are_aligned_and_apart(void **state)
{
	static const size_t sizes[] = { 0, 1, 15, 16, 17, 4000, ARENA_LARGE - 1,
					ARENA_LARGE, 1 << 20 };
	enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };
	void *all[COUNT];

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		all[i] = arena_allocate(sizes[i]);
		assert_non_null(all[i]);
		assert_int_equal((uintptr_t)all[i] % 16, 0);
		memset(all[i], (int)i + 1, sizes[i]);
	}
	for (size_t i = 0; i < COUNT; i++)
		assert_true(holds(all[i], (int)i + 1, sizes[i]));
	for (size_t i = COUNT; i-- > 0;)
		arena_release(all[i]);
}

/* A block grows from a few bytes beyond the arena's bound, where it becomes a
 * mapping that the kernel may move. */
static void test_a_growing_block_keeps_its_content(void **state)
{
	for (int has_neighbour = 0; has_neighbour < 2; has_neighbour++) {
		uint8_t *p = arena_allocate(8);
		void *neighbour = has_neighbour ? arena_allocate(8) : NULL;
		memset(p, 7, 8);
		for (size_t size = 16; size <= 4u << 20; size *= 2) {
			p = arena_resize(p, size);
			assert_non_null(p);
			assert_true(holds(p, 7, size / 2));
			memset(p, 7, size);
		}
		arena_release(p);
		arena_release(neighbour);
	}
	arena_release(arena_resize(NULL, 5));
	arena_release(NULL);
	(void)state;
}

static void test_the_newest_is_given_back(void **state)
{
	void *first = arena_allocate(100);

	(void)state;
	arena_release(first);
	assert_ptr_equal(arena_allocate(50), first);
	assert_ptr_equal(arena_resize(first, 1000), first);
	arena_release(first);
}

static void test_impossible_sizes(void **state)
{
	void *p = arena_allocate(10);

	(void)state;
	errno = 0;
	assert_null(arena_allocate(SIZE_MAX));
	assert_int_equal(errno, ENOMEM);
	assert_null(arena_allocate(SIZE_MAX - 16));
	assert_null(arena_resize(p, SIZE_MAX - 32));
	assert_null(arena_allocate((size_t)1 << 60));
	arena_release(p);
}

/* Number of pages of this process (proc(5), statm). */
static unsigned long pages(void)
{
	unsigned long total = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu", &total), 1);
	assert_int_equal(fclose(f), 0);
	return total;
}

static void play_round(void)
{
	void *kept[64];

	for (size_t i = 0; i < 64; i++) {
		kept[i] = arena_allocate(100);
		assert_non_null(kept[i]);
		memset(kept[i], 1, 100);
	}
	for (size_t i = 0; i < 64; i++)
		arena_release(kept[i]);
}

/* When the arena is full, blocks become mappings, which are unmapped when they are
 * freed. */
static void test_nothing_grows_when_the_arena_is_used_up(void **state)
{
	(void)state;
	for (size_t taken = 0; taken < ARENA_SIZE; taken += ARENA_LARGE / 2)
		assert_non_null(arena_allocate(ARENA_LARGE / 2)); /* never freed */
	play_round();
	unsigned long before = pages();
	for (int i = 0; i < 100; i++)
		play_round();
	assert_true(pages() <= before + 64);
}

static void test_a_block_grows_in_its_place_or_not_at_all(void **state)
{
	uint8_t *first = arena_allocate(20);

	(void)state;
	memset(first, 3, 20);
	assert_true(arena_grow(first, 4000)); /* it is the newest */
	assert_true(arena_size_of(first) >= 4000);
	void *second = arena_allocate(1);
	assert_true(arena_grow(first, 4000));
	assert_false(arena_grow(first, 5000));
	assert_false(arena_grow(second, ARENA_LARGE));
	assert_false(arena_grow(second, SIZE_MAX));
	assert_true(holds(first, 3, 20));
	arena_release(second);
	arena_release(first);
}

static void test_only_small_blocks_are_in_the_arena(void **state)
{
	void *small = arena_allocate(ARENA_LARGE / 2),
	     *large = arena_allocate(ARENA_LARGE);

	(void)state;
	assert_true(arena_fits(0));
	assert_true(arena_fits(ARENA_LARGE / 2));
	assert_false(arena_fits(ARENA_LARGE));
	assert_false(arena_fits(SIZE_MAX));
	assert_true(arena_holds(small));
	assert_false(arena_holds(large));
	assert_false(arena_holds(NULL));
	arena_release(large);
	arena_release(small);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks_are_aligned_and_apart),
		cmocka_unit_test(test_a_growing_block_keeps_its_content),
		cmocka_unit_test(test_the_newest_is_given_back),
		cmocka_unit_test(test_impossible_sizes),
		cmocka_unit_test(test_a_block_grows_in_its_place_or_not_at_all),
		cmocka_unit_test(test_only_small_blocks_are_in_the_arena),
		cmocka_unit_test(test_nothing_grows_when_the_arena_is_used_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
