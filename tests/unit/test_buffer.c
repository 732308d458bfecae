/* buffer: is a queue of bytes with an upper bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"

static void test_the_zero_object_is_empty_and_holds_nothing(void **state)
{
	struct buffer b = { 0 };

	(void)state;
	assert_int_equal(buffer_len(&b), 0);
	/* Not NULL: the caller may add an offset of 0 to it. */
	assert_non_null(buffer_data(&b));
	assert_false(buffer_append(&b, "x", 1));
	buffer_consume(&b, 5);
	buffer_done(&b);
	buffer_done(NULL);
}

static void test_bytes_come_out_in_the_order_in_which_they_went_in(void **state)
{
	struct buffer b;

	(void)state;
	buffer_init(&b, 100);
	assert_true(buffer_append(&b, "hello ", 6));
	assert_true(buffer_append(&b, "world", 5));
	assert_int_equal(buffer_len(&b), 11);
	assert_memory_equal(buffer_data(&b), "hello world", 11);
	buffer_consume(&b, 6);
	assert_memory_equal(buffer_data(&b), "world", 5);
	buffer_consume(&b, 100); /* removes no more bytes than there are */
	assert_int_equal(buffer_len(&b), 0);
	buffer_done(&b);
	assert_int_equal(b.max, 0);
}

static void test_the_bound_holds_to_the_byte(void **state)
{
	char text[1000] = "";

	(void)state;
	for (size_t max = 1; max <= sizeof(text); max += 37) {
		struct buffer b;
		buffer_init(&b, max);
		assert_false(buffer_append(&b, text, max + 1));
		assert_int_equal(buffer_len(&b), 0);
		assert_true(buffer_append(&b, text, max));
		assert_false(buffer_append(&b, text, 1));
		assert_null(buffer_reserve(&b, 1));
		assert_null(buffer_reserve(&b, SIZE_MAX));
		assert_true(b.room <= max);
		buffer_consume(&b, 1);
		assert_true(buffer_append(&b, text, 1));
		assert_false(buffer_append(&b, text, 1));
		buffer_done(&b);
	}
}

static void test_nothing_fits_always(void **state)
{
	struct buffer b;

	(void)state;
	buffer_init(&b, 3);
	assert_true(buffer_append(&b, NULL, 0));
	assert_true(buffer_append(&b, "abc", 3));
	assert_true(buffer_append(&b, NULL, 0));
	assert_int_equal(buffer_len(&b), 3);
	buffer_done(&b);
}

static void test_reserved_room_is_what_was_added(void **state)
{
	struct buffer b;

	(void)state;
	buffer_init(&b, 1u << 20);
	uint8_t *to = buffer_reserve(&b, 4096);
	assert_non_null(to);
	memset(to, 'a', 4096);
	buffer_added(&b, 10);
	assert_int_equal(buffer_len(&b), 10);
	assert_ptr_equal(buffer_reserve(&b, 10), buffer_data(&b) + 10);
	buffer_done(&b);
}

/* Compares with a plain array, with lengths that wrap around at every place. */
static void test_a_buffer_is_a_queue_at_all_lengths(void **state)
{
	enum { MAX = 777 };
	uint8_t model[MAX];
	size_t len = 0;
	uint32_t random = 1;
	struct buffer b;

	(void)state;
	buffer_init(&b, MAX);
	for (uint32_t i = 0; i < 200000; i++) {
		random = random * 1103515245u + 12345u;
		size_t n = (random >> 8) % 300;
		uint8_t bytes[300];
		memset(bytes, (int)(i & 0xff), sizeof(bytes));
		if (random >> 31) {
			bool fits = len + n <= MAX;
			assert_int_equal(buffer_append(&b, bytes, n), fits);
			if (fits) {
				memcpy(model + len, bytes, n);
				len += n;
			}
		} else {
			n = n < len ? n : len;
			buffer_consume(&b, n);
			memmove(model, model + n, len - n);
			len -= n;
		}
		assert_int_equal(buffer_len(&b), len);
		if (len > 0)
			assert_memory_equal(buffer_data(&b), model, len);
		assert_true(b.room <= MAX);
	}
	buffer_done(&b);
}

/* The bytes of a long queue are moved only after many were removed; otherwise each
 * removal of a few bytes would copy the whole queue. */
static void test_a_long_queue_is_seldom_moved(void **state)
{
	static const uint8_t bytes[1000] = { 0 };
	const uint8_t *before;
	size_t moves = 0;
	struct buffer b;

	(void)state;
	buffer_init(&b, 1 << 20);
	assert_true(buffer_append(&b, bytes, 1000));
	assert_true(buffer_append(&b, bytes, 23));
	before = buffer_data(&b);
	for (int i = 0; i < 10000; i++) {
		assert_true(buffer_append(&b, bytes, 1));
		moves += buffer_data(&b) != before;
		buffer_consume(&b, 1);
		before = buffer_data(&b);
	}
	assert_in_range(moves, 1, 50);
	assert_true(b.room <= 4096);
	buffer_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_zero_object_is_empty_and_holds_nothing),
		cmocka_unit_test(test_bytes_come_out_in_the_order_in_which_they_went_in),
		cmocka_unit_test(test_the_bound_holds_to_the_byte),
		cmocka_unit_test(test_nothing_fits_always),
		cmocka_unit_test(test_reserved_room_is_what_was_added),
		cmocka_unit_test(test_a_buffer_is_a_queue_at_all_lengths),
		cmocka_unit_test(test_a_long_queue_is_seldom_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
