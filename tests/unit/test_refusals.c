/* Tests of refusals: which packets are told of, when, and as how many. */
#include "egress/gate/refusals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/frame.h"
#include "base/own.h"
#include "egress/gate/gate.h"

static int begin(void **state)
{
	static const uint8_t key[DNS_NAMES_KEY];
	static const char *const rules[] = { "{\"allow\":\"a.org\"}",
					     "{\"allow\":\"10.1.2.3:5432\"}" };
	struct gate *g = calloc(1, sizeof(*g));
	struct err e;

	assert_non_null(g);
	gateway_init(&g->network);
	buffer_init(&g->link.out, LINK_MAX);
	g->names = dns_names_new(key);
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		assert_int_equal(egress_rules_add_json(&g->rules, rules[i], NULL, &e), 0);
	g->now = 1000;
	*state = g;
	return 0;
}

static int end(void **state)
{
	struct gate *g = *state;

	buffer_done(&g->link.out);
	dns_names_free(g->names);
	egress_rules_done(&g->rules);
	free(g);
	return 0;
}

static struct refusal packet(const char *address, uint16_t port, bool is_udp)
{
	struct refusal r = { .port = port, .is_udp = is_udp, .count = 77 };

	assert_true(address_parse(address, strlen(address), &r.to));
	return r;
}

/* Takes the next event, as "REASON NAME PORT COUNT". */
static const char *next(struct gate *g)
{
	static char text[400];
	struct frames_event x;
	struct frame f;
	struct err e;

	int found = frames_next(&g->link.out, FRAMES_GATE, &f, &e);
	assert_true(found >= 0);
	if (!found)
		return "none";
	assert_int_equal(frames_get_event(&f, &x, &e), 0);
	(void)snprintf(text, sizeof(text), "%s %s %u %u", reason_word(x.reason), x.name,
		       x.port, x.count);
	buffer_consume(&g->link.out, FRAME_HEADER + f.len);
	return text;
}

static void the_reason_is_that_of_the_rules(void **state)
{
	struct gate *g = *state;
	const uint32_t fake = dns_names_address(g->names, DNS_POOL_ALLOWED, "a.org");
	char address[20];

	(void)snprintf(address, sizeof(address), "%u.%u.%u.%u", fake >> 24,
		       fake >> 16 & 255, fake >> 8 & 255, fake & 255);
	const struct {
		const char *address;
		uint16_t port;
		bool is_udp;
		const char *told;
	} rows[] = {
		{ address, 22, false, "port a.org 22 1" },
		{ address, 443, true, "udp a.org 443 1" },
		{ "10.1.2.3", 22, false, "port  22 1" },
		{ "10.1.2.4", 22, false, "no-name  22 1" },
		{ "10.1.2.3", 22, true, "udp  22 1" },
		{ "2606:2800::1", 22, false, "no-name  22 1" },
		{ "2606:2800::1", 22, true, "udp  22 1" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct refusal r =
			packet(rows[i].address, rows[i].port, rows[i].is_udp);
		refusals_add(g, &r);
		assert_string_equal(next(g), rows[i].told);
	}
	assert_string_equal(next(g), "none");
}

static void more_of_a_second_are_one_event(void **state)
{
	struct gate *g = *state;
	const struct refusal one = packet("10.1.2.3", 22, false);
	const struct refusal other = packet("10.1.2.3", 23, false);

	refusals_add(g, &one);
	assert_string_equal(next(g), "port  22 1");
	for (int i = 0; i < 5; i++)
		refusals_add(g, &one);
	refusals_add(g, &other);
	assert_string_equal(next(g), "port  23 1");
	assert_int_equal(g->refusals.due, 1000 + REFUSALS_MS);
	g->now += REFUSALS_MS - 1;
	refusals_expire(g);
	assert_string_equal(next(g), "none");
	g->now++;
	refusals_expire(g);
	assert_string_equal(next(g), "port  22 5");
	assert_string_equal(next(g), "none");
	assert_int_equal(g->refusals.due, 0);
	refusals_add(g, &one);
	assert_string_equal(next(g), "port  22 1");
}

static void a_full_table_counts_the_others(void **state)
{
	struct gate *g = *state;

	for (unsigned i = 0; i < REFUSALS_MAX + 100; i++) {
		const struct refusal r = packet("10.1.2.3", (uint16_t)(1000 + i), false);
		refusals_add(g, &r);
	}
	for (unsigned i = 0; i < REFUSALS_MAX; i++)
		assert_string_not_equal(next(g), "none");
	assert_string_equal(next(g), "none");
	refusals_end(g);
	assert_string_equal(next(g), "port  0 100");
	assert_string_equal(next(g), "none");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		CASE(the_reason_is_that_of_the_rules),
		CASE(more_of_a_second_are_one_event),
		CASE(a_full_table_counts_the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
