/* pattern: reads regular expressions, reports the errors in others, and writes the
 * form that ripgrep gets. */
#include "executor/search/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "executor/search/nfa.h"

/* Invalid patterns, and the error that tells the place and the reason. */
static const char *const wrong[][2] = {
	{ "(a", "character 1, `(a`: it is not closed by a )" },
	{ "a(b(c)", "character 2, `(b(c)`: it is not closed by a )" },
	{ "a)", "character 2, `)`: it closes nothing" },
	{ "*a", "character 1, `*a`: it has nothing to repeat" },
	{ "(+a)", "character 2, `+a)`: it has nothing to repeat" },
	{ "a|?", "character 3, `?`: it has nothing to repeat" },
	{ "{3}", "it has nothing to repeat" },
	{ "a**", "character 3, `*`: two repetitions in a row" },
	{ "a{2}{3}", "character 5, `{3}`: two repetitions" },
	{ "a*+", "two repetitions in a row" },
	{ "^*", "character 2, `*`: a place is there or not" },
	{ "\\b+", "character 3, `+`: a place is there or not" },
	{ "a{3,2}", "`{3,2}`: the first number is the smaller one" },
	{ "a{1001}", "1000 times is the most" },
	{ "a{99999999999999999999}", "1000 times is the most" },
	{ "a{0,1001}", "1000 times is the most" },
	{ "[a", "character 1, `[a`: it is not closed by a ]" },
	{ "[]", "it is not closed by a ]" },
	{ "[^]", "it is not closed by a ]" },
	{ "[[:alpha:]", "character 1, `[[:alp...`: it is not closed by a ]" },
	{ "[[:foo:]]", "character 2, `[:foo:...`: there is no such class" },
	{ "[[:alpha]", "there is no such class" },
	{ "[:space:]", "a class stands in two pairs" },
	{ "[[.a.]]", "there are no collating elements" },
	{ "[[=a=]]", "there are no collating elements" },
	{ "[z-a]", "character 3, `-a]`: the range ends before it begins" },
	{ "[\\w-z]", "a range is of two characters" },
	{ "[a-\\d]", "a range is of two characters" },
	{ "\303\244\303\266[b-a]", "character 5, `-a]`" },
	{ "a\\", "character 2, `\\`: it quotes nothing" },
	{ "[a\\", "it quotes nothing" },
	{ "\\<int", "character 1, `\\<int`: some read it as a word's edge" },
	{ "int\\>", "write \\b or [>]" },
	{ "a\\nb", "character 2, `\\nb`: each line is looked at alone" },
	{ "a\nb", "each line is looked at alone" },
	{ "(a)\\1", "character 4, `\\1`: there are no back-references" },
	{ "\\pL", "there is no such escape" },
	{ "[\\x41]", "character 2, `\\x41]`: there is no such escape" },
	{ "(?=a)", "there is no looking ahead" },
	{ "(?<!a)b", "there is no looking ahead" },
	{ "(?<=a)b", "there is no looking ahead" },
	{ "(?<n>a)",
	  "character 1, `(?<n>a...`: there are no names of groups; write (...)" },
	{ "(?P<n>a)", "there are no names of groups" },
	{ "(?", "there are no options in a pattern" },
	{ "(?i)a", "ignore_case is an argument of the action" },
	{ "a\377", "the pattern is not UTF-8" },
	{ "\355\240\200", "the pattern is not UTF-8" },
};

static void what_is_no_pattern_says_where_and_why(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct err e = { 0 };
		struct pattern *p = NULL;
		assert_int_equal(pattern_new(&p, wrong[i][0], false, &e), -1);
		assert_null(p);
		assert_true(e.kind == ERR_USAGE);
		if (!strstr(e.text, wrong[i][1]))
			fail_msg("of %s is said: %s", wrong[i][0], e.text);
	}
}

/* The pattern, and the same in the syntax of Rust's regular expressions, which
 * ripgrep gets. */
static const struct {
	const char *text, *rust;
	bool ignores_case;
} told[] = {
	{ "foo", "foo", false },
	{ "fo+", "f(?:o){1,}", false },
	{ "a|b|", "(?:a|b|(?:))", false },
	{ "", "(?:)", false },
	{ "a{2}b{2,}c{,3}d{1,2}", "(?:a){2,2}(?:b){2,}(?:c){0,3}(?:d){1,2}", false },
	{ "a*?b+?c\?\?d{2}?", "(?:a){0,}(?:b){1,}(?:c){0,1}(?:d){2,2}", false },
	{ "(?:ab)c(d|e)", "abc(?:d|e)", false },
	{ "^\\bx\\B$", "^(?-u:\\b)x(?-u:\\B)(?:\\r?$)", false },
	{ "a{", "a\\x{7b}", false },
	{ "a{x}", "a\\x{7b}x\\x{7d}", false },
	{ "a{,}", "a\\x{7b}\\x{2c}\\x{7d}", false },
	{ "\\d\\w", "[0-9][0-9A-Z_-_a-z]", false },
	{ "[]x-]", "[\\x{2d}-\\x{2d}\\x{5d}-\\x{5d}x-x]", false },
	{ "[\\]\\d]", "[0-9\\x{5d}-\\x{5d}]", false },
	{ "[[:digit:]a&&b]", "[\\x{26}-\\x{26}0-9a-b]", false },
	{ "k\303\244", "[K-Kk-k][\\x{c4}-\\x{c4}\\x{e4}-\\x{e4}]", true },
	{ "[^x]",
	  "[\\x{0}-\\x{9}\\x{b}-W"
	  "Y-wy-\\x{d7ff}\\x{e000}-\\x{10ffff}]",
	  true },
	{ "[^a\\n]", "[\\x{0}-\\x{9}\\x{b}-\\x{60}b-\\x{d7ff}\\x{e000}-\\x{10ffff}]",
	  false },
	{ "[^\\s\\S]", NULL, false },
	{ "\\t\\.\\/", "\\x{9}\\x{2e}\\x{2f}", false },
};

static void ripgrep_is_told_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(told); i++) {
		struct err e = { 0 };
		struct pattern *p = NULL;
		assert_int_equal(pattern_new(&p, told[i].text, told[i].ignores_case, &e),
				 0);
		AUTO_FREE char *rust = pattern_in_rust(p);
		if (told[i].rust)
			assert_string_equal(rust, told[i].rust);
		else
			assert_null(rust);
		pattern_free(p);
	}
	pattern_free(NULL);
}

static char *repeated(const char *text, size_t count)
{
	size_t len = strlen(text);
	char *made = mem_new(len * count + 1);

	for (size_t i = 0; i < count; i++)
		memcpy(made + i * len, text, len);
	made[len * count] = '\0';
	return made;
}

static void a_pattern_is_short(void **state)
{
	AUTO_FREE char *most = repeated("a", PATTERN_LENGTH_MAX);
	AUTO_FREE char *more = repeated("a", PATTERN_LENGTH_MAX + 1);
	struct pattern *p = NULL;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(pattern_new(&p, most, false, &e), 0);
	pattern_free(p);
	assert_int_equal(pattern_new(&p, more, false, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	assert_non_null(strstr(e.text, "the pattern has 4097 bytes; 4096 is the most"));
}

static void groups_are_in_one_another_a_hundred_deep(void **state)
{
	AUTO_FREE char *most = repeated("(", PATTERN_DEPTH_MAX);
	AUTO_FREE char *ends = repeated(")", PATTERN_DEPTH_MAX + 1);
	AUTO_FREE char *good = mem_new(2 * PATTERN_DEPTH_MAX + 2);
	AUTO_FREE char *bad = mem_new(2 * PATTERN_DEPTH_MAX + 4);
	struct pattern *p = NULL;
	struct err e = { 0 };

	(void)state;
	sprintf(good, "%s%s", most, ends + 1);
	sprintf(bad, "(%s%s", most, ends);
	assert_int_equal(pattern_new(&p, good, false, &e), 0);
	pattern_free(p);
	assert_int_equal(pattern_new(&p, bad, false, &e), -1);
	assert_non_null(strstr(e.text, "more than 100 groups in one another"));
}

/* Compiles the pattern.  Returns -1 if its program is too large; in any case this
 * ends soon. */
static int program_of(const char *text, struct err *e)
{
	struct pattern *p = NULL;
	struct nfa made;

	assert_int_equal(pattern_new(&p, text, false, e), 0);
	int rc = nfa_init(&made, p, e);
	pattern_free(p);
	if (rc == 0)
		nfa_done(&made);
	return rc;
}

static void what_repeats_too_much_is_refused(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(program_of(".{1000}", &e), 0);
	assert_int_equal(program_of("((((){1000}){1000}){1000}){1000}", &e), 0);
	assert_int_equal(program_of("((((a{0}){1000}){1000}){1000}){1000}", &e), 0);
	assert_int_equal(program_of("((((){0,1000}){1000}){1000}){1000}", &e), -1);
	assert_int_equal(program_of("(((a{1000}){1000}){1000}){1000}", &e), -1);
	assert_int_equal(program_of("(((^){1000}){1000}){1000}", &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	assert_non_null(
		strstr(e.text, "the pattern is too large, because of what it repeats"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_pattern_says_where_and_why),
		cmocka_unit_test(ripgrep_is_told_the_same),
		cmocka_unit_test(a_pattern_is_short),
		cmocka_unit_test(groups_are_in_one_another_a_hundred_deep),
		cmocka_unit_test(what_repeats_too_much_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
