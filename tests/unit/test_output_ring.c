/* output_ring: keeps the last bytes of a stream, and counts the lost ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/output_ring.h"

/* Byte number `n` of the test's stream, whose period of 251 divides no ring size. */
static uint8_t byte_at(uint64_t n)
{
	return (uint8_t)(n % 251);
}

static void add(struct output_ring *k, size_t len, size_t more)
{
	uint8_t *bytes = malloc(len + 1);

	assert_non_null(bytes);
	for (size_t i = 0; i < len; i++)
		bytes[i] = byte_at(k->end + i);
	output_ring_add(k, bytes, len, more);
	free(bytes);
}

/* Checks that the bytes from `at` to the end are those that were added. */
static void check(const struct output_ring *k, uint64_t at)
{
	size_t want = (size_t)(k->end - at);
	uint8_t *got = malloc(want + 1);

	assert_non_null(got);
	assert_int_equal(output_ring_copy(k, at, got, want + 1), want);
	for (size_t i = 0; i < want; i++)
		assert_int_equal(got[i], byte_at(at + i));
	free(got);
}

static void test_the_zero_object_keeps_nothing_and_has_no_memory(void **state)
{
	struct output_ring k = { 0 };
	uint8_t got;

	(void)state;
	assert_int_equal(output_ring_copy(&k, 0, &got, 1), 0);
	assert_int_equal(output_ring_wants(&k, 0), OUTPUT_RING_MIN);
	output_ring_add(&k, NULL, 0, 0);
	assert_null(k.bytes);
	output_ring_drop(&k);
	output_ring_done(&k);
}

/* Without memory all bytes are lost, and counted. */
static void test_nothing_granted_is_all_lost(void **state)
{
	struct output_ring k = { 0 };

	(void)state;
	add(&k, 1000, 0);
	assert_int_equal(k.begin, 1000);
	assert_int_equal(k.end, 1000);
	check(&k, 1000);
	output_ring_done(&k);
}

static void test_memory_grows_with_what_is_kept_up_to_the_bound(void **state)
{
	struct output_ring k = { 0 };
	size_t total = 0;

	(void)state;
	while (total < 3 * OUTPUT_RING_MAX) {
		size_t len = 1 + total / 7 % 9999;
		add(&k, len, output_ring_wants(&k, len));
		total += len;
		size_t least = total < OUTPUT_RING_MAX ? total : OUTPUT_RING_MAX;
		assert_int_equal(k.end, total);
		assert_int_equal(k.end - k.begin, least);
		assert_true(k.room <= OUTPUT_RING_MAX && k.room >= least);
		assert_true(k.room == OUTPUT_RING_MIN || k.room < 2 * least);
	}
	check(&k, k.begin);
	check(&k, k.begin + 12345);
	output_ring_done(&k);
}

static void test_the_oldest_output_goes_where_no_room_is_granted(void **state)
{
	struct output_ring k = { 0 };

	(void)state;
	add(&k, 100, OUTPUT_RING_MIN);
	add(&k, OUTPUT_RING_MIN, 0);
	assert_int_equal(k.begin, 100);
	assert_int_equal(k.room, OUTPUT_RING_MIN);
	check(&k, k.begin);
	add(&k, 1, 0);
	assert_int_equal(k.begin, 101);
	check(&k, k.begin);
	/* When the ring grows, bytes that wrapped around in the old ring are
	 * contiguous in the new one. */
	add(&k, 5000, output_ring_wants(&k, 5000));
	assert_int_equal(k.begin, 101);
	check(&k, k.begin);
	output_ring_done(&k);
}

static void test_more_at_once_than_there_is_room_for(void **state)
{
	struct output_ring k = { 0 };

	(void)state;
	add(&k, 10, OUTPUT_RING_MIN);
	add(&k, 3 * OUTPUT_RING_MIN + 7, 0);
	assert_int_equal(k.end, 3 * OUTPUT_RING_MIN + 17);
	assert_int_equal(k.begin, k.end - OUTPUT_RING_MIN);
	check(&k, k.begin);
	output_ring_done(&k);
	add(&k, 2 * OUTPUT_RING_MAX, output_ring_wants(&k, 2 * OUTPUT_RING_MAX));
	assert_int_equal(k.room, OUTPUT_RING_MAX);
	assert_int_equal(k.begin, OUTPUT_RING_MAX);
	check(&k, k.begin);
	output_ring_done(&k);
}

static void test_a_part_is_read_to_the_byte(void **state)
{
	struct output_ring k = { 0 };
	uint8_t got[8];

	(void)state;
	add(&k, OUTPUT_RING_MIN + 3,
	    OUTPUT_RING_MIN); /* so that a copy of 4 bytes wraps around */
	for (uint64_t at = k.begin; at + 4 <= k.end; at++) {
		memset(got, 0xee, sizeof(got));
		assert_int_equal(output_ring_copy(&k, at, got, 4), 4);
		for (size_t i = 0; i < 4; i++)
			assert_int_equal(got[i], byte_at(at + i));
		assert_int_equal(got[4], 0xee);
	}
	assert_int_equal(output_ring_copy(&k, k.end, got, 4), 0);
	output_ring_done(&k);
}

static void test_dropped_output_is_lost_and_the_stream_goes_on(void **state)
{
	struct output_ring k = { 0 };

	(void)state;
	add(&k, 50000, output_ring_wants(&k, 50000));
	output_ring_drop(&k);
	assert_int_equal(k.room, 0);
	assert_int_equal(k.begin, 50000);
	assert_int_equal(k.end, 50000);
	add(&k, 10, output_ring_wants(&k, 10));
	assert_int_equal(k.begin, 50000);
	check(&k, 50000);
	output_ring_done(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_zero_object_keeps_nothing_and_has_no_memory),
		cmocka_unit_test(test_nothing_granted_is_all_lost),
		cmocka_unit_test(test_memory_grows_with_what_is_kept_up_to_the_bound),
		cmocka_unit_test(test_the_oldest_output_goes_where_no_room_is_granted),
		cmocka_unit_test(test_more_at_once_than_there_is_room_for),
		cmocka_unit_test(test_a_part_is_read_to_the_byte),
		cmocka_unit_test(test_dropped_output_is_lost_and_the_stream_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
