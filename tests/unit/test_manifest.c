/* manifest: a plugin.json is read as docs/plugins.md says, and each fault in one is an
 * error that names its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/json/json.h"
#include "policy/plugin/manifest.h"

#define BEGIN "{\"name\":\"p\",\"version\":\"1\""
#define RUNS  BEGIN ",\"command\":[\"x\"]"

static struct err e;

static int read_text(const char *text, struct manifest *m)
{
	return manifest_read(text, strlen(text), "p", m, &e);
}

static void test_every_member_is_read(void **state)
{
	static const char text[] =
		BEGIN ",\"command\":[\"sh\",\"${plugin}/a\"],"
		"\"actions\":{\"act\":{\"args\":{\"a\":\"text\",\"b\":\"any\"},\"required\":[\"b\"],"
		"\"answer\":{\"content\":\"text\",\"n\":[\"png\"]},\"observation\":\"o\","
		"\"message\":\"m\"},\"more\":{}},"
		"\"requires\":{\"programs\":[\"sh\"],\"files\":[\"/f\"]},\"start\":\"launch\","
		"\"ready_s\":0.5,\"timeout_s\":7,\"grace_s\":2,\"environment\":{\"A\":\"b=c\"},"
		"\"path\":\"bin\",\"python_path\":\"lib/x\",\"port\":{\"inside\":8010},"
		"\"url\":\"/?t=${token}\",\"install\":{\"program\":\"i.sh\",\"allow\":[\"@pypi\"]}}";
	struct manifest m;

	(void)state;
	assert_int_equal(read_text(text, &m), 0);
	assert_string_equal(m.name, "p");
	assert_string_equal(m.version, "1");
	assert_string_equal(m.command.items[1], "${plugin}/a");
	assert_int_equal(m.action_count, 2);
	const struct plugin_action *a = manifest_action(&m, "act");
	assert_string_equal(a->observation, "o");
	assert_string_equal(a->message, "m");
	assert_false(manifest_member(&a->args, "a")->is_required);
	assert_true(manifest_member(&a->args, "b")->is_required);
	assert_int_equal(manifest_member(&a->args, "b")->type, PLUGIN_ANY);
	assert_true(manifest_member(&a->answer, "n")->is_list);
	assert_int_equal(manifest_member(&a->answer, "n")->type, PLUGIN_PNG);
	assert_string_equal(manifest_action(&m, "more")->observation, "more");
	assert_null(manifest_action(&m, "none"));
	assert_string_equal(m.programs.items[0], "sh");
	assert_string_equal(m.files.items[0], "/f");
	assert_true(m.starts_at_launch);
	assert_int_equal(m.ready_ms, 500);
	assert_int_equal(m.timeout_ms, 7000);
	assert_int_equal(m.grace_ms, 2000);
	assert_string_equal(m.environment.items[0], "A=b=c");
	assert_string_equal(m.path, "bin");
	assert_string_equal(m.python_path, "lib/x");
	assert_int_equal(m.port, 8010);
	assert_string_equal(m.url, "/?t=${token}");
	assert_string_equal(m.install, "i.sh");
	assert_string_equal(m.allow.items[0], "@pypi");
	manifest_done(&m);
}

static void test_a_small_one_has_defaults(void **state)
{
	struct manifest m;

	(void)state;
	assert_int_equal(read_text(BEGIN "}", &m), 0);
	assert_int_equal(m.ready_ms, 60000);
	assert_int_equal(m.timeout_ms, 120000);
	assert_int_equal(m.grace_ms, 5000);
	assert_false(m.starts_at_launch);
	assert_int_equal(m.port, 0);
	manifest_done(&m);
}

static void test_a_fault_is_told_with_its_place(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "", "plugin.json: line 1, column 1" },
		{ "[]", "plugin.json: an object was expected" },
		{ "{}", "plugin.json.name: a name of 1 to 32" },
		{ "{\"name\":\"P\"}", "plugin.json.name: a name" },
		{ "{\"name\":\"1p\"}", "plugin.json.name: a name" },
		{ "{\"name\":\"a/b\"}", "plugin.json.name: a name" },
		{ "{\"name\":\"q\",\"version\":\"1\"}", "it is 'q', and the folder's name is 'p'" },
		{ "{\"name\":\"p\"}", "plugin.json.version: a text of 1 to 32 visible ASCII" },
		{ "{\"name\":\"p\",\"version\":\"\\u001b[2J\"}", "plugin.json.version: a text of 1 to 32 visible ASCII" },
		{ "{\"name\":\"p\",\"version\":\"1\\n2\"}", "plugin.json.version: a text of 1 to 32 visible ASCII" },
		{ "{\"name\":\"p\",\"version\":\"\"}", "version: a text of 1 to 32" },
		{ "{\"name\":\"p\",\"version\":\"1 2\"}", "ASCII characters, without blanks, was" },
		{ BEGIN ",\"nonsense\":1}", "nonsense" },
		{ BEGIN ",\"command\":\"x\"}", "plugin.json.command: an array" },
		{ BEGIN ",\"command\":[1]}", "plugin.json.command[0]: a string" },
		{ BEGIN ",\"actions\":{\"a\":{}}}", "a command, which answers the actions" },
		{ RUNS ",\"actions\":{\"a b\":{}}}", "an action with a name" },
		{ RUNS ",\"actions\":{\"run\":{}}}", "actions.run: an action that hutch does not do" },
		{ RUNS ",\"actions\":{\"a\":{\"observation\":\"a b\"}}}", "actions.a: an observation of" },
		{ RUNS ",\"actions\":{\"a\":{\"answer\":{\"content\":\"number\"}}}}", "a text for \"content\"" },
		{ RUNS ",\"actions\":{\"a\":{\"answer\":{\"content\":[\"text\"]}}}}", "a text for \"content\"" },
		{ RUNS ",\"actions\":{\"a\":{\"more\":1}}}", "plugin.json.actions.a" },
		{ RUNS ",\"actions\":{\"a\":{\"args\":{\"x\":\"png\"}}}}", "args.x: text, number, flag or any" },
		{ RUNS ",\"actions\":{\"a\":{\"args\":{\"x\":[\"text\"]}}}}", "args.x: a string" },
		{ RUNS ",\"actions\":{\"a\":{\"args\":{\"x y\":\"text\"}}}}", "args.x y: a name of 1 to 64" },
		{ RUNS ",\"actions\":{\"a\":{\"answer\":{\"x\":\"any\"}}}}", "answer.x: text, number, flag, png" },
		{ RUNS ",\"actions\":{\"a\":{\"answer\":{\"x\":[]}}}}", "answer.x: a list with one type" },
		{ RUNS ",\"actions\":{\"a\":{\"answer\":{\"x\":[\"text\",\"png\"]}}}}", "a list with one type" },
		{ RUNS ",\"actions\":{\"a\":{\"required\":[\"x\"]}}}", "required[0]: a name of \"args\"" },
		{ BEGIN ",\"start\":\"now\"}", "plugin.json.start: lazy or launch" },
		{ BEGIN ",\"ready_s\":0}", "plugin.json.ready_s: a number of seconds" },
		{ BEGIN ",\"grace_s\":1e9}", "plugin.json.grace_s: a number of seconds" },
		{ BEGIN ",\"environment\":{\"A B\":\"\"}}", "plugin.json.environment.A B: a name" },
		{ BEGIN ",\"environment\":{\"1A\":\"\"}}", "plugin.json.environment.1A: a name" },
		{ BEGIN ",\"path\":\"/bin\"}", "plugin.json.path: a path below" },
		{ BEGIN ",\"path\":\"a/../..\"}", "plugin.json.path: a path below" },
		{ BEGIN ",\"path\":\"bin:/tmp\"}", "plugin.json.path: a path below" },
		{ BEGIN ",\"python_path\":\":\"}", "plugin.json.python_path: a path below" },
		{ BEGIN ",\"python_path\":\"..\"}", "plugin.json.python_path: a path below" },
		{ BEGIN ",\"port\":{\"inside\":0}}", "plugin.json.port.inside: a port" },
		{ BEGIN ",\"port\":{\"inside\":65536}}", "plugin.json.port.inside: a port" },
		{ BEGIN ",\"path\":\"\"}", "plugin.json.path: a text of 1 to 255" },
		{ BEGIN ",\"port\":{\"inside\":1,\"more\":2}}", "plugin.json.port" },
		{ BEGIN ",\"install\":{\"program\":\"i\",\"more\":1}}", "plugin.json.install" },
		{ BEGIN ",\"port\":{}}", "plugin.json.port: a member \"inside\"" },
		{ BEGIN ",\"url\":\"/\"}", "a port beside \"url\"" },
		{ BEGIN ",\"port\":{\"inside\":1},\"url\":\"@h/${token}\"}", "plugin.json.url: a path and query" },
		{ BEGIN ",\"port\":{\"inside\":1},\"url\":\"x\"}", "plugin.json.url: a path and query" },
		{ BEGIN ",\"port\":{\"inside\":1},\"url\":\"/ x\"}", "plugin.json.url: a path and query" },
		{ BEGIN ",\"port\":{\"inside\":1},\"url\":\"/\\u001b\"}", "plugin.json.url: a path and query" },
		{ BEGIN ",\"install\":{}}", "plugin.json.install: a member \"program\"" },
		{ BEGIN ",\"install\":{\"program\":\"../x\"}}", "plugin.json.install.program: a path below" },
		{ BEGIN ",\"requires\":{\"libraries\":[]}}", "plugin.json.requires" },
		{ BEGIN ",\"requires\":{\"files\":[\"/a\",\"b\"]}}", "requires.files[1]: a path that begins with /" },
	};
	struct manifest m;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (read_text(rows[i].text, &m) == 0)
			fail_msg("taken: %s", rows[i].text);
		if (!strstr(e.text, rows[i].says))
			fail_msg("%s\n says '%s'", rows[i].text, e.text);
	}
}

/* Returns BEGIN, COUNT times `one` with a number in it, and END; allocated. */
static char *many(const char *begin, const char *one, unsigned count, const char *end)
{
	char *all = text_copy(begin);

	for (unsigned i = 0; i < count; i++) {
		char *longer = text_format("%s%s\"m%u\"%s", all, i ? "," : "", i, one);
		free(all);
		all = longer;
	}
	char *text = text_format("%s%s", all, end);
	free(all);
	return text;
}

static void test_each_list_and_object_has_its_bound(void **state)
{
	static const struct {
		const char *begin, *one;
		unsigned max;
		const char *end, *says;
	} rows[] = {
		{ BEGIN ",\"command\":[", "", MANIFEST_WORDS_MAX, "]}",
		  "at most 64 texts" },
		{ BEGIN ",\"environment\":{", ":\"\"", MANIFEST_WORDS_MAX, "}}",
		  "at most 64 variables" },
		{ RUNS ",\"actions\":{", ":{}", MANIFEST_ACTIONS_MAX, "}}",
		  "at most 32 actions" },
		{ RUNS ",\"actions\":{\"a\":{\"args\":{", ":\"any\"",
		  MANIFEST_MEMBERS_MAX, "}}}}", "at most 64 members" },
		{ RUNS ",\"actions\":{\"a\":{\"answer\":{", ":\"text\"",
		  MANIFEST_MEMBERS_MAX, "}}}}", "at most 64 members" },
	};
	struct manifest m;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_FREE char *most =
			many(rows[i].begin, rows[i].one, rows[i].max, rows[i].end);
		AUTO_FREE char *more =
			many(rows[i].begin, rows[i].one, rows[i].max + 1, rows[i].end);
		if (read_text(most, &m) < 0)
			fail_msg("%s: %s", most, e.text);
		manifest_done(&m);
		if (read_text(more, &m) == 0 || !strstr(e.text, rows[i].says))
			fail_msg("%s: %s", more, e.text);
	}
}

static void test_each_text_has_its_bound(void **state)
{
	static const struct {
		const char *begin, *end;
		int max;
	} rows[] = {
		{ "{\"version\":\"1\",\"name\":\"", "\"}", MANIFEST_NAME_MAX },
		{ "{\"name\":\"p\",\"version\":\"", "\"}", MANIFEST_NAME_MAX },
		{ RUNS ",\"actions\":{\"", "\":{}}}", MANIFEST_MEMBER_MAX },
		{ RUNS ",\"actions\":{\"a\":{\"observation\":\"", "\"}}}",
		  MANIFEST_MEMBER_MAX },
		{ RUNS ",\"actions\":{\"a\":{\"message\":\"", "\"}}}", 200 },
		{ BEGIN ",\"path\":\"", "\"}", 255 },
		{ BEGIN ",\"port\":{\"inside\":1},\"url\":\"/", "\"}", 254 },
	};
	char text[257];
	struct manifest m;

	(void)state;
	memset(text, 'a', sizeof(text));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *begin = rows[i].begin, *end = rows[i].end;
		int max = rows[i].max;
		AUTO_FREE char *most = text_format("%s%.*s%s", begin, max, text, end);
		AUTO_FREE char *more = text_format("%s%.*s%s", begin, max + 1, text, end);
		if (manifest_read(most, strlen(most), NULL, &m, &e) < 0)
			fail_msg("%s: %s", most, e.text);
		manifest_done(&m);
		if (manifest_read(more, strlen(more), NULL, &m, &e) == 0)
			fail_msg("taken: %s", more);
	}
}

static void test_arguments_are_those_of_the_schema(void **state)
{
	static const struct {
		const char *args, *says; /* NULL: they are taken */
	} rows[] = {
		{ "{\"t\":\"x\"}", NULL },
		{ "{\"t\":\"x\",\"n\":1,\"f\":true,\"a\":[1]}", NULL },
		{ "{\"t\":\"x\",\"n\":null}", NULL },
		{ "{}", "args.t: it is missing" },
		{ "{\"t\":null}", "args.t: it is missing" },
		{ "{\"t\":\"x\",\"y\":1}", "'act' takes no 'y'" },
		{ "{\"t\":1}", "args.t: a string" },
		{ "{\"t\":\"x\",\"n\":\"1\"}", "args.n: a number" },
		{ "{\"t\":\"x\",\"f\":0}", "args.f: true or false" },
		{ "[]", "args: an object" },
	};
	struct manifest m;
	struct json_at args;

	(void)state;
	assert_int_equal(
		read_text(
			RUNS
			",\"actions\":{\"act\":{\"args\":{\"t\":\"text\",\"n\":\"number\","
			"\"f\":\"flag\",\"a\":\"any\"},\"required\":[\"t\"]}}}",
			&m),
		0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_JSON struct json *doc =
			json_parse(rows[i].args, strlen(rows[i].args), &e);
		json_root(doc, "args", &args);
		int taken = manifest_check_args(manifest_action(&m, "act"), &args, &e);
		if (taken != (rows[i].says ? -1 : 0))
			fail_msg("%s: %d", rows[i].args, taken);
		if (rows[i].says && !strstr(e.text, rows[i].says))
			fail_msg("%s\n says '%s'", rows[i].args, e.text);
	}
	manifest_done(&m);
}

static void test_a_name_below_the_folder_may_have_dots(void **state)
{
	struct manifest m;

	(void)state;
	assert_int_equal(read_text(BEGIN ",\"path\":\"a/..b/.c/...\"}", &m), 0);
	manifest_done(&m);
}

static void test_a_file_that_is_too_long_is_refused(void **state)
{
	AUTO_FREE char *text = mem_zeroed(1, MANIFEST_MAX + 1);
	struct manifest m;

	(void)state;
	memset(text, ' ', MANIFEST_MAX + 1);
	memcpy(text, BEGIN "}", strlen(BEGIN "}"));
	assert_int_equal(manifest_read(text, MANIFEST_MAX + 1, "p", &m, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	assert_int_equal(manifest_read(text, MANIFEST_MAX, "p", &m, &e), 0);
	manifest_done(&m);
}

static void test_a_word_is_expanded_wherever_it_names_the_folder(void **state)
{
	AUTO_FREE char *both = manifest_expand("${plugin}/a:${plugin}", "/f${plugin}");
	AUTO_FREE char *none = manifest_expand("$plugin", "/f");

	(void)state;
	assert_string_equal(both, "/f${plugin}/a:/f${plugin}");
	assert_string_equal(none, "$plugin");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_member_is_read),
		cmocka_unit_test(test_a_small_one_has_defaults),
		cmocka_unit_test(test_a_fault_is_told_with_its_place),
		cmocka_unit_test(test_each_list_and_object_has_its_bound),
		cmocka_unit_test(test_each_text_has_its_bound),
		cmocka_unit_test(test_arguments_are_those_of_the_schema),
		cmocka_unit_test(test_a_name_below_the_folder_may_have_dots),
		cmocka_unit_test(test_a_file_that_is_too_long_is_refused),
		cmocka_unit_test(test_a_word_is_expanded_wherever_it_names_the_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
