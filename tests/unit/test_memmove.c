/* Tests memmove(3) and memcpy(3) of base/memmove.c, with which this program is
 * linked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROOM 2048
#define MOST 700 /* beyond the size where another method is used */

/* Pointers that are volatile, so that the compiler cannot inline the calls. */
static void *(*volatile move)(void *, const void *, size_t) = memmove;
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;

static void fill(unsigned char *room)
{
	for (size_t i = 0; i < ROOM; i++)
		room[i] = (unsigned char)(i * 31 + i / 256);
}

static void check(size_t to, size_t from, size_t n,
		  void *(*volatile *of)(void *, const void *, size_t))
{
	unsigned char was[ROOM], is[ROOM];

	fill(was);
	fill(is);
	assert_ptr_equal((*of)(is + to, is + from, n), is + to);
	for (size_t i = 0; i < ROOM; i++) {
		const unsigned char wanted = i >= to && i < to + n ? was[i - to + from] :
								     was[i];
		if (is[i] != wanted)
			fail_msg("%zu bytes from %zu to %zu: byte %zu", n, from, to, i);
	}
}

static void test_each_length_is_copied_and_no_more(void **state)
{
	(void)state;
	for (size_t n = 0; n <= MOST; n++)
		for (size_t shift = 0; shift < 3; shift++)
			check(1 + shift, 1200 - shift, n, &copy);
}

static void test_overlapping_bytes_arrive_as_they_were(void **state)
{
	static const size_t apart[] = { 0,  1,	2,  3,	7,  8,	 9,  15,
					16, 17, 31, 33, 64, 255, 513 };

	(void)state;
	for (size_t n = 0; n <= MOST; n += n < 70 ? 1 : 37)
		for (size_t i = 0; i < sizeof(apart) / sizeof(*apart); i++) {
			check(600 + apart[i], 600, n, &move);
			check(600, 600 + apart[i], n, &move);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_length_is_copied_and_no_more),
		cmocka_unit_test(test_overlapping_bytes_arrive_as_they_were),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
