/* expand: expands the variables in the words of a Dockerfile as docker does. */
#include "rootfs-tools/build/expand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"

/* Looks up a variable: foo is "bar", empty is "", big is 1 KiB of x. */
static const char *get(const void *context, const char *name, size_t len)
{
	static char big[1025];

	(void)context;
	memset(big, 'x', sizeof(big) - 1);
	if (len == 3 && !strncmp(name, "foo", len))
		return "bar";
	if (len == 5 && !strncmp(name, "empty", len))
		return "";
	if (len == 3 && !strncmp(name, "big", len))
		return big;
	return NULL;
}

struct sample {
	const char *word, *is;
	const char *says; /* part of the error, if `is` is NULL */
};

static const struct sample words[] = {
	{ "", "", NULL },
	{ "hello", "hello", NULL },
	{ "$foo", "bar", NULL },
	{ "${foo}", "bar", NULL },
	{ "${foo}_baz", "bar_baz", NULL },
	{ "$foo_baz", "", NULL },
	{ "$foo/baz$", "bar/baz$", NULL },
	{ "\\$foo", "$foo", NULL },
	{ "\\${foo}", "${foo}", NULL },
	{ "'$foo'", "$foo", NULL },
	{ "\"$foo\"", "bar", NULL },
	{ "\"\\$foo\"", "$foo", NULL },
	{ "'a\\'", "a\\", NULL },
	{ "a\\ b", "a b", NULL },
	{ "\"a\\ b\"", "a\\ b", NULL },
	{ "\"a\\\"b\"", "a\"b", NULL },
	{ "\"a'b\"", "a'b", NULL },
	{ "he\"l'\"'l\"'o", "hel'l\"o", NULL },
	{ "trailing\\", "trailing", NULL },
	{ "\\\\", "\\", NULL },
	{ "$1", "", NULL },
	{ "${1}", "", NULL },
	{ "$@", "", NULL },
	{ "$-", "", NULL },
	{ "$.", "$.", NULL },
	{ "${foo:-word}", "bar", NULL },
	{ "${foo-word}", "bar", NULL },
	{ "${none:-word}", "word", NULL },
	{ "${none-word}", "word", NULL },
	{ "${empty:-word}", "word", NULL },
	{ "${empty-word}", "", NULL },
	{ "${none:-$foo}", "bar", NULL },
	{ "${none:-${none:-${foo}}}x", "barx", NULL },
	{ "${none:-\"a }\"}", "a }", NULL },
	{ "${none:-'}'}", "}", NULL },
	{ "${none:-\\}}", "}", NULL },
	{ "${foo:+word}", "word", NULL },
	{ "${foo+word}", "word", NULL },
	{ "${none:+word}", "", NULL },
	{ "${empty:+word}", "", NULL },
	{ "${empty+word}", "word", NULL },
	{ "${foo:?oh}", "bar", NULL },
	{ "${empty?oh}", "", NULL },
	{ "${empty:?it is empty}", NULL, "empty: it is empty" },
	{ "${none?}", NULL, "none: it is not set" },
	{ "${", NULL, "no name" },
	{ "${}", NULL, "no name" },
	{ "${foo", NULL, "not closed" },
	{ "${foo:-x", NULL, "not closed" },
	{ "${foo:x}", NULL, "not supported" },
	{ "${foo#b}", NULL, "not supported" },
	{ "${foo/b/c}", NULL, "not supported" },
	{ "'open", NULL, "a ' is not closed" },
	{ "\"open", NULL, "a \" is not closed" },
	{ "a\"b'", NULL, "a \" is not closed" },
};

static void check(const struct expand *x, const struct sample *s,
		  int (*expand)(const struct expand *, const char *, char **,
				struct err *))
{
	AUTO_FREE char *is = NULL;
	struct err e = { 0 };

	if (expand(x, s->word, &is, &e) < 0) {
		if (s->is || !strstr(e.text, s->says))
			fail_msg("'%s' says: %s", s->word, e.text);
		assert_null(is);
	} else if (!s->is || strcmp(is, s->is) != 0) {
		fail_msg("'%s' is '%s'", s->word, is);
	}
}

static void test_words_are_dockers(void **state)
{
	const struct expand x = { .escape = '\\', .get = get };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		check(&x, &words[i], expand_word);
}

static void test_the_escape_may_be_another(void **state)
{
	static const struct sample samples[] = {
		{ "c:\\dir\\$foo", "c:\\dir\\bar", NULL },
		{ "`$foo", "$foo", NULL },
		{ "\"`\"\"", "\"", NULL },
	};
	const struct expand x = { .escape = '`', .get = get };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++)
		check(&x, &samples[i], expand_word);
}

static void test_in_a_text_quotes_mean_nothing(void **state)
{
	static const struct sample samples[] = {
		{ "it's \"$foo\"\n", "it's \"bar\"\n", NULL },
		{ "\\$foo \\n \\\\", "$foo \\n \\", NULL },
		{ "${none:-'quoted'}", "quoted", NULL },
	};
	const struct expand x = { .escape = '\\', .get = get };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++)
		check(&x, &samples[i], expand_text);
}

static void test_growing_and_nesting_have_an_end(void **state)
{
	const struct expand x = { .escape = '\\', .get = get };
	char grows[129 * 4 + 1], nests[EXPAND_DEPTH * 6 + 32];
	AUTO_FREE char *is = NULL;
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < 129; i++)
		memcpy(grows + i * 4, "$big", 5);
	assert_int_equal(expand_word(&x, grows, &is, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	grows[128 * 4] = '\0';
	assert_int_equal(expand_word(&x, grows, &is, &e), 0);
	assert_int_equal(strlen(is), EXPAND_MAX);
	nests[0] = '\0';
	for (size_t i = 0; i <= EXPAND_DEPTH; i++)
		strcat(nests, "${n:-");
	e = (struct err){ 0 };
	assert_int_equal(expand_word(&x, nests, &is, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
}

static void test_words_are_split_where_no_quote_is(void **state)
{
	static const char *const expected[] = { "a=\"b c\"", "d=e\\ f", "'g  h'i",
						"open='x y" };
	struct list is = { 0 };

	(void)state;
	expand_split('\\', "  a=\"b c\"\td=e\\ f 'g  h'i open='x y", &is);
	assert_int_equal(is.count, ARRAY_LEN(expected));
	for (size_t i = 0; i < is.count; i++)
		assert_string_equal(is.items[i], expected[i]);
	list_done(&is);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_are_dockers),
		cmocka_unit_test(test_the_escape_may_be_another),
		cmocka_unit_test(test_in_a_text_quotes_mean_nothing),
		cmocka_unit_test(test_growing_and_nesting_have_an_end),
		cmocka_unit_test(test_words_are_split_where_no_quote_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
