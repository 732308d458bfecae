/* mcp_relay: which side gets which line, for one server and for several. */
#include "gateway/relay/mcp_relay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

static const char *const names[] = { "a", "b", "a_b" };

/* Each of these takes a message with ' in place of ". */
static char *quoted(const char *text)
{
	char *copy = text_copy(text);

	for (char *c = copy; *c; c++)
		if (*c == '\'')
			*c = '"';
	return copy;
}

static void posts(struct mcp_relay *r, const char *text)
{
	AUTO_FREE char *message = quoted(text);

	assert_true(mcp_relay_post(r, message, strlen(message), 1000));
}

static void hears(struct mcp_relay *r, size_t server, const char *text)
{
	AUTO_FREE char *message = quoted(text);
	AUTO_FREE char *line = text_format("%s\n", message);

	mcp_relay_heard(r, server, line, strlen(line));
}

static void sends(struct mcp_relay *r, size_t to, const char *text)
{
	AUTO_FREE char *message = quoted(text);
	struct mcp_line line;

	if (!mcp_relay_next(r, &line))
		fail_msg("nothing was sent instead of %s", text);
	AUTO_FREE char *sent = line.text;
	assert_string_equal(sent, message);
	assert_int_equal(line.to, to);
	assert_int_equal(line.len, strlen(sent));
}

static void sends_nothing(struct mcp_relay *r)
{
	struct mcp_line line;

	if (mcp_relay_next(r, &line))
		fail_msg("%s", line.text);
	assert_int_equal(mcp_relay_waiting(r), 0);
}

/* --- one server -------------------------------------------------------------- */

static void test_one_servers_messages_go_through(void **state)
{
	struct mcp_relay *r = mcp_relay_new(names, 1);

	(void)state;
	posts(r, "{'jsonrpc':'2.0','id':7,'method':'tools/list','params':{'x':[1, 2]}}");
	sends(r, 0,
	      "{'jsonrpc':'2.0','id':1,'method':'tools/list','params':{'x':[1, 2]}}");
	posts(r, "{'jsonrpc':'2.0','id':'seven','method':'own/method'}");
	sends(r, 0, "{'jsonrpc':'2.0','id':2,'method':'own/method'}");
	hears(r, 0, "{'jsonrpc':'2.0','id':2,'error':{'code':-1,'message':'no'}}");
	sends(r, MCP_CLIENT,
	      "{'jsonrpc':'2.0','id':'seven','error':{'code':-1,'message':'no'}}");
	hears(r, 0, "{'jsonrpc':'2.0','id':1,'result':{'tools':[{'name':'t'}]}}");
	sends(r, MCP_CLIENT,
	      "{'jsonrpc':'2.0','id':7,'result':{'tools':[{'name':'t'}]}}");
	hears(r, 0, "{'jsonrpc':'2.0','id':1,'result':{}}");
	posts(r, "{'jsonrpc':'2.0','method':'notifications/initialized'}");
	sends(r, 0, "{'jsonrpc':'2.0','method':'notifications/initialized'}");
	hears(r, 0, "{'jsonrpc':'2.0','method':'notifications/message','params':{}}");
	sends(r, MCP_CLIENT,
	      "{'jsonrpc':'2.0','method':'notifications/message','params':{}}");
	sends_nothing(r);
	mcp_relay_free(r);
}

static void test_a_server_can_ask_the_client(void **state)
{
	struct mcp_relay *r = mcp_relay_new(names, 2);

	(void)state;
	hears(r, 0, "{'jsonrpc':'2.0','id':0,'method':'roots/list'}");
	sends(r, MCP_CLIENT, "{'jsonrpc':'2.0','id':1,'method':'roots/list'}");
	hears(r, 1, "{'jsonrpc':'2.0','id':0,'method':'roots/list'}");
	sends(r, MCP_CLIENT, "{'jsonrpc':'2.0','id':2,'method':'roots/list'}");
	/* Neither a server nor the client answers a request that was not sent to it. */
	hears(r, 0, "{'jsonrpc':'2.0','id':2,'result':{}}");
	posts(r, "{'jsonrpc':'2.0','id':3,'result':{}}");
	sends_nothing(r);
	posts(r, "{'jsonrpc':'2.0','id':2,'result':{'roots':[]}}");
	sends(r, 1, "{'jsonrpc':'2.0','id':0,'result':{'roots':[]}}");
	mcp_relay_ended(r, 0);
	posts(r, "{'jsonrpc':'2.0','id':1,'result':{'roots':[]}}");
	sends_nothing(r);
	mcp_relay_free(r);
}

static void test_lines_come_in_pieces(void **state)
{
	static const char text[] =
		"note\r\n{\"jsonrpc\":\"2.0\",\r \"method\":\"x\"}\r\n\n{";
	struct mcp_relay *r = mcp_relay_new(names, 1);

	(void)state;
	for (size_t i = 0; text[i]; i++)
		mcp_relay_heard(r, 0, text + i, 1);
	sends(r, MCP_CLIENT, "{'jsonrpc':'2.0',  'method':'x'}");
	sends_nothing(r);
	mcp_relay_free(r);
}

static void test_a_clients_message_is_one_line(void **state)
{
	struct mcp_relay *r = mcp_relay_new(names, 1);

	(void)state;
	posts(r,
	      "{\n  'jsonrpc': '2.0',\r\n  'method': 'x',\n  'params': {\n'k\\n': 1 }\n}\n");
	sends(r, 0,
	      "{   'jsonrpc': '2.0',    'method': 'x',   'params': { 'k\\n': 1 } }");
	posts(r, "{'id':1,'method':'x','params':{\n'k': 1 }}");
	sends(r, 0, "{'id':1,'method':'x','params':{ 'k': 1 }}");
	mcp_relay_free(r);
}

static void test_no_message_is_refused(void **state)
{
	static const char *const bad[] = { "",
					   "x",
					   "[]",
					   "{}",
					   "{\"id\":1}",
					   "{\"id\":[],\"method\":\"x\"}",
					   "{\"method\":1}",
					   "{\"id\":1,\"method\":\"x\"}{}" };
	struct mcp_relay *r = mcp_relay_new(names, 1);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(mcp_relay_post(r, bad[i], strlen(bad[i]), 0));
	sends_nothing(r);
	mcp_relay_free(r);
}

static void test_a_request_that_is_given_up(void **state)
{
	struct mcp_relay *r = mcp_relay_new(names, 1);

	(void)state;
	posts(r, "{'id':'x','method':'m'}");
	sends(r, 0, "{'id':1,'method':'m'}");
	posts(r,
	      "{'method':'notifications/cancelled','params':{'requestId':'y','reason':'r'}}");
	sends_nothing(r);
	posts(r,
	      "{'method':'notifications/cancelled','params':{'requestId':'x','reason':'r'}}");
	sends(r, 0,
	      "{'jsonrpc':'2.0','method':'notifications/cancelled',"
	      "'params':{'requestId':1,'reason':'r'}}");
	hears(r, 0, "{'id':1,'result':{}}");
	sends_nothing(r);
	mcp_relay_free(r);
}

static void test_a_request_of_a_server_that_ends_is_answered(void **state)
{
	struct mcp_relay *r = mcp_relay_new(names, 1);

	(void)state;
	posts(r, "{'id':'x','method':'m'}");
	sends(r, 0, "{'id':1,'method':'m'}");
	assert_false(mcp_relay_is_over(r));
	mcp_relay_ended(r, 0);
	assert_true(mcp_relay_is_over(r));
	sends(r, MCP_CLIENT,
	      "{'jsonrpc':'2.0','id':'x','error':{'code':-32603,"
	      "'message':'the MCP server has ended'}}");
	posts(r, "{'id':'y','method':'m'}");
	sends(r, MCP_CLIENT,
	      "{'jsonrpc':'2.0','id':'y','error':{'code':-32603,"
	      "'message':'the MCP server has ended'}}");
	posts(r, "{'method':'m'}");
	hears(r, 0, "{'method':'m'}");
	sends_nothing(r);
	mcp_relay_free(r);
}

static void test_an_answer_that_is_no_json_ends_the_only_request(void **state)
{
	struct mcp_relay *r = mcp_relay_new(names, 1);

	(void)state;
	posts(r, "{'id':5,'method':'m'}");
	sends(r, 0, "{'id':1,'method':'m'}");
	hears(r, 0, "starting ...");
	sends_nothing(r);
	hears(r, 0, "{'id':1,'result':{'text':'\\ud83d'}}");
	sends(r, MCP_CLIENT,
	      "{'jsonrpc':'2.0','id':5,'error':{'code':-32603,'message':"
	      "'the MCP server has sent an answer that is no valid JSON'}}");
	mcp_relay_free(r);
}

/* --- several servers --------------------------------------------------------- */

static void test_initialize_is_merged(void **state)
{
	struct mcp_relay *r = mcp_relay_new(names, 3);

	(void)state;
	posts(r,
	      "{'id':0,'method':'initialize','params':{'protocolVersion':'2025-06-18'}}");
	for (size_t i = 0; i < 3; i++) {
		AUTO_FREE char *asked =
			text_format("{'jsonrpc':'2.0','id':%zu,'method':'initialize',"
				    "'params':{'protocolVersion':'2025-06-18'}}",
				    i + 1);
		sends(r, i, asked);
	}
	hears(r, 1,
	      "{'id':2,'result':{'protocolVersion':'2025-06-18','capabilities':"
	      "{'tools':{'listChanged':true}},'serverInfo':{'name':'s','version':'1'}}}");
	hears(r, 0,
	      "{'id':1,'result':{'protocolVersion':'2024-11-05','capabilities':"
	      "{'prompts':{},'other':{}}}}");
	sends_nothing(r);
	mcp_relay_ended(r, 2);
	sends(r, MCP_CLIENT,
	      "{'jsonrpc':'2.0','id':0,'result':{'protocolVersion':'2024-11-05',"
	      "'capabilities':{'tools':{},'prompts':{}},"
	      "'serverInfo':{'name':'hutch','version':'" HUTCH_VERSION "'}}}");
	mcp_relay_free(r);
}

static void test_lists_are_merged_with_prefixes(void **state)
{
	struct mcp_relay *r = mcp_relay_new(names, 2);

	(void)state;
	posts(r, "{'id':0,'method':'tools/list'}");
	sends(r, 0, "{'jsonrpc':'2.0','id':1,'method':'tools/list'}");
	sends(r, 1, "{'jsonrpc':'2.0','id':2,'method':'tools/list'}");
	hears(r, 0,
	      "{'id':1,'result':{'tools':[{'description':'d','name':'t','inputSchema':{}}, 3],"
	      "'nextCursor':'c'}}");
	sends(r, 0,
	      "{'jsonrpc':'2.0','id':3,'method':'tools/list','params':{'cursor':'c'}}");
	hears(r, 1, "{'id':2,'error':{'code':-32601,'message':'no tools'}}");
	sends_nothing(r);
	hears(r, 0, "{'id':3,'result':{'tools':[{'name':'u'}]}}");
	sends(r, MCP_CLIENT,
	      "{'jsonrpc':'2.0','id':0,'result':{'tools':[{'description':'d',"
	      "'name':'a_t','inputSchema':{}},{'name':'a_u'}]}}");
	posts(r, "{'id':0,'method':'resources/list'}");
	sends(r, 0, "{'jsonrpc':'2.0','id':4,'method':'resources/list'}");
	sends(r, 1, "{'jsonrpc':'2.0','id':5,'method':'resources/list'}");
	hears(r, 1,
	      "{'id':5,'result':{'resources':[{'uri':'file:///x'},{'uri':'odd'}]}}");
	hears(r, 0, "{'id':4,'result':{'resources':[]}}");
	sends(r, MCP_CLIENT,
	      "{'jsonrpc':'2.0','id':0,'result':{'resources':"
	      "[{'uri':'file://b//x'},{'uri':'odd'}]}}");
	mcp_relay_free(r);
}

static void test_a_merged_list_has_the_order_of_the_servers(void **state)
{
	struct mcp_relay *r = mcp_relay_new(names, 2);
	struct mcp_line line;

	(void)state;
	posts(r, "{'id':0,'method':'tools/list'}");
	while (mcp_relay_next(r, &line))
		free(line.text);
	hears(r, 1, "{'id':2,'result':{'tools':[{'name':'t'},{'name':'u'}]}}");
	hears(r, 0, "{'id':1,'result':{'tools':[{'name':'v'}]}}");
	sends(r, MCP_CLIENT,
	      "{'jsonrpc':'2.0','id':0,'result':{'tools':"
	      "[{'name':'a_v'},{'name':'b_t'},{'name':'b_u'}]}}");
	mcp_relay_free(r);
}

/* Each of the two lists is shorter than the bound. */
static void test_a_merged_list_is_bounded(void **state)
{
	struct mcp_relay *r = mcp_relay_new(names, 2);
	const size_t len = MCP_LINE_MAX / 2;
	AUTO_FREE char *name = mem_zeroed(1, len + 1);
	struct mcp_line line;

	(void)state;
	memset(name, 'x', len);
	posts(r, "{'id':0,'method':'tools/list'}");
	while (mcp_relay_next(r, &line))
		free(line.text);
	for (size_t i = 0; i < 2; i++) {
		AUTO_FREE char *answer = text_format(
			"{'id':%zu,'result':{'tools':[{'name':'%s'}]}}", i + 1, name);
		hears(r, i, answer);
	}
	sends(r, MCP_CLIENT,
	      "{'jsonrpc':'2.0','id':0,'error':{'code':-32603,"
	      "'message':'the list of all MCP servers is too long'}}");
	mcp_relay_free(r);
}

static void test_a_call_goes_to_the_server_of_its_name(void **state)
{
	struct mcp_relay *r = mcp_relay_new(names, 3);

	(void)state;
	posts(r,
	      "{'id':0,'method':'tools/call','params':{'name':'a_x_y','arguments':{'k':1}}}");
	sends(r, 0,
	      "{'id':1,'method':'tools/call','params':{'name':'x_y','arguments':{'k':1}}}");
	posts(r, "{'id':0,'method':'tools/call','params':{'name':'a_b_y'}}");
	sends(r, 2, "{'id':2,'method':'tools/call','params':{'name':'y'}}");
	posts(r, "{'id':0,'method':'prompts/get','params':{'name':'b_'}}");
	sends(r, 1, "{'id':3,'method':'prompts/get','params':{'name':''}}");
	posts(r, "{'id':0,'method':'resources/read','params':{'uri':'file://b//etc'}}");
	sends(r, 1, "{'id':4,'method':'resources/read','params':{'uri':'file:///etc'}}");
	posts(r, "{'id':'q','method':'tools/call','params':{'name':'c_y'}}");
	sends(r, MCP_CLIENT,
	      "{'jsonrpc':'2.0','id':'q','error':{'code':-32602,"
	      "'message':'no MCP server has c_y'}}");
	posts(r, "{'id':'q','method':'tools/call','params':{'name':'bx_y'}}");
	sends(r, MCP_CLIENT,
	      "{'jsonrpc':'2.0','id':'q','error':{'code':-32602,"
	      "'message':'no MCP server has bx_y'}}");
	posts(r, "{'id':1,'method':'tools/call'}");
	sends(r, MCP_CLIENT,
	      "{'jsonrpc':'2.0','id':1,'error':{'code':-32602,"
	      "'message':'no MCP server has '}}");
	posts(r, "{'id':1,'method':'ping'}");
	sends(r, MCP_CLIENT, "{'jsonrpc':'2.0','id':1,'result':{}}");
	posts(r, "{'id':1,'method':'x'}");
	sends(r, MCP_CLIENT,
	      "{'jsonrpc':'2.0','id':1,'error':{'code':-32601,"
	      "'message':'Method not found'}}");
	hears(r, 2, "{'id':2,'result':{'content':[]}}");
	sends(r, MCP_CLIENT, "{'id':0,'result':{'content':[]}}");
	posts(r, "{'method':'notifications/initialized'}");
	for (size_t i = 0; i < 3; i++)
		sends(r, i, "{'method':'notifications/initialized'}");
	mcp_relay_free(r);
}

static void test_the_longest_name_wins(void **state)
{
	static const char *const other[] = { "a_b", "a" };
	struct mcp_relay *r = mcp_relay_new(other, 2);

	(void)state;
	posts(r, "{'id':0,'method':'tools/call','params':{'name':'a_b_c'}}");
	sends(r, 0, "{'id':1,'method':'tools/call','params':{'name':'c'}}");
	mcp_relay_free(r);
}

static void test_a_merged_request_that_is_given_up_has_no_answer(void **state)
{
	struct mcp_relay *r = mcp_relay_new(names, 2);
	struct mcp_line line;

	(void)state;
	posts(r, "{'id':9,'method':'tools/list'}");
	posts(r, "{'method':'notifications/cancelled','params':{'requestId':9}}");
	for (int i = 0; i < 4; i++) {
		assert_true(mcp_relay_next(r, &line));
		assert_int_not_equal(line.to, MCP_CLIENT);
		free(line.text);
	}
	hears(r, 0, "{'id':1,'result':{'tools':[]}}");
	hears(r, 1, "{'id':2,'result':{'tools':[]}}");
	sends_nothing(r);
	mcp_relay_free(r);
}

static void test_a_slow_server_is_left_out(void **state)
{
	struct mcp_relay *r = mcp_relay_new(names, 2);

	(void)state;
	assert_int_equal(mcp_relay_due(r), 0);
	posts(r, "{'id':9,'method':'prompts/list'}");
	sends(r, 0, "{'jsonrpc':'2.0','id':1,'method':'prompts/list'}");
	sends(r, 1, "{'jsonrpc':'2.0','id':2,'method':'prompts/list'}");
	hears(r, 1, "{'id':2,'result':{'prompts':[{'name':'p'}]}}");
	assert_int_equal(mcp_relay_due(r), 1000 + MCP_PATIENCE_MS);
	mcp_relay_tick(r, 999 + MCP_PATIENCE_MS);
	sends_nothing(r);
	mcp_relay_tick(r, 1000 + MCP_PATIENCE_MS);
	sends(r, MCP_CLIENT,
	      "{'jsonrpc':'2.0','id':9,'result':{'prompts':[{'name':'b_p'}]}}");
	assert_int_equal(mcp_relay_due(r), 0);
	hears(r, 0, "{'id':1,'result':{'prompts':[]}}");
	sends_nothing(r);
	mcp_relay_free(r);
}

static void test_without_a_server_initialize_is_an_error(void **state)
{
	struct mcp_relay *r = mcp_relay_new(names, 2);

	(void)state;
	mcp_relay_ended(r, 0);
	mcp_relay_ended(r, 1);
	posts(r, "{'id':9,'method':'initialize'}");
	sends(r, MCP_CLIENT,
	      "{'jsonrpc':'2.0','id':9,'error':{'code':-32603,"
	      "'message':'no MCP server has answered'}}");
	mcp_relay_free(r);
}

/* --- bounds ------------------------------------------------------------------ */

static void test_requests_under_way_are_bounded(void **state)
{
	struct mcp_relay *r = mcp_relay_new(names, 1);
	struct mcp_line line;

	(void)state;
	for (int i = 0; i < MCP_CALLS_MAX; i++) {
		posts(r, "{'id':1,'method':'m'}");
		assert_true(mcp_relay_next(r, &line));
		assert_int_equal(line.to, 0);
		free(line.text);
	}
	posts(r, "{'id':2,'method':'m'}");
	sends(r, MCP_CLIENT,
	      "{'jsonrpc':'2.0','id':2,'error':{'code':-32603,"
	      "'message':'too many requests are under way'}}");
	mcp_relay_free(r);
}

static void test_requests_of_a_server_that_has_ended_do_not_count(void **state)
{
	struct mcp_relay *r = mcp_relay_new(names, 2);
	struct mcp_line line;

	(void)state;
	for (int i = 0; i < MCP_CALLS_MAX; i++)
		hears(r, 0, "{'id':1,'method':'m'}");
	while (mcp_relay_next(r, &line))
		free(line.text);
	mcp_relay_ended(r, 0);
	hears(r, 1, "{'id':1,'method':'m'}");
	sends(r, MCP_CLIENT, "{'id':1025,'method':'m'}");
	mcp_relay_free(r);
}

static void test_a_line_without_end_ends_its_server(void **state)
{
	struct mcp_relay *r = mcp_relay_new(names, 1);
	const size_t len = MCP_LINE_MAX / 4;
	AUTO_FREE char *piece = mem_zeroed(1, len);

	(void)state;
	for (int i = 0; i < 4; i++)
		mcp_relay_heard(r, 0, piece, len);
	assert_false(mcp_relay_is_over(r));
	assert_false(mcp_relay_has_ended(r, 0));
	mcp_relay_heard(r, 0, piece, 1);
	assert_true(mcp_relay_has_ended(r, 0) && mcp_relay_is_over(r));
	mcp_relay_free(r);
}

static void test_pages_are_bounded(void **state)
{
	struct mcp_relay *r = mcp_relay_new(names, 2);
	struct mcp_line line;
	unsigned asked = 0;

	(void)state;
	mcp_relay_ended(r, 1);
	posts(r, "{'id':2,'method':'tools/list'}");
	while (mcp_relay_next(r, &line) && line.to == 0) {
		AUTO_FREE char *answer = text_format(
			"{'id':%u,'result':{'tools':[],'nextCursor':'more'}}", ++asked);
		free(line.text);
		hears(r, 0, answer);
	}
	assert_int_equal(asked, MCP_PAGES_MAX);
	assert_string_equal(line.text,
			    "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[]}}");
	free(line.text);
	mcp_relay_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_servers_messages_go_through),
		cmocka_unit_test(test_a_server_can_ask_the_client),
		cmocka_unit_test(test_lines_come_in_pieces),
		cmocka_unit_test(test_a_clients_message_is_one_line),
		cmocka_unit_test(test_no_message_is_refused),
		cmocka_unit_test(test_a_request_that_is_given_up),
		cmocka_unit_test(test_a_request_of_a_server_that_ends_is_answered),
		cmocka_unit_test(test_an_answer_that_is_no_json_ends_the_only_request),
		cmocka_unit_test(test_initialize_is_merged),
		cmocka_unit_test(test_lists_are_merged_with_prefixes),
		cmocka_unit_test(test_a_merged_list_has_the_order_of_the_servers),
		cmocka_unit_test(test_a_merged_list_is_bounded),
		cmocka_unit_test(test_a_call_goes_to_the_server_of_its_name),
		cmocka_unit_test(test_the_longest_name_wins),
		cmocka_unit_test(test_a_merged_request_that_is_given_up_has_no_answer),
		cmocka_unit_test(test_a_slow_server_is_left_out),
		cmocka_unit_test(test_without_a_server_initialize_is_an_error),
		cmocka_unit_test(test_requests_under_way_are_bounded),
		cmocka_unit_test(test_requests_of_a_server_that_has_ended_do_not_count),
		cmocka_unit_test(test_a_line_without_end_ends_its_server),
		cmocka_unit_test(test_pages_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
