#include "policy/seccomp/profile.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"
#include "policy/seccomp/profile_fit.h"

/* The beginning of a profile with one block, which the tests continue. */
#define BLOCK "{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[{"
#define ALLOW BLOCK "\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\""
#define ARG   ALLOW ",\"args\":[{"
#define TOP   "{\"defaultAction\":\"SCMP_ACT_ALLOW\","

static const struct profile_host host = { .arch = ARCH_X86_64, .kernel = { 5, 14 } };

struct refusal {
	const char *text;
	const char *says;
};

static const struct refusal refusals[] = {
	{ "[]", "profile: an object was expected, not an array" },
	{ "{}", "profile: 'defaultAction' is missing" },
	{ "{\"defaultAction\":null}", "'defaultAction' is missing" },
	{ "{\"defaultAction\":1}", "profile.defaultAction: a string was expected" },
	{ "{\"defaultAction\":\"SCMP_ACT_NONE\"}", "unknown action 'SCMP_ACT_NONE'" },
	{ "{\"defaultAction\":\"scmp_act_allow\"}", "unknown action" },
	{ "{\"DefaultAction\":\"SCMP_ACT_ALLOW\"}",
	  "profile: unknown key 'DefaultAction'" },
	{ "{\"defaultAction\":\"SCMP_ACT_NOTIFY\"}", "not supported yet" },
	{ "{\"defaultAction\":\"SCMP_ACT_TRACE\"}", "could trace itself" },
	{ TOP "\"defaultErrnoRet\":1}", "only SCMP_ACT_ERRNO takes an errno" },
	{ TOP "\"syscalls\":{}}", "profile.syscalls: an array was expected" },
	{ TOP "\"syscalls\":[7]}", "profile.syscalls[0]: an object was expected" },
	{ TOP "\"comment\":\"\"}", "unknown key 'comment'" },
	{ TOP "\"flags\":[\"SECCOMP_FILTER_FLAG_LOG\"]}",
	  "flags[0]: SECCOMP_FILTER_FLAG_LOG" },
	{ TOP "\"flags\":[\"NEW\"]}", "profile.flags[0]: 'NEW' is not known here" },
	{ TOP "\"flags\":\"NEW\"}", "an array was expected" },
	{ TOP "\"listenerPath\":\"/x\"}", "profile.listenerPath: not supported yet" },
	{ TOP "\"listenerMetadata\":\"x\"}", "not supported yet" },
	{ TOP "\"architectures\":[\"amd64\"]}",
	  "architectures[0]: 'amd64' is not known" },
	{ TOP "\"archMap\":[{\"architecture\":\"X\"}]}", "'X' is not known here" },
	{ TOP "\"archMap\":[{}]}", "profile.archMap[0]: 'architecture' is missing" },
	{ TOP "\"archMap\":[{\"architecture\":\"SCMP_ARCH_X86_64\","
	      "\"subArchitectures\":[\"Y\"]}]}",
	  "profile.archMap[0].subArchitectures[0]: 'Y'" },
	{ TOP "\"defaultAction\":\"SCMP_ACT_ERRNO\"}", "'defaultAction' stands twice" },
	{ BLOCK "}]}", "profile.syscalls[0]: 'action' is missing" },
	{ BLOCK "\"action\":\"SCMP_ACT_ALLOW\"}]}", "either 'names' or 'name'" },
	{ ALLOW ",\"name\":\"write\"}]}", "either 'names' or 'name'" },
	{ ALLOW ",\"Args\":[]}]}", "profile.syscalls[0]: unknown key 'Args'" },
	{ ALLOW ",\"errnoRet\":1}]}", "syscalls[0].errnoRet: only SCMP_ACT_ERRNO" },
	{ BLOCK "\"names\":\"read\",\"action\":\"SCMP_ACT_ALLOW\"}]}", "an array was" },
	{ BLOCK "\"names\":[1],\"action\":\"SCMP_ACT_ALLOW\"}]}",
	  "profile.syscalls[0].names[0]: a string was expected, not a number" },
	{ BLOCK "\"names\":[],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":4096}]}",
	  "no errno is above 4095" },
	{ BLOCK "\"names\":[],\"action\":\"SCMP_ACT_ERRNO\",\"errnoRet\":-1}]}",
	  "not a whole number" },
	{ BLOCK "\"names\":[],\"action\":\"SCMP_ACT_ERRNO\",\"errno\":\"EWHAT\"}]}",
	  "unknown error name 'EWHAT'" },
	{ BLOCK "\"names\":[],\"action\":\"SCMP_ACT_ERRNO\",\"errno\":\"EPERM\","
		"\"errnoRet\":38}]}",
	  "errnoRet: not the number of EPERM" },
	{ ARG "\"index\":6,\"value\":0,\"op\":\"SCMP_CMP_EQ\"}]}]}",
	  "args[0].index: arguments are numbered 0 to 5" },
	{ ARG "\"index\":0,\"value\":0,\"op\":\"SCMP_CMP_XX\"}]}]}",
	  "profile.syscalls[0].args[0].op: unknown operator 'SCMP_CMP_XX'" },
	{ ARG "\"index\":0,\"value\":1.5,\"op\":\"SCMP_CMP_EQ\"}]}]}", "not a whole" },
	{ ARG "\"index\":0,\"value\":18446744073709551615,\"op\":\"SCMP_CMP_EQ\"}]}]}",
	  "beyond 2^53" },
	{ ARG "\"index\":\"0\",\"value\":1,\"op\":\"SCMP_CMP_EQ\"}]}]}", "a number was" },
	{ ARG "\"value\":1,\"op\":\"SCMP_CMP_EQ\"}]}]}", "args[0]: 'index' is missing" },
	{ ARG "\"index\":1,\"op\":\"SCMP_CMP_EQ\"}]}]}", "'value' is missing" },
	{ ARG "\"index\":1,\"value\":1}]}]}", "'op' is missing" },
	{ ARG "\"index\":1,\"value\":1,\"op\":\"SCMP_CMP_EQ\",\"valueTwo\":\"\"}]}]}",
	  "args[0].valueTwo: a number was expected" },
	{ ARG "\"index\":1,\"value\":1,\"op\":\"SCMP_CMP_MASKED_EQ\",\"valueTwo\":3}]}]}",
	  "args[0]: valueTwo has bits outside the mask" },
	{ ARG "\"index\":1,\"value\":1,\"op\":\"SCMP_CMP_NE\"},"
	      "{\"index\":1,\"value\":2,\"op\":\"SCMP_CMP_NE\"}]}]}",
	  "args[1]: argument 1 is compared twice" },
	{ ALLOW ",\"includes\":[]}]}", "syscalls[0].includes: an object was expected" },
	{ ALLOW ",\"includes\":{\"cap\":[]}}]}", "includes: unknown key 'cap'" },
	{ ALLOW ",\"includes\":{\"caps\":[3]}}]}", "includes.caps[0]: a string" },
	{ ALLOW ",\"excludes\":{\"minKernel\":\"4\"}}]}",
	  "'4' is no version such as 4.8" },
	{ ALLOW ",\"excludes\":{\"minKernel\":\"4.8-rc1\"}}]}", "is no version" },
	{ BLOCK "\"names\":[1],\"action\":\"SCMP_ACT_ALLOW\","
		"\"includes\":{\"caps\":[\"CAP_X\"]}}]}",
	  "names[0]: a string was expected" },
};

static int parse(const char *text, const struct profile_host *at, struct profile *ret,
		 struct err *e)
{
	return profile_parse(text, strlen(text), at, ret, e);
}

static void what_is_wrong_is_refused_with_its_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		struct profile p = { 0 };
		struct err e = { 0 };

		if (!parse(refusals[i].text, &host, &p, &e))
			fail_msg("taken: %s", refusals[i].text);
		if (!strstr(e.text, refusals[i].says))
			fail_msg("%s\n says '%s'", refusals[i].text, e.text);
		assert_null(p.doc);
	}
}

static void the_smallest_profile_is_a_default(void **state)
{
	struct profile p;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(parse("{\"defaultAction\":\"SCMP_ACT_ERRNO\"}", &host, &p, &e),
			 0);
	assert_int_equal(p.default_action, SECCOMP_RET_ERRNO | EPERM);
	assert_int_equal(p.count, 0);
	profile_done(&p);
	profile_done(&p);
}

static void every_action_has_its_value(void **state)
{
	static const struct {
		const char *name;
		uint32_t ret;
	} all[] = {
		{ "SCMP_ACT_ALLOW", SECCOMP_RET_ALLOW },
		{ "SCMP_ACT_ERRNO", SECCOMP_RET_ERRNO | EPERM },
		{ "SCMP_ACT_KILL", SECCOMP_RET_KILL_THREAD },
		{ "SCMP_ACT_KILL_THREAD", SECCOMP_RET_KILL_THREAD },
		{ "SCMP_ACT_KILL_PROCESS", SECCOMP_RET_KILL_PROCESS },
		{ "SCMP_ACT_TRAP", SECCOMP_RET_TRAP },
		{ "SCMP_ACT_LOG", SECCOMP_RET_LOG },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		char text[80];
		struct profile p;

		(void)snprintf(text, sizeof(text), "{\"defaultAction\":\"%s\"}",
			       all[i].name);
		assert_int_equal(parse(text, &host, &p, NULL), 0);
		assert_int_equal(p.default_action, all[i].ret);
		profile_done(&p);
	}
}

/* A profile in the form that docker and containers-common use. */
static void dockers_own_keys_are_understood(void **state)
{
	static const char text[] =
		"{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"defaultErrnoRet\":38,"
		"\"defaultErrno\":\"ENOSYS\",\"archMap\":[{\"architecture\":"
		"\"SCMP_ARCH_X86_64\",\"subArchitectures\":[\"SCMP_ARCH_X86\","
		"\"SCMP_ARCH_X32\"]},{\"architecture\":\"SCMP_ARCH_ARM\","
		"\"subArchitectures\":null}],\"flags\":[\"SECCOMP_FILTER_FLAG_TSYNC\"],"
		"\"syscalls\":[{\"name\":\"clone\",\"action\":\"SCMP_ACT_ALLOW\","
		"\"args\":[{\"index\":0,\"value\":2114060288,\"valueTwo\":0,"
		"\"op\":\"SCMP_CMP_MASKED_EQ\"},{\"index\":5,\"value\":7,"
		"\"op\":\"SCMP_CMP_LE\"}],\"comment\":\"\",\"includes\":{},"
		"\"excludes\":{\"caps\":[\"CAP_SYS_ADMIN\"],\"arches\":[\"s390\"]}},"
		"{\"names\":[\"bdflush\",\"io_pgetevents\"],\"action\":\"SCMP_ACT_ERRNO\","
		"\"args\":null,\"errno\":\"ENOSYS\",\"errnoRet\":38}]}";
	struct profile p;
	struct err e = { 0 };

	(void)state;
	if (parse(text, &host, &p, &e))
		fail_msg("%s", e.text);
	assert_int_equal(p.default_action, SECCOMP_RET_ERRNO | ENOSYS);
	assert_int_equal(p.count, 3);
	assert_string_equal(p.rules[0].name, "clone");
	assert_int_equal(p.rules[0].test_count, 2);
	assert_int_equal(p.rules[0].tests[0].mask, 2114060288);
	assert_int_equal(p.rules[0].tests[0].value, 0);
	assert_int_equal(p.rules[0].tests[1].arg, 5);
	assert_int_equal(p.rules[0].tests[1].op, OP_LE);
	assert_int_equal(p.rules[0].tests[1].value, 7);
	assert_string_equal(p.rules[2].name, "io_pgetevents");
	assert_int_equal(p.rules[2].block, 1);
	assert_int_equal(p.rules[2].action, SECCOMP_RET_ERRNO | ENOSYS);
	profile_done(&p);
}

struct condition {
	const char *text; /* the value of "includes" or "excludes" */
	bool included, excluded;
};

/* Results for amd64, Linux 5.14, CAP_CHOWN and CAP_KILL. */
static const struct condition conditions[] = {
	{ "{}", true, false },
	{ "{\"caps\":[]}", true, false },
	{ "{\"caps\":[\"CAP_CHOWN\"]}", true, true },
	{ "{\"caps\":[\"CAP_SYS_ADMIN\"]}", false, false },
	{ "{\"caps\":[\"CAP_CHOWN\",\"CAP_SYS_ADMIN\"]}", false, true },
	{ "{\"caps\":[\"CAP_CHOWN\",\"CAP_KILL\"]}", true, true },
	{ "{\"arches\":[\"arm64\",\"amd64\"]}", true, true },
	{ "{\"arches\":[\"arm64\"]}", false, false },
	{ "{\"minKernel\":\"4.8\"}", true, true },
	{ "{\"minKernel\":\"5.14\"}", true, true },
	{ "{\"minKernel\":\"5.15\"}", false, false },
	{ "{\"minKernel\":\"6.0\"}", false, false },
	{ "{\"minKernel\":\"5.2\"}", true, true },
	{ "{\"minKernel\":\"4.8\",\"caps\":[\"CAP_SYS_ADMIN\"]}", false, true },
	{ "{\"arches\":[\"amd64\"],\"caps\":[\"CAP_SYS_ADMIN\"]}", false, true },
};

static size_t rules_with(const char *key, const char *condition)
{
	static const char *const caps[] = { "CAP_CHOWN", "CAP_KILL", NULL };
	const struct profile_host with_caps = {
		ARCH_X86_64, { 5, 14 }, caps, FLOOR_FULL
	};
	struct profile p;
	struct err e = { 0 };
	char text[256];

	(void)snprintf(text, sizeof(text), "%s,\"%s\":%s}]}", ALLOW, key, condition);
	if (parse(text, &with_caps, &p, &e))
		fail_msg("%s: %s", text, e.text);

	const size_t count = p.count;
	profile_done(&p);
	return count;
}

static void conditions_leave_blocks_out(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(conditions); i++) {
		const struct condition *c = &conditions[i];

		if ((rules_with("includes", c->text) == 1) != c->included)
			fail_msg("includes %s", c->text);
		if ((rules_with("excludes", c->text) == 0) != c->excluded)
			fail_msg("excludes %s", c->text);
	}
}

static void a_condition_on_an_unknown_kernel_is_an_error(void **state)
{
	const struct profile_host unknown = { .arch = ARCH_AARCH64 };
	struct profile p;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(
		parse(ALLOW ",\"includes\":{\"minKernel\":\"4.8\"}}]}", &unknown, &p, &e),
		-1);
	assert_non_null(strstr(e.text, "--kernel X.Y"));
}

static void versions_are_two_numbers(void **state)
{
	static const char *const wrong[] = { "",     "4",    "4.",   ".8",  "4.8.1",
					     " 4.8", "4.8 ", "-4.8", "4.x", "123456.1" };
	unsigned v[2] = { 9, 9 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_false(profile_kernel(wrong[i], v));
	assert_int_equal(v[0], 9);
	assert_true(profile_kernel("6.18", v));
	assert_int_equal(v[0], 6);
	assert_int_equal(v[1], 18);
}

static void too_long_a_text_is_refused(void **state)
{
	struct profile p;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(profile_parse("", PROFILE_BYTES_MAX + 1, &host, &p, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
}

/* The filter of an OCI container stands alone, and means what other runtimes make of it. */
static void a_whole_filter_has_every_action(void **state)
{
	static const struct profile_host whole = { .arch = ARCH_X86_64,
						   .floor = FLOOR_NONE };
	static const char text[] =
		"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"flags\":[\"SECCOMP_FILTER_FLAG_LOG\"],"
		"\"listenerPath\":\"/x\",\"syscalls\":["
		"{\"names\":[\"read\"],\"action\":\"SCMP_ACT_NOTIFY\"},"
		"{\"names\":[\"write\"],\"action\":\"SCMP_ACT_TRACE\",\"errnoRet\":7},"
		"{\"names\":[\"dup2\"],\"action\":\"SCMP_ACT_ERRNO\",\"args\":["
		"{\"index\":0,\"value\":18446744073709551615,\"op\":\"SCMP_CMP_EQ\"},"
		"{\"index\":0,\"value\":2,\"op\":\"SCMP_CMP_EQ\"}]}]}";
	struct profile p = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(profile_parse(text, sizeof(text) - 1, &whole, &p, &e), 0);
	assert_int_equal(p.count, 4);
	assert_int_equal(p.rules[0].action, SECCOMP_RET_USER_NOTIF);
	assert_int_equal(p.rules[1].action, SECCOMP_RET_TRACE | 7);
	/* Two comparisons of one argument are two rules: one of them is enough. */
	assert_int_equal(p.rules[2].test_count, 1);
	assert_true(p.rules[2].tests[0].value == UINT64_MAX);
	assert_int_equal(p.rules[3].tests[0].value, 2);
	profile_done(&p);
	assert_int_equal(profile_parse(text, sizeof(text) - 1, &host, &p, &e), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_wrong_is_refused_with_its_place),
		cmocka_unit_test(the_smallest_profile_is_a_default),
		cmocka_unit_test(a_whole_filter_has_every_action),
		cmocka_unit_test(every_action_has_its_value),
		cmocka_unit_test(dockers_own_keys_are_understood),
		cmocka_unit_test(conditions_leave_blocks_out),
		cmocka_unit_test(a_condition_on_an_unknown_kernel_is_an_error),
		cmocka_unit_test(versions_are_two_numbers),
		cmocka_unit_test(too_long_a_text_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
