/* diff: has the same output as Python's difflib.  difflib printed the rows here;
 * tests/run/edit.bats compares thousands more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/utf8.h"
#include "executor/edit/diff.h"

#define HEAD "--- /f\n+++ /f\n"

static struct bytes bytes_of_text(const char *text)
{
	return (struct bytes){ (const uint8_t *)text, strlen(text) };
}

/* Returns the diff as a string, which the caller frees. */
static char *diff_of(const char *old, const char *new, size_t max, uint32_t steps)
{
	struct buffer out;

	buffer_init(&out, max);
	diff_put_in(&out, "/f", bytes_of_text(old), bytes_of_text(new), steps);
	char *text = mem_zeroed(buffer_len(&out) + 1, 1);
	if (buffer_len(&out) > 0)
		memcpy(text, buffer_data(&out), buffer_len(&out));
	buffer_done(&out);
	return text;
}

static void check(const char *old, const char *new, const char *diff)
{
	AUTO_FREE char *got = diff_of(old, new, DIFF_MAX, DIFF_STEPS);

	assert_string_equal(got, diff);
}

static void test_differences_are_told_as_difflib_does(void **state)
{
	static const char *const rows[][3] = {
		{ "", "", "" },
		{ "a\nb\n", "a\nb\n", "" },
		{ "", "x", HEAD "@@ -1 +1 @@\n-\n+x" },
		{ "", "1\n2\n", HEAD "@@ -0,0 +1,2 @@\n+1\n+2" },
		{ "1\n2\n", "", HEAD "@@ -1,2 +0,0 @@\n-1\n-2" },
		{ "a\nb\nc", "a\nB\nc", HEAD "@@ -2 +2 @@\n-b\n+B" },
		{ "a\n", "a", HEAD "@@ -2 +1,0 @@\n-" },
		{ "a", "a  \n", HEAD "@@ -1 +1,2 @@\n-a\n+a\n+" },
		/* The longest equal run, "a\nb", is matched, and not the first equal
		 * "a". */
		{ "a\nb", "c\na\nc\na\nb", HEAD "@@ -0,0 +1,3 @@\n+c\n+a\n+c" },
		{ "x\xc2\xa0\xe3\x80\x80\t", "y\x85\r",
		  /* The byte 0x85 alone is no character, and so no line end. */
		  HEAD "@@ -1 +1 @@\n-x\n+y\x85" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(rows[i][0], rows[i][1], rows[i][2]);
}

/* In a text of 200 lines a frequent line begins no run (difflib's autojunk). */
static void test_a_frequent_line_begins_no_run_in_a_long_text(void **state)
{
	AUTO_FREE char *new = mem_zeroed(2000, 1);

	(void)state;
	for (int i = 0; i < 199; i++)
		(void)strcat(new, i % 2 ? "\n" : "x\n"); /* 200 lines with the last one */
	AUTO_FREE char *got = diff_of("y\nx\nz", new, DIFF_MAX, DIFF_STEPS);
	assert_non_null(strstr(got, "@@ -1,3 +1,200 @@\n-y\n-x\n-z\n+x"));
	/* In a text of 199 lines a frequent line may begin a run. */
	AUTO_FREE char *other = diff_of("y\nx\nz", new + 2, DIFF_MAX, DIFF_STEPS);
	assert_non_null(strstr(other, "@@ -1 +1 @@\n-y\n+\n@@ -3 +3,197 @@\n-z\n+\n"));
}

static void test_beyond_the_bounds_it_is_one_hunk_and_right(void **state)
{
	static const char *const rows[][3] = {
		{ "a\nb\nc\nd", "a\nX\nc\nY\nd",
		  HEAD "@@ -2,2 +2,3 @@\n-b\n-c\n+X\n+c\n+Y" },
		{ "a", "a\nb", HEAD "@@ -1,0 +2 @@\n+b" },
		{ "a\nb", "b", HEAD "@@ -1 +0,0 @@\n-a" },
		{ "", "x\n", HEAD "@@ -0,0 +1 @@\n+x" },
		{ "a\na", "a", HEAD "@@ -2 +1,0 @@\n-a" },
		{ "same", "same", "" },
	};
	AUTO_FREE uint8_t *much = mem_new(2 * DIFF_LINES);
	struct buffer out;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_FREE char *got = diff_of(rows[i][0], rows[i][1], DIFF_MAX, 0);
		assert_string_equal(got, rows[i][2]);
	}
	memset(much, '\n', 2 * DIFF_LINES);
	buffer_init(&out, DIFF_MAX);
	diff_put(&out, "/f", (struct bytes){ much, 2 * DIFF_LINES - 1 },
		 (struct bytes){ much, 2 * DIFF_LINES });
	assert_int_equal(buffer_len(&out), strlen(HEAD "@@ -524288,0 +524289 @@\n+"));
	buffer_done(&out);
}

/* Any number of steps gives one of the two results, and both are valid. */
static void test_any_number_of_steps_gives_one_of_two_diffs(void **state)
{
	const char *old = "a\nb\nc\nd\nc", *new = "b\na\nc\nc\nd\nx";
	AUTO_FREE char *full = diff_of(old, new, DIFF_MAX, DIFF_STEPS);
	AUTO_FREE char *simple = diff_of(old, new, DIFF_MAX, 0);
	unsigned fulls = 0;

	(void)state;
	assert_string_not_equal(full, simple);
	for (uint32_t steps = 0; steps < 100; steps++) {
		AUTO_FREE char *got = diff_of(old, new, DIFF_MAX, steps);
		bool is_full = !strcmp(got, full);
		assert_true(is_full || !strcmp(got, simple));
		fulls += is_full;
	}
	assert_in_range(fulls, 1, 99);
}

static void test_a_diff_that_does_not_fit_is_cut_at_a_line(void **state)
{
	const char *new = "aaaaaaaaaa\nbbbbbbbbbb\ncccccccccc\n";
	AUTO_FREE char *full = diff_of("", new, DIFF_MAX, DIFF_STEPS);

	(void)state;
	for (size_t max = sizeof(DIFF_NOTICE) + 20; max < 200; max++) {
		AUTO_FREE char *got = diff_of("", new, max, DIFF_STEPS);
		assert_true(strlen(got) <= max);
		if (!strcmp(got, full))
			continue;
		char *cut = strstr(got, "\n" DIFF_NOTICE);
		assert_true(cut && cut[sizeof(DIFF_NOTICE)] == '\0');
		assert_true(!strncmp(full, got, (size_t)(cut - got)));
		assert_int_equal(full[cut - got], '\n');
	}
}

static void test_white_space_is_what_python_says(void **state)
{
	static const struct {
		const char *text;
		size_t begin, left;
	} rows[] = {
		{ "", 0, 0 }, { "a", 0, 1 }, { " \t\n\v\f\ra\x1c\x1d\x1e\x1f ", 6, 7 },
		{ "\xc2\x85\xc2\xa0x\xc2\xa0", 4, 5 },
		{ "\xe1\x9a\x80\xe2\x80\x80\xe2\x80\x8ax", 9, 10 },
		{ "\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\x9f\xe3\x80\x80", 15, 0 },
		/* The zero width space does not count as a blank. */
		{ "\xe2\x80\x8bx\xe2\x80\x8b", 0, 7 },
		{ "\xa0x\xa0", 0, 3 }, { "x\x1b", 0, 2 }, { "\x80\x80\x80\x80 ", 0, 4 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bytes b = bytes_of_text(rows[i].text);
		assert_int_equal(utf8_blanks(b.data, b.len), rows[i].begin);
		assert_int_equal(utf8_trimmed(b.data, b.len), rows[i].left);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_differences_are_told_as_difflib_does),
		cmocka_unit_test(test_a_frequent_line_begins_no_run_in_a_long_text),
		cmocka_unit_test(test_beyond_the_bounds_it_is_one_hunk_and_right),
		cmocka_unit_test(test_any_number_of_steps_gives_one_of_two_diffs),
		cmocka_unit_test(test_a_diff_that_does_not_fit_is_cut_at_a_line),
		cmocka_unit_test(test_white_space_is_what_python_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
