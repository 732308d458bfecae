#include "cli/common/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>

#include "base/err.h"
#include "policy/policy.h"
#include "sandbox/launch/result.h"
#include "tests/unit/scene.h"

/* The output of a child on descriptor 2. */
struct shown {
	void (*show)(void);
	const char *wanted;
};

static void play(void *arg)
{
	const struct shown *s = arg;
	char got[4096] = { 0 };
	int ends[2];

	CHECK(pipe2(ends, O_CLOEXEC) == 0 && dup2(ends[1], 2) == 2);
	s->show();
	(void)close(ends[1]);
	(void)close(2);
	for (size_t len = 0; len < sizeof(got) - 1;) {
		ssize_t n = read(ends[0], got + len, sizeof(got) - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	if (!strcmp(got, s->wanted))
		return;
	(void)dprintf(1, "not '%s' but '%s'\n", s->wanted, got);
	_exit(1);
}

static void show_plain(void)
{
	const struct err e = { .kind = ERR_USAGE, .text = "no" };

	report_error(&e);
}

static void show_remedy(void)
{
	const struct err e = { .kind = ERR_USAGE, .text = "no", .remedy = "say yes" };

	report_error(&e);
}

static void show_hostile(void)
{
	const struct err e = { .kind = ERR_USAGE,
			       .text = "\033]0;x\a\nhutch: fine\xc2\x9b",
			       .remedy = "\r\033[2J" };

	report_error(&e);
}

static void show_timeout(void)
{
	struct result r = { .wall_s = 2.04 };

	result_timeout(&r);
	report_result(&r, 2000, -1);
}

static void show_success(void)
{
	struct result r = { 0 };

	result_exited(&r, 0);
	report_result(&r, 2000, -1);
}

static void show_json(void)
{
	const struct err e = { .kind = ERR_USAGE, .text = "no" };
	struct result r = { 0 };

	result_failed(&r, 125, &e);
	report_result(&r, 2000, 2);
}

#define JSON_NO                                                                         \
	"{\"version\":1,\"status\":\"setup-error\",\"exit_code\":125,\"signal\":null,"  \
	"\"wall_s\":0.000000,\"user_s\":0.000000,\"sys_s\":0.000000,"                   \
	"\"memory_peak_bytes\":null,\"pids_peak\":null,\"degraded\":[],\"refused\":[]," \
	"\"network\":{\"mode\":null,\"form\":null},"                                    \
	"\"error\":{\"kind\":\"usage\",\"message\":\"no\",\"remedy\":null}}\n"

static const struct shown shown[] = {
	{ show_plain, "hutch: no\n" },
	{ show_remedy, "hutch: no\nhutch: hint: say yes\n" },
	{ show_hostile,
	  "hutch: ^[]0;x^G^Jhutch: fineM-^[\nhutch: hint: ^M^[[2J\n" },
	{ show_timeout, "hutch: timed out after 2.0 s; everything was ended\n" },
	{ show_success, "" },
	{ show_json, "hutch: no\n" JSON_NO },
};

static void test_errors_are_said_on_stderr(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
		struct shown s = shown[i];
		scene_child(play, &s);
	}
}

static struct err explain(const char *name)
{
	struct policy p;
	struct err e = { 0 };

	policy_init(&p);
	list_add(&p.argv, name);
	report_explain_missing(&e, &p);
	policy_done(&p);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	return e;
}

static void test_a_command_that_is_on_the_callers_path(void **state)
{
	AUTO_FREE char *tool = scene_path(state, "tool");
	AUTO_FREE char *path = text_format("rel:/nonesuch:%s", (const char *)*state);

	scene_file(state, "tool", "#!/bin/sh\n");
	scene_file(state, "data", "x");
	assert_int_equal(chmod(tool, 0755), 0);
	assert_int_equal(setenv("PATH", path, 1), 0);
	struct err e = explain("tool");
	assert_non_null(
		strstr(e.text, "tool: command not found inside; on this host it is "));
	assert_non_null(strstr(e.text, tool));
	assert_non_null(strstr(e.remedy, "-v /tmp/hutch-unit-"));
	assert_non_null(strstr(e.remedy, " -e PATH="));
	e = explain(tool);
	assert_non_null(strstr(e.remedy, ":ro shows it"));
	assert_null(strstr(e.remedy, "-e PATH"));
}

static void test_a_command_that_is_nowhere(void **state)
{
	static const char *const names[] = { "data", "nonesuch", "/nonesuch/x",
					     "folder" };

	scene_dir(state, "folder");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct err e = explain(names[i]);
		assert_non_null(strstr(e.text, ": command not found inside, nor on"));
		assert_string_equal(e.remedy, "");
	}
	assert_int_equal(unsetenv("PATH"), 0);
	assert_string_equal(explain("ls").remedy, "");
}

/* Commands that were not found, and a part of what is said of each. */
static const struct {
	const char *name, *text, *remedy;
} missing[] = {
	{ "rel/tool", "nor on this host", "--workspace . shows" },
	{ "./place", "it is a folder", "hutch run --workspace ./place CMD" },
	{ "./data", "there, but is not executable", "--workspace . shows" },
	{ "data", "nor on this host's PATH", "it is ./data, with --workspace ." },
	{ "sudo", "nor on this host's PATH", "-u root" },
	{ "A=1", "nor on this host's PATH", "-e A=1" },
	{ "1=1", "nor on this host's PATH", "" },
	{ "=1", "nor on this host's PATH", "" },
};

static void test_a_file_of_the_folder_and_words_of_habit(void **state)
{
	scene_dir(state, "place");
	assert_int_equal(chdir(*state), 0);
	assert_int_equal(setenv("PATH", "/nonesuch", 1), 0);
	for (size_t i = 0; i < ARRAY_LEN(missing); i++) {
		struct err e = explain(missing[i].name);
		assert_non_null(strstr(e.text, missing[i].text));
		if (*missing[i].remedy)
			assert_non_null(strstr(e.remedy, missing[i].remedy));
		else
			assert_string_equal(e.remedy, "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors_are_said_on_stderr),
		cmocka_unit_test(test_a_command_that_is_on_the_callers_path),
		cmocka_unit_test(test_a_command_that_is_nowhere),
		cmocka_unit_test(test_a_file_of_the_folder_and_words_of_habit),
	};

	return cmocka_run_group_tests(tests, scene_setup, scene_teardown);
}
