/* egress_orders: the lines that hutch-egress gets, what waits while it reads none, and
 * which ports have a listener.  The test is hutch-egress, at the other end of a pair. */
#include "egress/launch/egress_orders.h"

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
#include "base/own.h"
#include "egress/launch/egress.h"
#include "egress/launch/egress_news.h"
#include "policy/egress/egress_rules.h"

/* Returns the other end. */
static int begin(struct egress *x)
{
	int pair[2];

	egress_init(x);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	x->control = pair[0];
	return pair[1];
}

static void assert_read(int fd, const char *expected)
{
	char got[256];
	ssize_t n = recv(fd, got, sizeof(got), MSG_DONTWAIT);

	assert_int_equal(n, strlen(expected));
	assert_memory_equal(got, expected, (size_t)n);
}

static void orders_are_lines(void **state)
{
	const struct egress_answer yes = { 7, true, true }, no = { 8, false, false };
	struct list rules = { 0 };
	struct egress x;
	int other = begin(&x);

	(void)state;
	assert_int_equal(egress_order_set(&x, &rules, NULL), 0);
	assert_read(other, "{\"set\":{\"rules\":[]}}\n");
	list_add(&rules, "{\"allow\":\"a.org\"}");
	list_add(&rules, "{\"ask\":\"*\"}");
	assert_int_equal(egress_order_set(&x, &rules, NULL), 0);
	assert_read(other,
		    "{\"set\":{\"rules\":[{\"allow\":\"a.org\"},{\"ask\":\"*\"}]}}\n");
	assert_int_equal(egress_order_answer(&x, &yes, NULL), 0);
	assert_read(other,
		    "{\"answer\":{\"id\":7,\"allow\":true,\"for\":\"sandbox\"}}\n");
	assert_int_equal(egress_order_answer(&x, &no, NULL), 0);
	assert_read(other, "{\"answer\":{\"id\":8,\"allow\":false,\"for\":\"once\"}}\n");
	assert_false(egress_has_unsent(&x));
	list_done(&rules);
	egress_done(&x);
	(void)close(other);
}

static void a_question_is_denied(void **state)
{
	static const char line[] =
		"{\"ask\":{\"id\":3,\"name\":\"a.org\",\"port\":80}}\n";
	struct egress_news n;
	struct egress x;
	int other = begin(&x);

	(void)state;
	assert_int_equal(send(other, line, sizeof(line) - 1, 0), sizeof(line) - 1);
	egress_fill(&x);
	assert_true(egress_next(&x, &n));
	assert_int_equal(n.kind, EGRESS_NEWS_ASK);
	egress_deny(&x, &n);
	assert_read(other, "{\"answer\":{\"id\":3,\"allow\":false,\"for\":\"once\"}}\n");
	egress_news_done(&n);
	egress_done(&x);
	(void)close(other);
}

/* Reads all that comes; returns its length. */
static size_t drain(int fd)
{
	static char bytes[1 << 16];
	size_t all = 0;

	for (ssize_t n; (n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0;)
		all += (size_t)n;
	return all;
}

static void lines_wait_until_they_are_read(void **state)
{
	const struct egress_answer no = { 1, false, false };
	struct list rules = { 0 };
	struct err e = { 0 };
	struct egress x;
	int other = begin(&x);
	size_t sets = 0, got = 0;

	(void)state;
	for (int i = 0; i < 1000; i++)
		list_addf(&rules, "{\"allow\":\"a.org\",\"why\":\"%0250d\"}", i);
	while (egress_order_set(&x, &rules, &e) == 0)
		sets++;
	assert_int_equal(e.kind, ERR_BUSY);
	assert_true(sets > 1 && egress_has_unsent(&x));
	for (size_t more = 1; more; got += more) {
		more = drain(other);
		egress_flush(&x);
	}
	assert_false(egress_has_unsent(&x));
	assert_int_equal(got % sets, 0); /* each line is whole */
	assert_int_equal(egress_order_answer(&x, &no, &e), 0);
	for (int i = 0; i < 4000; i++)
		list_addf(&rules, "{\"allow\":\"a.org\",\"why\":\"%0250d\"}", i);
	assert_int_equal(egress_order_set(&x, &rules, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	list_done(&rules);
	egress_done(&x);
	(void)close(other);
}

static void an_end_is_told(void **state)
{
	const struct egress_answer no = { 1, false, false };
	struct egress_news n;
	struct err e = { 0 };
	struct egress x;

	(void)state;
	(void)close(begin(&x));
	assert_int_equal(egress_order_answer(&x, &no, &e),
			 0); /* its end is not known yet */
	assert_false(egress_has_unsent(&x));
	egress_fill(&x);
	assert_true(egress_next(&x, &n));
	assert_int_equal(n.kind, EGRESS_NEWS_LOST);
	assert_int_equal(egress_order_answer(&x, &no, &e), -1);
	assert_int_equal(e.kind, ERR_GONE);
	egress_done(&x);
}

static void ports_of_rules_have_listeners(void **state)
{
	static const struct {
		const char *rule;
		bool has_all_ports, is_well;
	} rows[] = {
		{ "{\"allow\":\"a.org\"}", false, true },
		{ "{\"allow\":\"a.org:443\"}", false, true },
		{ "{\"allow\":\"a.org:7000\"}", false, true },
		{ "{\"ask\":\"a.org:7001\"}", false, false },
		{ "{\"deny\":\"a.org:7001\"}", false, true },
		{ "{\"allow\":\"a.org:7000-7001\"}", false, false },
		{ "{\"allow\":\"a.org:*\"}", false, false },
		{ "{\"allow\":\"a.org:*\"}", true, true },
		{ "{\"allow\":\"a.org:7001\"}", true, true },
		{ "{\"deny\":\"a.org\"}", false, true },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct egress x = { .ports = { 7000, 80, 443 },
				    .port_count = 3,
				    .has_all_ports = rows[i].has_all_ports };
		struct egress_rules r = { 0 };
		struct err e = { 0 };
		assert_int_equal(egress_rules_add_json(&r, rows[i].rule, NULL, &e), 0);
		int result = egress_check_ports(&x, &r, &e);
		assert_int_equal(result, rows[i].is_well ? 0 : -1);
		assert_int_equal(e.kind, rows[i].is_well ? ERR_NONE : ERR_UNSUPPORTED);
		egress_rules_done(&r);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders_are_lines),
		cmocka_unit_test(a_question_is_denied),
		cmocka_unit_test(lines_wait_until_they_are_read),
		cmocka_unit_test(an_end_is_told),
		cmocka_unit_test(ports_of_rules_have_listeners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
