/* decide, request: where a request goes, and the head that its pod gets. */
#include "gateway/route/decide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/own.h"
#include "gateway/route/pods.h"

#define ID0	  "hutch-0-r0123456789abcdef"
#define ID2	  "hutch-2-r0123456789abcdef"
#define ID9	  "hutch-9-r0123456789abcdef"
#define HOST	  "Host: front.test\r\n"
#define END	  " HTTP/1.1\r\n" HOST "\r\n"
#define LENGTH(n) " HTTP/1.1\r\n" HOST "Content-Length: " n "\r\n\r\n"

static const struct http_expect any = { .is_first = true };

struct given {
	struct pods pods;
	struct http_head head;
	struct request request;
	struct decision d;
};

static void begin(struct given *g)
{
	struct err e;

	*g = (struct given){ 0 };
	assert_int_equal(pods_add(&g->pods, "hutch-0..2", "pods:1", &e), 0);
}

static void read_head(struct given *g, const char *text)
{
	g->head = (struct http_head){ 0 };
	assert_int_equal(
		http_head_parse(&g->head, (const uint8_t *)text, strlen(text), &any),
		HTTP_DONE);
	request_init(&g->request, &g->head, (const uint8_t *)text);
}

static const struct row {
	const char *head;
	const char *body; /* NULL: it is not there yet */
	enum decision_kind kind;
	int pod;
	unsigned status; /* of ANSWER and of POD; 0: any */
} rows[] = {
	{ "GET /health" END, NULL, DECIDE_ANSWER, -1, 200 },
	{ "GET /health/x" END, NULL, DECIDE_ANSWER, -1, 404 },
	{ "GET /metrics" END, NULL, DECIDE_ANSWER, -1, 404 },
	{ "GET /" END, NULL, DECIDE_ANSWER, -1, 404 },
	{ "OPTIONS *" END, NULL, DECIDE_ANSWER, -1, 404 },
	{ "GET //" ID0 "/alive" END, NULL, DECIDE_ANSWER, -1, 404 },

	{ "GET /" ID0 "/alive" END, NULL, DECIDE_POD, 0, 502 },
	{ "GET /" ID2 "/alive?" ID0 END, NULL, DECIDE_POD, 2, 502 },
	{ "POST /" ID2 "/execute_action" LENGTH("5"), NULL, DECIDE_POD, 2, 502 },
	{ "GET /" ID9 "/alive" END, NULL, DECIDE_ANSWER, -1, 404 },
	{ "GET /r0123456789abcdef/alive" END, NULL, DECIDE_ANSWER, -1, 404 },
	{ "GET /%68utch-0-r0123456789abcdef/alive" END, NULL, DECIDE_ANSWER, -1, 404 },
	{ "GET /runtime/" ID2 END, NULL, DECIDE_POD, 2, 502 },
	{ "GET /runtime/" END, NULL, DECIDE_ANSWER, -1, 404 },
	{ "GET /v1/sandboxes/" ID2 "/exec" END, NULL, DECIDE_POD, 2, 502 },
	{ "GET /v1/sandboxes/" ID9 END, NULL, DECIDE_ANSWER, -1, 404 },
	{ "GET /v1/other" END, NULL, DECIDE_ANSWER, -1, 404 },
	{ "GET /sandboxes/" ID2 END, NULL, DECIDE_POD, 2, 502 },
	{ "POST /v2/sandboxes/" ID2 "/connect" LENGTH("2"), NULL, DECIDE_POD, 2, 502 },
	{ "GET /sandboxes/" ID9 END, NULL, DECIDE_ANSWER, -1, 502 },

	{ "GET /x HTTP/1.1\r\n" HOST "E2b-Sandbox-Id: " ID2 "\r\n\r\n", NULL, DECIDE_POD,
	  2, 502 },
	{ "GET /list HTTP/1.1\r\n" HOST "e2b-sandbox-id: " ID9 "\r\n\r\n", NULL,
	  DECIDE_ANSWER, -1, 502 },
	{ "GET /health HTTP/1.1\r\nHost: 49983-" ID2 ".front.test\r\n\r\n", NULL,
	  DECIDE_POD, 2, 502 },
	{ "GET /health HTTP/1.1\r\nHost: 499831-" ID2 ".front.test\r\n\r\n", NULL,
	  DECIDE_ANSWER, -1, 200 },

	{ "GET /list" END, NULL, DECIDE_MERGE, -1, 0 },
	{ "GET /sessions/batch?ids=1" END, NULL, DECIDE_MERGE, -1, 0 },
	{ "GET /v1/sandboxes" END, NULL, DECIDE_MERGE, -1, 0 },
	{ "GET /v2/sandboxes?limit=3" END, NULL, DECIDE_MERGE, -1, 0 },
	{ "GET /sessions/some" END, NULL, DECIDE_FIND, -1, 0 },
	{ "GET /sessions/" END, NULL, DECIDE_ANSWER, -1, 404 },
	{ "GET /image_exists?image=x" END, NULL, DECIDE_ANY, -1, 0 },
	{ "POST /build" LENGTH("9"), NULL, DECIDE_ANSWER, -1, 501 },
	{ "GET /files?signature=x" END, NULL, DECIDE_ANSWER, -1, 501 },

	{ "POST /start" LENGTH("2"), NULL, DECIDE_BODY, -1, 0 },
	{ "POST /start" LENGTH("2"), "{}", DECIDE_START, -1, 0 },
	{ "POST /start" LENGTH("1"), "{", DECIDE_START, -1, 0 },
	{ "POST /start" LENGTH("1048576"), NULL, DECIDE_BODY, -1, 0 },
	{ "POST /start" LENGTH("1048577"), NULL, DECIDE_ANSWER, -1, 413 },
	{ "POST /start HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", NULL,
	  DECIDE_ANSWER, -1, 411 },
	{ "POST /v1/sandboxes" LENGTH("2"), "{}", DECIDE_START, -1, 0 },
	{ "POST /sandboxes" LENGTH("2"), "{}", DECIDE_START, -1, 0 },
	{ "POST /pause" LENGTH("9"), NULL, DECIDE_BODY, -1, 0 },
	{ "POST /pause" LENGTH("4097"), NULL, DECIDE_ANSWER, -1, 413 },
	{ "POST /pause" LENGTH("9"), "{\"runtime_id\":\"" ID2 "\"}", DECIDE_POD, 2, 502 },
	{ "POST /stop" LENGTH("9"), "{\"runtime_id\":\"" ID9 "\"}", DECIDE_ANSWER, -1,
	  404 },
	{ "POST /stop" LENGTH("9"),
	  "{\"runtime_id\":\"" ID0 "\",\"runtime_id\":\"" ID2 "\"}", DECIDE_ANSWER, -1,
	  422 },
	{ "POST /stop" LENGTH("9"), "{\"runtime_id\":2}", DECIDE_ANSWER, -1, 422 },
	{ "POST /stop" LENGTH("9"), "[]", DECIDE_ANSWER, -1, 422 },
	{ "POST /resume" LENGTH("9"), "", DECIDE_ANSWER, -1, 422 },
};

static void each_request_goes_where_its_id_says(void **state)
{
	struct given g;

	(void)state;
	begin(&g);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];

		read_head(&g, r->head);
		decide(&g.pods, &g.request, r->body, r->body ? strlen(r->body) : 0, false,
		       &g.d);
		if (g.d.kind != r->kind || (r->pod >= 0 && g.d.pod != r->pod) ||
		    (r->status && g.d.status != r->status))
			fail_msg("%s: kind %d, pod %d, status %u", r->head, g.d.kind,
				 g.d.pod, g.d.status);
		decision_done(&g.d);
	}
	pods_done(&g.pods);
}

static void figures_are_for_the_inner_listener_alone(void **state)
{
	struct given g;

	(void)state;
	begin(&g);
	read_head(&g, "GET /metrics" END);
	decide(&g.pods, &g.request, NULL, 0, true, &g.d);
	assert_int_equal(g.d.kind, DECIDE_OWN);
	pods_done(&g.pods);
}

static void a_session_is_encoded_for_the_question(void **state)
{
	struct given g;

	(void)state;
	begin(&g);
	read_head(&g, "POST /start" LENGTH("2"));
	decide(&g.pods, &g.request, "{\"session_id\":\"a/?\"}", 20, false, &g.d);
	assert_string_equal(g.d.session, "%61%2F%3F");
	decision_done(&g.d);
	pods_done(&g.pods);
}

static void check_head(const char *head, bool has_body, const char *want)
{
	struct given g;
	struct buffer to;

	begin(&g);
	read_head(&g, head);
	buffer_init(&to, 4096);
	request_write(&g.request, has_body, &to);
	assert_int_equal(buffer_len(&to), strlen(want));
	assert_memory_equal(buffer_data(&to), want, strlen(want));
	buffer_done(&to);
	pods_done(&g.pods);
}

static void a_pod_gets_no_field_that_is_about_the_connection(void **state)
{
	(void)state;
	check_head("GET /x HTTP/1.1\r\n" HOST
		   "X-API-Key: k\r\nConnection: keep-alive, X-Hop\r\n"
		   "Keep-Alive: 5\r\nx-hop: 1\r\nTE: trailers\r\nAccept: a\r\n\r\n",
		   false,
		   "GET /x HTTP/1.1\r\n" HOST
		   "X-API-Key: k\r\nAccept: a\r\nConnection: close\r\n\r\n");
	check_head("GET /x HTTP/1.1\r\n" HOST
		   "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		   false, "GET /x HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
	check_head(
		"POST /x HTTP/1.1\r\n" HOST
		"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n",
		false,
		"POST /x HTTP/1.1\r\n" HOST
		"Expect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n");
	check_head("POST /x HTTP/1.1\r\n" HOST
		   "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n",
		   true,
		   "POST /x HTTP/1.1\r\n" HOST
		   "Content-Length: 2\r\nConnection: close\r\n\r\n");
}

static void a_question_has_the_clients_keys_and_host(void **state)
{
	static const char want[] = "GET /list?a HTTP/1.1\r\n" HOST
				   "X-API-Key: k\r\nOrigin: o\r\n"
				   "Connection: close\r\n\r\n";
	struct given g;
	struct buffer to;

	(void)state;
	begin(&g);
	read_head(&g,
		  "GET /list?a HTTP/1.1\r\n" HOST
		  "X-API-Key: k\r\nContent-Length: 2\r\nOrigin: o\r\nCookie: c\r\n\r\n");
	buffer_init(&to, 4096);
	request_write_question(&g.request, (struct span){ "/list?a", 7 }, &to);
	assert_int_equal(buffer_len(&to), sizeof(want) - 1);
	assert_memory_equal(buffer_data(&to), want, sizeof(want) - 1);
	buffer_done(&to);
	pods_done(&g.pods);
}

/* http_head.h refuses more; these are the ways in which a second reader could find another
 * request in the same bytes. */
static void ambiguous_heads_are_refused(void **state)
{
	static const struct {
		const char *head;
		enum http_why why;
	} hostile[] = {
		{ "POST /x HTTP/1.1\r\n" HOST
		  "Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
		  HTTP_BAD_LENGTH },
		{ "POST /x HTTP/1.1\r\n" HOST
		  "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		  HTTP_LENGTH_AND_CODING },
		{ "POST /x HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n",
		  HTTP_BAD_CODING },
		{ "GET /x HTTP/1.1\r\n" HOST HOST "\r\n", HTTP_TWO_HOSTS },
		{ "GET /x HTTP/1.1\r\n\r\n", HTTP_NO_HOST },
		{ "GET http://other/x" END, HTTP_OTHER_HOST },
		{ "GET x" END, HTTP_BAD_TARGET },
		{ "CONNECT x:1" END, HTTP_CONNECT },
		{ "GET /x HTTP/1.1\r\n" HOST "Connection: content-length\r\n\r\n",
		  HTTP_BAD_FIELD },
		{ "GET /x HTTP/1.1\r\n" HOST "a: b\r\n c\r\n\r\n", HTTP_FOLDED },
		{ "GET /x HTTP/1.1\n", HTTP_BAD_LINE_END },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
		struct http_head h = { 0 };

		assert_int_equal(http_head_parse(&h, (const uint8_t *)hostile[i].head,
						 strlen(hostile[i].head), &any),
				 HTTP_REFUSED);
		assert_int_equal(h.why, hostile[i].why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_request_goes_where_its_id_says),
		cmocka_unit_test(figures_are_for_the_inner_listener_alone),
		cmocka_unit_test(a_session_is_encoded_for_the_question),
		cmocka_unit_test(a_pod_gets_no_field_that_is_about_the_connection),
		cmocka_unit_test(a_question_has_the_clients_keys_and_host),
		cmocka_unit_test(ambiguous_heads_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
