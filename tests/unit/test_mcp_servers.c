/* mcp_servers: the configuration of MCP servers, by OpenHands' rules. */
#include "gateway/relay/mcp_servers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"

static const struct {
	const char *body;
	int kind; /* ERR_NONE: it is read */
	const char *
		expect; /* NAME:WORD|WORD|;K=V|K=V| of each server; or a part of the error */
} cases[] = {
	{ "[]", ERR_NONE, "" },
	{ "[{\"name\":\"a\",\"command\":\"uvx\"}]", ERR_NONE, "a:uvx|;" },
	{ "[{\"name\":\" a-B_1 \",\"command\":\" uvx\\n\",\"args\":[\"mcp server\",\"\"],"
	  "\"env\":{\"K\":\"v=w\",\"L\":\"\"},\"other\":[1]}]",
	  ERR_NONE, "a-B_1:uvx|mcp server||;K=v=w|L=|" },
	{ "[{\"name\":\"a\",\"command\":\"x\",\"args\":null,\"env\":null}]", ERR_NONE,
	  "a:x|;" },
	{ "[{\"name\":\"a\",\"command\":\"x\","
	  "\"args\":\"  -y 'it s' \\\"a \\\\\\\" \\\\b\\\" c\\\\ d x'y'\\\"z\\\" ''\"}]",
	  ERR_NONE, "a:x|-y|it s|a \" \\b|c d|xyz||;" },
	{ "[{\"name\":\"a\",\"command\":\"x\",\"env\":\"K=1, L = a=b ,,K=2\"}]", ERR_NONE,
	  "a:x|;K=2|L= a=b|" },
	{ "[{\"name\":\"a\",\"command\":\"x\"},{\"name\":\"b\",\"command\":\"y\"},"
	  "{\"name\":\"a\",\"command\":\"z\"}]",
	  ERR_NONE, "a:z|;b:y|;" },
	{ "{}", ERR_USAGE, "Request must be a list of MCP tools to sync" },
	{ "\"x\"", ERR_USAGE, "Request must be a list" },
	{ "", ERR_PROTOCOL, "no JSON" },
	{ "[1]", ERR_PROTOCOL, "no name" },
	{ "[{\"name\":\"\",\"command\":\"x\"}]", ERR_PROTOCOL, "no name" },
	{ "[{\"name\":1,\"command\":\"x\"}]", ERR_PROTOCOL, "no name" },
	{ "[{\"name\":\"a b\",\"command\":\"x\"}]", ERR_PROTOCOL, "letters, digits" },
	{ "[{\"name\":\"a\"}]", ERR_PROTOCOL, "no command" },
	{ "[{\"name\":\"a\",\"command\":\"x y\"}]", ERR_PROTOCOL, "no space" },
	{ "[{\"name\":\"a\",\"command\":\"x\",\"args\":[1]}]", ERR_PROTOCOL, "args" },
	{ "[{\"name\":\"a\",\"command\":\"x\",\"args\":{}}]", ERR_PROTOCOL, "args" },
	{ "[{\"name\":\"a\",\"command\":\"x\",\"args\":\"'open\"}]", ERR_PROTOCOL,
	  "is open" },
	{ "[{\"name\":\"a\",\"command\":\"x\",\"args\":\"open\\\\\"}]", ERR_PROTOCOL,
	  "is open" },
	{ "[{\"name\":\"a\",\"command\":\"x\",\"env\":[]}]", ERR_PROTOCOL, "env" },
	{ "[{\"name\":\"a\",\"command\":\"x\",\"env\":{\"K\":1}}]", ERR_PROTOCOL, "env" },
	{ "[{\"name\":\"a\",\"command\":\"x\",\"env\":{\"\":\"1\"}}]", ERR_PROTOCOL,
	  "env" },
	{ "[{\"name\":\"a\",\"command\":\"x\",\"env\":{\"K=L\":\"1\"}}]", ERR_PROTOCOL,
	  "env" },
	{ "[{\"name\":\"a\",\"command\":\"x\",\"env\":\"K\"}]", ERR_PROTOCOL,
	  "KEY=VALUE" },
	{ "[{\"name\":\"a\",\"command\":\"x\",\"env\":\"1K=2\"}]", ERR_PROTOCOL,
	  "KEY=VALUE" },
};

static char *shown(const struct mcp_servers *s)
{
	char *text = text_copy("");

	for (size_t i = 0; i < s->count; i++) {
		AUTO_FREE char *before = text;
		AUTO_FREE char *words = list_join(&s->list[i].argv, 0, "|");
		AUTO_FREE char *env = list_join(&s->list[i].env, 0, "|");
		text = text_format("%s%s:%s|;%s%s", before, s->list[i].name, words, env,
				   s->list[i].env.count > 0 ? "|" : "");
	}
	return text;
}

static void test_configurations(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct mcp_servers s;
		struct err e = { 0 };
		int result =
			mcp_servers_read(&s, cases[i].body, strlen(cases[i].body), &e);
		AUTO_FREE char *text = shown(&s);
		if (e.kind != cases[i].kind || (result == 0) != (e.kind == ERR_NONE))
			fail_msg("%s: %d %s", cases[i].body, e.kind, e.text);
		if (result == 0)
			assert_string_equal(text, cases[i].expect);
		else if (!strstr(e.text, cases[i].expect))
			fail_msg("%s: %s", cases[i].body, e.text);
		mcp_servers_done(&s);
		mcp_servers_done(&s);
	}
}

static void test_servers_are_counted(void **state)
{
	struct list entries = { 0 };
	struct mcp_servers s;
	struct err e;

	(void)state;
	for (int i = 0; i <= MCP_SERVERS_MAX; i++)
		list_addf(&entries, "{\"name\":\"n%d\",\"command\":\"x\"}", i);
	AUTO_FREE char *inner = list_join(&entries, 0, ",");
	AUTO_FREE char *body = text_format("[%s]", inner);
	assert_int_equal(mcp_servers_read(&s, body, strlen(body), &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	mcp_servers_done(&s);
	list_done(&entries);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_configurations),
		cmocka_unit_test(test_servers_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
