/* glob: matches patterns with names, as data; tests/run/errand.bats compares the
 * matches with bash's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/list.h"
#include "base/own.h"
#include "executor/search/glob.h"
#include "tests/patience.h"
#include "tests/unit/cost.h"

static const struct row {
	const char *pattern, *path;
	bool matches;
} rows[] = {
	{ "a", "a", true },	      { "a", "b", false },	   { "a", "ab", false },
	{ "*", "a", true },	      { "*", "a/b", false },	   { "*", ".a", false },
	{ ".*", ".a", true },	      { "\\.a", ".a", true },	   { "[.]a", ".a", false },
	{ "?a", ".a", false },	      { "*a", "aa", true },	   { "*a*b*", "xaxbx", true },
	{ "*a*b", "xaxbx", false },   { "a*", "a", true },	   { "**", "a/b/c", true },
	{ "**", "a/.b/c", false },    { "**", "a/b/.c", false },  { "a/**", "a", false },
	{ "a//b", "a/b", true },      { "a///*", "a/b", true },	   { "{a/,b}/c", "a/c", true },
	{ "**//a", "x/a", true },     { "a//b", "a/x/b", false },
	{ "a/**", "a/b", true },      { "**/a", "a", true },	   { "**/a", "x/y/a", true },
	{ "**/a", "x/y/ab", false },  { "a/**/b", "a/b", true },  { "a/**/b", "a/x/y/b", true },
	{ "**/.h/**/b", "x/.h/y/b", true },  { "**/a/**/b", "a/.h/a/b", false },
	{ "**/x/y/**/z", "x/x/y/z", true },  { "**/*/**", "a", false }, { "**/*/**", "a/b", true },
	{ "**a", "xa", true },	      { "**a", "x/a", false },	   { "a**/b", "a/b", true },
	{ "[a-c]", "b", true },	      { "[a-c]", "d", false },	   { "[!a-c]", "d", true },
	{ "[^a-c]", "b", false },     { "[]]", "]", true },	   { "[]-a]", "_", true },
	{ "[a-]", "-", true },	      { "[-a]", "-", true },	   { "[a", "[a", true },
	{ "[a/b]", "[a/b]", true },   { "[\\]]", "]", true },	   { "[\\a-c]", "b", true },
	{ "[!]", "[!]", true },	      { "[\xc3\xa0-\xc3\xbf]", "\xc3\xa9", true },
	{ "?", "\xc3\xa9", true },    { "??", "\xc3\xa9", false }, { "?", "\xff", true },
	{ "\xff", "\xff", true },     { "\xe9?", "\xe9x", true },  { "[\xe9]", "\xe9", true },
	{ "\\*", "*", true },	      { "\\*", "a", false },	   { "a\\", "a\\", true },
	{ "{a,b}c", "bc", true },     { "{a,b}c", "c", false },	   { "{a,}c", "c", true },
	{ "{a,{b,c}}", "c", true },   { "{a}", "{a}", true },	   { "{a,b", "{a,b", true },
	{ "{a,b/c}/d", "b/c/d", true },	     { "a{b,c}d{e,f}", "acdf", true },
	{ "\\{a,b}", "{a,b}", true }, { "{a\\,b,c}", "a,b", true },	{ "{[,],x}", ",", true },
	{ "{a,b}}", "b}", true },     { "{{a,b}", "{a", true },	   { "{x,**/y}", "a/y", true },
};

static void test_patterns_match_as_the_table_has_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *why;
		struct glob *g = glob_new(rows[i].pattern, &why);
		if (!g)
			fail_msg("%s: %s", rows[i].pattern, why);
		if (glob_matches(g, rows[i].path) != rows[i].matches)
			fail_msg("%s and %s", rows[i].pattern, rows[i].path);
		glob_free(g);
	}
}

static const struct row ways[] = {
	{ "a/b/c", "a", true },	   { "a/b/c", "a/b", true },   { "a/b/c", "a/b/c", false },
	{ "a/b", "x", false },	   { "*", "a", false },	       { "**", "a", true },
	{ "**", ".a", false },	   { "**/x", "a/b/c", true },  { "**/x", "a/.b", false },
	{ "a/**/x", "b", false },  { "a/**/x", "a", true },    { ".*/x", ".a", true },
	{ "{a,b/c}/d", "b", true }, { "{a,b/c}/d", "c", false }, { "**/.h/x", "a/.h", true },
	{ "**/x", "x", true },	   { "a/**", "a", true },      { "a/*/c", "a/b", true },
};

static void test_folders_that_cannot_hold_one_are_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		const char *why;
		struct glob *g = glob_new(ways[i].pattern, &why);
		assert_non_null(g);
		if (glob_leads_to(g, ways[i].path) != ways[i].matches)
			fail_msg("%s and %s", ways[i].pattern, ways[i].path);
		glob_free(g);
	}
}

/* Every match is reachable: each folder on its way is reported as leading to it. */
static void test_every_match_is_led_to(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *why;
		struct glob *g = glob_new(rows[i].pattern, &why);
		char path[64];
		(void)strcpy(path, rows[i].path);
		for (char *slash; rows[i].matches && (slash = strrchr(path, '/'));) {
			*slash = '\0';
			if (!glob_leads_to(g, path))
				fail_msg("%s and %s", rows[i].pattern, path);
		}
		glob_free(g);
	}
}

static void test_an_invalid_pattern_says_why(void **state)
{
	static const char *const none[] = { "",	   "{,a}", "a/../b", "..",	 "./a",
					    "a/.", "{.,a}", "/a",     "{a,/b}", "a/{..,b}/c" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		const char *why = NULL;
		assert_null(glob_new(none[i], &why));
		assert_non_null(why);
	}
}

static char *repeat(const char *text, size_t times)
{
	size_t len = strlen(text);
	char *all = calloc(times * len + 2, 1);

	assert_non_null(all);
	for (size_t i = 0; i < times; i++)
		memcpy(all + i * len, text, len);
	return all;
}

/* Brackets without an end are literal.  The matcher searches for an end of each. */
static void test_open_brackets_are_matched(void **state)
{
	char *braces = repeat("{[", 1900), *brackets = repeat("[", 4000),
	     *name = repeat("[", 3998);
	AUTO_FREE char *many = text_format("{a,b}{a,b}{a,b}%s", braces);
	AUTO_FREE char *star = text_format("*%s", brackets);
	AUTO_FREE char *same = text_format("%sx", name);
	const char *why;

	(void)state;
	struct glob *g = glob_new(many, &why), *s = glob_new(star, &why);
	AUTO_FREE char *found = text_format("aba%s", braces);
	assert_true(glob_matches(g, found));
	assert_false(glob_matches(s, same));
	assert_true(glob_matches(s, brackets));
	glob_free(g);
	glob_free(s);
	free(braces);
	free(brackets);
	free(name);
}

/* The number of alternatives is bounded.  Patterns that take a backtracking matcher
 * very long take little time here. */
static void test_hostile_patterns_come_to_an_end(void **state)
{
	char *many = repeat("{a,b}", 9), *most = repeat("{a,b}", 8), *stars = repeat("*a", 2000),
	     *name = repeat("a", 4000), *folders = repeat("**/a/", 800), *deep = repeat("a/", 2000);
	const char *why;

	(void)state;
	assert_null(glob_new(many, &why));
	struct glob *g = glob_new(most, &why), *s = glob_new(strcat(stars, "b"), &why),
		    *f = glob_new(strcat(folders, "b"), &why);
	deep[strlen(deep) - 1] = '\0';
	assert_true(glob_matches(g, "abababab"));
	assert_false(glob_matches(s, name));
	assert_false(glob_matches(f, deep));
	assert_true(glob_leads_to(f, deep));
	glob_free(g);
	glob_free(s);
	glob_free(f);
	free(many);
	free(most);
	free(stars);
	free(name);
	free(folders);
	free(deep);
}

/* A hundredth of a second of processor time; shorter times are noise. */
#define NOISE_US 10000

/* Returns the time to compile a pattern of `times` parts, and to match it with a
 * name twice as long that nearly matches. */
static int64_t cost_of(const char *part, const char *name_part, unsigned times)
{
	AUTO_FREE char *parts = repeat(part, times), *name = repeat(name_part, 2 * times);
	AUTO_FREE char *pattern = text_format("%sb", parts);
	const char *why;

	name[strlen(name) - 1] = '\0';
	const int64_t begun = cost_us();
	struct glob *g = glob_new(pattern, &why);
	assert_non_null(g);
	assert_false(glob_matches(g, name));
	(void)glob_leads_to(g, name);
	glob_free(g);
	return cost_us() - begun;
}

/* If both lengths are four times as large, the time may be sixteen times as large. */
static void test_a_match_costs_at_most_both_lengths_multiplied(void **state)
{
	static const struct {
		const char *part, *name_part;
		unsigned times;
	} parts[] = {
		{ "*a", "a", 1900 }, { "**/a/", "a/", 780 }, { "*[", "[", 1900 },
		{ "*{[", "{[", 1200 }, { "?*", "a", 1900 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		const unsigned times = parts[i].times;
		int64_t once = cost_of(parts[i].part, parts[i].name_part, times / 4);
		int64_t more = cost_of(parts[i].part, parts[i].name_part, times);
		if (more > NOISE_US && more > 40 * once)
			fail_msg("%s: %d us, and of four times the length %d us", parts[i].part,
				 (int)once, (int)more);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns_match_as_the_table_has_it),
		cmocka_unit_test(test_folders_that_cannot_hold_one_are_known),
		cmocka_unit_test(test_every_match_is_led_to),
		cmocka_unit_test(test_an_invalid_pattern_says_why),
		cmocka_unit_test(test_hostile_patterns_come_to_an_end),
		cmocka_unit_test(test_open_brackets_are_matched),
		cmocka_unit_test(test_a_match_costs_at_most_both_lengths_multiplied),
	};

	(void)alarm(PATIENCE_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
