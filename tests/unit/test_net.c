/* net: what hutch-egress is sent, and what clients are told, of requests and questions.
 * The test is hutch-egress, at the other end of a pair, and each client's reader. */
#include "supervisor/net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "egress/launch/egress_news.h"
#include "policy/policy.h"
#include "sandbox/launch/launch.h"
#include "supervisor/supervisor.h"

#define NO(id)	"{\"answer\":{\"id\":" id ",\"allow\":false,\"for\":\"once\"}}\n"
#define YES(id) "{\"answer\":{\"id\":" id ",\"allow\":true,\"for\":\"once\"}}\n"

struct world {
	struct policy policy;
	struct launch launch;
	struct supervisor s;
	struct client client;
	int other; /* the end of hutch-egress */
};

static int begin(void **state)
{
	struct world *w = mem_zeroed(1, sizeof(*w));
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	w->policy.network = NETWORK_ALLOW;
	w->launch.policy = &w->policy;
	egress_init(&w->launch.egress);
	w->launch.egress.control = pair[0];
	w->other = pair[1];
	w->s.launch = &w->launch;
	w->s.now_ms = 1000;
	net_init(&w->s.net, &w->policy.egress);
	connection_init(&w->client.conn, -1, 1000, 1u << 20);
	w->s.clients[w->s.client_count++] = &w->client;
	*state = w;
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;

	net_done(&w->s.net);
	egress_done(&w->launch.egress);
	connection_done(&w->client.conn);
	(void)close(w->other);
	free(w);
	return 0;
}

/* hutch-egress says a line. */
static void say(struct world *w, const char *line)
{
	struct egress_news n;

	assert_int_equal(send(w->other, line, strlen(line), 0), strlen(line));
	egress_fill(&w->launch.egress);
	while (egress_next(&w->launch.egress, &n)) {
		net_news(&w->s, &n);
		egress_news_done(&n);
	}
}

/* Checks the lines that hutch-egress gets. */
static void assert_sent(struct world *w, const char *expected)
{
	char got[512] = "";

	(void)recv(w->other, got, sizeof(got) - 1, MSG_DONTWAIT);
	assert_string_equal(got, expected);
}

/* Checks whether the client is told of something, and forgets it. */
static void assert_told(struct world *w, const char *part)
{
	struct buffer *out = &w->client.conn.out;
	AUTO_FREE char *text =
		text_format("%.*s", (int)buffer_len(out), (const char *)buffer_data(out));

	if (part)
		assert_non_null(strstr(text, part));
	else
		assert_string_equal(text, "");
	buffer_consume(out, buffer_len(out));
}

static int ask_for(struct world *w, uint32_t id, struct err *e)
{
	struct net_order *o = mem_zeroed(1, sizeof(*o));

	*o = (struct net_order){ .kind = NET_ANSWER,
				 .client = &w->client,
				 .request = text_format("%u", id),
				 .answer = { .id = id, .is_allowed = true } };
	return net_queue(&w->s, o, e);
}

static void a_question_without_a_client_is_denied(void **state)
{
	struct world *w = *state;

	say(w, "{\"ask\":{\"id\":1,\"name\":\"a.org\",\"port\":80}}\n");
	assert_sent(w, NO("1"));
	assert_told(w, NULL);
	/* One line is sent at a time. */
	say(w, "{\"ask\":{\"id\":2,\"name\":\"b.org\",\"port\":80}}\n");
	assert_sent(w, "");
	say(w, "{\"net\":{}}\n{\"dropped\":3}\n{\"answered\":{\"id\":1}}\n");
	assert_sent(w, NO("2"));
	say(w, "{\"error\":{\"text\":\"answer: no such question waits\"}}\n");
	assert_sent(w, "");
	assert_int_equal(w->s.net.question_count, 0);
}

static void a_question_goes_to_clients_that_answer(void **state)
{
	struct world *w = *state;

	w->client.answers_asks = true;
	say(w, "{\"ask\":{\"id\":1,\"name\":\"a.org\",\"port\":80}}\n");
	assert_sent(w, "");
	assert_told(
		w,
		"\"method\":\"net.ask\",\"params\":{\"id\":1,\"name\":\"a.org\",\"port\":80}");
	net_tell(&w->s, &w->client);
	assert_told(w, "net.ask");
	AUTO_FREE char *waiting = net_list(&w->s, NULL);
	assert_string_equal(waiting,
			    "{\"rules\":[],\"questions\":[{\"id\":1,\"name\":\"a.org\","
			    "\"port\":80}],\"ports\":[],\"open\":0,\"connections\":[]}");
	w->s.now_ms += 30000;
	AUTO_FREE char *old = net_list(&w->s, NULL);
	assert_non_null(strstr(old, "\"questions\":[]"));
	/* When the last such client leaves, it is denied. */
	w->s.client_count = 0;
	net_leave(&w->s, &w->client);
	assert_sent(w, NO("1"));
}

static void requests_are_answered_in_their_order(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	assert_int_equal(ask_for(w, 5, &e), 0);
	assert_int_equal(ask_for(w, 6, &e), 0);
	assert_sent(w, YES("5"));
	assert_told(w, NULL);
	assert_int_equal(w->client.under_way, 2);
	say(w, "{\"answered\":{\"id\":5}}\n");
	assert_sent(w, YES("6"));
	assert_told(w, "\"id\":5,\"result\":{}");
	say(w, "{\"error\":{\"text\":\"answer: no such question waits\"}}\n");
	assert_told(w, "\"id\":6,\"error\"");
	assert_int_equal(w->client.under_way, 0);
	/* A reply to nothing is no reply. */
	say(w, "{\"answered\":{\"id\":5}}\n{\"set\":{\"rules\":1,\"cut\":0}}\n");
	assert_told(w, NULL);
}

static void connections_are_listed_as_hutch_egress_replies(void **state)
{
	struct world *w = *state;
	struct net_order *o = mem_zeroed(1, sizeof(*o));
	struct err e = { 0 };

	*o = (struct net_order){ .kind = NET_LIST,
				 .client = &w->client,
				 .request = text_copy("7") };
	w->launch.egress.ports[w->launch.egress.port_count++] = 443;
	assert_int_equal(net_queue(&w->s, o, &e), 0);
	assert_sent(w, "{\"list\":\"connections\"}\n");
	/* A reply to another line is none to this one. */
	say(w, "{\"answered\":{\"id\":7}}\n");
	assert_told(w, NULL);
	say(w, "{\"connections\":{\"open\":300,\"newest\":[{\"id\":9,\"name\":null,"
	       "\"address\":\"10.0.0.1\",\"port\":443,\"since\":1767225600007,\"up\":5,"
	       "\"down\":6,\"more\":1}]}}\n");
	assert_told(w,
		    "\"id\":7,\"result\":{\"rules\":[],\"questions\":[],\"ports\":[443],"
		    "\"open\":300,\"connections\":[{\"id\":9,\"name\":null,"
		    "\"address\":\"10.0.0.1\",\"port\":443,"
		    "\"since\":\"2026-01-01T00:00:00.007Z\",\"up\":5,\"down\":6}]}");
}

static void requests_are_bounded(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	for (uint32_t i = 0; i < NET_ORDERS_MAX; i++)
		assert_int_equal(ask_for(w, i, &e), 0);
	assert_int_equal(ask_for(w, 99, &e), -1);
	assert_int_equal(e.kind, ERR_BUSY);
	assert_int_equal(w->client.under_way, NET_ORDERS_MAX);
	/* Its client has left: the order is done all the same. */
	net_leave(&w->s, &w->client);
	assert_sent(w, YES("0"));
	say(w, "{\"answered\":{\"id\":0}}\n");
	assert_sent(w, YES("1"));
	assert_told(w, NULL);
}

static void an_end_fails_what_waits(void **state)
{
	struct world *w = *state;
	struct egress_news lost = { .kind = EGRESS_NEWS_LOST };
	struct err e = { 0 };

	w->client.answers_asks = true;
	say(w, "{\"ask\":{\"id\":1,\"name\":\"a.org\",\"port\":80}}\n");
	assert_int_equal(ask_for(w, 1, &e), 0);
	net_news(&w->s, &lost);
	assert_told(w, "\"kind\":\"disconnected\"");
	assert_int_equal(w->s.net.question_count, 0);
	assert_int_equal(w->s.net.count, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_question_without_a_client_is_denied,
						begin, end),
		cmocka_unit_test_setup_teardown(a_question_goes_to_clients_that_answer,
						begin, end),
		cmocka_unit_test_setup_teardown(requests_are_answered_in_their_order,
						begin, end),
		cmocka_unit_test_setup_teardown(
			connections_are_listed_as_hutch_egress_replies, begin, end),
		cmocka_unit_test_setup_teardown(requests_are_bounded, begin, end),
		cmocka_unit_test_setup_teardown(an_end_fails_what_waits, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
