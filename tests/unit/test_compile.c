#include "policy/seccomp/compile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "tests/unit/profile_build.h"

static uint32_t answer(const struct build *b, const char *name, uint64_t arg0,
		       uint64_t arg1)
{
	const struct seccomp_data data = {
		.arch = audit_archs[b->arch],
		.nr = seccomp_syscall_resolve_name_arch(scmp_archs[b->arch], name),
		.args = { arg0, arg1 },
	};

	return build_run(b, &data);
}

#define NO_SUCH_CALL (SECCOMP_RET_ERRNO | ENOSYS)
#define REFUSED	     (SECCOMP_RET_ERRNO | EPERM)

/* Writes a profile of these blocks with the default ENOSYS.  In `blocks`, ' stands
 * for ". */
static size_t put_text(char text[1024], const char *blocks)
{
	const int len = snprintf(text, 1024,
				 "{'defaultAction':'SCMP_ACT_ERRNO',"
				 "'defaultErrnoRet':38,'syscalls':[%s]}",
				 blocks);

	assert_in_range(len, 1, 1023);
	for (char *c = strchr(text, '\''); c; c = strchr(c, '\''))
		*c = '"';
	return (size_t)len;
}

static struct build *build_blocks(const char *blocks, enum arch arch)
{
	char text[1024];
	const size_t len = put_text(text, blocks);

	return build(text, len, arch);
}

static void the_strictest_rule_wins(void **state)
{
	static const char blocks[] = "{'names':['read'],'action':'SCMP_ACT_ALLOW'},"
				     "{'names':['read'],'action':'SCMP_ACT_ERRNO',"
				     "'args':[{'index':0,'op':'SCMP_CMP_EQ','value':3}]},"
				     "{'names':['read'],'action':'SCMP_ACT_KILL_PROCESS',"
				     "'args':[{'index':1,'op':'SCMP_CMP_EQ','value':4}]},"
				     "{'names':['write'],'action':'SCMP_ACT_ERRNO'},"
				     "{'names':['write'],'action':'SCMP_ACT_ALLOW',"
				     "'args':[{'index':0,'op':'SCMP_CMP_EQ','value':1}]},"
				     "{'names':['dup'],'action':'SCMP_ACT_LOG',"
				     "'args':[{'index':0,'op':'SCMP_CMP_EQ','value':1}]},"
				     "{'names':['dup'],'action':'SCMP_ACT_TRAP',"
				     "'args':[{'index':0,'op':'SCMP_CMP_LE','value':1}]}";
	struct build *b = build_blocks(blocks, ARCH_X86_64);

	(void)state;
	assert_int_equal(answer(b, "read", 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(answer(b, "read", 3, 0), REFUSED);
	assert_int_equal(answer(b, "read", 3, 4), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(answer(b, "write", 1, 0), REFUSED);
	assert_int_equal(answer(b, "dup", 1, 0), SECCOMP_RET_TRAP);
	assert_int_equal(answer(b, "dup", 2, 0), NO_SUCH_CALL);
	assert_int_equal(answer(b, "close", 2, 0), NO_SUCH_CALL);
	build_free(b);
}

static void no_profile_lifts_the_floor(void **state)
{
	size_t count;
	const struct floor_row *rows = floor_rows(&count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		char block[128];
		const struct floor_test *t = &rows[i].tests[0];
		uint64_t args[2] = { 0 };

		args[t->arg] = t->bits ? t->value & -t->value : t->value;
		(void)snprintf(block, sizeof(block),
			       "{'names':['%s'],'action':'SCMP_ACT_ALLOW'}",
			       rows[i].name);
		for (int a = 0; a < ARCH_COUNT; a++) {
			struct build *b = build_blocks(block, (enum arch)a);

			assert_int_equal(answer(b, rows[i].name, args[0], args[1]),
					 SECCOMP_RET_ERRNO | (uint32_t)rows[i].answer);
			build_free(b);
		}
	}
}

static void unknown_names_are_skipped_or_told(void **state)
{
	static const char skipped[] =
		"{'names':['no_such_call'],'action':'SCMP_ACT_ALLOW'},"
		"{'names':['socketcall'],'action':'SCMP_ACT_KILL'}";
	static const char told[] =
		"{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":["
		"\"no_such_call\"],\"action\":\"SCMP_ACT_ERRNO\"}]}";
	const struct profile_host host = { .arch = ARCH_X86_64 };
	struct bpf *b = calloc(1, sizeof(*b));
	struct profile p;
	struct err e = { 0 };

	(void)state;
	build_free(build_blocks(skipped, ARCH_X86_64));
	assert_int_equal(profile_parse(told, strlen(told), &host, &p, &e), 0);
	assert_int_equal(compile_profile(&p, ARCH_X86_64, b, &e), -1);
	assert_string_equal(e.text,
			    "profile.syscalls[0]: no call 'no_such_call' is known "
			    "here, so that it can't be refused");
	profile_done(&p);
	free(b);
}

/* Each rule needs at least three instructions, so that 2,000 rules need more than
 * BPF_MAXINSNS. */
static void a_profile_may_be_too_long(void **state)
{
	const struct profile_host host = { .arch = ARCH_X86_64 };
	struct bpf *b = calloc(1, sizeof(*b));
	struct profile p;
	struct err e = { 0 };
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	(void)fputs("{\"defaultAction\":\"SCMP_ACT_ERRNO\",\"syscalls\":[", out);
	for (int i = 0; i < 2000; i++)
		(void)fprintf(out,
			      "%s{\"names\":[\"read\"],\"action\":\"SCMP_ACT_ALLOW\","
			      "\"args\":[{\"index\":%d,\"op\":\"SCMP_CMP_EQ\","
			      "\"value\":%d}]}",
			      i ? "," : "", i % 6, i);
	(void)fputs("]}", out);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(profile_parse(text, len, &host, &p, &e), 0);
	assert_int_equal(compile_profile(&p, ARCH_X86_64, b, &e), -1);
	assert_non_null(strstr(e.text, "the kernel takes 4096"));
	profile_done(&p);
	free(text);
	free(b);
}

static bool names(const struct profile *p, const char *name)
{
	for (size_t i = 0; i < p->count; i++)
		if (strcmp(p->rules[i].name, name) == 0)
			return true;
	return false;
}

/* For each known call the profile says on purpose: allowed, EPERM or ENOSYS.  A
 * newer libseccomp knows more calls: then this test fails until a developer has
 * decided about them. */
static void every_known_call_is_in_the_default_profile(void **state)
{
	(void)state;
	for (int a = 0; a < ARCH_COUNT; a++) {
		struct build *b = build_default((enum arch)a);

		for (int nr = 0; nr < NUMBERS; nr++) {
			char *name = seccomp_syscall_resolve_num_arch(scmp_archs[a], nr);

			if (name && !names(&b->profile, name))
				fail_msg("%s (%d) is not in %s", name, nr,
					 DEFAULT_PROFILE);
			free(name);
		}
		build_free(b);
	}
}

static void the_default_profile_contradicts_itself_nowhere(void **state)
{
	struct build *b = build_default(ARCH_X86_64);
	const struct profile *p = &b->profile;

	(void)state;
	for (size_t i = 0; i < p->count; i++) {
		if (seccomp_syscall_resolve_name(p->rules[i].name) == __NR_SCMP_ERROR)
			fail_msg("no call %s", p->rules[i].name);
		for (size_t k = 0; k < i; k++)
			if (strcmp(p->rules[i].name, p->rules[k].name) == 0 &&
			    (!p->rules[i].test_count || !p->rules[k].test_count))
				fail_msg("%s stands twice", p->rules[i].name);
	}
	build_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_strictest_rule_wins),
		cmocka_unit_test(no_profile_lifts_the_floor),
		cmocka_unit_test(unknown_names_are_skipped_or_told),
		cmocka_unit_test(a_profile_may_be_too_long),
		cmocka_unit_test(every_known_call_is_in_the_default_profile),
		cmocka_unit_test(the_default_profile_contradicts_itself_nowhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
