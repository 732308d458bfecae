/* message (of hutch mcp): reads one message of a client, of either era of the protocol. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"
#include "mcp/message.h"

#define VERSION	     "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\""
#define CAPABILITIES "\"io.modelcontextprotocol/clientCapabilities\":"
#define REQUEST	     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":"

static const struct {
	const char *line;
	enum message_kind kind;
	int code;
	const char *id; /* NULL: there is none */
} lines[] = {
	{ "", MESSAGE_REFUSED, MESSAGE_NO_JSON, NULL },
	{ "{", MESSAGE_REFUSED, MESSAGE_NO_JSON, NULL },
	{ "5", MESSAGE_REFUSED, MESSAGE_BAD, NULL },
	{ "[]", MESSAGE_BATCH, 0, NULL },
	{ "{}", MESSAGE_REFUSED, MESSAGE_BAD, NULL },
	{ REQUEST "{}}", MESSAGE_REQUEST, 0, "1" },
	{ REQUEST "[]}", MESSAGE_REFUSED, MESSAGE_BAD_PARAMS, "1" },
	{ REQUEST "null}", MESSAGE_REFUSED, MESSAGE_BAD_PARAMS, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0062\",\"method\":\"m\"}", MESSAGE_REQUEST, 0,
	  "\"a\\u0062\"" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":-7,\"method\":\"m\"}", MESSAGE_REQUEST, 0, "-7" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1e3,\"method\":\"m\"}", MESSAGE_REFUSED, MESSAGE_BAD,
	  NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}", MESSAGE_REFUSED, MESSAGE_BAD,
	  NULL },
	{ "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}", MESSAGE_NOTIFICATION, 0, NULL },
	{ "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"m\"}", MESSAGE_REFUSED, MESSAGE_BAD,
	  "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":{}}", MESSAGE_REFUSED, MESSAGE_BAD, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", MESSAGE_RESPONSE, 0, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}", MESSAGE_RESPONSE, 0, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1}", MESSAGE_REFUSED, MESSAGE_BAD, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"result\":{}}", MESSAGE_REFUSED, MESSAGE_BAD, NULL },
};

static void test_each_line_is_told_by_its_kind(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct message m;

		message_read(&m, lines[i].line, strlen(lines[i].line));
		assert_int_equal(m.kind, lines[i].kind);
		assert_int_equal(m.code, lines[i].code);
		if (lines[i].id)
			assert_string_equal(m.id, lines[i].id);
		else
			assert_null(m.id);
		message_done(&m);
	}
}

static const struct {
	const char *meta;
	bool is_modern, has_capabilities, can_ask;
	const char *token; /* NULL: there is none */
} metas[] = {
	{ "", false, false, false, NULL },
	{ "\"progressToken\":5", false, false, false, "5" },
	{ "\"progressToken\":\"x\"", false, false, false, "\"x\"" },
	{ "\"progressToken\":1.5", false, false, false, NULL },
	{ "\"progressToken\":[1]", false, false, false, NULL },
	{ VERSION, true, false, false, NULL },
	{ VERSION "," CAPABILITIES "{}", true, true, false, NULL },
	{ VERSION "," CAPABILITIES "5", true, false, false, NULL },
	{ VERSION "," CAPABILITIES "{\"elicitation\":{}}", true, true, true, NULL },
	{ VERSION "," CAPABILITIES "{\"elicitation\":{\"form\":{}}}", true, true, true, NULL },
	{ VERSION "," CAPABILITIES "{\"elicitation\":{\"url\":{}}}", true, true, false, NULL },
	{ VERSION "," CAPABILITIES "{\"elicitation\":{\"url\":{},\"form\":{}}}", true, true,
	  true, NULL },
	{ VERSION "," CAPABILITIES "{\"elicitation\":true}", true, true, false, NULL },
	{ "\"io.modelcontextprotocol/protocolVersion\":5", false, false, false, NULL },
};

static void test_a_request_tells_its_era_and_its_client(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(metas); i++) {
		char line[512];
		struct message m;

		const int len = snprintf(line, sizeof(line), REQUEST "{\"_meta\":{%s}}}",
					 metas[i].meta);
		message_read(&m, line, (size_t)len);
		assert_int_equal(m.kind, MESSAGE_REQUEST);
		assert_int_equal(m.version != NULL, metas[i].is_modern);
		assert_int_equal(m.has_capabilities, metas[i].has_capabilities);
		assert_int_equal(m.can_ask, metas[i].can_ask);
		if (metas[i].token)
			assert_string_equal(m.token, metas[i].token);
		else
			assert_null(m.token);
		message_done(&m);
	}
}

static void test_an_id_has_a_bound(void **state)
{
	char line[400], id[MESSAGE_WORD_MAX];
	struct message m;

	(void)state;
	memset(id, 'x', sizeof(id));
	for (int len = MESSAGE_WORD_MAX - 2; len < MESSAGE_WORD_MAX; len++) {
		const int size = snprintf(line, sizeof(line),
					  "{\"jsonrpc\":\"2.0\",\"id\":\"%.*s\","
					  "\"method\":\"m\"}",
					  len, id);
		message_read(&m, line, (size_t)size);
		assert_int_equal(m.kind, len == MESSAGE_WORD_MAX - 2 ? MESSAGE_REQUEST
								     : MESSAGE_REFUSED);
		message_done(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_line_is_told_by_its_kind),
		cmocka_unit_test(test_a_request_tells_its_era_and_its_client),
		cmocka_unit_test(test_an_id_has_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
