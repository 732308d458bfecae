#include "policy/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/policy.h"

#define UNTOUCHED 0xdeadbeef
#define TEN_YEARS (10ull * 366 * 24 * 3600 * 1000)

struct sample {
	const char *text;
	uint64_t value;
	const char *says; /* part of the error; NULL: the text is valid */
};

static void check(int (*parse)(const char *, uint64_t *, struct err *),
		  const struct sample *samples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = UNTOUCHED;
		struct err e = { 0 };
		int result = parse(samples[i].text, &value, &e);
		if (result != (samples[i].says ? -1 : 0) ||
		    value != (samples[i].says ? UNTOUCHED : samples[i].value))
			fail_msg("'%s' gave %d, %llu", samples[i].text, result,
				 (unsigned long long)value);
		if (!samples[i].says)
			continue;
		assert_int_equal(e.kind, ERR_USAGE);
		if (!strstr(e.text, samples[i].says))
			fail_msg("'%s' says: %s", samples[i].text, e.text);
		assert_int_equal(parse(samples[i].text, &value, NULL), -1);
	}
}

static void test_numbers(void **state)
{
	static const struct sample samples[] = {
		{ "0", 0, NULL },
		{ "007", 7, NULL },
		{ "18446744073709551615", UINT64_MAX, NULL },
		{ "18446744073709551616", 0, "too large" },
		{ "", 0, "whole number" },
		{ " 1", 0, "whole number" },
		{ "+1", 0, "whole number" },
		{ "-1", 0, "whole number" },
		{ "0x10", 0, "whole number" },
		{ "1 ", 0, "whole number" },
		{ "1.0", 0, "whole number" },
		{ "x", 0, "whole number" },
	};

	(void)state;
	check(units_parse_number, samples, ARRAY_LEN(samples));
}

static void test_bytes(void **state)
{
	static const struct sample samples[] = {
		{ "0", 0, NULL },
		{ "17", 17, NULL },
		{ "17b", 17, NULL },
		{ "1k", 1024, NULL },
		{ "1K", 1024, NULL },
		{ "2m", 2u << 20, NULL },
		{ "2MB", 2u << 20, NULL },
		{ "2MiB", 2u << 20, NULL },
		{ "3g", 3ull << 30, NULL },
		{ "1t", 1ull << 40, NULL },
		{ "16777215t", 16777215ull << 40, NULL },
		{ "16777216t", 0, "too large" },
		{ "18014398509481984k", 0, "too large" },
		{ "99999999999999999999", 0, "too large" },
		{ "", 0, "not a size" },
		{ "m", 0, "not a size" },
		{ "-1m", 0, "not a size" },
		{ "1.5g", 0, "not a size" },
		{ "1 g", 0, "not a size" },
		{ "1p", 0, "not a size" },
		{ "1bb", 0, "not a size" },
		{ "1mx", 0, "not a size" },
		{ "1i", 0, "not a size" },
	};

	(void)state;
	check(units_parse_bytes, samples, ARRAY_LEN(samples));
}

static int parse_cpus(const char *text, uint64_t *ret, struct err *e)
{
	uint32_t value;

	if (units_parse_cpus(text, &value, e) < 0)
		return -1;
	*ret = value;
	return 0;
}

static void test_cpus(void **state)
{
	static const struct sample samples[] = {
		{ "1", 1000, NULL },	      { "1.5", 1500, NULL },
		{ "0.25", 250, NULL },	      { ".5", 500, NULL },
		{ "0.0129", 12, NULL },	      { "1000", 1000000, NULL },
		{ "0.01", 10, NULL },	      { "0.009", 0, "between" },
		{ "0", 0, "between" },	      { "1001", 0, "between" },
		{ "1000.9", 1000900, NULL },  { "99999999999999999999", 0, "too large" },
		{ "", 0, "not a number of CPUs" }, { ".", 0, "not a number of CPUs" },
		{ "1.", 0, "not a number" },  { "1,5", 0, "not a number" },
		{ "-1", 0, "not a number of CPUs" }, { "1.5.5", 0, "not a number" },
		{ "two", 0, "not a number of CPUs" },
	};

	(void)state;
	check(parse_cpus, samples, ARRAY_LEN(samples));
}

static void test_memory_and_pids_have_bounds(void **state)
{
	static const struct sample memory[] = {
		{ "6m", 6u << 20, NULL },
		{ "6291455", 0, "6m or more, not '6291455'" },
		{ "0", 0, "6m or more" },
		{ "9223372036854775807", INT64_MAX, NULL },
		{ "8388608t", 0, "6m or more" },
		{ "x", 0, "--memory" },
	};
	static const struct sample pids[] = {
		{ "1", 1, NULL },	   { "0", 0, "1 or more, not '0'" },
		{ "2147483647", INT32_MAX, NULL }, { "2147483648", 0, "1 or more" },
		{ "1k", 0, "--pids-limit" },
	};

	(void)state;
	check(units_parse_memory, memory, ARRAY_LEN(memory));
	check(units_parse_pids, pids, ARRAY_LEN(pids));
}

static void test_durations(void **state)
{
	static const struct sample samples[] = {
		{ "90", 90000, NULL },
		{ "1.5s", 1500, NULL },
		{ "1.5", 1500, NULL },
		{ "250ms", 250, NULL },
		{ "10m", 600000, NULL },
		{ "2h", 7200000, NULL },
		{ "1h30m", 5400000, NULL },
		{ "1h0m1s5ms", 3601005, NULL },
		{ "0.001s", 1, NULL },
		{ "0.5h", 1800000, NULL },
		{ "1.0019", 1001, NULL },
		{ "316224000", TEN_YEARS, NULL },
		{ "316224001", 0, "too long" },
		{ "87840h1ms", 0, "too long" },
		{ "18446744073709551615h", 0, "too long" },
		{ "99999999999999999999", 0, "too large" },
		{ "0", 0, "end at once" },
		{ "0.0009s", 0, "end at once" },
		{ "", 0, "not a duration" },
		{ "-1", 0, "not a duration" },
		{ ".5s", 0, "not a duration" },
		{ "1d", 0, "not a duration" },
		{ "1.5.5", 0, "not a duration" },
		{ "1 s", 0, "not a duration" },
		{ "1sx", 0, "not a duration" },
	};

	(void)state;
	check(units_parse_duration, samples, ARRAY_LEN(samples));
}

static const struct {
	const char *word;
	int resource;
	uint64_t soft, hard;
	const char *says;
} ulimits[] = {
	{ "nofile=1024:2048", RLIMIT_NOFILE, 1024, 2048, NULL },
	{ "cpu=0", RLIMIT_CPU, 0, 0, NULL },
	{ "core=-1", RLIMIT_CORE, RLIM_INFINITY, RLIM_INFINITY, NULL },
	{ "rttime=5:unlimited", RLIMIT_RTTIME, 5, RLIM_INFINITY, NULL },
	{ "as=unlimited:unlimited", RLIMIT_AS, RLIM_INFINITY, RLIM_INFINITY, NULL },
	{ "nofile=2:1", 0, 0, 0, "above the hard one" },
	{ "nofile=-1:5", 0, 0, 0, "above the hard one" },
	{ "nofile", 0, 0, 0, "NAME=SOFT[:HARD]" },
	{ "nofile=", 0, 0, 0, "not a number or unlimited" },
	{ "nofile=1:", 0, 0, 0, "not a number or unlimited" },
	{ "nofile=1:2:3", 0, 0, 0, "left over" },
	{ "nofile=-12", 0, 0, 0, "left over" },
	{ "nofile=unlimitedly", 0, 0, 0, "left over" },
	{ "NOFILE=1", 0, 0, 0, "unknown limit" },
	{ "nofil=1", 0, 0, 0, "unknown limit 'nofil'" },
	{ "nofiles=1", 0, 0, 0, "unknown limit" },
	{ "=1", 0, 0, 0, "unknown limit" },
	{ "", 0, 0, 0, "unknown limit" },
	{ "0123456789012345678901234567890123456789012345678901234567890123=1", 0, 0, 0,
	  "unknown limit '0123456789" },
};

static void test_ulimits(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ulimits); i++) {
		struct policy p;
		struct err e = { 0 };
		policy_init(&p);
		int result = units_parse_ulimit(&p, ulimits[i].word, &e);
		assert_int_equal(p.ulimit_count, ulimits[i].says ? 0 : 1);
		assert_int_equal(result, ulimits[i].says ? -1 : 0);
		AUTO_FREE char *from = text_format("--ulimit %s", ulimits[i].word);
		if (ulimits[i].says) {
			if (!strstr(e.text, ulimits[i].says) || !strstr(e.text, from))
				fail_msg("'%s' says: %s", ulimits[i].word, e.text);
		} else {
			assert_int_equal(p.ulimits[0].resource, ulimits[i].resource);
			assert_int_equal(p.ulimits[0].soft, ulimits[i].soft);
			assert_int_equal(p.ulimits[0].hard, ulimits[i].hard);
			assert_string_equal(p.ulimits[0].from, from);
		}
		policy_done(&p);
	}
}

static void test_seventeen_ulimits_are_too_many(void **state)
{
	struct policy p;
	struct err e;

	(void)state;
	policy_init(&p);
	for (int i = 0; i < POLICY_MAX_ULIMITS; i++)
		assert_int_equal(units_parse_ulimit(&p, "cpu=1", &e), 0);
	assert_int_equal(units_parse_ulimit(&p, "cpu=1", &e), -1);
	assert_non_null(strstr(e.text, "more than 16"));
	assert_int_equal(p.ulimit_count, POLICY_MAX_ULIMITS);
	policy_done(&p);
}

static void test_every_resource_of_the_kernel_has_its_name(void **state)
{
	(void)state;
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		AUTO_FREE char *word = text_format("%s=1", units_ulimit_name(i));
		struct policy p;
		struct err e;
		policy_init(&p);
		assert_int_equal(units_parse_ulimit(&p, word, &e), 0);
		assert_int_equal(p.ulimits[0].resource, i);
		policy_done(&p);
	}
	assert_null(units_ulimit_name(-1));
	assert_null(units_ulimit_name(RLIM_NLIMITS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_memory_and_pids_have_bounds),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_ulimits),
		cmocka_unit_test(test_seventeen_ulimits_are_too_many),
		cmocka_unit_test(test_every_resource_of_the_kernel_has_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
