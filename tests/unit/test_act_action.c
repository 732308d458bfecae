/* action (of hutch-act): reads the JSON lines by which a client asks for actions, or
 * refuses them with an error. */
#include "actions/action.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "actions/action_git.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/plugin/manifest.h"
#include "protocol/action.h"
#include "protocol/plugin.h"

static int decode(const char *line, struct action *ret, struct err *e)
{
	return action_decode(line, strlen(line), ret, e);
}

static void test_the_least_that_is_needed(void **state)
{
	struct action a;
	struct err e;

	(void)state;
	assert_int_equal(
		decode("{\"action\":\"run\",\"args\":{\"command\":\"ls\"}}", &a, &e), 0);
	assert_int_equal(a.kind, ACT_RUN);
	assert_string_equal(a.command, "ls");
	assert_string_equal(a.session, "main");
	assert_string_equal(a.client, "");
	assert_string_equal(a.timestamp, "");
	assert_false(a.has_id || a.is_input || a.is_blocking || a.is_hidden);
	assert_true(a.timeout_s == 120);
	action_done(&a);
	assert_int_equal(
		decode("{\"action\":\"read\",\"args\":{\"path\":\"x\"}}", &a, &e), 0);
	assert_int_equal(a.start, 0);
	assert_true(a.end == UINT64_MAX);
	action_done(&a);
	assert_int_equal(
		decode("{\"action\":\"write\",\"args\":{\"path\":\"x\",\"content\":\"\"}}",
		       &a, &e),
		0);
	action_done(&a);
	assert_int_equal(decode("{\"action\":\"browse\"}", &a, &e), 0);
	assert_int_equal(a.kind, ACT_PLUGIN);
	assert_non_null(strstr(a.refusal, "Browser functionality"));
	action_done(&a);
}

static void test_any_other_action_may_be_a_plugins(void **state)
{
	struct action a;
	struct err e;

	(void)state;
	assert_int_equal(
		decode("{\"action\":\"think\",\"args\":{\"a\": [1]},\"id\":3}", &a, &e),
		0);
	assert_int_equal(a.kind, ACT_PLUGIN);
	assert_string_equal(action_name(&a), "think");
	assert_string_equal(a.args, "{\"a\": [1]}");
	assert_null(a.refusal);
	assert_true(a.id == 3 && a.timeout_s == 0);
	assert_int_equal(action_unknown(&a, &e), -1);
	assert_non_null(
		strstr(e.text, "'think' is not defined. Available actions: run, "));
	action_done(&a);
}

static void test_the_name_and_the_arguments_of_a_plugins_action_are_bounded(void **state)
{
	char name[PLUGIN_NAME_MAX + 2] = "";
	AUTO_FREE char *args = mem_zeroed(1, PLUGIN_ARGS_MAX + 1);
	struct action a;
	struct err e;

	(void)state;
	memset(name, 'a', PLUGIN_NAME_MAX + 1);
	memset(args, 'x', PLUGIN_ARGS_MAX);
	for (size_t more = 0; more <= 1; more++) {
		AUTO_FREE char *long_name =
			text_format("{\"action\":\"%s\"}", name + 1 - more);
		assert_int_equal(decode(long_name, &a, &e), more ? -1 : 0);
		action_done(&a);
		/* `{"":""}` has seven bytes. */
		AUTO_FREE char *long_args = text_format(
			"{\"action\":\"a\",\"args\":{\"\":\"%s\"}}", args + 7 - more);
		assert_int_equal(decode(long_args, &a, &e), more ? -1 : 0);
		action_done(&a);
	}
	assert_non_null(strstr(e.text, "args: more than"));
}

static bool is_claimable(const char *name)
{
	AUTO_FREE char *text =
		text_format("{\"name\":\"p\",\"version\":\"1\",\"command\":[\"x\"],"
			    "\"actions\":{\"%s\":{}}}",
			    name);
	struct manifest m;
	struct err e;

	if (manifest_read(text, strlen(text), "p", &m, &e) < 0)
		return false;
	manifest_done(&m);
	return true;
}

static void test_no_plugin_can_claim_an_action_of_hutch(void **state)
{
	const struct action none = { .kind = ACT_PLUGIN, .name = (char *)"none" };
	struct err e;
	size_t count = 0;

	(void)state;
	(void)action_unknown(&none, &e);
	char *names = strstr(e.text, "actions: ") + strlen("actions: "), *rest = NULL;
	for (char *at = strtok_r(names, ", ", &rest); at;
	     at = strtok_r(NULL, ", ", &rest)) {
		if (is_claimable(at))
			fail_msg("a plugin may answer %s", at);
		count++;
	}
	for (int kind = 0; kind < ACT_KIND_COUNT; kind++) {
		const struct action a = { .kind = (enum action_kind)kind };
		if (kind != ACT_PLUGIN && is_claimable(action_name(&a)))
			fail_msg("a plugin may answer %s", action_name(&a));
	}
	assert_true(count >= ACT_KIND_COUNT);
	assert_true(is_claimable("browse") && is_claimable("think"));
}

static void test_all_that_a_client_sends(void **state)
{
	static const char line[] =
		"{\"id\":7,\"timestamp\":\"2026-01-01T00:00:00\",\"source\":\"agent\","
		"\"message\":\"m\",\"cause\":3,\"action\":\"run\",\"tool_call_metadata\":{},"
		"\"llm_metrics\":{},\"session\":\"s\",\"client\":\"c\",\"timeout\":2.5,"
		"\"args\":{\"command\":\"x\",\"is_input\":true,\"thought\":\"\",\"blocking\":true,"
		"\"is_static\":false,\"cwd\":null,\"hidden\":true,\"keep_prompt\":true,"
		"\"confirmation_state\":\"confirmed\",\"security_risk\":-1}}";
	AUTO_FREE char *wrapped = NULL;
	struct action a;
	struct err e;

	(void)state;
	assert_true(asprintf(&wrapped, "{\"action\":%s}", line) > 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(decode(i ? wrapped : line, &a, &e), 0);
		assert_true(a.has_id && a.id == 7);
		assert_string_equal(a.timestamp, "2026-01-01T00:00:00");
		assert_string_equal(a.session, "s");
		assert_string_equal(a.client, "c");
		assert_true(a.timeout_s == 2.5);
		assert_true(a.is_input && a.is_blocking && a.is_hidden);
		action_done(&a);
	}
	assert_int_equal(decode("{\"id\":-1,\"action\":\"read\",\"args\":{\"path\":\"p\","
				"\"start\":2,\"end\":-1}}", &a, &e), 0);
	assert_false(a.has_id);
	assert_true(a.start == 2 && a.end == UINT64_MAX);
	action_done(&a);
}

static void test_invalid_actions_are_refused_with_a_reason(void **state)
{
	static const struct {
		const char *line, *says;
	} samples[] = {
		{ "", "a value was expected" },
		{ "ls", "a value was expected" },
		{ "[]", "an object was expected" },
		{ "{}", "'action' key is not found" },
		{ "{\"action\":null}", "'action' key is not found" },
		{ "{\"action\":7}", "a string was expected" },
		{ "{\"action\":\"th ink\"}", "'th ink' is not defined" },
		{ "{\"action\":\"think\",\"args\":[]}", "args: an object was expected" },
		{ "{\"action\":\"run\"}", "args.command is missing" },
		{ "{\"action\":\"run\",\"args\":[]}", "an object was expected" },
		{ "{\"action\":\"run\",\"args\":{\"command\":7}}",
		  "a string was expected" },
		{ "{\"action\":\"run\",\"args\":{\"command\":\"a\\u0000b\"}}", "" },
		{ "{\"action\":\"run\",\"args\":{\"command\":\"\xff\"}}", "UTF-8" },
		{ "{\"action\":\"run\",\"args\":{\"command\":\"x\",\"code\":\"y\"}}",
		  "wrong arguments: action.args: unknown key 'code'" },
		{ "{\"action\":\"run\",\"args\":{\"command\":\"x\",\"command\":\"y\"}}",
		  "twice" },
		{ "{\"action\":\"run\",\"args\":{\"command\":\"x\"},\"extra\":1}",
		  "unknown key 'extra'" },
		{ "{\"action\":\"run\",\"args\":{\"command\":\"x\"},\"timeout\":0}",
		  "timeout" },
		{ "{\"action\":\"run\",\"args\":{\"command\":\"x\"},\"timeout\":-1}",
		  "timeout" },
		{ "{\"action\":\"run\",\"args\":{\"command\":\"x\"},\"timeout\":1e9}",
		  "timeout" },
		{ "{\"action\":\"run\",\"args\":{\"command\":\"x\"},\"timeout\":\"5\"}",
		  "a number was expected" },
		{ "{\"action\":\"run\",\"args\":{\"command\":\"x\",\"blocking\":true}}",
		  "Blocking command with no timeout set" },
		{ "{\"action\":\"read\",\"args\":{}}", "args.path is missing" },
		{ "{\"action\":\"read\",\"args\":{\"path\":\"\"}}", "1 to 4095 bytes" },
		{ "{\"action\":\"read\",\"args\":{\"path\":\"x\",\"start\":-1}}",
		  "args.start" },
		{ "{\"action\":\"read\",\"args\":{\"path\":\"x\",\"end\":1.5}}",
		  "whole number" },
		{ "{\"action\":\"read\",\"args\":{\"path\":\"x\",\"end\":-2}}",
		  "args.end: not a whole number from 0 to 2^53, or -1, the last line" },
		{ "{\"action\":\"list\",\"args\":{\"depth\":1.5}}",
		  "args.depth: not a whole number from 1 to 4096" },
		{ "{\"action\":\"list\",\"args\":{\"limit\":-3}}",
		  "args.limit: not a whole number from 1 to 10000" },
		{ "{\"action\":\"glob\",\"args\":{\"pattern\":\"x\",\"limit\":1e99}}",
		  "args.limit: not a whole number from 1 to 10000" },
		{ "{\"action\":\"write\",\"args\":{\"path\":\"x\"}}",
		  "args.content is missing" },
		{ "{\"action\":\"edit\"}", "args.path is missing" },
		{ "{\"action\":\"edit\",\"args\":{\"path\":\"x\",\"view_range\":[1,2]}}",
		  "unknown key 'view_range'" },
		{ "{\"action\":\"edit\",\"args\":{\"path\":\"x\",\"command\":7}}",
		  "a string was expected" },
		{ "{\"action\":\"edit\",\"args\":{\"path\":\"x\",\"insert_line\":[]}}",
		  "a number was expected" },
		{ "{\"action\":\"edit\",\"args\":{\"path\":\"x\",\"impl_source\":"
		  "\"llm_based_edit\"}}",
		  "only oh_aci" },
		{ "{\"action\":\"read\",\"args\":{\"path\":\"x\",\"impl_source\":\"oh_aci\","
		  "\"view_range\":\"1\"}}",
		  "an array was expected" },
		{ "{\"action\":\"cancel\"}", "args.id is missing" },
		{ "{\"action\":\"run\",\"args\":{\"command\":\"x\"},\"id\":1.5}",
		  "whole number" },
		{ "{\"action\":\"run\",\"args\":{\"command\":\"x\"},\"id\":\"1\"}",
		  "a number was expected" },
		{ "{\"action\":\"run\",\"args\":{\"command\":\"x\"}} x", "" },
		{ "{\"action\":{\"action\":\"run\",\"args\":{\"command\":\"x\"}},\"id\":1}",
		  "unknown key 'id'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		struct action a;
		struct err e = { 0 };
		int got = decode(samples[i].line, &a, &e);
		if (got != -1 || !strstr(e.text, samples[i].says))
			fail_msg("%s: %d, %s", samples[i].line, got, e.text);
		action_done(&a);
	}
}

static void test_a_refused_line_keeps_its_id(void **state)
{
	struct action a;
	struct err e;

	(void)state;
	assert_int_equal(decode("{\"id\":9,\"action\":\"run\",\"args\":{}}", &a, &e), -1);
	assert_true(a.has_id && a.id == 9);
	action_done(&a);
	action_done(&a);
}

/* A text of `len` letters between `before` and `after` is refused, a text of
 * one letter less is not. */
static void check_bound(const char *before, const char *after, size_t len,
			const char *says)
{
	char *text = malloc(len + 1);
	struct action a;
	struct err e;

	assert_non_null(text);
	memset(text, 'n', len);
	for (int less = 0; less <= 1; less++) {
		AUTO_FREE char *line = NULL;
		text[len - (size_t)less] = '\0';
		assert_true(asprintf(&line, "%s%s%s", before, text, after) > 0);
		int got = decode(line, &a, &e);
		if (got != less - 1)
			fail_msg("%zu in %s: %d", len - (size_t)less, before, got);
		if (!less && !strstr(e.text, says))
			fail_msg("%zu in %s: %s", len, before, e.text);
		action_done(&a);
	}
	free(text);
}

static void test_texts_are_bounded(void **state)
{
	static const struct {
		const char *before, *after;
		size_t len;
		const char *says;
	} rows[] = {
		{ "{\"action\":\"browse\",\"session\":\"", "\"}", ACTION_NAME_MAX + 1,
		  "session: more than 64 bytes" },
		{ "{\"action\":\"browse\",\"client\":\"", "\"}", ACTION_NAME_MAX + 1,
		  "client: more than 64 bytes" },
		{ "{\"action\":\"browse\",\"timestamp\":\"", "\"}", ACTION_NAME_MAX + 1,
		  "timestamp: more than 64 bytes" },
		{ "{\"action\":\"read\",\"args\":{\"path\":\"", "\"}}", 4096,
		  "1 to 4095 bytes" },
		{ "{\"action\":\"edit\",\"args\":{\"path\":\"x\",\"command\":\"", "\"}}",
		  4096, "args.command: more than 4095 bytes" },
		{ "{\"action\":\"edit\",\"args\":{\"path\":\"x\",\"insert_line\":\"",
		  "\"}}", 4096, "args.insert_line: more than 4095 bytes" },
		{ "{\"action\":\"run\",\"args\":{\"command\":\"", "\"}}",
		  ACTION_TEXT_MAX + 1, "args.command: more than 4194304 bytes" },
		{ "{\"action\":\"write\",\"args\":{\"path\":\"x\",\"content\":\"", "\"}}",
		  FRAME_MAX_TO_EXECUTOR - 8192, "args.content: more than 8380415 bytes" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_bound(rows[i].before, rows[i].after, rows[i].len, rows[i].says);
}

static void test_a_session_of_its_own_begins_somewhere(void **state)
{
	struct action a;
	struct err e;

	(void)state;
	assert_int_equal(
		decode("{\"action\":\"run\",\"args\":{\"command\":\"x\"}}", &a, &e), 0);
	assert_false(a.is_static);
	assert_null(a.cwd);
	action_done(&a);
	assert_int_equal(
		decode("{\"action\":\"run\",\"args\":{\"command\":\"x\",\"cwd\":\"/c\","
		       "\"is_static\":true}}",
		       &a, &e),
		0);
	assert_int_equal(a.kind, ACT_RUN);
	assert_true(a.is_static);
	assert_string_equal(a.cwd, "/c");
	action_done(&a);
}

static void test_an_edit_is_taken_as_it_is_meant(void **state)
{
	static const char line[] =
		"{\"action\":\"edit\",\"args\":{\"path\":\"/a\",\"command\":\" insert\","
		"\"file_text\":null,\"old_str\":\"\",\"new_str\":\" n \",\"insert_line\":3,"
		"\"content\":\"\",\"start\":1,\"end\":-1,\"thought\":\"\","
		"\"security_risk\":-1,\"impl_source\":\"oh_aci\"}}";
	struct action a;
	struct err e;

	(void)state;
	assert_int_equal(decode(line, &a, &e), 0);
	assert_int_equal(a.kind, ACT_EDIT);
	assert_true(action_is_edit(&a));
	assert_string_equal(a.command, " insert");
	assert_null(a.file_text);
	assert_string_equal(a.old_str, "");
	assert_string_equal(a.new_str, " n ");
	assert_string_equal(a.line, "3");
	action_done(&a);
	assert_int_equal(
		decode("{\"action\":\"edit\",\"args\":{\"path\":\"/a\"}}", &a, &e), 0);
	assert_string_equal(a.command, "");
	assert_true(!a.file_text && !a.old_str && !a.new_str && !a.line && !a.range);
	action_done(&a);
}

static void test_numbers_of_lines_come_as_python_prints_them(void **state)
{
	static const char *const lines[][2] = {
		{ "7", "7" }, { "-1", "-1" }, { "2.5", "2.5" }, { "\"x\"", "x" },
		{ "\"\"", "" }, { "1e3", "1000" },
	};
	static const char *const ranges[][2] = {
		{ "[1,2]", "[1, 2]" }, { "[ -1 ]", "[-1]" }, { "[1,\"a\",null,true]",
		  "[1, 'a', None, True]" }, { "[1.5,{},[]]", "[1.5, {...}, [...]]" },
	};
	char text[256];
	struct action a;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		(void)snprintf(text, sizeof(text),
			       "{\"action\":\"edit\",\"args\":{\"path\":\"x\","
			       "\"insert_line\":%s}}",
			       lines[i][0]);
		assert_int_equal(decode(text, &a, &e), 0);
		assert_string_equal(a.line, lines[i][1]);
		action_done(&a);
	}
	for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
		(void)snprintf(text, sizeof(text),
			       "{\"action\":\"read\",\"args\":{\"path\":\"x\","
			       "\"impl_source\":\"oh_aci\",\"view_range\":%s}}",
			       ranges[i][0]);
		assert_int_equal(decode(text, &a, &e), 0);
		assert_true(a.is_viewed && action_is_edit(&a));
		assert_string_equal(a.range, ranges[i][1]);
		action_done(&a);
	}
}

static void test_no_range_is_none_and_a_long_one_is_cut(void **state)
{
	static const char begin[] = "{\"action\":\"read\",\"args\":{\"path\":\"x\","
				    "\"impl_source\":\"oh_aci\",\"view_range\":[";
	static const char *const none[] = { "[]", "null" };
	char text[20000];
	struct action a;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		(void)snprintf(text, sizeof(text), "%.*s%s}}", (int)sizeof(begin) - 2,
			       begin, none[i]);
		assert_int_equal(decode(text, &a, &e), 0);
		assert_true(a.is_viewed && !a.range);
		action_done(&a);
	}
	size_t len = (size_t)snprintf(text, sizeof(text), "%s1", begin);
	for (int i = 0; i < 5000; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, ",1");
	(void)snprintf(text + len, sizeof(text) - len, "]}}");
	assert_int_equal(decode(text, &a, &e), 0);
	assert_true(strlen(a.range) < 400);
	action_done(&a);
}

/* All texts of one edit request go into one message, so their total size is bounded. */
static void test_the_texts_of_an_edit_are_bounded_together(void **state)
{
	const size_t most = FRAME_MAX_TO_EXECUTOR - 32768;
	char *text = malloc(most + 256);
	struct action a;
	struct err e;

	(void)state;
	assert_non_null(text);
	for (size_t more = 0; more <= 1; more++) {
		int n = sprintf(text, "{\"action\":\"edit\",\"args\":{\"path\":\"x\","
				      "\"new_str\":\"n\",\"old_str\":\"");
		memset(text + n, 'o', most - 1 + more);
		(void)strcpy(text + n + most - 1 + more, "\"}}");
		assert_int_equal(decode(text, &a, &e), more ? -1 : 0);
		if (more)
			assert_non_null(
				strstr(e.text, "file_text, old_str, new_str: more than"));
		action_done(&a);
	}
	free(text);
}

static void test_errands_have_what_they_were_asked_with_or_what_is_usual(void **state)
{
	static const struct {
		const char *line;
		enum action_kind kind;
		const char *path, *other, *include;
		uint32_t flags, depth, limit;
	} rows[] = {
		{ "list\"", ACT_LIST, ".", NULL, NULL, 0, 1, 1000 },
		{ "list\",\"args\":null", ACT_LIST, ".", NULL, NULL, 0, 1, 1000 },
		{ "list\",\"args\":{\"path\":\"a\",\"depth\":4096,\"limit\":10000}",
		  ACT_LIST, "a", NULL, NULL, 0, 4096, 10000 },
		{ "glob\",\"args\":{\"pattern\":\"*\",\"path\":null}", ACT_GLOB, ".", "*",
		  NULL, 0, 0, 100 },
		{ "stat\",\"args\":{\"path\":\"a\"}", ACT_STAT, "a", NULL, NULL, 0, 0,
		  0 },
		{ "mkdir\",\"args\":{\"path\":\"a\"}", ACT_MKDIR, "a", NULL, NULL, 0, 0,
		  0 },
		{ "move\",\"args\":{\"path\":\"a\",\"to\":\"b\"}", ACT_MOVE, "a", "b",
		  NULL, 0, 0, 0 },
		{ "move\",\"args\":{\"path\":\"a\",\"to\":\"b\",\"overwrite\":true}",
		  ACT_MOVE, "a", "b", NULL, ERRAND_OVERWRITE, 0, 0 },
		{ "remove\",\"args\":{\"path\":\"a\",\"recursive\":false}", ACT_REMOVE,
		  "a", NULL, NULL, 0, 0, 0 },
		{ "remove\",\"args\":{\"path\":\"a\",\"recursive\":true}", ACT_REMOVE,
		  "a", NULL, NULL, ERRAND_RECURSIVE, 0, 0 },
		{ "grep\",\"args\":{\"pattern\":\"x\"}", ACT_GREP, ".", "x", "", 0, 0,
		  250 },
		{ "grep\",\"args\":{\"pattern\":\"x\",\"include\":\"*.c\",\"ignore_case\":true,"
		  "\"limit\":1}",
		  ACT_GREP, ".", "x", "*.c", ERRAND_IGNORE_CASE, 0, 1 },
		{ "git_clone\",\"args\":{\"url\":\"https://h/a/b.git/\"}", ACT_GIT_CLONE,
		  "b", "https://h/a/b.git/", "", 0, 0, 0 },
		{ "git_clone\",\"args\":{\"url\":\"h:x\",\"path\":\"p\",\"branch\":\"m\",\"depth\":2}",
		  ACT_GIT_CLONE, "p", "h:x", "m", 0, 2, 0 },
		{ "git_branch\",\"args\":{\"name\":\"x\",\"create\":true}",
		  ACT_GIT_BRANCH, ".", "x", NULL, ERRAND_CREATE, 0, 0 },
		{ "git_changes\"", ACT_GIT_CHANGES, ".", "", NULL, 0, 0, 1000 },
		{ "git_diff\",\"args\":{\"path\":\"a\",\"ref\":\"b\"}", ACT_GIT_DIFF, "a",
		  "b", NULL, 0, 0, 0 },
		{ "git_setup\",\"args\":{\"email\":\"e\",\"init\":true}", ACT_GIT_SETUP,
		  ".", "", "e", ERRAND_CREATE, 0, 0 },
		{ "install_git_hooks\"", ACT_GIT_HOOKS, ".", NULL, NULL, 0, 0, 0 },
		{ "microagents\"", ACT_MICROAGENTS, ".", ".openhands/microagents", NULL,
		  0, 0, 0 },
	};
	char text[512];
	struct action a;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		(void)snprintf(text, sizeof(text), "{\"action\":\"%s}", rows[i].line);
		if (decode(text, &a, &e) < 0)
			fail_msg("%s: %s", text, e.text);
		assert_int_equal(a.kind, rows[i].kind);
		assert_true(action_is_errand(&a) && !action_is_edit(&a) &&
			    a.timeout_s == 120);
		assert_string_equal(a.path, rows[i].path);
		assert_string_equal(a.other ? a.other : "-",
				    rows[i].other ? rows[i].other : "-");
		assert_string_equal(a.include ? a.include : "-",
				    rows[i].include ? rows[i].include : "-");
		assert_true(a.errand_flags == rows[i].flags && a.depth == rows[i].depth &&
			    a.limit == rows[i].limit);
		action_done(&a);
	}
}

static void test_a_token_is_kept_for_a_server_that_it_may_be_sent_to(void **state)
{
	static const struct { const char *args, *secret;
	} rows[] = {
		{ "\"url\":\"https://h:1/x\",\"token\":\"t\"",
		  "username=x-access-token\npassword=t\n" },
		{ "\"url\":\"https://me@h/x\",\"token\":\"t\",\"user\":\"u\"",
		  "username=u\npassword=t\n" },
		{ "\"url\":\"http://127.0.0.1:80/x\",\"token\":\"t\",\"user\":\"\"",
		  "username=x-access-token\npassword=t\n" },
		{ "\"url\":\"http://[::1]/x\",\"token\":\"t\"",
		  "username=x-access-token\npassword=t\n" },
		{ "\"url\":\"http://h/x\"", "" },
		{ "\"url\":\"http://h/x\",\"token\":\"t\"", NULL },
		{ "\"url\":\"http://localhost.evil/x\",\"token\":\"t\"", NULL },
		{ "\"url\":\"http://127.0.0.1@evil/x\",\"token\":\"t\"", NULL },
		{ "\"url\":\"http://localhost:80@evil/x\",\"token\":\"t\"", NULL },
		{ "\"url\":\"https://h=x/x\",\"token\":\"t\"", NULL },
		{ "\"url\":\"https://:p@h/x\"", NULL },
		{ "\"url\":\"https://h/x\",\"token\":\"t\\nx\"", NULL },
		{ "\"url\":\"https://h/x\",\"token\":\"t\",\"user\":\"u\\nx\"", NULL },
	};
	struct action a;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_FREE char *text = text_format(
			"{\"action\":\"git_clone\",\"args\":{%s}}", rows[i].args);
		bool is_good = decode(text, &a, &e) == 0;
		AUTO_FREE char *secret = is_good ? action_git_secret(&a) : NULL;
		if (is_good != (rows[i].secret != NULL))
			fail_msg("%s: %s", text, is_good ? "taken" : e.text);
		if (is_good)
			assert_string_equal(secret ? secret : "", rows[i].secret);
		action_done(&a);
	}
}

static void test_a_setup_script_is_a_run_of_one_line(void **state)
{
	struct action a;
	struct err e;

	(void)state;
	assert_int_equal(
		decode("{\"action\":\"run_setup_script\",\"args\":{\"path\":\"a'; b\"}}",
		       &a, &e),
		0);
	assert_true(a.kind == ACT_RUN && a.is_blocking && a.timeout_s == 600 && !a.path);
	assert_non_null(strstr(a.command, "cd -- 'a'\\''; b' && if "));
	action_done(&a);
}

static void test_a_carriage_return_before_a_newline_is_none(void **state)
{
	static const struct {
		const char *given, *taken;
	} rows[] = {
		{ "a\\r\\nb\\r\\n\\r\\nc", "a\nb\n\nc" },
		{ "a\\rb\\r\\r\\nc", "a\rb\r\nc" },
		{ "a\\r\\n", "a" },
		{ "a\\nb", "a\nb" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char line[128];
		struct action a;
		struct err e;

		(void)snprintf(line, sizeof(line),
			       "{\"action\":\"run\",\"args\":{\"command\":\"%s\"}}",
			       rows[i].given);
		assert_int_equal(decode(line, &a, &e), 0);
		assert_string_equal(a.command, rows[i].taken);
		action_done(&a);
	}
}

static void test_control_keys(void **state)
{
	(void)state;
	assert_int_equal(action_control("C-c"), 'c');
	assert_int_equal(action_control("C-Z"), 'Z');
	assert_int_equal(action_control("C-\\"), '\\');
	assert_int_equal(action_control("CTRL+d"), 'd');
	assert_int_equal(action_control("Ctrl-D"), 'D');
	/* A combination with Control, although no such key exists. */
	assert_int_equal(action_control("C-1"), '1');
	assert_false(action_control("C-") || action_control("C-cc") ||
		     action_control("") || action_control("CTRL+") ||
		     action_control("CTRL c") || action_control("Up"));
	assert_true(action_is_key("Up") && action_is_key("C-c") &&
		    action_is_key("Enter") && action_is_key("C-1"));
	assert_false(action_is_key("") || action_is_key("up") || action_is_key("y"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_least_that_is_needed),
		cmocka_unit_test(test_any_other_action_may_be_a_plugins),
		cmocka_unit_test(
			test_the_name_and_the_arguments_of_a_plugins_action_are_bounded),
		cmocka_unit_test(test_no_plugin_can_claim_an_action_of_hutch),
		cmocka_unit_test(test_all_that_a_client_sends),
		cmocka_unit_test(test_invalid_actions_are_refused_with_a_reason),
		cmocka_unit_test(test_a_refused_line_keeps_its_id),
		cmocka_unit_test(test_texts_are_bounded),
		cmocka_unit_test(test_a_session_of_its_own_begins_somewhere),
		cmocka_unit_test(test_an_edit_is_taken_as_it_is_meant),
		cmocka_unit_test(test_numbers_of_lines_come_as_python_prints_them),
		cmocka_unit_test(test_no_range_is_none_and_a_long_one_is_cut),
		cmocka_unit_test(test_the_texts_of_an_edit_are_bounded_together),
		cmocka_unit_test(
			test_errands_have_what_they_were_asked_with_or_what_is_usual),
		cmocka_unit_test(
			test_a_token_is_kept_for_a_server_that_it_may_be_sent_to),
		cmocka_unit_test(test_a_setup_script_is_a_run_of_one_line),
		cmocka_unit_test(test_a_carriage_return_before_a_newline_is_none),
		cmocka_unit_test(test_control_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
