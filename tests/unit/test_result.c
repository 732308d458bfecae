#include "sandbox/launch/result.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"
#include "policy/json/json.h"

/* Parses the result.  json_parse() accepts only strict JSON in strict UTF-8. */
static struct json *parse(const char *text)
{
	struct err e = { 0 };
	struct json *doc = json_parse(text, strlen(text), &e);

	if (!doc)
		fail_msg("%s: %s", e.text, text);
	return doc;
}

static void test_no_key_is_left_out(void **state)
{
	static const char *const keys[] = {
		"version",   "status",	 "exit_code", "signal",
		"wall_s",    "user_s",	 "sys_s",     "memory_peak_bytes",
		"pids_peak", "degraded", "refused",   "network",
		"error",
	};
	struct result r = { .wall_s = 1.5, .network = "none" };

	(void)state;
	result_exited(&r, 3);
	AUTO_FREE char *text = result_json(&r);
	json_free(parse(text));
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		char quoted[64];
		(void)snprintf(quoted, sizeof(quoted), "\"%s\":", keys[i]);
		assert_non_null(strstr(text, quoted));
	}
	assert_null(strchr(text, '\n'));
	assert_non_null(
		strstr(text, "\"status\":\"exited\",\"exit_code\":3,\"signal\":null"));
	assert_non_null(strstr(text, "\"wall_s\":1.500000"));
	assert_non_null(strstr(text, "\"network\":{\"mode\":\"none\",\"form\":null}"));
	assert_non_null(strstr(text, "\"error\":null"));
}

static void test_peaks_and_limits_of_a_cgroup_are_in_the_result(void **state)
{
	const struct err e = { .kind = ERR_LIMIT, .text = "no" };
	struct result r = { .memory_peak = 1ull << 40, .pids_peak = 7,
			    .degraded = DEGRADED_CPUS | DEGRADED_DISK };

	(void)state;
	result_oom(&r, &e);
	AUTO_FREE char *text = result_json(&r);
	json_free(parse(text));
	assert_non_null(
		strstr(text, "\"status\":\"oom\",\"exit_code\":137,\"signal\":9,"));
	assert_non_null(
		strstr(text, "\"memory_peak_bytes\":1099511627776,\"pids_peak\":7,"));
	assert_non_null(strstr(text, "\"degraded\":[\"cpus\",\"disk\"],"));
	assert_non_null(strstr(text, "\"error\":{\"kind\":\"limit\""));
	r.degraded = DEGRADED_MEMORY | DEGRADED_PIDS;
	AUTO_FREE char *others = result_json(&r);
	assert_non_null(strstr(others, "\"degraded\":[\"memory\",\"pids-limit\"],"));
}

static void test_every_end_has_its_code(void **state)
{
	struct result signaled = { 0 }, timeout = { 0 }, failed = { 0 };
	const struct err e = { .kind = ERR_REFUSED, .text = "no", .remedy = "yes" };

	(void)state;
	result_signaled(&signaled, 15);
	AUTO_FREE char *a = result_json(&signaled);
	assert_non_null(
		strstr(a, "\"status\":\"signaled\",\"exit_code\":143,\"signal\":15"));
	result_timeout(&timeout);
	AUTO_FREE char *b = result_json(&timeout);
	assert_non_null(
		strstr(b, "\"status\":\"timeout\",\"exit_code\":124,\"signal\":null"));
	result_failed(&failed, 126, &e);
	AUTO_FREE char *c = result_json(&failed);
	assert_non_null(strstr(c, "\"status\":\"setup-error\",\"exit_code\":126"));
	assert_non_null(strstr(c, "\"error\":{\"kind\":\"refused\",\"message\":\"no\","
				  "\"remedy\":\"yes\"}"));
}

/* Messages contain names that a user chose. */
static const struct {
	const char *text, *json;
} hostile[] = {
	{ "", "\"\"" },
	{ "\"},\"exit_code\":0,\"x\":{\"",
	  "\"\\\"},\\\"exit_code\\\":0,\\\"x\\\":{\\\"\"" },
	{ "a\\", "\"a\\\\\"" },
	{ "\n\r\t\001\037\177", "\"\\u000a\\u000d\\u0009\\u0001\\u001f\\u007f\"" },
	{ "\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x87",
	  "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x87\"" },
	{ "\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\"" },
	{ "\xff\xfe", "\"\\u00ff\\u00fe\"" },
	{ "\x80z", "\"\\u0080z\"" },
	{ "cut \xe2\x82", "\"cut \\u00e2\\u0082\"" },
	{ "\xc2", "\"\\u00c2\"" },
	{ "\xc0\x80", "\"\\u00c0\\u0080\"" },		 /* overlong NUL */
	{ "\xe0\x80\xaf", "\"\\u00e0\\u0080\\u00af\"" }, /* overlong / */
	{ "\xf0\x80\x80\xaf", "\"\\u00f0\\u0080\\u0080\\u00af\"" },
	{ "\xed\xa0\x80", "\"\\u00ed\\u00a0\\u0080\"" },	    /* surrogate */
	{ "\xf4\x90\x80\x80", "\"\\u00f4\\u0090\\u0080\\u0080\"" }, /* above U+10FFFF */
};

static void test_hostile_text_stays_one_string(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
		struct err e = { .kind = ERR_USAGE };
		struct result r = { 0 };
		(void)snprintf(e.text, sizeof(e.text), "%s", hostile[i].text);
		(void)snprintf(e.remedy, sizeof(e.remedy), "%s", hostile[i].text);
		result_failed(&r, 125, &e);
		AUTO_FREE char *text = result_json(&r);
		if (!strstr(text, hostile[i].json))
			fail_msg("%zu: %s", i, text);
		json_free(parse(text));
	}
}

/* An error text with any two bytes side by side becomes valid JSON. */
static void test_every_pair_of_bytes_is_json(void **state)
{
	(void)state;
	for (unsigned pair = 0x0101; pair <= 0xffff; pair++) {
		const struct err e = { .kind = ERR_USAGE,
				       .text = { (char)(pair >> 8), (char)pair, 'x' } };
		struct result r = { 0 };
		result_failed(&r, 125, &e);
		AUTO_FREE char *text = result_json(&r);
		json_free(parse(text));
	}
}

static void test_the_longest_error_fits(void **state)
{
	struct err e = { .kind = ERR_USAGE };
	struct result r = { 0 };

	(void)state;
	memset(e.text, '\001', sizeof(e.text) - 1);
	memset(e.remedy, '"', sizeof(e.remedy) - 1);
	result_failed(&r, 125, &e);
	AUTO_FREE char *text = result_json(&r);
	json_free(parse(text));
	assert_true(strlen(text) > 6 * (sizeof(e.text) - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_key_is_left_out),
		cmocka_unit_test(test_every_end_has_its_code),
		cmocka_unit_test(test_peaks_and_limits_of_a_cgroup_are_in_the_result),
		cmocka_unit_test(test_hostile_text_stays_one_string),
		cmocka_unit_test(test_every_pair_of_bytes_is_json),
		cmocka_unit_test(test_the_longest_error_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
