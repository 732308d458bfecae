/* bash_split: finds the same commands in a text as bashlex, in linear time. */
#include "actions/bash_split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/own.h"
#include "tests/unit/cost.h"
#include "tests/unit/rounds.h"
#include "tests/unit/split_cases.h"

/* Copies a row without its marks C to `text`, and stores their places in `starts`.
 * Returns the number of marks. */
static size_t unmark(const char *row, char *text, size_t starts[16])
{
	size_t count = 0, len = 0;

	for (; *row; row++) {
		if (*row == *C)
			starts[count++] = len;
		else
			text[len++] = *row;
	}
	text[len] = '\0';
	return count;
}

static void check(const char *row)
{
	size_t starts[16];
	AUTO_FREE char *text = mem_new(strlen(row) + 1);
	size_t count = unmark(row, text, starts);
	struct bash_split s;

	bash_split_init(&s, text, strlen(text));
	if (s.count != count)
		fail_msg("%zu commands and not %zu in: %s", s.count, count, text);
	for (size_t i = 0; i < count; i++)
		if (s.starts[i] != starts[i])
			fail_msg("command %zu begins at %zu and not at %zu in: %s", i + 1,
				 s.starts[i], starts[i], text);
	bash_split_done(&s);
}

static void commands_are_found_as_the_reference_finds_them(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(agreed); i++)
		check(agreed[i]);
}

static void where_the_reference_is_wrong_we_are_not(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		check(ours[i]);
}

static void one_line_is_one_command(void **state)
{
	struct bash_split s;

	(void)state;
	bash_split_init(&s, "ls; pwd", 7);
	assert_true(s.count < 2);
	bash_split_done(&s);
	bash_split_init(&s, "", 0);
	assert_true(s.count < 2);
	bash_split_done(&s);
	bash_split_done(&s);
	bash_split_done(NULL);
}

static void list_is(const char *text, const char *list)
{
	struct bash_split s;
	struct buffer b;

	bash_split_init(&s, text, strlen(text));
	buffer_init(&b, 1u << 20);
	bash_split_list(&s, &b);
	assert_int_equal(buffer_len(&b), strlen(list));
	assert_memory_equal(buffer_data(&b), list, strlen(list));
	buffer_done(&b);
	bash_split_done(&s);
}

static void the_list_is_the_references(void **state)
{
	(void)state;
	list_is("ls\npwd", "(1) ls\n(2) pwd");
	list_is("ls  \n\n  pwd # x\n# y\nid", "(1) ls\n(2) pwd # x\n# y\n(3) id");
	list_is("# a\n# b\nls\npwd", "(1) # a\n# b\n(2) ls\n(3) pwd");
	list_is("cat <<E\n x\nE\nls;\npwd &", "(1) cat <<E\n x\nE\n(2) ls;\n(3) pwd &");
}

static void many_are_counted_and_a_thousand_are_kept(void **state)
{
	const size_t lines = 100000;
	AUTO_FREE char *text = mem_new(2 * lines);
	struct bash_split s;
	struct buffer b;

	(void)state;
	for (size_t i = 0; i < lines; i++)
		memcpy(text + 2 * i, "a\n", 2);
	bash_split_init(&s, text, 2 * lines);
	assert_int_equal(s.count, lines);
	assert_int_equal(s.last_start, 2 * BASH_SPLIT_MAX);
	buffer_init(&b, 1u << 20);
	bash_split_list(&s, &b);
	const char end[] = "\n(999) a\n(1000) a\n(and 99000 more)";
	assert_true(buffer_len(&b) > sizeof(end) && buffer_len(&b) < 8 * BASH_SPLIT_MAX);
	assert_memory_equal(buffer_data(&b) + buffer_len(&b) - sizeof(end) + 1, end,
			    sizeof(end) - 1);
	buffer_done(&b);
	bash_split_done(&s);
}

/* --- hostile texts --------------------------------------------------------- */

/* Texts that could make the splitter slow or its recursion deep.  Each `unit` is
 * repeated up to ROUNDS_OF(1 MiB). */
static const struct flood {
	const char *before, *unit, *after;
} floods[] = {
	{ "", "a\n", "" },
	{ "echo ", "x", "\nls" },
	{ "echo ", "$(", "\nls" },
	{ "", "(", "\nls" },
	{ "", "{ ", "\nls" },
	{ "", "if ", "\nls" },
	{ "echo ", "${", "\nls" },
	{ "echo \"", "$(\"", "\nls" },
	{ "echo ", "<(", "\nls" },
	{ "echo ", "$(a", "\nls" },
	{ "echo $(", "a;", "a)\nls" },
	{ "", "f() { ", "\nls" },
	{ "", "cat <<E\n", "ls" },
	{ "", "a <<E ", "\nE\nls" },
	{ "echo ", "`a`", "\nls" },
	{ "a <<E\n", "E \n", "E\nls" },
	{ "", "\\\n", "ls\nls" },
	{ "", "# x\n", "ls\nls" },
	{ "", "! ", "ls\nls" },
	{ "echo ", "'a'", "\nls" },
	{ "a $(b <<E\n", "E \n", "E\n)\nls" },
	{ "echo $(", "case ", ")\nls" },
	{ "", "a |\n", "b\nls" },
	{ "", "a && ", "b\nls" },
};

static int64_t took(const struct flood *f, size_t count)
{
	AUTO_FREE char *text = mem_new(count * strlen(f->unit) + 100);
	char *at = stpcpy(text, f->before);
	struct bash_split s;

	for (size_t i = 0; i < count; i++)
		at = stpcpy(at, f->unit);
	at = stpcpy(at, f->after);
	int64_t begun = cost_us();
	bash_split_init(&s, text, (size_t)(at - text));
	bash_split_done(&s);
	return cost_us() - begun;
}

static void any_text_takes_linear_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(floods); i++) {
		size_t count = ROUNDS_OF(1u << 20) / strlen(floods[i].unit);
		int64_t us = took(&floods[i], count);
		if (us > ROUNDS_OF(5000000))
			fail_msg("%lld us for a long text of %s", (long long)us,
				 floods[i].unit);
	}
}

/* --- words in words -------------------------------------------------------- */

/* Writes one line "echo $(a $(a ... x...x ))": `depth` substitutions around `fill`
 * letters x. */
static char *put_deep(char *at, int depth, size_t fill)
{
	at = stpcpy(at, "echo ");
	for (int i = 0; i < depth; i++)
		at = stpcpy(at, "$(a ");
	memset(at, 'x', fill);
	at += fill;
	for (int i = 0; i < depth; i++)
		at = stpcpy(at, ")");
	return stpcpy(at, "\n");
}

/* Returns the number of commands in `lines` lines of put_deep(). */
static size_t count_deep(size_t lines, int depth, size_t fill)
{
	AUTO_FREE char *text = mem_new(lines * (5 * (size_t)depth + fill + 10));
	char *at = text;
	struct bash_split s;

	for (size_t i = 0; i < lines; i++)
		at = put_deep(at, depth, fill);
	bash_split_init(&s, text, (size_t)(at - text));
	size_t count = s.count;
	bash_split_done(&s);
	return count;
}

static void what_is_deep_is_read_up_to_a_limit(void **state)
{
	(void)state;
	assert_int_equal(count_deep(2, 1, 1), 2);
	assert_int_equal(count_deep(2, 40, 1), 2);
	assert_int_equal(count_deep(2, 60, 1), 0);
	assert_int_equal(count_deep(2, 900, 1), 0);
}

static void a_large_tree_is_not_read(void **state)
{
	(void)state;
	assert_int_equal(count_deep(2, 1, 1u << 20), 2);
	assert_int_equal(count_deep(1000, 10, 10), 1000);
	/* Each of the 40 levels would keep a copy of the text inside, so the
	 * splitter gives up. */
	assert_int_equal(count_deep(4, 40, 1u << 20), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_are_found_as_the_reference_finds_them),
		cmocka_unit_test(where_the_reference_is_wrong_we_are_not),
		cmocka_unit_test(one_line_is_one_command),
		cmocka_unit_test(the_list_is_the_references),
		cmocka_unit_test(many_are_counted_and_a_thousand_are_kept),
		cmocka_unit_test(any_text_takes_linear_time),
		cmocka_unit_test(what_is_deep_is_read_up_to_a_limit),
		cmocka_unit_test(a_large_tree_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
