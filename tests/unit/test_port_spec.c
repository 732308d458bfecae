/* port_spec: reads the argument of -p, and knows which options exclude it. */
#include "policy/port_spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"
#include "policy/policy.h"

static void test_words(void **state)
{
	static const struct {
		const char *word, *address, *path;
		uint16_t low, high, guest;
	} rows[] = {
		{ "8080:80", "127.0.0.1", NULL, 8080, 8080, 80 },
		{ "1:65535", "127.0.0.1", NULL, 1, 1, 65535 },
		{ "8080:80/tcp", "127.0.0.1", NULL, 8080, 8080, 80 },
		{ "0.0.0.0:8080:80", "0.0.0.0", NULL, 8080, 8080, 80 },
		{ "[::1]:8080:80", "::1", NULL, 8080, 8080, 80 },
		{ "[::1]:auto:80", "::1", NULL, PORT_SPEC_LOW, PORT_SPEC_HIGH, 80 },
		{ "auto:80", "127.0.0.1", NULL, PORT_SPEC_LOW, PORT_SPEC_HIGH, 80 },
		{ "80", "127.0.0.1", NULL, PORT_SPEC_LOW, PORT_SPEC_HIGH, 80 },
		{ "80/tcp", "127.0.0.1", NULL, PORT_SPEC_LOW, PORT_SPEC_HIGH, 80 },
		{ "0:80", "127.0.0.1", NULL, PORT_SPEC_LOW, PORT_SPEC_HIGH, 80 },
		{ "127.0.0.1::80", "127.0.0.1", NULL, PORT_SPEC_LOW, PORT_SPEC_HIGH, 80 },
		{ "0.0.0.0:0:80", "0.0.0.0", NULL, PORT_SPEC_LOW, PORT_SPEC_HIGH, 80 },
		{ "[::1]::80", "::1", NULL, PORT_SPEC_LOW, PORT_SPEC_HIGH, 80 },
		{ "8000-8099:80", "127.0.0.1", NULL, 8000, 8099, 80 },
		{ "10.0.0.1:8000-8000:80", "10.0.0.1", NULL, 8000, 8000, 80 },
		{ "/run/a.sock:80", NULL, "/run/a.sock", 0, 0, 80 },
		{ "/run/a:b:80", NULL, "/run/a:b", 0, 0, 80 },
	};
	struct port_spec p;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (port_spec_parse(rows[i].word, &p, &e) < 0)
			fail_msg("%s: %s", rows[i].word, e.text);
		assert_int_equal(p.low, rows[i].low);
		assert_int_equal(p.high, rows[i].high);
		assert_int_equal(p.guest, rows[i].guest);
		assert_string_equal(port_spec_word(&p), rows[i].word);
		assert_true(!p.path == !rows[i].path && !p.address == !rows[i].address);
		assert_string_equal(p.path ? p.path : p.address,
				    p.path ? rows[i].path : rows[i].address);
		port_spec_done(&p);
		port_spec_done(&p);
	}
}

static void test_words_that_are_none(void **state)
{
	static const struct {
		const char *word, *says;
	} rows[] = {
		{ "", "takes" },
		{ "0", "no port" },
		{ "80/udp", "TCP alone" },
		{ "/run/a.sock", "takes" },
		{ "auto", "takes" },
		{ "0-80:80", "no port" },
		{ "::80", "no IP address" },
		{ ":80", "takes" },
		{ "80:", "takes" },
		{ ":", "takes" },
		{ "::", "takes" },
		{ "80:0", "no port" },
		{ "65536:80", "no port" },
		{ "80:65536", "no port" },
		{ "-1:80", "no port" },
		{ "80:a", "no port" },
		{ "8o:80", "no port" },
		{ "90-80:80", "no range" },
		{ "80-:80", "no port" },
		{ "80:90-91", "no port" },
		{ "80:80/udp", "TCP alone" },
		{ "80:80/tcp/tcp", "TCP alone" },
		{ "1.2.3:80:80", "no IP address" },
		{ "localhost:80:80", "no IP address" },
		{ "[127.0.0.1]:80:80", "takes" },
		{ "::1:80:80", "takes" },
		{ "[::1:80:80", "takes" },
		{ "[::g]:80:80", "no IP address" },
		{ "a.sock:80", "no port" },
	};
	struct port_spec p = { 0 };
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (port_spec_parse(rows[i].word, &p, &e) == 0)
			fail_msg("'%s' was taken", rows[i].word);
		if (!strstr(e.text, rows[i].says) || !strstr(e.text, "-p "))
			fail_msg("'%s': %s", rows[i].word, e.text);
		assert_null(p.from);
	}
}

static void test_a_path_has_a_bound(void **state)
{
	char word[256];
	struct port_spec p;
	struct err e;

	(void)state;
	for (size_t len = 100; len < 120; len++) {
		memset(word, 'x', len);
		word[0] = '/';
		memcpy(word + len, ":1", 3);
		int got = port_spec_parse(word, &p, &e);
		assert_int_equal(got, len < 108 ? 0 : -1);
		if (got == 0)
			port_spec_done(&p);
	}
}

static void test_ports_are_refused_beside_the_hosts_network(void **state)
{
	struct policy p;
	struct err e;

	(void)state;
	policy_init(&p);
	p.network = NETWORK_HOST;
	assert_int_equal(port_spec_check(&p, &e), 0);
	assert_int_equal(port_spec_add(&p, "8080:80", &e), 0);
	assert_int_equal(port_spec_check(&p, &e), -1);
	assert_non_null(strstr(e.text, "(from -p 8080:80)"));
	p.network = NETWORK_NONE;
	assert_int_equal(port_spec_check(&p, &e), 0);
	for (size_t i = 1; i < PORT_SPEC_MAX; i++)
		assert_int_equal(port_spec_add(&p, "auto:80", &e), 0);
	assert_int_equal(port_spec_add(&p, "auto:80", &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	policy_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_words_that_are_none),
		cmocka_unit_test(test_a_path_has_a_bound),
		cmocka_unit_test(test_ports_are_refused_beside_the_hosts_network),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
