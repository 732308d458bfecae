/* lines: a descriptor's input is divided into lines, which come whole and in order,
 * and have a bound on their length. */
#include "actions/lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "base/err.h"

#define MAX 8

struct source {
	struct lines lines;
	int read, write;
};

static int setup(void **state)
{
	static struct source s;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	s = (struct source){ .read = ends[0], .write = ends[1] };
	lines_init(&s.lines, MAX);
	*state = &s;
	return 0;
}

static int teardown(void **state)
{
	struct source *s = *state;

	lines_done(&s->lines);
	(void)close(s->read);
	if (s->write >= 0)
		(void)close(s->write);
	return 0;
}

static void say(struct source *s, const char *text)
{
	struct err e;

	assert_int_equal(write(s->write, text, strlen(text)), strlen(text));
	assert_int_equal(lines_read(&s->lines, s->read, &e), 0);
}

static void hang_up(struct source *s)
{
	struct err e;

	(void)close(s->write);
	s->write = -1;
	assert_int_equal(lines_read(&s->lines, s->read, &e), 0);
}

static void expect(struct source *s, const char *text)
{
	const char *line;
	size_t len;

	assert_int_equal(lines_next(&s->lines, &line, &len), LINE_WHOLE);
	assert_int_equal(len, strlen(text));
	assert_memory_equal(line, text, len);
	lines_took(&s->lines);
}

static void expect_kind(struct source *s, enum line_kind kind)
{
	const char *line;
	size_t len;

	assert_int_equal(lines_next(&s->lines, &line, &len), kind);
	if (kind != LINE_NONE)
		lines_took(&s->lines);
}

static void test_lines_come_whole_however_they_are_cut(void **state)
{
	struct source *s = *state;

	say(s, "on");
	expect_kind(s, LINE_NONE);
	say(s, "e\n\ntwo\nth");
	expect(s, "one");
	expect(s, "");
	expect(s, "two");
	expect_kind(s, LINE_NONE);
	say(s, "ree\n");
	expect(s, "three");
	expect_kind(s, LINE_NONE);
}

static void test_one_that_is_asked_for_twice_is_the_same(void **state)
{
	struct source *s = *state;
	const char *line;
	size_t len;

	say(s, "one\ntwo\n");
	assert_int_equal(lines_next(&s->lines, &line, &len), LINE_WHOLE);
	assert_int_equal(len, 3);
	expect(s, "one");
	expect(s, "two");
}

static void test_the_last_line_needs_no_newline(void **state)
{
	struct source *s = *state;

	say(s, "a\nb");
	expect(s, "a");
	expect_kind(s, LINE_NONE);
	assert_false(lines_is_over(&s->lines));
	hang_up(s);
	assert_false(lines_is_over(&s->lines));
	expect(s, "b");
	expect_kind(s, LINE_NONE);
	assert_true(lines_is_over(&s->lines));
}

static void test_the_longest_is_taken_and_a_longer_one_dropped(void **state)
{
	struct source *s = *state;

	say(s, "12345678\n123456789\nnext\n");
	expect(s, "12345678");
	expect_kind(s, LINE_TOO_LONG);
	expect(s, "next");
}

static void test_a_line_that_is_dropped_is_not_kept(void **state)
{
	struct source *s = *state;

	for (int i = 0; i < 1000; i++) {
		say(s, "123456789");
		expect_kind(s, LINE_NONE);
		assert_true(buffer_len(&s->lines.in) <= MAX);
	}
	say(s, "x\nnext\n");
	expect_kind(s, LINE_TOO_LONG);
	expect(s, "next");
}

static void test_one_that_never_ends_is_told_of_at_the_end(void **state)
{
	struct source *s = *state;

	say(s, "123456789");
	expect_kind(s, LINE_NONE);
	hang_up(s);
	assert_false(lines_is_over(&s->lines));
	expect_kind(s, LINE_TOO_LONG);
	assert_true(lines_is_over(&s->lines));
}

static void test_no_descriptor_is_an_error(void **state)
{
	struct source *s = *state;
	struct err e;

	assert_int_equal(lines_read(&s->lines, -1, &e), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_lines_come_whole_however_they_are_cut),
		TEST(test_one_that_is_asked_for_twice_is_the_same),
		TEST(test_the_last_line_needs_no_newline),
		TEST(test_the_longest_is_taken_and_a_longer_one_dropped),
		TEST(test_a_line_that_is_dropped_is_not_kept),
		TEST(test_one_that_never_ends_is_told_of_at_the_end),
		TEST(test_no_descriptor_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
