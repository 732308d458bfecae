/* malloc(3) over an arena: small blocks are the arena's until it is closed, others are
 * libc's, and each is released where it came from. */
#include "base/malloc.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include <cmocka.h>

/* libc's functions, as the linker names them in the program. */
void *__real_malloc(size_t size)
{
	return malloc(size);
}

void __real_free(void *p)
{
	free(p);
}

void *__real_calloc(size_t count, size_t size)
{
	return calloc(count, size);
}

void *__real_realloc(void *p, size_t size)
{
	return realloc(p, size);
}

static bool holds(const uint8_t *p, int byte, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != (uint8_t)byte)
			return false;
	return true;
}

static void test_a_small_block_is_the_arenas(void **state)
{
	uint8_t *p = __wrap_malloc(100), *zeroed, *large;

	(void)state;
	assert_true(arena_holds(p));
	memset(p, 7, 100);
	__wrap_free(p);
	zeroed = __wrap_calloc(10, 10); /* in the place of the one before */
	assert_ptr_equal(zeroed, p);
	assert_true(holds(zeroed, 0, 100));
	large = __wrap_calloc(2, ARENA_LARGE);
	assert_false(arena_holds(large));
	__wrap_free(large);
	__wrap_free(zeroed);
	__wrap_free(NULL);
}

static void test_a_block_that_cannot_grow_moves_with_its_content(void **state)
{
	uint8_t *p = __wrap_realloc(NULL, 50), *neighbour = __wrap_malloc(1), *was = p;

	(void)state;
	memset(p, 7, 50);
	p = __wrap_realloc(p, 5000);
	assert_ptr_not_equal(p, was);
	assert_true(arena_holds(p));
	assert_true(holds(p, 7, 50));
	p = __wrap_realloc(p, 4u * ARENA_LARGE);
	assert_false(arena_holds(p));
	assert_true(holds(p, 7, 50));
	p = __wrap_realloc(p, 20);
	assert_true(holds(p, 7, 20));
	__wrap_free(p);
	__wrap_free(neighbour);
}

/* A block grows from a few bytes beyond the arena's bound. */
static void test_a_growing_block_keeps_its_content(void **state)
{
	for (int has_neighbour = 0; has_neighbour < 2; has_neighbour++) {
		uint8_t *p = __wrap_malloc(8);
		void *neighbour = has_neighbour ? __wrap_malloc(8) : NULL;
		memset(p, 7, 8);
		for (size_t size = 16; size <= 4u << 20; size *= 2) {
			p = __wrap_realloc(p, size);
			assert_non_null(p);
			assert_true(holds(p, 7, size / 2));
			memset(p, 7, size);
		}
		__wrap_free(p);
		__wrap_free(neighbour);
	}
	(void)state;
}

/* libc's allocator answers NULL for an impossible size; that of AddressSanitizer ends the
 * program, unless it has this option. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void test_an_impossible_size_leaves_the_block(void **state)
{
	uint8_t *p = __wrap_malloc(30), *neighbour = __wrap_malloc(1);

	(void)state;
	memset(p, 7, 30);
	errno = 0;
	assert_null(__wrap_calloc(SIZE_MAX, 2));
	assert_int_equal(errno, ENOMEM);
	assert_null(__wrap_realloc(p, SIZE_MAX / 2));
	assert_true(holds(p, 7, 30));
	__wrap_free(neighbour);
	__wrap_free(p);
}

/* This test comes last, since the arena stays closed. */
static void test_a_closed_arena_gives_no_new_block(void **state)
{
	uint8_t *early = __wrap_malloc(30), *neighbour = __wrap_malloc(1);

	(void)state;
	memset(early, 7, 30);
	arena_close();
	uint8_t *late = __wrap_malloc(30);
	assert_false(arena_holds(late));
	__wrap_free(late);
	early = __wrap_realloc(early, 300);
	assert_false(arena_holds(early));
	assert_true(holds(early, 7, 30));
	__wrap_free(early);
	__wrap_free(neighbour);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_small_block_is_the_arenas),
		cmocka_unit_test(test_a_block_that_cannot_grow_moves_with_its_content),
		cmocka_unit_test(test_a_growing_block_keeps_its_content),
		cmocka_unit_test(test_an_impossible_size_leaves_the_block),
		cmocka_unit_test(test_a_closed_arena_gives_no_new_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
