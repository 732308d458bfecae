#include "cli/common/flags.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"

#define WORDS_MAX 6

/* The remaining words, and the flags' values; or the error. */
static const struct {
	const char *words[WORDS_MAX], *operands[WORDS_MAX];
	bool a, b;
	const char *value, *says;
} samples[] = {
	{ { "x" }, { "x" }, false, false, NULL, NULL },
	{ { "-a", "x" }, { "x" }, true, false, NULL, NULL },
	{ { "x", "-a" }, { "x" }, true, false, NULL, NULL },
	{ { "x", "--all", "y" }, { "x", "y" }, true, false, NULL, NULL },
	{ { "-ab", "x" }, { "x" }, true, true, NULL, NULL },
	{ { "-t", "5", "x" }, { "x" }, false, false, "5", NULL },
	{ { "-t5", "x" }, { "x" }, false, false, "5", NULL },
	{ { "-at5", "x" }, { "x" }, true, false, "5", NULL },
	{ { "--time=5", "x" }, { "x" }, false, false, "5", NULL },
	{ { "--time", "-5", "x" }, { "x" }, false, false, "-5", NULL },
	{ { "--time=", "x" }, { "x" }, false, false, "", NULL },
	{ { "--", "-a" }, { "-a" }, false, false, NULL, NULL },
	{ { "-", "x" }, { "-", "x" }, false, false, NULL, NULL },
	{ { "x", "--", "--" }, { "x", "--" }, false, false, NULL, NULL },
	{ { NULL }, { NULL }, false, false, NULL, "hutch do it: NAME is missing" },
	{ { "x", "y", "z" }, { NULL }, false, false, NULL, "too many words: 'z'" },
	{ { "x", "-t" }, { NULL }, false, false, NULL, "--time needs a value: SECONDS" },
	{ { "x", "--time" }, { NULL }, false, false, NULL, "--time needs a value" },
	{ { "--all=yes", "x" }, { NULL }, false, false, NULL, "--all takes no value" },
	{ { "--al", "x" }, { NULL }, false, false, NULL, "unknown flag --al" },
	{ { "--alll", "x" }, { NULL }, false, false, NULL, "unknown flag --alll" },
	{ { "-x", "x" }, { NULL }, false, false, NULL, "unknown flag -x" },
	{ { "-ax", "x" }, { NULL }, false, false, NULL, "unknown flag -x in -ax" },
	{ { "-\u00e9", "x" }, { NULL }, false, false, NULL, "unknown flag -\u00e9" },
	{ { "-time", "5" }, { NULL }, false, false, NULL, "is it --time?" },
	{ { "-all=x" }, { NULL }, false, false, NULL, "unknown flag -all; is it --all?" },
	{ { "-ti", "x" }, { "x" }, false, false, "i", NULL },
	{ { "\u2014all" }, { NULL }, false, false, NULL, "a dash that is not the '-'" },
	{ { "x", "\u2013a" }, { NULL }, false, false, NULL, "a dash that is not the '-'" },
	{ { "--", "\u2014all" }, { "\u2014all" }, false, false, NULL, NULL },
};

static void test_words_become_flags_and_operands(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		bool a = false, b = false;
		const char *value = NULL;
		const struct flag flags[] = {
			{ 'a', "all", NULL, "", &a, NULL },
			{ 'b', "both", NULL, "", &b, NULL },
			{ 't', "time", "SECONDS", "", NULL, &value },
		};
		const struct usage usage = { .synopsis = "hutch do it [-t N]... NAME [OTHER]",
					     .about = "about",
					     .flags = flags,
					     .count = ARRAY_LEN(flags),
					     .operands_min = 1,
					     .operands_max = 2 };
		char *argv[WORDS_MAX];
		struct err e = { 0 };

		memcpy(argv, samples[i].words, sizeof(argv));
		enum flags_result got = flags_read(argv, &usage, &e);
		if (samples[i].says) {
			assert_int_equal(got, FLAGS_FAILED);
			assert_non_null(strstr(e.text, samples[i].says));
			continue;
		}
		assert_int_equal(got, FLAGS_READ);
		assert_int_equal(a, samples[i].a);
		assert_int_equal(b, samples[i].b);
		assert_true(!value == !samples[i].value);
		if (value)
			assert_string_equal(value, samples[i].value);
		size_t k = 0;
		for (; samples[i].operands[k]; k++)
			assert_string_equal(argv[k], samples[i].operands[k]);
		assert_null(argv[k]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_become_flags_and_operands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
