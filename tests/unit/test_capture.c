/* capture: keeps the beginning and the end of an output, whatever pieces it comes in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"
#include "mcp/capture.h"

/* Adds bytes 0 to `len`, each the low byte of its place, in pieces of `step`. */
static void fill(struct capture *c, size_t len, size_t step)
{
	static uint8_t bytes[4 * CAPTURE_HALF];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i ^ i >> 8);
	for (size_t at = 0; at < len; at += step)
		capture_add(c, bytes + at, len - at < step ? len - at : step);
}

static void test_what_fits_is_kept_whole(void **state)
{
	static const size_t lengths[] = { 0, 1, CAPTURE_HALF, CAPTURE_HALF + 1,
					  2 * CAPTURE_HALF };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		struct capture c;
		size_t len;

		capture_init(&c);
		fill(&c, lengths[i], 1000);
		AUTO_FREE char *text = capture_text(&c, &len);
		assert_int_equal(len, lengths[i]);
		assert_int_equal(capture_lost(&c), 0);
		for (size_t k = 0; k < len; k++)
			assert_int_equal((uint8_t)text[k], (uint8_t)(k ^ k >> 8));
		capture_done(&c);
	}
}

static void test_the_middle_of_more_is_left_out(void **state)
{
	static const size_t steps[] = { 1, 999, CAPTURE_HALF, 4 * CAPTURE_HALF };
	const size_t all = 4 * CAPTURE_HALF - 3;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		struct capture c;
		size_t len;

		capture_init(&c);
		fill(&c, all, steps[i]);
		assert_int_equal(c.seen, all);
		assert_int_equal(capture_lost(&c), all - 2 * CAPTURE_HALF);
		AUTO_FREE char *text = capture_text(&c, &len);
		assert_non_null(strstr(text + CAPTURE_HALF,
				       "\n[... 65533 bytes are left out ...]\n"));
		for (size_t k = 0; k < CAPTURE_HALF; k++) {
			const size_t at = all - CAPTURE_HALF + k;
			assert_int_equal((uint8_t)text[k], (uint8_t)(k ^ k >> 8));
			assert_int_equal((uint8_t)text[len - CAPTURE_HALF + k],
					 (uint8_t)(at ^ at >> 8));
		}
		capture_done(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_fits_is_kept_whole),
		cmocka_unit_test(test_the_middle_of_more_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
