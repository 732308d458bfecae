#include "policy/environment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/policy.h"
#include "tests/unit/scene.h"

static const struct {
	const char *word, *wanted; /* result in the environment; NULL: nothing is added */
	int result;
} words[] = {
	{ "A=1", "A=1", 0 },
	{ "A=", "A=", 0 },
	{ "A=b=c d\n", "A=b=c d\n", 0 },
	{ "HUTCH_UNIT_SET", "HUTCH_UNIT_SET=of mine", 0 },
	{ "HUTCH_UNIT_UNSET", NULL, 0 },
	{ "", NULL, -1 },
	{ "=1", NULL, -1 },
	{ "A B=1", NULL, -1 },
	{ "A\tB", NULL, -1 },
	{ "\n=1", NULL, -1 },
};

static void test_words(void **state)
{
	(void)state;
	assert_int_equal(setenv("HUTCH_UNIT_SET", "of mine", 1), 0);
	assert_int_equal(unsetenv("HUTCH_UNIT_UNSET"), 0);
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		struct policy p;
		struct err e = { 0 };
		policy_init(&p);
		assert_int_equal(environment_add(&p, words[i].word, &e), words[i].result);
		assert_int_equal(p.env_set.count, words[i].wanted ? 1 : 0);
		if (words[i].wanted)
			assert_string_equal(p.env_set.items[0], words[i].wanted);
		if (words[i].result < 0)
			assert_int_equal(e.kind, ERR_USAGE);
		policy_done(&p);
	}
}

static void test_a_file_of_variables(void **state)
{
	static const char *const wanted[] = { "A=1", "B= spaced ", "C=#no comment",
					      "D=end" };
	AUTO_FREE char *path = scene_path(state, "env");
	struct policy p;
	struct err e;

	scene_file(state, "env", "# a comment\n\nA=0\r\nB= spaced \nC=#no comment\n"
				 "HUTCH_UNIT_UNSET\nA=1\nD=end");
	policy_init(&p);
	assert_int_equal(environment_add_file(&p, path, &e), 0);
	assert_int_equal(p.env_set.count, ARRAY_LEN(wanted));
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		assert_string_equal(p.env_set.items[i], wanted[i]);
	policy_done(&p);
}

static void expect_bad_file(void **state, const char *path, const char *says)
{
	struct policy p;
	struct err e;

	(void)state;
	policy_init(&p);
	assert_int_equal(environment_add_file(&p, path, &e), -1);
	if (!strstr(e.text, says) || !strstr(e.text, "(from --env-file "))
		fail_msg("%s", e.text);
	policy_done(&p);
}

static void test_a_bad_file_is_named_with_its_line(void **state)
{
	AUTO_FREE char *path = scene_path(state, "env");

	scene_file(state, "env", "A=1\n\n=2\n");
	expect_bad_file(state, path, "line 3");
	scene_file(state, "env", "A=1\n B=2");
	expect_bad_file(state, path, "line 2");
	expect_bad_file(state, "/nonesuch/env", "No such file");
	expect_bad_file(state, *state, "directory");
}

static void write_file(const char *path, const char *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	assert_int_equal(close(fd), 0);
}

static void test_a_file_with_nuls_has_entries_that_end_with_them(void **state)
{
	static const char bytes[] = "A=1\nB=2\r\0#C=3\0\0HUTCH_UNIT_UNSET\0D=\0E=end";
	static const char *const wanted[] = { "A=1\nB=2\r", "#C=3", "D=", "E=end" };
	AUTO_FREE char *path = scene_path(state, "env");
	struct policy p;
	struct err e;

	write_file(path, bytes, sizeof(bytes) - 1);
	policy_init(&p);
	assert_int_equal(environment_add_file(&p, path, &e), 0);
	assert_int_equal(p.env_set.count, ARRAY_LEN(wanted));
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		assert_string_equal(p.env_set.items[i], wanted[i]);
	policy_done(&p);
	write_file(path, "A=1\0B=2\0\n", 9);
	expect_bad_file(state, path, "entry 3");
	write_file(path, "\0A=1\0=2\0", 8);
	expect_bad_file(state, path, "entry 3");
}

static void test_a_file_too_large_is_refused(void **state)
{
	AUTO_FREE char *path = scene_path(state, "env");

	scene_file(state, "env", "A=1\n");
	assert_int_equal(truncate(path, (1 << 20) + 1), 0);
	expect_bad_file(state, path, path);
}

static void build(struct list *l, const struct policy *p, uint32_t uid)
{
	*l = (struct list){ 0 };
	environment_build(p, uid, "/bin/bash", "Europe/Oslo", l);
}

static void test_nothing_of_the_callers_passes(void **state)
{
	static const char *const names[] = { "PATH", "HOME", "USER", "LOGNAME",
					     "SHELL", "LANG", "TZ" };
	struct policy p;
	struct list l;

	(void)state;
	assert_int_equal(setenv("HUTCH_UNIT_SET", "of mine", 1), 0);
	assert_int_equal(setenv("LD_PRELOAD_LIKE", "x", 1), 0);
	policy_init(&p);
	build(&l, &p, 1000);
	assert_int_equal(l.count, ARRAY_LEN(names));
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_non_null(list_get_env(&l, names[i]));
	assert_string_equal(list_get_env(&l, "LANG"), "C.UTF-8");
	assert_string_equal(list_get_env(&l, "SHELL"), "/bin/bash");
	assert_string_equal(list_get_env(&l, "TZ"), "Europe/Oslo");
	list_done(&l);
	policy_done(&p);
}

static void test_user_and_home_follow_the_uid(void **state)
{
	static const struct {
		uint32_t uid;
		const char *user, *home;
	} people[] = { { 0, "root", "/root" }, { 1000, "agent", "/home/agent" },
		       { 33, "33", "/tmp" } };
	struct policy p;

	(void)state;
	policy_init(&p);
	for (size_t i = 0; i < ARRAY_LEN(people); i++) {
		struct list l;
		build(&l, &p, people[i].uid);
		assert_string_equal(list_get_env(&l, "USER"), people[i].user);
		assert_string_equal(list_get_env(&l, "LOGNAME"), people[i].user);
		assert_string_equal(list_get_env(&l, "HOME"), people[i].home);
		list_done(&l);
	}
	policy_done(&p);
}

static void test_a_named_variable_goes_over_the_defaults(void **state)
{
	struct policy p;
	struct list l;
	struct err e;

	(void)state;
	policy_init(&p);
	assert_int_equal(environment_add(&p, "HOME=/x", &e), 0);
	assert_int_equal(environment_add(&p, "NEW=y", &e), 0);
	build(&l, &p, 1000);
	assert_int_equal(l.count, 8);
	assert_string_equal(list_get_env(&l, "HOME"), "/x");
	assert_string_equal(l.items[7], "NEW=y");
	list_done(&l);
	policy_done(&p);
}

static void test_term_comes_with_a_terminal_only(void **state)
{
	static const struct {
		const char *callers, *wanted;
	} terms[] = { { "vt220", "vt220" }, { "", "xterm" }, { NULL, "xterm" } };
	struct policy p;
	struct list l;

	(void)state;
	policy_init(&p);
	p.has_terminal = true;
	for (size_t i = 0; i < ARRAY_LEN(terms); i++) {
		if (terms[i].callers)
			assert_int_equal(setenv("TERM", terms[i].callers, 1), 0);
		else
			assert_int_equal(unsetenv("TERM"), 0);
		build(&l, &p, 1000);
		assert_string_equal(list_get_env(&l, "TERM"), terms[i].wanted);
		list_done(&l);
	}
	policy_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_a_file_of_variables),
		cmocka_unit_test(test_a_bad_file_is_named_with_its_line),
		cmocka_unit_test(test_a_file_with_nuls_has_entries_that_end_with_them),
		cmocka_unit_test(test_a_file_too_large_is_refused),
		cmocka_unit_test(test_nothing_of_the_callers_passes),
		cmocka_unit_test(test_user_and_home_follow_the_uid),
		cmocka_unit_test(test_a_named_variable_goes_over_the_defaults),
		cmocka_unit_test(test_term_comes_with_a_terminal_only),
	};

	return cmocka_run_group_tests(tests, scene_setup, scene_teardown);
}
