/* unified: shows a diff that turns the first text into the second. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/own.h"
#include "rootfs-tools/changes/unified.h"

static const struct {
	const char *old, *new, *hunks;
} rows[] = {
	{ "", "", "" },
	{ "a\n", "a\n", "" },
	{ "", "a\n", "@@ -0,0 +1 @@\n+a\n" },
	{ "a\n", "", "@@ -1 +0,0 @@\n-a\n" },
	{ "a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n" },
	{ "a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n" },
	{ "1\n2\n3\n4\n5\n6\n7\n8\n", "1\n2\n3\n4\nx\n5\n6\n7\n8\n",
	  "@@ -2,6 +2,7 @@\n 2\n 3\n 4\n+x\n 5\n 6\n 7\n" },
	/* Changes with six lines between them share a hunk, with seven they do
	 * not. */
	{ "a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n",
	  "@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n" },
	{ "a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
	  "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n" },
};

static void test_known_ones_are_shown_as_diff_does(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t len;
		/* The text of an empty file may be NULL. */
		const char *old = *rows[i].old ? rows[i].old : NULL;
		AUTO_FREE char *text = unified(old, strlen(rows[i].old), rows[i].new,
					       strlen(rows[i].new), &len);
		assert_int_equal(len, strlen(rows[i].hunks));
		assert_string_equal(text, rows[i].hunks);
	}
}

/* --- any ----------------------------------------------------------------------- */

struct text {
	char *bytes; /* owned */
	size_t len, room;
};

static void put(struct text *t, const char *line, size_t len)
{
	if (t->len + len + 1 > t->room) {
		t->room = 2 * (t->len + len + 1);
		t->bytes = mem_resize(t->bytes, t->room, 1);
	}
	memcpy(t->bytes + t->len, line, len);
	t->len += len;
	t->bytes[t->len] = '\0';
}

static size_t line_len(const char *at, const char *end)
{
	const char *newline = memchr(at, '\n', (size_t)(end - at));

	return newline ? (size_t)(newline - at) + 1 : (size_t)(end - at);
}

static const char *skip_lines(const char *at, const char *end, size_t count)
{
	while (count-- > 0 && at < end)
		at += line_len(at, end);
	return at;
}

/* Applies hunks as strictly as patch(1): context and removed lines must match. */
static struct text patched(const char *old, size_t old_len, const char *hunks)
{
	struct text t = { 0 };
	const char *from = old, *end = old + old_len, *stop = hunks + strlen(hunks);

	put(&t, "", 0);
	for (const char *at = hunks; at < stop;) {
		size_t len = line_len(at, stop), start, count = 1;
		if (*at == '@') {
			assert_int_not_equal(sscanf(at, "@@ -%zu,%zu", &start, &count),
					     0);
			const char *till =
				skip_lines(old, end, count ? start - 1 : start);
			assert_true(till >= from);
			put(&t, from, (size_t)(till - from));
			from = till;
			at += len;
			continue;
		}
		bool is_cut = at + len < stop && at[len] == '\\';
		size_t body = len - 1 - is_cut;
		if (*at != '+') {
			assert_int_equal(line_len(from, end), body);
			assert_memory_equal(from, at + 1, body);
			from += body;
		}
		if (*at != '-')
			put(&t, at + 1, body);
		at += len;
		if (is_cut)
			at += line_len(at, stop);
	}
	put(&t, from, (size_t)(end - from));
	return t;
}

static struct text random_text(unsigned lines, unsigned kinds)
{
	struct text t = { 0 };

	put(&t, "", 0);
	for (unsigned i = 0; i < lines; i++) {
		char line[16];
		int len = snprintf(line, sizeof(line), "%u\n", (unsigned)rand() % kinds);
		put(&t, line, (size_t)len - (i + 1 == lines && rand() % 3 == 0));
	}
	return t;
}

static void check(const struct text *a, const struct text *b)
{
	size_t len;
	AUTO_FREE char *hunks = unified(a->bytes, a->len, b->bytes, b->len, &len);
	struct text again = patched(a->bytes, a->len, hunks);

	assert_int_equal(again.len, b->len);
	assert_memory_equal(again.bytes, b->bytes, b->len);
	free(again.bytes);
}

static void test_the_patch_makes_the_one_text_out_of_the_other(void **state)
{
	(void)state;
	srand(6);
	for (int i = 0; i < 3000; i++) {
		struct text a =
			random_text((unsigned)rand() % 30, 1 + (unsigned)rand() % 6);
		struct text b =
			random_text((unsigned)rand() % 30, 1 + (unsigned)rand() % 6);
		check(&a, &b);
		free(a.bytes);
		free(b.bytes);
	}
}

static void test_texts_that_have_nothing_in_common_are_shown_in_bounded_time(void **state)
{
	struct text a = random_text(100000, 50000), b = random_text(100000, 50000);

	(void)state;
	check(&a, &b);
	free(a.bytes);
	free(b.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_ones_are_shown_as_diff_does),
		cmocka_unit_test(test_the_patch_makes_the_one_text_out_of_the_other),
		cmocka_unit_test(
			test_texts_that_have_nothing_in_common_are_shown_in_bounded_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
