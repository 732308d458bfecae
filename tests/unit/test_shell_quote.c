/* shell_quote: displays a file name so that bash reads it back, which
 * tests/run/errand.bats checks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "executor/files/top_k.h"
#include "executor/session/shell_quote.h"

static void test_a_name_is_one_line_that_bash_reads(void **state)
{
	static const char *const rows[][2] = {
		{ "plain.txt", "plain.txt" },
		{ "a b'c\\d$x", "a b'c\\d$x" },
		{ "\xc3\xa9", "\xc3\xa9" },
		{ "", "" },
		{ "a\nb", "$'a\\nb'" },
		{ "\t\r\x01\x7f", "$'\\t\\r\\001\\177'" },
		{ "caf\xe9", "$'caf\\351'" },
		{ "\xc3\xa9\n'\\", "$'\xc3\xa9\\n\\'\\\\'" },
		{ "$'x'", "$'$\\'x\\''" },
		{ "\xc2\x9b" "1m", "$'\\302\\2331m'" },
		{ "\xc2", "$'\\302'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_FREE char *shown = shell_quote_shown(rows[i][0]);
		assert_string_equal(shown, rows[i][1]);
	}
}

/* --- finds: beside it, since both are about what is told ---------------------------- */

static int by_path(const void *one, const void *other)
{
	const struct find *a = one, *b = other;

	return strcmp(a->path, b->path);
}

static void add(struct top_k *f, const char *path)
{
	AUTO_FREE char *mine = text_copy(path);
	const struct find one = { .path = mine };

	top_k_add(f, &one);
}

static void test_the_first_ones_are_kept_whenever_they_come(void **state)
{
	struct top_k f = { .compare = by_path, .limit = 3 };

	(void)state;
	for (int i = 0; i < 100; i++) {
		const char path[] = { (char)('!' + i * 37 % 90), '\0' };
		add(&f, path);
		assert_true(f.count <= 6);
	}
	top_k_end(&f);
	assert_int_equal(f.count, 3);
	assert_true(f.dropped == 97 && f.dropped_bytes == 97);
	assert_string_equal(f.all[0].path, "!");
	assert_string_equal(f.all[2].path, "\"");
	top_k_done(&f);
	top_k_done(&f);
}

/* Ten thousand paths of a MiB each would take all memory. */
static void test_long_paths_are_not_all_kept(void **state)
{
	struct top_k f = { .compare = by_path, .limit = 10000 };
	char *path = mem_new((1 << 20) + 1);

	(void)state;
	memset(path, 'x', 1 << 20);
	path[1 << 20] = '\0';
	for (int i = 0; i < 200; i++) {
		path[0] = (char)('a' + i % 26);
		add(&f, path);
		assert_true(f.bytes <= 6 * TOP_K_BYTES);
	}
	add(&f, "0");
	top_k_end(&f);
	assert_true(f.bytes <= TOP_K_BYTES && f.count + f.dropped == 201);
	assert_string_equal(f.all[0].path, "0");
	top_k_done(&f);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_name_is_one_line_that_bash_reads),
		cmocka_unit_test(test_the_first_ones_are_kept_whenever_they_come),
		cmocka_unit_test(test_long_paths_are_not_all_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
