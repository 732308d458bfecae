#include "policy/protect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"

static const char *const names[] = {
	[PROTECTED_NOT] = "not", [PROTECTED_AMONG] = "among", [PROTECTED_ABOVE] = "above",
	[PROTECTED_YES] = "yes",
};

struct sample {
	const char *pattern, *path;
	enum protected is;
};

static void check(const struct sample *samples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct sample *s = &samples[i];
		struct list patterns = { 0 };
		struct err e;
		if (protect_check(s->pattern, &e) < 0)
			fail_msg("'%s': %s", s->pattern, e.text);
		list_add(&patterns, s->pattern);
		struct protect *p = protect_new(&patterns);
		list_done(&patterns);
		enum protected is = protect_find(p, s->path, NULL);
		if (is != s->is)
			fail_msg("'%s' and '%s': %s", s->pattern, s->path, names[is]);
		protect_free(p);
	}
}

static void test_a_name_is_protected_with_what_is_below_and_wherever_it_is(void **state)
{
	static const struct sample samples[] = {
		{ ".git/hooks", ".git/hooks", PROTECTED_YES },
		{ ".git/hooks", ".git/hooks/pre-commit", PROTECTED_YES },
		{ ".git/hooks", "a/b/.git/hooks/x/y", PROTECTED_YES },
		{ ".git/hooks", ".git", PROTECTED_ABOVE },
		{ ".git/hooks", "sub/.git", PROTECTED_ABOVE },
		{ ".git/hooks", ".git/hooks2", PROTECTED_NOT },
		{ ".git/hooks", ".git/index", PROTECTED_NOT },
		{ ".git/hooks", "git/hooks", PROTECTED_NOT },
		{ ".git/hooks", "hooks", PROTECTED_NOT },
		{ ".git/hooks", ".git/x/hooks", PROTECTED_NOT },
		{ ".git/hooks", ".git/.git/hooks", PROTECTED_YES },
		{ ".git/hooks/", ".git/hooks", PROTECTED_YES },
		{ ".mcp.json", ".mcp.json", PROTECTED_YES },
		{ ".mcp.json", "a", PROTECTED_NOT },
		{ "/.git/hooks", ".git/hooks/x", PROTECTED_YES },
		{ "/.git/hooks", "sub/.git/hooks", PROTECTED_NOT },
		{ "/.git/hooks", "sub/.git", PROTECTED_NOT },
		{ "/.git/hooks", ".git", PROTECTED_ABOVE },
		{ "//.git//hooks", ".git/hooks", PROTECTED_YES },
	};

	(void)state;
	check(samples, ARRAY_LEN(samples));
}

static void test_wildcards_stand_for_characters_and_for_names(void **state)
{
	static const struct sample samples[] = {
		{ "*.code-workspace", "my.code-workspace", PROTECTED_YES },
		{ "*.code-workspace", "my.code-workspaces", PROTECTED_NOT },
		{ "a*b*c", "aXbXbXc", PROTECTED_YES },
		{ "a*b*c", "aXbXbX", PROTECTED_NOT },
		{ "a?c", "abc", PROTECTED_YES },
		{ "a?c", "a\xc3\xa4" "c", PROTECTED_YES },
		{ "a?c", "a\xff" "c", PROTECTED_YES },
		{ "a?c", "ac", PROTECTED_NOT },
		{ "a?c", "a/c", PROTECTED_NOT },
		{ "a/*/c", "a/b/c", PROTECTED_YES },
		{ "a/*/c", "a/b", PROTECTED_ABOVE },
		{ "a/*/c", "a/c", PROTECTED_ABOVE }, /* below it there may be a c */
		{ ".git/modules/**/hooks", ".git/modules/hooks", PROTECTED_YES },
		{ ".git/modules/**/hooks", ".git/modules/a/b/hooks/x", PROTECTED_YES },
		{ ".git/modules/**/hooks", ".git/modules", PROTECTED_ABOVE },
		{ ".git/modules/**/hooks", ".git/modules/a/HEAD", PROTECTED_AMONG },
		{ ".git/modules/**/hooks", ".git/hooks", PROTECTED_NOT },
		{ "**/x", "x", PROTECTED_YES },
		{ "**/x", "a/b/x", PROTECTED_YES },
		{ "**/x", "a/b", PROTECTED_NOT },
		{ "/**/a/x", "b/a", PROTECTED_ABOVE },
		{ "a/**", "a", PROTECTED_YES },
		{ "a/**/**/b", "a/b", PROTECTED_YES },
	};

	(void)state;
	check(samples, ARRAY_LEN(samples));
}

static void test_a_name_is_what_any_file_system_takes_it_for(void **state)
{
	static const struct sample samples[] = {
		{ ".git/hooks", ".GIT/Hooks/pre-commit", PROTECTED_YES },
		{ ".GIT/Hooks", ".git/hooks", PROTECTED_YES },
		{ ".git/hooks", ".git./hooks ", PROTECTED_YES },
		{ ".git/hooks", ".git. ./hooks", PROTECTED_YES },
		{ ".git/hooks", ".git/hoo\xe2\x84\xaas",
		  PROTECTED_YES },				      /* U+212A, kelvin */
		{ ".git/hooks", ".git/hook\xc5\xbf", PROTECTED_YES }, /* U+017F, long s */
		{ ".git/config", ".git/con\xef\xac\x81g",
		  PROTECTED_YES }, /* U+FB01, fi */
		{ ".git/hooks", ".g\xe2\x80\x8cit/hooks", PROTECTED_YES }, /* U+200C */
		{ ".git/hooks", "\xef\xbb\xbf.git/hooks", PROTECTED_YES }, /* U+FEFF */
		{ ".git/hooks", ".git/h\xf3\xa0\x80\xa1ooks",
		  PROTECTED_YES }, /* U+E0021 */
		{ "stra\xc3\x9f"
		  "e",
		  "STRASSE", PROTECTED_YES },
		{ ".git/hooks", ".git//hooks", PROTECTED_YES },
		{ ".git/hooks",
		  ".g\xff"
		  "it/hooks",
		  PROTECTED_NOT },
		{ ".git/hooks", "...git/hooks", PROTECTED_NOT },
		{ "a", "...", PROTECTED_NOT },
		{ "/a/*/c", "a/\xe2\x80\x8b/c", PROTECTED_YES },
		{ "a/c", "a/\xe2\x80\x8b/c", PROTECTED_NOT },
	};

	(void)state;
	check(samples, ARRAY_LEN(samples));
}

static void test_the_strictest_of_several_counts_and_is_named(void **state)
{
	struct list patterns = { 0 };
	const char *which = NULL;

	(void)state;
	list_add(&patterns, "a/**/z");
	list_add(&patterns, "a/b/c");
	list_add(&patterns, "B");
	struct protect *p = protect_new(&patterns);
	list_done(&patterns);
	assert_int_equal(protect_find(p, "x", &which), PROTECTED_NOT);
	assert_null(which);
	assert_int_equal(protect_find(p, "a/q", &which), PROTECTED_AMONG);
	assert_string_equal(which, "a/**/z");
	assert_int_equal(protect_find(p, "q/a", &which), PROTECTED_ABOVE);
	assert_int_equal(protect_find(p, "a/b", &which), PROTECTED_YES);
	assert_string_equal(which, "B");
	protect_free(p);
}

static void test_an_invalid_pattern_is_refused_with_a_reason(void **state)
{
	static const struct {
		const char *pattern, *says;
	} samples[] = {
		{ "", "names nothing" },	{ "/", "names nothing" },
		{ "**", "names nothing" },	{ "*/**", "names nothing" },
		{ "..", "'..'" },		{ "a/../b", "'..'" },
		{ "./a", "'.'" },		{ "a/**b", "'**'" },
		{ "***", "'**'" },		{ "//", "names nothing" },
	};
	char large[PROTECT_BYTES_MAX + 2], deep[2 * PROTECT_NAMES_MAX + 3];
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		if (protect_check(samples[i].pattern, &e) == 0)
			fail_msg("'%s' is a pattern", samples[i].pattern);
		assert_int_equal(e.kind, ERR_USAGE);
		if (!strstr(e.text, samples[i].says))
			fail_msg("'%s' says: %s", samples[i].pattern, e.text);
	}
	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = '\0';
	assert_int_equal(protect_check(large, &e), -1);
	large[sizeof(large) - 2] = '\0';
	assert_int_equal(protect_check(large, &e), 0);
	for (size_t i = 0; i < sizeof(deep) - 1; i++)
		deep[i] = i % 2 ? '/' : 'x';
	deep[sizeof(deep) - 1] = '\0';
	assert_int_equal(protect_check(deep, &e), -1);
	deep[sizeof(deep) - 4] = '\0';
	assert_int_equal(protect_check(deep, &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_name_is_protected_with_what_is_below_and_wherever_it_is),
		cmocka_unit_test(test_wildcards_stand_for_characters_and_for_names),
		cmocka_unit_test(test_a_name_is_what_any_file_system_takes_it_for),
		cmocka_unit_test(test_the_strictest_of_several_counts_and_is_named),
		cmocka_unit_test(test_an_invalid_pattern_is_refused_with_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
