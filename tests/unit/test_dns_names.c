/* dns_names: a name keeps its address, an address is not another name's soon, and a
 * connection keeps its name. */
#include "egress/dns_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/rounds.h"

#define ALLOWED(host) (0xc6120000u + (host))
#define REFUSED(host) (0xc6130000u + (host))

static const uint8_t key[DNS_NAMES_KEY] = { 1, 2, 3 };

static const char *numbered(unsigned number)
{
	static char name[64];

	(void)snprintf(name, sizeof(name), "host-%u.example", number);
	return name;
}

static uint32_t allowed(struct dns_names *t, unsigned number)
{
	return dns_names_address(t, DNS_POOL_ALLOWED, numbered(number));
}

static void test_a_name_keeps_its_address(void **state)
{
	struct dns_names *t = dns_names_new(key);

	(void)state;
	for (int round = 0; round < 2; round++)
		for (unsigned i = 0; i < DNS_NAMES_MAX; i++) {
			assert_int_equal(allowed(t, i), ALLOWED(i + 1));
			assert_string_equal(dns_names_name(t, ALLOWED(i + 1)),
					    numbered(i));
		}
	assert_int_equal(dns_names_count(t, DNS_POOL_ALLOWED), DNS_NAMES_MAX);
	assert_int_equal(dns_names_count(t, DNS_POOL_REFUSED), 0);
	dns_names_free(t);
}

static void test_the_pools_are_apart(void **state)
{
	struct dns_names *t = dns_names_new(key);

	(void)state;
	assert_int_equal(dns_names_address(t, DNS_POOL_REFUSED, "a.example"), REFUSED(1));
	assert_int_equal(dns_names_address(t, DNS_POOL_ALLOWED, "a.example"), ALLOWED(1));
	assert_int_equal(dns_names_address(t, DNS_POOL_REFUSED, "b.example"), REFUSED(2));
	assert_string_equal(dns_names_name(t, REFUSED(1)), "a.example");
	assert_string_equal(dns_names_name(t, ALLOWED(1)), "a.example");
	assert_null(dns_names_name(t, ALLOWED(2)));
	dns_names_free(t);
}

static void test_addresses_without_a_name(void **state)
{
	static const uint32_t none[] = { 0,	      ALLOWED(0), ALLOWED(2), ALLOWED(0xffff),
					 REFUSED(1),  0xc6110001, 0xc6140001, 0x7f000001,
					 UINT32_MAX };
	struct dns_names *t = dns_names_new(key);

	(void)state;
	assert_int_equal(allowed(t, 0), ALLOWED(1));
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		assert_null(dns_names_name(t, none[i]));
		assert_false(dns_names_hold(t, none[i]));
		assert_false(dns_names_is_known(t, none[i]));
		dns_names_set_known(t, none[i]);
		dns_names_release(t, none[i]);
	}
	assert_string_equal(dns_names_name(t, ALLOWED(1)), numbered(0));
	dns_names_free(t);
	dns_names_free(NULL);
}

static void test_names_of_each_length(void **state)
{
	struct dns_names *t = dns_names_new(key);
	char name[256];

	(void)state;
	for (size_t len = 0; len < sizeof(name); len++) {
		memset(name, 'a', len);
		name[len] = '\0';
		uint32_t got = dns_names_address(t, DNS_POOL_ALLOWED, name);
		assert_int_equal(got, len >= 1 && len <= 253 ? ALLOWED(len) : 0);
		if (got)
			assert_string_equal(dns_names_name(t, got), name);
	}
	dns_names_free(t);
}

static void test_the_name_goes_that_was_unused_for_longest(void **state)
{
	struct dns_names *t = dns_names_new(key);

	(void)state;
	for (unsigned i = 0; i < DNS_NAMES_MAX; i++)
		(void)allowed(t, i);
	/* 0 is asked for again, 1 is held, 2 was held and is no longer. */
	assert_int_equal(allowed(t, 0), ALLOWED(1));
	assert_true(dns_names_hold(t, ALLOWED(2)));
	assert_true(dns_names_hold(t, ALLOWED(3)));
	dns_names_release(t, ALLOWED(3));

	assert_int_equal(allowed(t, 5000), ALLOWED(4097));
	assert_null(dns_names_name(t, ALLOWED(4)));
	for (uint32_t host = 1; host <= 3; host++)
		assert_non_null(dns_names_name(t, ALLOWED(host)));
	/* A name that went has another address when it comes again. */
	assert_int_equal(allowed(t, 3), ALLOWED(4098));
	assert_null(dns_names_name(t, ALLOWED(5)));
	assert_int_equal(dns_names_count(t, DNS_POOL_ALLOWED), DNS_NAMES_MAX);
	dns_names_free(t);
}

static void test_a_held_name_stays_while_10000_come(void **state)
{
	struct dns_names *t = dns_names_new(key);

	(void)state;
	assert_int_equal(allowed(t, 0), ALLOWED(1));
	assert_true(dns_names_hold(t, ALLOWED(1)));
	assert_true(dns_names_hold(t, ALLOWED(1)));
	dns_names_release(t, ALLOWED(1));
	for (unsigned i = 1; i <= 10000; i++)
		assert_int_equal(allowed(t, i), ALLOWED(i + 1));
	assert_string_equal(dns_names_name(t, ALLOWED(1)), numbered(0));
	assert_int_equal(allowed(t, 0), ALLOWED(1));
	dns_names_release(t, ALLOWED(1));
	/* A release too many changes nothing. */
	dns_names_release(t, ALLOWED(1));
	for (unsigned i = 20000; i < 20000 + DNS_NAMES_MAX; i++)
		assert_int_not_equal(allowed(t, i), 0);
	assert_null(dns_names_name(t, ALLOWED(1)));
	dns_names_free(t);
}

static void test_a_pool_of_held_names_is_full(void **state)
{
	struct dns_names *t = dns_names_new(key);

	(void)state;
	for (unsigned i = 0; i < DNS_NAMES_MAX; i++)
		assert_true(dns_names_hold(t, allowed(t, i)));
	assert_int_equal(allowed(t, 9999), 0);
	assert_int_equal(allowed(t, 7), ALLOWED(8));
	assert_int_equal(dns_names_address(t, DNS_POOL_REFUSED, "b.example"), REFUSED(1));
	dns_names_release(t, ALLOWED(8));
	assert_int_equal(allowed(t, 9999), ALLOWED(4097));
	assert_true(dns_names_hold(t, ALLOWED(4097)));
	assert_int_equal(allowed(t, 7), 0);
	dns_names_free(t);
}

static void test_addresses_go_around_and_miss_held_ones(void **state)
{
	struct dns_names *t = dns_names_new(key);
	uint32_t last = 0;

	(void)state;
	assert_true(dns_names_hold(t, allowed(t, 0)));
	for (unsigned i = 1; i < 65534; i++)
		last = allowed(t, i);
	assert_int_equal(last, ALLOWED(65534));
	/* .255.255 and .0.0 are no hosts, and .0.1 is held. */
	assert_int_equal(allowed(t, 70000), ALLOWED(2));
	assert_string_equal(dns_names_name(t, ALLOWED(1)), numbered(0));
	dns_names_free(t);
}

static void test_a_name_is_new_until_it_is_known(void **state)
{
	struct dns_names *t = dns_names_new(key);
	uint32_t address = allowed(t, 0);

	(void)state;
	assert_false(dns_names_is_known(t, address));
	dns_names_set_known(t, address);
	assert_true(dns_names_is_known(t, address));
	for (unsigned i = 1; i <= DNS_NAMES_MAX; i++)
		(void)allowed(t, i);
	/* It has gone, and is new again. */
	assert_false(dns_names_is_known(t, allowed(t, 0)));
	dns_names_free(t);
}

/* The table against a plain array: names that come at random, some of them held. */
static void test_random_use_against_a_plain_array(void **state)
{
	enum { NAMES = 6000 };
	static uint32_t addresses[NAMES], held[NAMES];
	struct dns_names *t = dns_names_new(key);
	uint32_t x = 7;

	(void)state;
	for (unsigned round = 0; round < ROUNDS_OF(400000); round++) {
		x = x * 1664525 + 1013904223;
		unsigned i = (x >> 8) % NAMES;
		if (x >> 30 == 0 && held[i]) {
			dns_names_release(t, addresses[i]);
			held[i]--;
			continue;
		}
		uint32_t got = allowed(t, i);
		assert_int_not_equal(got, 0);
		assert_string_equal(dns_names_name(t, got), numbered(i));
		if (held[i])
			assert_int_equal(got, addresses[i]);
		addresses[i] = got;
		if (x >> 29 == 7 && i < 3000) {
			assert_true(dns_names_hold(t, got));
			held[i]++;
		}
	}
	for (unsigned i = 0; i < NAMES; i++)
		if (held[i])
			assert_string_equal(dns_names_name(t, addresses[i]), numbered(i));
	dns_names_free(t);
}

static void test_the_form_of_ipv6(void **state)
{
	static const uint8_t expected[16] = { 0xfd, 0, 0,    2,	   0, 1, 0, 0,
					      0,    0, 0,    0,	   198, 18, 1, 2 };
	uint8_t got[16];

	(void)state;
	dns_names_to_v6(ALLOWED(0x102), got);
	assert_memory_equal(got, expected, 16);
	assert_int_equal(dns_names_from_v6(got), ALLOWED(0x102));
	dns_names_to_v6(REFUSED(0xffff), got);
	assert_int_equal(dns_names_from_v6(got), REFUSED(0xffff));
	for (int i = 0; i < 14; i++) {
		dns_names_to_v6(ALLOWED(1), got);
		got[i] ^= 0x80;
		assert_int_equal(dns_names_from_v6(got), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_name_keeps_its_address),
		cmocka_unit_test(test_the_pools_are_apart),
		cmocka_unit_test(test_addresses_without_a_name),
		cmocka_unit_test(test_names_of_each_length),
		cmocka_unit_test(test_the_name_goes_that_was_unused_for_longest),
		cmocka_unit_test(test_a_held_name_stays_while_10000_come),
		cmocka_unit_test(test_a_pool_of_held_names_is_full),
		cmocka_unit_test(test_addresses_go_around_and_miss_held_ones),
		cmocka_unit_test(test_a_name_is_new_until_it_is_known),
		cmocka_unit_test(test_random_use_against_a_plain_array),
		cmocka_unit_test(test_the_form_of_ipv6),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
