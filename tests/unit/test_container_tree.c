/* tree: what hutch says of a main process, in docker's form. */
#include "docker/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"

#define MAIN(state, code, rule, restarts)                                              \
	"\"main\":{\"state\":\"" state "\",\"exit_code\":" code ",\"restart\":\"" rule \
	"\",\"restarts\":" restarts "}"
#define NO_EXIT ",\"exit\":null}"
#define EXIT(reason, code) \
	",\"exit\":{\"reason\":\"" reason "\",\"exit_code\":" code ",\"ended\":\"T\"}}"

static const struct {
	const char *info;
	const char *status, *running, *restarting, *exit_code, *oom, *rule, *most, *count;
} rows[] = {
	{ "{\"state\":\"ready\",\"main\":null" NO_EXIT, "running", "true", "false", "0",
	  "false", "no", "0", "0" },
	{ "{\"state\":\"ready\"," MAIN("running", "7", "on-failure:3", "2") NO_EXIT,
	  "running", "true", "false", "0", "false", "on-failure", "3", "2" },
	{ "{\"state\":\"ready\"," MAIN("restarting", "7", "always", "2") NO_EXIT,
	  "restarting", "true", "true", "7", "false", "always", "0", "2" },
	{ "{\"state\":\"paused\"," MAIN("restarting", "7", "always", "2") NO_EXIT,
	  "paused", "true", "false", "0", "false", "always", "0", "2" },
	{ "{\"state\":\"ended\"," MAIN("exited", "7", "on-failure:1", "1")
		  EXIT("exited", "7"),
	  "exited", "false", "false", "7", "false", "on-failure", "1", "1" },
	{ "{\"state\":\"ended\"," MAIN("exited", "137", "no", "0") EXIT("oom", "137"),
	  "exited", "false", "false", "137", "true", "no", "0", "0" },
};

/* Checks one member of docker's object: a text, or a value as it is written. */
static void has(struct json_view tree, const char *path, const char *wanted)
{
	struct json_view value = json_view_get(tree, path);
	AUTO_FREE char *text = json_view_string(value);
	AUTO_FREE char *raw = strndup(value.text, value.len);

	assert_string_equal(text ? text : raw, wanted);
}

static void test_the_words_of_a_main_process_are_told(void **state)
{
	static const char with[] =
		"{\"state\":\"ready\",\"main\":{\"argv\":[\n\"sh\",\n\"-c\", "
		"\"a b\"]}" NO_EXIT;
	static const char without[] = "{\"state\":\"ready\",\"main\":null" NO_EXIT;
	static const struct {
		const char *info, *path, *args, *cmd, *words;
	} told[] = { { with, "sh", "[\"-c\",\"a b\"]", "[\"sh\",\"-c\",\"a b\"]",
		       "sh -c a b" },
		     { without, "", "[]", "[]", "" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(told); i++) {
		struct json_view info, tree;
		struct err e;
		assert_int_equal(
			json_view_scan(&info, told[i].info, strlen(told[i].info), &e), 0);
		AUTO_FREE char *text = tree_container(info, (struct json_view){ 0 });
		assert_int_equal(json_view_scan(&tree, text, strlen(text), &e), 0);
		has(tree, "Path", told[i].path);
		has(tree, "Args", told[i].args);
		has(tree, "Config.Cmd", told[i].cmd);
		AUTO_FREE char *words = tree_command(info);
		assert_string_equal(words, told[i].words);
	}
}

static void test_a_main_process_is_told_as_docker_tells_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct json_view info, tree;
		struct err e;
		assert_int_equal(
			json_view_scan(&info, rows[i].info, strlen(rows[i].info), &e), 0);
		AUTO_FREE char *text = tree_container(info, (struct json_view){ 0 });
		assert_int_equal(json_view_scan(&tree, text, strlen(text), &e), 0);
		has(tree, "State.Status", rows[i].status);
		has(tree, "State.Running", rows[i].running);
		has(tree, "State.Restarting", rows[i].restarting);
		has(tree, "State.ExitCode", rows[i].exit_code);
		has(tree, "State.OOMKilled", rows[i].oom);
		has(tree, "HostConfig.RestartPolicy.Name", rows[i].rule);
		has(tree, "HostConfig.RestartPolicy.MaximumRetryCount", rows[i].most);
		has(tree, "RestartCount", rows[i].count);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_main_process_is_told_as_docker_tells_it),
		cmocka_unit_test(test_the_words_of_a_main_process_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
