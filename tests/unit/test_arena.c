/* The arena: its blocks are aligned and apart, and the newest one can grow and be given
 * back.  test_malloc.c tests malloc(3) over the arena. */
#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"

static bool holds(const void *p, int byte, size_t len)
{
	const uint8_t *at = p;

	for (size_t i = 0; i < len; i++)
		if (at[i] != (uint8_t)byte)
			return false;
	return true;
}

/* Runs in a child.  Returns 0 if the arena is refused under the limit, with its name and
 * the remedy, and then gives no block. */
static int try_limit(int resource, const char *name, const char *remedy)
{
	const struct rlimit low = { 1u << 20, 1u << 20 };
	struct err e;

	if (setrlimit(resource, &low) < 0)
		return 1;
	if (arena_open(&e) == 0 || arena_allocate(1))
		return 2;
	if (e.kind != ERR_LIMIT || !strstr(e.text, name) || !strstr(e.remedy, remedy))
		return 3;
	return 0;
}

/* This test comes first, since the arena is not mapped yet. */
static void test_a_limit_without_room_for_it_is_named(void **state)
{
	static const struct {
		int resource;
		const char *name, *remedy;
	} rows[] = { { RLIMIT_DATA, "RLIMIT_DATA is 1024 KiB", "ulimit -d unlimited" },
		     { RLIMIT_AS, "RLIMIT_AS is 1024 KiB", "ulimit -v unlimited" } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int status;
		const pid_t pid = fork();
		if (pid == 0)
			_exit(try_limit(rows[i].resource, rows[i].name, rows[i].remedy));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	assert_int_equal(arena_open(NULL), 0);
}

static void test_blocks_are_aligned_and_apart(void **state)
{
	static const size_t sizes[] = { 0, 1, 15, 16, 17, 4000, ARENA_LARGE - 1 };
	enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };
	void *all[COUNT];

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		all[i] = arena_allocate(sizes[i]);
		assert_non_null(all[i]);
		assert_true(arena_holds(all[i]));
		assert_int_equal((uintptr_t)all[i] % 16, 0);
		memset(all[i], (int)i + 1, sizes[i]);
	}
	for (size_t i = 0; i < COUNT; i++)
		assert_true(holds(all[i], (int)i + 1, sizes[i]));
	for (size_t i = COUNT; i-- > 0;)
		arena_release(all[i]);
}

static void test_the_newest_is_given_back(void **state)
{
	void *first = arena_allocate(100);

	(void)state;
	arena_release(first);
	assert_ptr_equal(arena_allocate(50), first);
	assert_true(arena_grow(first, 1000));
	arena_release(first);
	assert_ptr_equal(arena_allocate(50), first);
	arena_release(first);
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

static void test_a_large_block_does_not_fit(void **state)
{
	int on_the_stack;

	(void)state;
	assert_null(arena_allocate(ARENA_LARGE));
	assert_null(arena_allocate(SIZE_MAX));
	assert_null(arena_allocate(SIZE_MAX - 16));
	assert_false(arena_holds(&on_the_stack));
	assert_false(arena_holds(NULL));
}

/* This test and the next one come last, since they leave the arena full, and closed. */
static void test_a_full_arena_says_so(void **state)
{
	void *newest = NULL, *next;

	(void)state;
	while ((next = arena_allocate(ARENA_LARGE / 2)))
		newest = next;
	assert_false(arena_grow(newest, ARENA_LARGE - 1));
	arena_release(newest);
	assert_ptr_equal(arena_allocate(ARENA_LARGE / 2), newest);
	arena_release(newest);
}

static void test_a_closed_arena_keeps_its_blocks(void **state)
{
	uint8_t *p = arena_allocate(10);

	(void)state;
	assert_non_null(p);
	memset(p, 3, 10);
	arena_close();
	assert_null(arena_allocate(1));
	assert_true(arena_holds(p));
	assert_true(arena_grow(p, 100));
	assert_true(holds(p, 3, 10));
	arena_release(p);
	assert_null(arena_allocate(1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_limit_without_room_for_it_is_named),
		cmocka_unit_test(test_blocks_are_aligned_and_apart),
		cmocka_unit_test(test_the_newest_is_given_back),
		cmocka_unit_test(test_a_block_grows_in_its_place_or_not_at_all),
		cmocka_unit_test(test_a_large_block_does_not_fit),
		cmocka_unit_test(test_a_full_arena_says_so),
		cmocka_unit_test(test_a_closed_arena_keeps_its_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
