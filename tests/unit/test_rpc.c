/* rpc: reads a line of the control socket as a request, or as an error that tells
 * the reason. */
#include "supervisor/rpc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"

#define TEXT(s)	  (s), sizeof(s) - 1
#define START	  "{\"jsonrpc\":\"2.0\","
#define REQUEST(s) TEXT(START s "}")
#define X16	  "xxxxxxxxxxxxxxxx"
#define X64	  X16 X16 X16 X16
#define OPEN16	  "[[[[[[[[[[[[[[[["
#define CLOSE16	  "]]]]]]]]]]]]]]]]"

static const struct sample {
	const char *text;
	size_t len;
	int code;
	const char *id;	  /* as JSON */
	const char *says; /* the request's method, or a part of the error */
} samples[] = {
	{ REQUEST("\"id\":1,\"method\":\"m\""), 0, "1", "m" },
	{ REQUEST("\"id\":0,\"method\":\"\""), 0, "0", "" },
	{ REQUEST("\"id\":1.0,\"method\":\"m\""), 0, "1", "m" },
	{ REQUEST("\"id\":9007199254740992,\"method\":\"m\",\"params\":{}"), 0,
	  "9007199254740992", "m" },
	{ REQUEST("\"id\":\"\",\"method\":\"m\""), 0, "\"\"", "m" },
	{ REQUEST("\"id\":\"a\\\"\\n\\u0001\",\"method\":\"m\""), 0,
	  "\"a\\\"\\u000a\\u0001\"", "m" },
	{ REQUEST("\"id\":\"" X64 "\",\"method\":\"m\""), 0, "\"" X64 "\"", "m" },
	{ REQUEST("\"id\":1,\"method\":\"m\",\"params\":{\"a\":[1]}"), 0, "1", "m" },
	{ REQUEST("\"id\":1,\"method\":\"m\",\"params\":null"), 0, "1", "m" },
	{ TEXT(" { \"method\" : \"m\" , \"id\" : 7 , \"jsonrpc\" : \"2.0\" } \r"), 0, "7",
	  "m" },

	{ TEXT(""), RPC_PARSE, "null", "" },
	{ TEXT("{"), RPC_PARSE, "null", "" },
	{ TEXT("\0"), RPC_PARSE, "null", "" },
	{ TEXT("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"} x"), RPC_PARSE, "null",
	  "" },
	{ REQUEST("\"id\":1,\"id\":1,\"method\":\"m\""), RPC_PARSE, "null", "twice" },
	{ REQUEST("\"id\":1,\"method\":\"m\",\"params\":{\"a\":1,\"a\":1}"), RPC_PARSE,
	  "null", "twice" },
	{ REQUEST("\"id\":9007199254740993,\"method\":\"m\""), RPC_PARSE, "null", "" },
	{ REQUEST("\"id\":1e400,\"method\":\"m\""), RPC_PARSE, "null", "" },
	{ REQUEST("\"id\":\"\\u0000\",\"method\":\"m\""), RPC_PARSE, "null", "u0000" },
	{ REQUEST("\"id\":\"\xff\",\"method\":\"m\""), RPC_PARSE, "null", "UTF-8" },
	{ TEXT(OPEN16 OPEN16 OPEN16 OPEN16 "[]" CLOSE16 CLOSE16 CLOSE16 CLOSE16),
	  RPC_PARSE, "null", "64" },
	{ TEXT(OPEN16 OPEN16 OPEN16 OPEN16 CLOSE16 CLOSE16 CLOSE16 CLOSE16), RPC_REQUEST,
	  "null", "object" },

	{ TEXT("[]"), RPC_REQUEST, "null", "an object was expected" },
	{ TEXT("null"), RPC_REQUEST, "null", "an object was expected" },
	{ TEXT("{}"), RPC_REQUEST, "null", "id" },
	{ REQUEST("\"method\":\"m\""), RPC_REQUEST, "null", "notifications" },
	{ REQUEST("\"id\":null,\"method\":\"m\""), RPC_REQUEST, "null", "notifications" },
	{ REQUEST("\"id\":-1,\"method\":\"m\""), RPC_REQUEST, "null", "whole number" },
	{ REQUEST("\"id\":0.5,\"method\":\"m\""), RPC_REQUEST, "null", "whole number" },
	{ REQUEST("\"id\":true,\"method\":\"m\""), RPC_REQUEST, "null", "string" },
	{ REQUEST("\"id\":{},\"method\":\"m\""), RPC_REQUEST, "null", "string" },
	{ REQUEST("\"id\":\"" X64 "x\",\"method\":\"m\""), RPC_REQUEST, "null", "64" },
	{ TEXT("{\"id\":1,\"method\":\"m\"}"), RPC_REQUEST, "1", "jsonrpc" },
	{ TEXT("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"m\"}"), RPC_REQUEST, "1",
	  "jsonrpc" },
	{ TEXT("{\"jsonrpc\":2.0,\"id\":\"a\",\"method\":\"m\"}"), RPC_REQUEST, "\"a\"",
	  "jsonrpc" },
	{ REQUEST("\"id\":1"), RPC_REQUEST, "1", "method" },
	{ REQUEST("\"id\":1,\"method\":null"), RPC_REQUEST, "1", "method" },
	{ REQUEST("\"id\":1,\"method\":1"), RPC_REQUEST, "1", "method" },
	{ REQUEST("\"id\":1,\"method\":\"m\",\"more\":1"), RPC_REQUEST, "1", "'more'" },
	{ REQUEST("\"id\":1,\"method\":\"m\",\"Params\":{}"), RPC_REQUEST, "1",
	  "'Params'" },

	{ REQUEST("\"id\":1,\"method\":\"m\",\"params\":[]"), RPC_PARAMS, "1", "params" },
	{ REQUEST("\"id\":1,\"method\":\"m\",\"params\":\"x\""), RPC_PARAMS, "1",
	  "params" },
	{ REQUEST("\"id\":1,\"method\":\"m\",\"params\":false"), RPC_PARAMS, "1",
	  "params" },
};

static void each_line_is_a_request_or_says_why_not(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		const struct sample *s = &samples[i];
		struct rpc_request r;
		struct err e = { 0 };
		int code = rpc_decode(s->text, s->len, &r, &e);

		if (code != s->code || strcmp(r.id, s->id) != 0)
			fail_msg("%s: %d with the id %s", s->text, code, r.id);
		if (code == 0)
			assert_string_equal(r.method, s->says);
		else if (!e.text[0] || !strstr(e.text, s->says))
			fail_msg("%s: '%s'", s->text, e.text);
		rpc_done(&r);
		rpc_done(&r); /* the second call must do nothing */
	}
}

static void params_are_an_object_or_no_value(void **state)
{
	struct rpc_request r;
	struct json_at a;
	struct err e;

	(void)state;
	assert_int_equal(rpc_decode(REQUEST("\"id\":1,\"method\":\"m\""), &r, &e), 0);
	assert_null(r.params.value);
	rpc_done(&r);
	assert_int_equal(
		rpc_decode(REQUEST("\"id\":1,\"method\":\"m\",\"params\":{\"a\":1}"), &r,
			   &e),
		0);
	assert_true(json_member(&r.params, "a", &a));
	rpc_done(&r);
}

static void more_values_than_allowed_are_refused(void **state)
{
	const size_t len = 2 * JSON_VALUES_MAX - 1;
	char *text = malloc(len + 2);
	struct rpc_request r;
	struct err e;

	(void)state;
	assert_non_null(text);
	/* The array counts as one value more. */
	for (size_t i = 0; i < len; i++)
		text[i] = i % 2 ? '0' : ',';
	text[0] = '[';
	memcpy(text + len - 1, "]", 1);
	assert_int_equal(rpc_decode(text, len, &r, &e), RPC_REQUEST);
	rpc_done(&r);
	memcpy(text + len - 1, ",0]", 3);
	assert_int_equal(rpc_decode(text, len + 2, &r, &e), RPC_PARSE);
	rpc_done(&r);
	free(text);
}

static void expect_line(struct buffer *out, const char *line)
{
	assert_int_equal(buffer_len(out), strlen(line));
	assert_memory_equal(buffer_data(out), line, strlen(line));
	buffer_done(out);
}

static void answers_are_lines(void **state)
{
	struct buffer out;
	struct err e;

	(void)state;
	buffer_init(&out, 4096);
	rpc_put_result(&out, "1", "{}");
	expect_line(&out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
	buffer_init(&out, 4096);
	(void)err_set(&e, ERR_NOT_FOUND, "no \"process\"\n\x80");
	(void)err_remedy(&e, "look again");
	rpc_put_error(&out, "\"a\"", RPC_FAILED, &e);
	expect_line(
		&out,
		"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":-32000,\"message\":"
		"\"no \\\"process\\\"\\n\xef\xbf\xbd\",\"data\":{\"kind\":\"not_found\","
		"\"remedy\":\"look again\"}}}\n");
	buffer_init(&out, 4096);
	errno = ENOENT;
	(void)err_sys(&e, "x");
	rpc_put_not_started(&out, "2", 127, &e);
	expect_line(
		&out,
		"{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32000,\"message\":"
		"\"x: No such file or directory\",\"data\":{\"kind\":\"not_found\","
		"\"remedy\":null,\"exit_code\":127}}}\n");
}

static void kinds_have_the_names_of_the_contract(void **state)
{
	static const char *const names[ERR_KIND_COUNT] = {
		[ERR_NONE] = "internal",       [ERR_USAGE] = "invalid",
		[ERR_NOT_FOUND] = "not_found", [ERR_EXISTS] = "exists",
		[ERR_BUSY] = "busy",	       [ERR_REFUSED] = "refused",
		[ERR_LIMIT] = "limit",	       [ERR_UNSUPPORTED] = "unsupported",
		[ERR_GONE] = "disconnected",   [ERR_PROTOCOL] = "internal",
		[ERR_SYSTEM] = "internal",     [ERR_INTERNAL] = "internal",
	};
	struct err e = { 0 };

	(void)state;
	for (int kind = 0; kind < ERR_KIND_COUNT; kind++) {
		e.kind = (enum err_kind)kind;
		assert_string_equal(rpc_kind(&e), names[kind]);
	}
	errno = ENOSPC;
	(void)err_sys(&e, "write");
	assert_string_equal(rpc_kind(&e), "no_space");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_line_is_a_request_or_says_why_not),
		cmocka_unit_test(params_are_an_object_or_no_value),
		cmocka_unit_test(more_values_than_allowed_are_refused),
		cmocka_unit_test(answers_are_lines),
		cmocka_unit_test(kinds_have_the_names_of_the_contract),
	};

	return cmocka_run_group_tests_name("rpc", tests, NULL, NULL);
}
