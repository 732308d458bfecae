/* script, session: set variables that arrive while a shell lives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <signal.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/variables.h"
#include "executor/session/env_script.h"
#include "tests/unit/actor.h"
#include "tests/unit/in_session.h"

/* Values that a shell would change if they were part of its input. */
static const char *const values[] = {
	"plain", "", " ", "two words", "it's", "'", "''", "'''", "a'b'c", "\"", "$HOME", "`id`",
	"$(id)", "\\", "\\'", "*", "~", "!!", "#", "line 1\nline 2\n", "\n", "tab\there", "(1 2)",
	"[0]=x", "-n", "a=b", "\x01\x02\x7f", "h\xc3\xa9", "\xff\xfe", "&& exit 9", "'; exit 9; '",
	"{a,b}", "%s", "\r", "<(echo)", "EOF",
};

/* Returns the value's bytes as octal numbers, which a terminal does not change. */
static char *dumped(const char *value)
{
	char *text = text_copy("");

	for (; *value; value++) {
		char *longer = text_format("%s %03o", text, (unsigned char)*value);
		free(text);
		text = longer;
	}
	return text;
}

static void test_values_arrive_byte_for_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		AUTO_FREE char *set = text_format("VALUE=%s", values[i]);
		AUTO_FREE char *want = dumped(values[i]);
		size_t skip = *want == ' ';
		actor_env(&a, set, NULL);
		actor_check(&a, "sh -c 'printf %s \"$VALUE\"' | od -An -v -to1 | tr -d '\\n'", want + skip, 0);
	}
}

static void test_nothing_else_of_the_shell_changes(void **state)
{
	static const struct {
		const char *before, *set, *unset, *command, *content;
		uint32_t exit_code;
	} rows[] = {
		{ "(exit 7)", "V=1", NULL, "echo $? $V", "7 1", 0 },
		{ "cd /tmp", "V=2", NULL, "echo $PWD $V", "/tmp 2", 0 },
		{ "x=mine", "V=3", "NONE", "echo $x $V", "mine 3", 0 },
		{ "set -e", "V=4", "NONE", "echo $V; set +e", "4", 0 },
		{ "set -u", "V=5", "NONE", "echo $V; set +u", "5", 0 },
		{ "trap 'echo failed' ERR", "V=6", "NONE", "echo $V; trap - ERR", "6", 0 },
		{ "set -x", "V=7", NULL, "echo $V", "++ echo 7\n7", 0 },
		{ "set +x", "V=8", NULL, "echo $V $-", "8 himBs", 0 },
		{ "set -o posix", "V=9", NULL, "echo $V; set +o posix", "9", 0 },
		{ "set -f; set -C; set -n", "V=a", NULL, "echo $V; set +f; set +C", "a", 0 },
		{ "alias export=false unset=false declare=false", "V=b", "NONE", "echo $V", "b", 0 },
		{ "export() { echo no; }; unset() { echo no; }", "V=c", NULL, "echo $V", "c", 0 },
		{ "IFS=abc", "V=1a2", NULL, "echo \"$V\"; builtin unset IFS", "1a2", 0 },
		{ "declare -i NUMBER=1", "NUMBER=x y", NULL, "echo $NUMBER", "x y", 0 },
		{ "declare -u UPPER=a", "UPPER=low", NULL, "echo $UPPER", "low", 0 },
		{ "LIST=(1 2)", "LIST=(3 4)", NULL, "echo \"$LIST ${#LIST[@]}\"", "(3 4) 1", 0 },
		{ "declare -n REF=target; target=t", "REF=r", NULL, "echo $REF $target", "r t", 0 },
		{ "W=1", "V=d", "W", "echo $V ${W-none}", "d none", 0 },
		{ "readonly R=1", "R=2", NULL, "echo $R",
		  "hutch: R is readonly in this shell and stays as it is\n1", 0 },
		{ "set -e", "R=3", "R", "echo $R; set +e",
		  "hutch: R is readonly in this shell and stays as it is\n1", 0 },
		{ "true", "V=e", NULL, "echo $R $V", "1 e", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct act x = actor_run(&a, rows[i].before);
		act_done(&x);
		actor_env(&a, rows[i].set, rows[i].unset);
		actor_check(&a, rows[i].command, rows[i].content, rows[i].exit_code);
	}
}

static void test_a_running_command_keeps_its_environment(void **state)
{
	const struct run_request r = {
		.session = 1, .kind = RUN_COMMAND,
		.text = bytes_of("V=old; echo up; read line; echo $V $line"),
	};
	const struct run_request input = { .session = 1, .kind = RUN_INPUT,
					   .text = bytes_of("typed") };

	(void)state;
	actor_show(&a, r, "up");
	actor_env(&a, "V=new", NULL);
	struct act x = actor_do(&a, input, REPORT_COMPLETED);
	assert_string_equal(x.content, "old typed");
	act_done(&x);
	actor_check(&a, "echo $V", "new", 0);
}

static void test_a_shell_that_is_started_again_has_them(void **state)
{
	(void)state;
	actor_env(&a, "V=1", NULL);
	actor_check(&a, "echo $V", "1", 0);
	actor_env(&a, "W=2", NULL);
	actor_check(&a, "exec false", "", 1);
	actor_check(&a, "echo $V $W", "1 2", 0);
	actor_env(&a, "W=3", "V");
	actor_check(&a, "exec false", "", 1);
	actor_check(&a, "echo ${V-none} $W", "none 3", 0);
}

/* A trap that is set by `builtin trap` also runs before hutch's own commands
 * (shell_rc.c). */
static void test_a_shell_that_dies_meanwhile_is_started_again_with_them(void **state)
{
	(void)state;
	actor_check(&a, "builtin trap '[[ $BASH_COMMAND != *hutch_set* ]] || kill -KILL $$' DEBUG", "", 0);
	actor_env(&a, "V=1", NULL);
	actor_check(&a, "echo $V", "1", 0);
}

/* The shell hangs in hutch's own commands and is killed here, as it would be at the
 * time limit that test_session_due.c tests. */
static void test_a_shell_that_hangs_meanwhile_is_started_again(void **state)
{
	(void)state;
	struct act x = actor_run(&a, "echo $$");
	pid_t shell = (pid_t)atoi(x.content);
	act_done(&x);
	actor_check(&a, "builtin trap '[[ $BASH_COMMAND != *hutch_set* ]] || "
			"{ >hangs; read x; }' DEBUG", "", 0);
	actor_env(&a, "V=1", NULL);
	uint32_t id = actor_send_run(&a, 1, RUN_COMMAND, "echo $V");
	actor_await_file(&a, "hangs");
	assert_int_equal(kill(shell, SIGKILL), 0);
	x = actor_expect(&a, id);
	assert_string_equal(x.content, "1");
	assert_true(x.report.flags & REPORT_RESTARTED);
	act_done(&x);
}

static void test_a_cancel_meanwhile_leaves_the_session_usable(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		AUTO_FREE char *set = text_format("V=%d", i), *want = text_format("%d", i);
		actor_env(&a, set, NULL);
		uint32_t id = actor_send_run(&a, 1, RUN_COMMAND, "sleep 1000");
		actor_cancel(&a, id);
		struct act x = actor_expect(&a, id);
		assert_int_equal(x.report.state, REPORT_CANCELLED);
		act_done(&x);
		actor_check(&a, "echo $V", want, 0);
	}
}

/* The largest permitted set of variables makes a script that fits, however much of
 * it has to be quoted. */
static void test_the_largest_script_fits_and_is_done(void **state)
{
	struct variables v = { 0 };
	struct buffer script;
	struct err e;
	char value[2 * 384 + 1] = "", name[VARIABLE_NAME_MAX + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(value) - 1; i++)
		value[i] = i % 2 ? '\'' : 'x';
	for (int i = 0; i < VARIABLES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "V%0254d", i);
		assert_int_equal(variables_set(&v, name, value, &e), 0);
		actor_env(&a, NULL, name);
	}
	assert_int_equal(v.bytes, VARIABLES_MAX * (255 + 768)); /* all but 1 KiB */
	buffer_init(&script, ENV_SCRIPT_MAX);
	env_script_write(&script, &v, 0);
	size_t len = buffer_len(&script);
	assert_true(len > 5u << 19);
	assert_int_equal(buffer_data(&script)[len - 1], '\n');
	buffer_done(&script);
	for (size_t i = 0; i < v.count; i++) {
		AUTO_FREE char *set = text_format("%s=%s", v.all[i].name, v.all[i].value);
		actor_env(&a, set, NULL);
	}
	AUTO_FREE char *check = text_format("[[ $%s == \"%s\" ]] && compgen -e V | wc -l", name, value);
	actor_check(&a, check, "1024", 0);
	variables_done(&v);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_values_arrive_byte_for_byte),
		TEST(test_nothing_else_of_the_shell_changes),
		TEST(test_a_running_command_keeps_its_environment),
		TEST(test_a_shell_that_is_started_again_has_them),
		TEST(test_a_shell_that_dies_meanwhile_is_started_again_with_them),
		TEST(test_a_shell_that_hangs_meanwhile_is_started_again),
		TEST(test_a_cancel_meanwhile_leaves_the_session_usable),
		TEST(test_the_largest_script_fits_and_is_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
