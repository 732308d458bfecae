/* address: parses one form of each address, and knows the ranges to which no name may
 * lead, each by its first and last address and the neighbours of these. */
#include "policy/egress/address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cmocka.h>

#include "base/own.h"

static struct address parsed(const char *text)
{
	struct address a = { 0 };

	if (!address_parse(text, strlen(text), &a))
		fail_msg("'%s' was not parsed", text);
	return a;
}

static void test_texts(void **state)
{
	static const struct {
		const char *text, *printed;
	} rows[] = {
		{ "0.0.0.0", "0.0.0.0" },
		{ "1.2.3.4", "1.2.3.4" },
		{ "255.255.255.255", "255.255.255.255" },
		{ "::", "::" },
		{ "::1", "::1" },
		{ "2606:4700::1111", "2606:4700::1111" },
		{ "2606:4700:0:0:0:0:0:1111", "2606:4700::1111" },
		{ "FD00::7", "fd00::7" },
		{ "::ffff:1.2.3.4", "1.2.3.4" },
		{ "::ffff:102:304", "1.2.3.4" },
		{ "::FFFF:127.0.0.1", "127.0.0.1" },
		{ "0:0:0:0:0:ffff:1.2.3.4", "1.2.3.4" },
		{ "64:ff9b::1.2.3.4", "64:ff9b::102:304" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
	};
	char text[ADDRESS_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct address a = parsed(rows[i].text);
		assert_string_equal(address_print(&a, text), rows[i].printed);
		struct address b = parsed(text);
		assert_true(address_is_equal(&a, &b));
	}
}

static void test_texts_that_are_none(void **state)
{
	static const char *const rows[] = {
		"",
		"1",
		"1.2",
		"1.2.3",
		"1.2.3.",
		"1.2.3.4.",
		"1.2.3.4.5",
		".1.2.3.4",
		"1..2.3",
		"256.0.0.1",
		"1.2.3.256",
		"01.2.3.4",
		"1.2.3.04",
		"0177.0.0.1",
		"00.0.0.0",
		"0x7f.1",
		"0x7f.0.0.1",
		"127.1",
		"2130706433",
		"1.2.3.4 ",
		" 1.2.3.4",
		"1.2.3.4\n",
		"1,2,3,4",
		"1.2.3.-4",
		"+1.2.3.4",
		"1.2.3.4/8",
		"1.2.3.4:80",
		"[::1]",
		"::1%lo",
		"fe80::1%eth0",
		":::",
		"1::2::3",
		":1",
		"1:",
		"::g",
		"12345::",
		"1:2:3:4:5:6:7:8:9",
		"1:2:3:4:5:6:7",
		"::1.2.3",
		"::1.2.3.4.5",
		"::ffff:256.1.1.1",
		"::01.2.3.4",
		"a.b.c.d",
		"localhost",
		"1:2:3:4:5:6:7:8::",
	};
	struct address a;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (address_parse(rows[i], strlen(rows[i]), &a))
			fail_msg("'%s' was parsed", rows[i]);
	assert_false(address_parse("1.2.3.4\0", 8, &a));
	assert_false(address_parse("1.2.3.4\0.5", 10, &a));
	assert_true(address_parse("1.2.3.45", 7, &a));
	assert_int_equal(a.bytes[3], 4);
}

static void test_socket_addresses(void **state)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct address a, wanted;

	(void)state;
	assert_int_equal(inet_pton(AF_INET, "1.2.3.4", &v4.sin_addr), 1);
	assert_true(address_from_sockaddr((struct sockaddr *)&v4, sizeof(v4), &a));
	wanted = parsed("1.2.3.4");
	assert_true(address_is_equal(&a, &wanted));
	assert_false(address_from_sockaddr((struct sockaddr *)&v4, sizeof(v4) - 1, &a));
	assert_int_equal(inet_pton(AF_INET6, "::ffff:1.2.3.4", &v6.sin6_addr), 1);
	assert_true(address_from_sockaddr((struct sockaddr *)&v6, sizeof(v6), &a));
	assert_true(address_is_equal(&a, &wanted));
	assert_false(address_from_sockaddr((struct sockaddr *)&v6, sizeof(v6) - 1, &a));
	v6.sin6_family = AF_UNIX;
	assert_false(address_from_sockaddr((struct sockaddr *)&v6, sizeof(v6), &a));
}

static void test_ranges(void **state)
{
	static const struct {
		const char *text, *name; /* NULL: public */
		enum address_kind kind;
	} rows[] = {
		{ "0.0.0.0", "this network", ADDRESS_CLOSED },
		{ "0.0.0.1", "this network", ADDRESS_CLOSED },
		{ "0.255.255.255", "this network", ADDRESS_CLOSED },
		{ "1.0.0.0", NULL, ADDRESS_PUBLIC },
		{ "1.1.1.1", NULL, ADDRESS_PUBLIC },
		{ "9.255.255.255", NULL, ADDRESS_PUBLIC },
		{ "10.0.0.0", "private", ADDRESS_SPECIAL },
		{ "10.1.2.3", "private", ADDRESS_SPECIAL },
		{ "10.255.255.255", "private", ADDRESS_SPECIAL },
		{ "11.0.0.0", NULL, ADDRESS_PUBLIC },
		{ "100.63.255.255", NULL, ADDRESS_PUBLIC },
		{ "100.64.0.0", "shared by customers of a provider", ADDRESS_SPECIAL },
		{ "100.100.100.199", "shared by customers of a provider",
		  ADDRESS_SPECIAL },
		{ "100.100.100.200", "cloud metadata", ADDRESS_METADATA },
		{ "100.100.100.201", "shared by customers of a provider",
		  ADDRESS_SPECIAL },
		{ "100.127.255.255", "shared by customers of a provider",
		  ADDRESS_SPECIAL },
		{ "100.128.0.0", NULL, ADDRESS_PUBLIC },
		{ "126.255.255.255", NULL, ADDRESS_PUBLIC },
		{ "127.0.0.0", "loopback", ADDRESS_CLOSED },
		{ "127.0.0.1", "loopback", ADDRESS_CLOSED },
		{ "127.255.255.255", "loopback", ADDRESS_CLOSED },
		{ "128.0.0.0", NULL, ADDRESS_PUBLIC },
		{ "168.63.129.15", NULL, ADDRESS_PUBLIC },
		{ "168.63.129.16", "cloud metadata", ADDRESS_METADATA },
		{ "168.63.129.17", NULL, ADDRESS_PUBLIC },
		{ "169.253.255.255", NULL, ADDRESS_PUBLIC },
		{ "169.254.0.0", "link-local", ADDRESS_SPECIAL },
		{ "169.254.0.23", "cloud metadata", ADDRESS_METADATA },
		{ "169.254.169.253", "link-local", ADDRESS_SPECIAL },
		{ "169.254.169.254", "cloud metadata", ADDRESS_METADATA },
		{ "169.254.169.255", "link-local", ADDRESS_SPECIAL },
		{ "169.254.170.2", "cloud metadata", ADDRESS_METADATA },
		{ "169.254.170.23", "cloud metadata", ADDRESS_METADATA },
		{ "169.254.255.255", "link-local", ADDRESS_SPECIAL },
		{ "169.255.0.0", NULL, ADDRESS_PUBLIC },
		{ "172.15.255.255", NULL, ADDRESS_PUBLIC },
		{ "172.16.0.0", "private", ADDRESS_SPECIAL },
		{ "172.31.255.255", "private", ADDRESS_SPECIAL },
		{ "172.32.0.0", NULL, ADDRESS_PUBLIC },
		{ "191.255.255.255", NULL, ADDRESS_PUBLIC },
		{ "192.0.0.0", "assigned to protocols", ADDRESS_SPECIAL },
		{ "192.0.0.191", "assigned to protocols", ADDRESS_SPECIAL },
		{ "192.0.0.192", "cloud metadata", ADDRESS_METADATA },
		{ "192.0.0.255", "assigned to protocols", ADDRESS_SPECIAL },
		{ "192.0.1.0", NULL, ADDRESS_PUBLIC },
		{ "192.0.1.255", NULL, ADDRESS_PUBLIC },
		{ "192.0.2.0", "for documents", ADDRESS_SPECIAL },
		{ "192.0.2.255", "for documents", ADDRESS_SPECIAL },
		{ "192.0.3.0", NULL, ADDRESS_PUBLIC },
		{ "192.88.98.255", NULL, ADDRESS_PUBLIC },
		{ "192.88.99.0", "relays of 6to4", ADDRESS_SPECIAL },
		{ "192.88.99.255", "relays of 6to4", ADDRESS_SPECIAL },
		{ "192.88.100.0", NULL, ADDRESS_PUBLIC },
		{ "192.167.255.255", NULL, ADDRESS_PUBLIC },
		{ "192.168.0.0", "private", ADDRESS_SPECIAL },
		{ "192.168.255.255", "private", ADDRESS_SPECIAL },
		{ "192.169.0.0", NULL, ADDRESS_PUBLIC },
		{ "198.17.255.255", NULL, ADDRESS_PUBLIC },
		{ "198.18.0.0", "addresses that hutch gives to names", ADDRESS_CLOSED },
		{ "198.19.255.255", "addresses that hutch gives to names",
		  ADDRESS_CLOSED },
		{ "198.20.0.0", NULL, ADDRESS_PUBLIC },
		{ "198.51.99.255", NULL, ADDRESS_PUBLIC },
		{ "198.51.100.0", "for documents", ADDRESS_SPECIAL },
		{ "198.51.100.255", "for documents", ADDRESS_SPECIAL },
		{ "198.51.101.0", NULL, ADDRESS_PUBLIC },
		{ "203.0.112.255", NULL, ADDRESS_PUBLIC },
		{ "203.0.113.0", "for documents", ADDRESS_SPECIAL },
		{ "203.0.113.255", "for documents", ADDRESS_SPECIAL },
		{ "203.0.114.0", NULL, ADDRESS_PUBLIC },
		{ "223.255.255.255", NULL, ADDRESS_PUBLIC },
		{ "224.0.0.0", "multicast", ADDRESS_CLOSED },
		{ "239.255.255.255", "multicast", ADDRESS_CLOSED },
		{ "240.0.0.0", "reserved", ADDRESS_SPECIAL },
		{ "255.255.255.254", "reserved", ADDRESS_SPECIAL },
		{ "255.255.255.255", "broadcast", ADDRESS_CLOSED },

		{ "::", "unspecified", ADDRESS_CLOSED },
		{ "::1", "loopback", ADDRESS_CLOSED },
		{ "100::", "discarded", ADDRESS_SPECIAL },
		{ "100::ffff:ffff:ffff:ffff", "discarded", ADDRESS_SPECIAL },
		{ "100:0:0:1::", "not allocated", ADDRESS_SPECIAL },
		{ "200::1", "not allocated", ADDRESS_SPECIAL },
		{ "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "not allocated",
		  ADDRESS_SPECIAL },
		{ "2000::", NULL, ADDRESS_PUBLIC },
		{ "2001:1::", NULL, ADDRESS_PUBLIC },
		{ "2001:2::", "for benchmarks", ADDRESS_SPECIAL },
		{ "2001:2:0:ffff:ffff:ffff:ffff:ffff", "for benchmarks",
		  ADDRESS_SPECIAL },
		{ "2001:2:1::", NULL, ADDRESS_PUBLIC },
		{ "2001:10::", "identifiers, not addresses", ADDRESS_SPECIAL },
		{ "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff", "identifiers, not addresses",
		  ADDRESS_SPECIAL },
		{ "2001:20::", "identifiers, not addresses", ADDRESS_SPECIAL },
		{ "2001:2f:ffff:ffff:ffff:ffff:ffff:ffff", "identifiers, not addresses",
		  ADDRESS_SPECIAL },
		{ "2001:30::", NULL, ADDRESS_PUBLIC },
		{ "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", NULL, ADDRESS_PUBLIC },
		{ "2001:db8::", "for documents", ADDRESS_SPECIAL },
		{ "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "for documents",
		  ADDRESS_SPECIAL },
		{ "2001:db9::", NULL, ADDRESS_PUBLIC },
		{ "2606:4700::1111", NULL, ADDRESS_PUBLIC },
		{ "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, ADDRESS_PUBLIC },
		{ "3fff::", "for documents", ADDRESS_SPECIAL },
		{ "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "for documents",
		  ADDRESS_SPECIAL },
		{ "3fff:1000::", NULL, ADDRESS_PUBLIC },
		{ "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, ADDRESS_PUBLIC },
		{ "4000::", "not allocated", ADDRESS_SPECIAL },
		{ "5eff::1", "not allocated", ADDRESS_SPECIAL },
		{ "5f00::", "identifiers of segment routing", ADDRESS_SPECIAL },
		{ "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		  "identifiers of segment routing", ADDRESS_SPECIAL },
		{ "5f01::", "not allocated", ADDRESS_SPECIAL },
		{ "fbff::1", "not allocated", ADDRESS_SPECIAL },
		{ "fc00::", "private", ADDRESS_SPECIAL },
		{ "fd00::7", "private", ADDRESS_SPECIAL },
		{ "fd00:ec2::23", "cloud metadata", ADDRESS_METADATA },
		{ "fd00:ec2::253", "private", ADDRESS_SPECIAL },
		{ "fd00:ec2::254", "cloud metadata", ADDRESS_METADATA },
		{ "fd00:ec2::255", "private", ADDRESS_SPECIAL },
		{ "fd20:ce::254", "cloud metadata", ADDRESS_METADATA },
		{ "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "private", ADDRESS_SPECIAL },
		{ "fe00::", "not allocated", ADDRESS_SPECIAL },
		{ "fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "not allocated",
		  ADDRESS_SPECIAL },
		{ "fe80::", "link-local", ADDRESS_CLOSED },
		{ "fe80::a9fe:a9fe", "link-local", ADDRESS_CLOSED },
		{ "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "link-local",
		  ADDRESS_CLOSED },
		{ "fec0::", "site-local", ADDRESS_SPECIAL },
		{ "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "site-local",
		  ADDRESS_SPECIAL },
		{ "ff00::", "multicast", ADDRESS_CLOSED },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "multicast",
		  ADDRESS_CLOSED },

		/* IPv4 inside IPv6 */
		{ "::ffff:0.0.0.0", "this network", ADDRESS_CLOSED },
		{ "::ffff:8.8.8.8", NULL, ADDRESS_PUBLIC },
		{ "::ffff:10.0.0.1", "private", ADDRESS_SPECIAL },
		{ "::ffff:127.0.0.1", "loopback", ADDRESS_CLOSED },
		{ "::ffff:a9fe:a9fe", "cloud metadata", ADDRESS_METADATA },
		{ "::8.8.8.8", NULL, ADDRESS_PUBLIC },
		{ "::2", "this network", ADDRESS_CLOSED },
		{ "::10.0.0.1", "private", ADDRESS_SPECIAL },
		{ "::127.0.0.1", "loopback", ADDRESS_CLOSED },
		{ "::169.254.169.254", "cloud metadata", ADDRESS_METADATA },
		{ "::255.255.255.255", "broadcast", ADDRESS_CLOSED },
		{ "::1:0:0", "not allocated", ADDRESS_SPECIAL },
		{ "::fffe:ffff:ffff", "not allocated", ADDRESS_SPECIAL },
		{ "::1:0:0:0", "not allocated", ADDRESS_SPECIAL },
		{ "64:ff9a:ffff:ffff:ffff:ffff:808:808", "not allocated",
		  ADDRESS_SPECIAL },
		{ "64:ff9b::", "this network", ADDRESS_CLOSED },
		{ "64:ff9b::8.8.8.8", NULL, ADDRESS_PUBLIC },
		{ "64:ff9b::10.0.0.1", "private", ADDRESS_SPECIAL },
		{ "64:ff9b::127.0.0.1", "loopback", ADDRESS_CLOSED },
		{ "64:ff9b::169.254.169.254", "cloud metadata", ADDRESS_METADATA },
		{ "64:ff9b::255.255.255.255", "broadcast", ADDRESS_CLOSED },
		{ "64:ff9b::1:808:808", "not allocated", ADDRESS_SPECIAL },
		{ "64:ff9b:1::8.8.8.8", "this network", ADDRESS_CLOSED },
		{ "64:ff9b:1:808:8:800:8.8.8.8", "translated within a network",
		  ADDRESS_SPECIAL },
		{ "64:ff9b:1:808:8:800:10.0.0.1", "translated within a network",
		  ADDRESS_SPECIAL },
		{ "64:ff9b:1:a9fe:a9:fe00:8.8.8.8", "cloud metadata", ADDRESS_METADATA },
		{ "64:ff9b:1:808:8:800:169.254.169.254", "cloud metadata",
		  ADDRESS_METADATA },
		{ "64:ff9b:2::8.8.8.8", "not allocated", ADDRESS_SPECIAL },
		{ "2002:808:808::", NULL, ADDRESS_PUBLIC },
		{ "2002:a00:1::1", "private", ADDRESS_SPECIAL },
		{ "2002:7f00:1::", "loopback", ADDRESS_CLOSED },
		{ "2002:a9fe:a9fe::", "cloud metadata", ADDRESS_METADATA },
		{ "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "broadcast",
		  ADDRESS_CLOSED },
		{ "2003::", NULL, ADDRESS_PUBLIC },
		/* Teredo: the server's address as it is, the client's inverted */
		{ "2001:0:808:808::f7f7:f7f7", NULL, ADDRESS_PUBLIC },
		{ "2001:0:a00:1::f7f7:f7f7", "private", ADDRESS_SPECIAL },
		{ "2001:0:808:808::f5ff:fffe", "private", ADDRESS_SPECIAL },
		{ "2001:0:808:808::80ff:fffe", "loopback", ADDRESS_CLOSED },
		{ "2001:0:808:808::5601:5601", "cloud metadata", ADDRESS_METADATA },
		{ "2001:0:a9fe:a9fe::f7f7:f7f7", "cloud metadata", ADDRESS_METADATA },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct address a = parsed(rows[i].text);
		const struct address_range *r = address_special(&a);
		const enum address_kind kind = r ? r->kind : ADDRESS_PUBLIC;
		if (kind != rows[i].kind)
			fail_msg("%s: kind %d, %s", rows[i].text, (int)kind,
				 r ? r->name : "public");
		if (r)
			assert_string_equal(r->name, rows[i].name);
	}
}

/* Each range has a source, no bits behind its length, and is found by its first and its
 * last address unless an earlier one has them. */
static void test_the_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < address_range_count; i++) {
		const struct address_range *r = &address_ranges[i];
		struct address last = r->network.first;
		const unsigned int bits = last.family == 4 ? 32 : 128;
		char text[CIDR_TEXT_MAX];
		struct cidr n;

		assert_non_null(r->name);
		assert_true(strlen(r->source) > 5);
		assert_true(r->kind != ADDRESS_PUBLIC);
		(void)cidr_print(&r->network, text);
		if (cidr_parse(text, strlen(text), &n) != CIDR_GOOD)
			fail_msg("%s has bits behind its length", text);
		for (unsigned int b = r->network.length; b < bits; b++)
			last.bytes[b / 8] |= (uint8_t)(0x80 >> b % 8);
		assert_true(cidr_has(&r->network, &last));
		assert_true(address_range_of(&last) <= r);
		assert_true(address_range_of(&r->network.first) <= r);
	}
}

static void test_inner_addresses(void **state)
{
	static const struct {
		const char *text, *first, *second;
	} rows[] = {
		{ "1.2.3.4", NULL, NULL },
		{ "::ffff:1.2.3.4", NULL, NULL },
		{ "2606:4700::1", NULL, NULL },
		{ "::1.2.3.4", "1.2.3.4", NULL },
		{ "64:ff9b::1.2.3.4", "1.2.3.4", NULL },
		{ "64:ff9b:1:506:7:800:1.2.3.4", "1.2.3.4", "5.6.7.8" },
		{ "2002:102:304::", "1.2.3.4", NULL },
		{ "2001:0:102:304::faf9:f8f7", "1.2.3.4", "5.6.7.8" },
	};
	struct address inner[ADDRESS_INNER_MAX];
	char text[ADDRESS_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct address a = parsed(rows[i].text);
		size_t count = address_inner(&a, inner);
		assert_int_equal(count, !!rows[i].first + !!rows[i].second);
		if (count > 0)
			assert_string_equal(address_print(&inner[0], text),
					    rows[i].first);
		if (count > 1)
			assert_string_equal(address_print(&inner[1], text),
					    rows[i].second);
	}
}

static void test_networks(void **state)
{
	static const struct {
		const char *text, *printed;
		enum cidr_fault fault;
	} rows[] = {
		{ "10.0.0.0/8", "10.0.0.0/8", CIDR_GOOD },
		{ "10.1.2.3", "10.1.2.3", CIDR_GOOD },
		{ "10.1.2.3/32", "10.1.2.3", CIDR_GOOD },
		{ "0.0.0.0/0", "0.0.0.0/0", CIDR_GOOD },
		{ "128.0.0.0/1", "128.0.0.0/1", CIDR_GOOD },
		{ "10.1.2.2/31", "10.1.2.2/31", CIDR_GOOD },
		{ "::/0", "::/0", CIDR_GOOD },
		{ "fd00::/64", "fd00::/64", CIDR_GOOD },
		{ "fd00::7", "fd00::7", CIDR_GOOD },
		{ "fd00::7/128", "fd00::7", CIDR_GOOD },
		{ "fc00::/7", "fc00::/7", CIDR_GOOD },
		{ "::ffff:10.0.0.0/104", "10.0.0.0/8", CIDR_GOOD },
		{ "::ffff:10.1.2.3", "10.1.2.3", CIDR_GOOD },
		{ "::ffff:0.0.0.0/96", "0.0.0.0/0", CIDR_GOOD },
		{ "::ffff:0.0.0.0/95", NULL, CIDR_LENGTH },
		{ "::ffff:10.0.0.0/8", NULL, CIDR_LENGTH },
		{ "10.1.2.3/8", "10.0.0.0/8", CIDR_BITS },
		{ "10.1.2.3/0", "0.0.0.0/0", CIDR_BITS },
		{ "10.1.2.3/31", "10.1.2.2/31", CIDR_BITS },
		{ "fd00::7/64", "fd00::/64", CIDR_BITS },
		{ "fe00::/7", "fe00::/7", CIDR_GOOD },
		{ "ff00::/7", "fe00::/7", CIDR_BITS },
		{ "10.0.0.0/33", NULL, CIDR_LENGTH },
		{ "10.0.0.0/", NULL, CIDR_LENGTH },
		{ "10.0.0.0/08", NULL, CIDR_LENGTH },
		{ "10.0.0.0/-1", NULL, CIDR_LENGTH },
		{ "10.0.0.0/ 8", NULL, CIDR_LENGTH },
		{ "10.0.0.0/8 ", NULL, CIDR_LENGTH },
		{ "10.0.0.0/8/8", NULL, CIDR_LENGTH },
		{ "10.0.0.0/255.0.0.0", NULL, CIDR_LENGTH },
		{ "10.0.0.0/256", NULL, CIDR_LENGTH },
		{ "10.0.0.0/4294967304", NULL, CIDR_LENGTH },
		{ "fd00::/129", NULL, CIDR_LENGTH },
		{ "", NULL, CIDR_NO_ADDRESS },
		{ "/8", NULL, CIDR_NO_ADDRESS },
		{ "10/8", NULL, CIDR_NO_ADDRESS },
		{ "10.0.0/8", NULL, CIDR_NO_ADDRESS },
		{ "a/8", NULL, CIDR_NO_ADDRESS },
		{ "[fd00::]/8", NULL, CIDR_NO_ADDRESS },
	};
	char text[CIDR_TEXT_MAX];
	struct cidr n;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		enum cidr_fault f =
			cidr_parse(rows[i].text, strlen(rows[i].text), &n);
		if (f != rows[i].fault)
			fail_msg("%s: %d", rows[i].text, (int)f);
		if (rows[i].printed)
			assert_string_equal(cidr_print(&n, text), rows[i].printed);
	}
}

static struct cidr network(const char *text)
{
	struct cidr n = { 0 };

	assert_int_equal(cidr_parse(text, strlen(text), &n), CIDR_GOOD);
	return n;
}

static void test_what_a_network_has_and_names(void **state)
{
	static const struct {
		const char *network, *address;
		bool has, names;
	} rows[] = {
		{ "10.0.0.0/8", "10.0.0.0", true, true },
		{ "10.0.0.0/8", "10.255.255.255", true, true },
		{ "10.0.0.0/8", "11.0.0.0", false, false },
		{ "10.0.0.0/8", "9.255.255.255", false, false },
		{ "10.0.0.0/8", "::ffff:10.1.1.1", true, true },
		{ "10.0.0.0/8", "::10.1.1.1", false, false },
		{ "10.0.0.0/8", "64:ff9b::10.1.1.1", false, false },
		{ "10.1.2.3", "10.1.2.3", true, true },
		{ "10.1.2.3", "10.1.2.4", false, false },
		{ "0.0.0.0/0", "8.8.8.8", true, true },
		{ "0.0.0.0/0", "10.1.2.3", true, false },
		{ "0.0.0.0/0", "127.0.0.1", true, false },
		{ "0.0.0.0/0", "169.254.169.254", true, false },
		{ "0.0.0.0/0", "::1", false, false },
		{ "8.0.0.0/6", "10.1.2.3", true, false },
		{ "8.0.0.0/6", "8.8.8.8", true, true },
		{ "127.0.0.0/8", "127.0.0.1", true, false },
		{ "127.0.0.1", "127.0.0.1", true, false },
		{ "198.18.0.0/15", "198.18.0.1", true, false },
		{ "169.254.0.0/16", "169.254.1.1", true, true },
		{ "169.254.0.0/16", "169.254.169.254", true, false },
		{ "169.254.169.254/31", "169.254.169.254", true, false },
		{ "169.254.169.254", "169.254.169.254", true, true },
		{ "168.63.129.0/24", "168.63.129.16", true, false },
		{ "168.63.129.0/24", "168.63.129.17", true, true },
		{ "168.63.129.16", "168.63.129.16", true, true },
		{ "::/0", "2606:4700::1", true, true },
		{ "::/0", "fd00::1", true, false },
		{ "::/0", "4000::1", true, false },
		{ "::/0", "::1", true, false },
		{ "::/0", "8.8.8.8", false, false },
		{ "fc00::/7", "fd00::1", true, true },
		{ "fd00::/8", "fd00::1", true, true },
		{ "fd00::/8", "fd00:ec2::254", true, false },
		{ "fd00:ec2::254", "fd00:ec2::254", true, true },
		{ "f000::/4", "fd00::1", true, false },
		{ "200::/7", "200::1", true, true },
		{ "fe80::/10", "fe80::1", true, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct cidr n = network(rows[i].network);
		struct address a = parsed(rows[i].address);
		if (cidr_has(&n, &a) != rows[i].has ||
		    cidr_names(&n, &a) != rows[i].names)
			fail_msg("%s and %s", rows[i].network, rows[i].address);
	}
}

static void test_networks_in_networks(void **state)
{
	static const struct {
		const char *outer, *inner;
		bool contains;
	} rows[] = {
		{ "10.0.0.0/8", "10.0.0.0/8", true },
		{ "10.0.0.0/8", "10.1.0.0/16", true },
		{ "10.0.0.0/8", "10.1.2.3", true },
		{ "10.1.0.0/16", "10.0.0.0/8", false },
		{ "10.0.0.0/8", "11.0.0.0/8", false },
		{ "0.0.0.0/0", "10.0.0.0/8", true },
		{ "0.0.0.0/0", "::/0", false },
		{ "::/0", "0.0.0.0/0", false },
		{ "::/0", "fd00::/8", true },
		{ "fd00::/63", "fd00:0:0:1::/64", true },
		{ "fd00::/64", "fd00:0:0:1::/64", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct cidr outer = network(rows[i].outer),
			       inner = network(rows[i].inner);
		if (cidr_contains(&outer, &inner) != rows[i].contains)
			fail_msg("%s and %s", rows[i].outer, rows[i].inner);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_texts_that_are_none),
		cmocka_unit_test(test_socket_addresses),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_the_table),
		cmocka_unit_test(test_inner_addresses),
		cmocka_unit_test(test_networks),
		cmocka_unit_test(test_what_a_network_has_and_names),
		cmocka_unit_test(test_networks_in_networks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
