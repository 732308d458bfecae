/* nfa_match: finds the lines that match a pattern, in linear time for any text. */
#include "executor/search/nfa_match.h"

#include <malloc.h>
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
#include "executor/search/pattern.h"
#include "tests/unit/cost.h"

struct machine {
	struct prepared prepared;
	struct nfa_match *matcher;
};

static void machine_init(struct machine *m, const char *text, bool ignores_case)
{
	struct pattern *p = NULL;
	struct err e = { 0 };

	if (pattern_new(&p, text, ignores_case, &e) < 0 ||
	    prepared_init(&m->prepared, p, &e) < 0)
		fail_msg("%s", e.text);
	pattern_free(p);
	m->matcher = nfa_match_new(&m->prepared);
}

static void machine_done(struct machine *m)
{
	nfa_match_free(m->matcher);
	prepared_done(&m->prepared);
}

/* Searches a copy of exactly the text's size, so that a sanitizer sees a read beyond
 * it. */
static bool finds(struct machine *m, const char *text, struct line *ret)
{
	size_t len = strlen(text);
	AUTO_FREE uint8_t *copy = mem_copy(text, len);
	struct line found;

	if (!nfa_match_find(m->matcher, copy, copy + len, &found))
		return false;
	ret->start = (const uint8_t *)text + (found.start - copy);
	ret->end = (const uint8_t *)text + (found.end - copy);
	return true;
}

/* A pattern, lines that it matches, and lines that it does not match; a / stands
 * between two lines.  The results must be the same if all lines are in one text. */
static const struct {
	const char *pattern, *with, *without;
	bool ignores_case;
} rows[] = {
	{ "abc", "abc/xabcx/ababc", "ab/ab c/ABC", false },
	{ "", "/a", "-", false },
	{ "a|b|", "/x", "-", false },
	{ "^a", "a/ab", "ba//b", false },
	{ "a$", "a/ba/a\r", "ab/a\rb/a\r\r", false },
	{ "^$", "/\r", " /\r\r/a", false },
	{ "^a$|b", "a/xb/a\r", "aa/ac", false },
	{ "a^b|c$d", "-", "ab/cd/a^b/c$d", false },
	{ "a*", "/b/aaa", "-", false },
	{ "^a*$", "/a/aa/aa\r", "ab/b", false },
	{ "^a+b?$", "a/ab/aab", "/b/abb", false },
	{ "^a{2,3}$", "aa/aaa", "a/aaaa", false },
	{ "^a{,2}$", "/a/aa", "aaa", false },
	{ "^(ab){2}$", "abab", "ab/ababab", false },
	{ "^(a|ab)(c|bcd)$", "ac/abcd/abc", "abd/abbc", false },
	{ "^(a*)*b$", "b/aab", "a/aac", false },
	{ "^(|a)+$", "/a/aaa", "b", false },
	{ "x{0}y{0,0}z", "z/xz", "xy", false },
	{ "a.c", "abc/a.c/a\303\244c/a\346\227\245c/a\360\237\230\200c",
	  "ac/a\344c/a\303c/a\355\240\200c/a\300\200c/a\364\220\200\200c", false },
	{ "^.{2}$", "ab/\303\244\303\266/a\r\r", "a/abc/\377\376", false },
	{ "^[^a]$", "b/\303\244/\364\217\277\277", "a/\344/ab", false },
	{ "^[\303\240-\303\274]$", "\303\244/\303\240/\303\274", "a/\303\275/\303\237",
	  false },
	{ "^[a-z\303\244\346\227\245]+$", "a\303\244\346\227\245z",
	  "\346\227\246/\303\245", false },
	{ "[]x]", "]/x", "[", false },
	{ "[^]x]", "[/a", "]/x", false },
	{ "^[a-]$", "a/-", "b", false },
	{ "[\\]]", "]", "\\/[", false },
	{ "[\\\\]", "\\", "x", false },
	{ "^[[:alpha:]]+$", "abZ", "a1/\303\244", false },
	{ "^[^[:space:]]$", "x", " /\t/\v", false },
	{ "^[[:punct:]]{31}$", "!\"#$%&'()*+,-.:;<=>?@[\\]^_`{|}~", "a", false },
	{ "^\\d+$", "09", "a/\331\241", false },
	{ "^\\w+$", "aZ_9", "-/\303\244", false },
	{ "^\\s+$", " \t\v\f", "a /\302\240", false },
	{ "^\\D\\W\\S$", "a-x/\303\244\303\244\303\244", "1-x/aax/a- ", false },
	{ "^[\\d.]+$", "1.2", "a/\\", false },
	{ "^[^\\s]+$", "a\\s", "a b", false },
	{ "\\bab\\b", "ab/x ab./-ab-/ab\303\244", "xab/abx/ab_", false },
	{ "\\Bab", "xab/_ab", "ab/ ab", false },
	{ "\\bab\\B", "abx/ abx", "ab/xab", false },
	{ "^\\b", "a/_", "/ a/-", false },
	{ "^\\B", "/ a", "a", false },
	{ "a\\b", "a/a-/ba", "ab", false },
	{ "\\(\\)\\{\\}\\.\\*\\+\\?\\|\\^\\$", "(){}.*+?|^$", "(){}", false },
	{ "a{|b{x}|{", "a{/b{x}/{", "a/b", false },
	{ "\\ta", "\ta", "ta", false },
	{ "hello", "HELLO/hElLo/x Hello", "hell", true },
	{ "^[^a-z]+$", "1-", "A/a", true },
	{ "[A-C]x", "ax/BX", "dx", true },
	{ "stra\303\237e \303\204", "STRA\303\237E \303\244", "strasse", true },
	{ "\316\251|\320\226|\304\200", "\317\211/\320\266/\304\201", "x", true },
	{ "k", "K", "\342\204\252", true },
	{ "^(a|b)*c{2}", "ababcc/cc", "abc/dcc", false },
	{ "error|warning", "an error/warning:", "warn", false },
	{ "a.*b.*c", "axbxc/abc", "acb/ab", false },
	{ "[^\\s\\S]", "-", "/a/ ", false },
	{ "([0-9]{1,3}\\.){3}[0-9]{1,3}", "is 10.0.0.1!", "10.0.1/1.2.3.", false },
};

/* Gets the next line of a list; returns false after the last.  The list "-" has no
 * lines. */
static bool next_line(const char **list, char line[64])
{
	if (!*list || !strcmp(*list, "-"))
		return false;
	size_t len = strcspn(*list, "/");
	memcpy(line, *list, len);
	line[len] = '\0';
	*list = (*list)[len] ? *list + len + 1 : NULL;
	return true;
}

static void check_lines(struct machine *m, const char *list, bool is_match,
			const char *of)
{
	char line[64], open[80], inside[80];
	struct line found;

	while (next_line(&list, line)) {
		/* The last line of a text may lack its newline.  If it is empty
		 * then, there is no such line. */
		strcpy(open, line);
		if (*open && finds(m, open, &found) != is_match)
			fail_msg("%s: '%s' at the end", of, line);
		sprintf(inside, "%s\n", line);
		if (finds(m, inside, &found) != is_match)
			fail_msg("%s: '%s'", of, line);
		if (is_match && (size_t)(found.end - found.start) != strlen(line))
			fail_msg("%s: '%s' is not the line", of, line);
	}
}

static void lines_match_or_do_not(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct machine m;
		machine_init(&m, rows[i].pattern, rows[i].ignores_case);
		check_lines(&m, rows[i].with, true, rows[i].pattern);
		check_lines(&m, rows[i].without, false, rows[i].pattern);
		machine_done(&m);
	}
}

/* Searches all lines of a row as one text: exactly the matching lines are found. */
static void check_text(struct machine *m, const char *with, const char *without,
		       const char *of)
{
	char text[2048] = "", line[64];
	const char *expected[16];
	size_t count = 0, found_count = 0;
	struct line found = { 0 };

	for (bool is_more = true; is_more;) {
		is_more = next_line(&without, line);
		if (is_more)
			strcat(strcat(text, line), "\n");
		if (!next_line(&with, line))
			continue;
		expected[count++] = text + strlen(text);
		strcat(strcat(text, line), "\n");
		is_more = true;
	}
	for (const char *at = text; finds(m, at, &found);
	     at = (const char *)found.end + 1) {
		if (found_count == count ||
		    (const char *)found.start != expected[found_count])
			fail_msg("%s: another line: %s", of, (const char *)found.start);
		found_count++;
	}
	assert_int_equal(found_count, count);
}

static void in_a_text_the_same_lines_are_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct machine m;
		machine_init(&m, rows[i].pattern, rows[i].ignores_case);
		check_text(&m, rows[i].with, rows[i].without, rows[i].pattern);
		machine_done(&m);
	}
}

static void an_empty_text_has_no_line(void **state)
{
	struct machine m;
	struct line found;

	(void)state;
	machine_init(&m, "^$", false);
	assert_false(finds(&m, "", &found));
	assert_true(finds(&m, "\n", &found));
	machine_done(&m);
}

/* A pattern, and the literal text that each match contains and that is therefore
 * searched for first. */
static const struct {
	const char *pattern, *literal;
	bool ignores_case, is_all;
} literals[] = {
	{ "foobar", "foobar", false, true },
	{ "FooBar", "foobar", true, true },
	{ "f(oo)+bar", "bar", false, false },
	{ "static (int|bool) main", "static ", false, false },
	{ "a|b", "", false, false },
	{ "(zebra)?", "", false, false },
	{ "^zebra\\b", "zebra", false, false },
	{ "x{3}yy*queue", "queue", false, false },
	{ "e", "", false, true },
	{ "\346\227\245\346\234\254", "\346\227\245\346\234\254", false, true },
};

static void the_longest_and_rarest_literal_is_looked_for(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(literals); i++) {
		struct machine m;
		machine_init(&m, literals[i].pattern, literals[i].ignores_case);
		const struct literal *n = &m.prepared.literal;
		if (n->len != strlen(literals[i].literal) ||
		    memcmp(n->bytes, literals[i].literal, n->len) != 0)
			fail_msg("%s: '%.*s' is looked for", literals[i].pattern,
				 (int)n->len, n->bytes);
		if (n->len > 0)
			assert_int_equal(n->is_all, literals[i].is_all);
		machine_done(&m);
	}
}

/* The literal stands at each place of texts of each length, and so at each place of
 * a vector register. */
static void a_literal_is_found_wherever_it_is(void **state)
{
	struct machine m;

	(void)state;
	machine_init(&m, "qUx", true);
	for (size_t len = 3; len < 120; len++) {
		AUTO_FREE uint8_t *text = mem_new(len);
		for (size_t at = 0; at + 3 <= len; at++) {
			memset(text, 'q', len);
			memcpy(text + at, "quX", 3);
			assert_ptr_equal(
				literal_find(&m.prepared.literal, text, text + len),
				text + at);
			text[at + 2] = 'y';
			assert_null(literal_find(&m.prepared.literal, text, text + len));
		}
	}
	machine_done(&m);
}

static int64_t cost_of(const char *pattern, const char *unit, size_t count)
{
	size_t len = strlen(unit);
	AUTO_FREE char *text = mem_new(len * count + 1);
	struct machine m;
	struct line found;

	for (size_t i = 0; i < count; i++)
		memcpy(text + i * len, unit, len);
	text[len * count] = '\0';
	machine_init(&m, pattern, false);
	const int64_t begun = cost_us();
	assert_false(nfa_match_find(m.matcher, (uint8_t *)text,
				  (uint8_t *)text + len * count, &found));
	const int64_t cost = cost_us() - begun;
	machine_done(&m);
	return cost;
}

/* Patterns that take backtracking matchers for ever, and patterns with more
 * states than are kept. */
static const char *const slow[] = {
	"(a*)*$b", "(a|a)*$b", "(a+)+$b", "^(a|aa)+$b", "(.*)(.*)(.*)(.*)(.*)$b",
	"(a|b)*a(a|b){9}$c", "(a|ab|b)*a(a|b){16}c",
};

/* Shorter times are noise. */
#define NOISE_US 20000

static void any_pattern_takes_linear_time(void **state)
{
	const size_t count = 3000;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(slow); i++) {
		int64_t once = cost_of(slow[i], "aababbbabaababa", count);
		int64_t four = cost_of(slow[i], "aababbbabaababa", 4 * count);
		if (four > NOISE_US && four > 10 * once)
			fail_msg("%s: %d us, and four times as much %d us", slow[i],
				 (int)once, (int)four);
	}
}

static size_t allocated(void)
{
	struct mallinfo2 now = mallinfo2();

	return now.uordblks + now.hblkhd;
}

/* A pattern with more states than the memory for them: dropped states are computed
 * again, with the same results. */
static void what_is_forgotten_is_made_again(void **state)
{
	size_t before = allocated();
	const size_t len = 20000;
	AUTO_FREE uint8_t *text = mem_new(len);
	struct machine m;
	struct line found;
	uint32_t seed = 1;

	(void)state;
	machine_init(&m, "(x|y)*x(x|y){400}zz", false);
	for (size_t i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		text[i] = "xy"[seed >> 31];
	}
	assert_false(nfa_match_find(m.matcher, text, text + len, &found));
	memcpy(text + len - 2, "zz", 2);
	text[len - 403] = 'x';
	assert_true(nfa_match_find(m.matcher, text, text + len, &found));
	text[len - 403] = 'y';
	assert_false(nfa_match_find(m.matcher, text, text + len, &found));
	assert_true(allocated() - before < 4 * NFA_MATCH_ROOM);
	machine_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_match_or_do_not),
		cmocka_unit_test(in_a_text_the_same_lines_are_found),
		cmocka_unit_test(an_empty_text_has_no_line),
		cmocka_unit_test(the_longest_and_rarest_literal_is_looked_for),
		cmocka_unit_test(a_literal_is_found_wherever_it_is),
		cmocka_unit_test(any_pattern_takes_linear_time),
		cmocka_unit_test(what_is_forgotten_is_made_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
