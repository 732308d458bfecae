/* host_name: one form for each name, and no address or other text in its place. */
#include "policy/egress/host_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"

#define L63 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggg"
#define L61 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffg"

static void test_names_are_normalised(void **state)
{
	static const struct {
		const char *text, *name;
	} rows[] = {
		{ "pypi.org", "pypi.org" },
		{ "PyPI.ORG", "pypi.org" },
		{ "pypi.org.", "pypi.org" },
		{ "a", "a" },
		{ "a.", "a" },
		{ "A.B.C", "a.b.c" },
		{ "a-b.c", "a-b.c" },
		{ "a--b.c", "a--b.c" },
		{ "r3---sn-4g5e6nsz.googlevideo.com",
		  "r3---sn-4g5e6nsz.googlevideo.com" },
		{ "_dmarc.example.org", "_dmarc.example.org" },
		{ "_443._tcp.example.org", "_443._tcp.example.org" },
		{ "_", "_" },
		{ "a_b.c_d", "a_b.c_d" },
		{ "xn--mnchen-3ya.de", "xn--mnchen-3ya.de" },
		{ "XN--MNCHEN-3YA.DE", "xn--mnchen-3ya.de" },
		{ "xn--p1ai", "xn--p1ai" },
		{ "xn--a.xn--b", "xn--a.xn--b" },
		{ "1.2.3.4.com", "1.2.3.4.com" },
		{ "4.3.2.1.in-addr.arpa", "4.3.2.1.in-addr.arpa" },
		{ "0x7f.com", "0x7f.com" },
		{ "127.0.0.1.nip.io", "127.0.0.1.nip.io" },
		{ "1e100.net", "1e100.net" },
		{ "1and1.1and1", "1and1.1and1" },
		{ "a.0xg", "a.0xg" },
		{ "a.0y1", "a.0y1" },
		{ "a.1x", "a.1x" },
		{ "0-0.org", "0-0.org" },
		{ L63 ".org", L63 ".org" },
		{ L63 "." L63 "." L63 "." L61, L63 "." L63 "." L63 "." L61 },
		{ L63 "." L63 "." L63 "." L61 ".", L63 "." L63 "." L63 "." L61 },
	};
	struct host_name n;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		enum host_name_fault f =
			host_name_read(&n, rows[i].text, strlen(rows[i].text));
		if (f)
			fail_msg("%s: %s", rows[i].text, host_name_fault_text(f));
		assert_string_equal(n.text, rows[i].name);
		assert_int_equal(n.len, strlen(rows[i].name));
	}
}

/* The texts that inet_aton(3) and URLs take for an address, and names with bytes that a
 * later reader may take for the end of a name or for another part of a URL. */
static void test_texts_that_are_no_names(void **state)
{
	static const struct {
		const char *text;
		size_t len; /* 0: up to the NUL */
		enum host_name_fault fault;
	} rows[] = {
		{ "", 0, HOST_NAME_EMPTY },
		{ ".", 0, HOST_NAME_LABEL_EMPTY },
		{ "..", 0, HOST_NAME_LABEL_EMPTY },
		{ ".a", 0, HOST_NAME_LABEL_EMPTY },
		{ "a..", 0, HOST_NAME_LABEL_EMPTY },
		{ "a..b", 0, HOST_NAME_LABEL_EMPTY },
		{ ".a.b", 0, HOST_NAME_LABEL_EMPTY },
		{ "a b", 0, HOST_NAME_BYTE },
		{ " a", 0, HOST_NAME_BYTE },
		{ "a ", 0, HOST_NAME_BYTE },
		{ "a.b\n", 0, HOST_NAME_BYTE },
		{ "a\r\nHost: b", 0, HOST_NAME_BYTE },
		{ "a\tb", 0, HOST_NAME_BYTE },
		{ "a\0b", 3, HOST_NAME_BYTE },
		{ "pypi.org\0", 9, HOST_NAME_BYTE },
		{ "\0", 1, HOST_NAME_BYTE },
		{ "pypi.org\0.evil.example", 22, HOST_NAME_BYTE },
		{ "evil.example\0.pypi.org", 22, HOST_NAME_BYTE },
		{ "*", 0, HOST_NAME_BYTE },
		{ "*.a", 0, HOST_NAME_BYTE },
		{ "a.*", 0, HOST_NAME_BYTE },
		{ "a/b", 0, HOST_NAME_BYTE },
		{ "a\\b", 0, HOST_NAME_BYTE },
		{ "a?b", 0, HOST_NAME_BYTE },
		{ "a#b", 0, HOST_NAME_BYTE },
		{ "a%2eb", 0, HOST_NAME_BYTE },
		{ "a%00b", 0, HOST_NAME_BYTE },
		{ "a:80", 0, HOST_NAME_BYTE },
		{ "user@host", 0, HOST_NAME_BYTE },
		{ "pypi.org@evil.example", 0, HOST_NAME_BYTE },
		{ "a,b", 0, HOST_NAME_BYTE },
		{ "a;b", 0, HOST_NAME_BYTE },
		{ "a'b", 0, HOST_NAME_BYTE },
		{ "a\"b", 0, HOST_NAME_BYTE },
		{ "a$b", 0, HOST_NAME_BYTE },
		{ "a+b", 0, HOST_NAME_BYTE },
		{ "a=b", 0, HOST_NAME_BYTE },
		{ "a~b", 0, HOST_NAME_BYTE },
		{ "a\x7f", 0, HOST_NAME_BYTE },
		{ "[::1]", 0, HOST_NAME_BYTE },
		{ "::1", 0, HOST_NAME_BYTE },
		{ "::", 0, HOST_NAME_BYTE },
		{ "fe80::1%eth0", 0, HOST_NAME_BYTE },
		{ "fe80--1%eth0", 0, HOST_NAME_BYTE },
		{ "2001:db8::1", 0, HOST_NAME_BYTE },
		{ "::ffff:1.2.3.4", 0, HOST_NAME_BYTE },
		{ "m\xc3\xbcnchen.de", 0, HOST_NAME_UNICODE },
		{ "\xff", 0, HOST_NAME_UNICODE },
		{ "a\xe3\x80\x82"
		  "b",
		  0, HOST_NAME_UNICODE }, /* an ideographic full stop */
		{ "\xef\xbd\x81.org", 0, HOST_NAME_UNICODE }, /* a full-width letter */
		{ "pypi\xe2\x80\x8b.org", 0, HOST_NAME_UNICODE },
		{ "\x80.org", 0, HOST_NAME_UNICODE },
		{ "-a", 0, HOST_NAME_HYPHEN },
		{ "a-", 0, HOST_NAME_HYPHEN },
		{ "-", 0, HOST_NAME_HYPHEN },
		{ "a.-b.c", 0, HOST_NAME_HYPHEN },
		{ "a.b-.c", 0, HOST_NAME_HYPHEN },
		{ "xn--", 0, HOST_NAME_HYPHEN },
		{ "xn--.de", 0, HOST_NAME_HYPHEN },
		{ "a.xn--", 0, HOST_NAME_HYPHEN },
		{ "127.0.0.1", 0, HOST_NAME_NUMBER },
		{ "127.0.0.1.", 0, HOST_NAME_NUMBER },
		{ "127.1", 0, HOST_NAME_NUMBER },
		{ "127.0.1", 0, HOST_NAME_NUMBER },
		{ "127", 0, HOST_NAME_NUMBER },
		{ "0", 0, HOST_NAME_NUMBER },
		{ "00", 0, HOST_NAME_NUMBER },
		{ "2130706433", 0, HOST_NAME_NUMBER },
		{ "017700000001", 0, HOST_NAME_NUMBER },
		{ "0177.0.0.1", 0, HOST_NAME_NUMBER },
		{ "0177.0.0.01", 0, HOST_NAME_NUMBER },
		{ "0x7f000001", 0, HOST_NAME_NUMBER },
		{ "0X7F000001", 0, HOST_NAME_NUMBER },
		{ "0x7f.1", 0, HOST_NAME_NUMBER },
		{ "0x7f.0x0.0x0.0x1", 0, HOST_NAME_NUMBER },
		{ "0x", 0, HOST_NAME_NUMBER },
		{ "1.0x", 0, HOST_NAME_NUMBER },
		{ "a.0x1", 0, HOST_NAME_NUMBER },
		{ "a.b.1", 0, HOST_NAME_NUMBER },
		{ "pypi.org.1", 0, HOST_NAME_NUMBER },
		{ "1.2.3.4.5", 0, HOST_NAME_NUMBER },
		{ "999.999.999.999", 0, HOST_NAME_NUMBER },
		{ "99999999999999999999", 0, HOST_NAME_NUMBER },
		{ "a.08", 0, HOST_NAME_NUMBER },
		{ L63 "a.org", 0, HOST_NAME_LABEL_LONG },
		{ "a." L63 "a", 0, HOST_NAME_LABEL_LONG },
		{ L63 "." L63 "." L63 "." L61 "a", 0, HOST_NAME_LONG },
		{ L63 "." L63 "." L63 "." L61 "..", 0, HOST_NAME_LONG },
	};
	struct host_name n = { .text = "kept", .len = 4 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t len = rows[i].len ? rows[i].len : strlen(rows[i].text);
		enum host_name_fault f = host_name_read(&n, rows[i].text, len);
		if (f != rows[i].fault)
			fail_msg("%s: %s", rows[i].text, host_name_fault_text(f));
		assert_string_equal(n.text, "kept");
		assert_non_null(host_name_fault_text(f));
	}
}

/* Each byte alone: 26 + 26 letters, digits, '-' and '_' are in names, and no other. */
static void test_every_byte(void **state)
{
	static const char taken[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-_";
	struct host_name n;

	(void)state;
	for (int c = 0; c < 256; c++) {
		const char text[] = { 'a', (char)c, 'b' };
		enum host_name_fault f = host_name_read(&n, text, sizeof(text));
		bool is_taken = c == '.' || (c && strchr(taken, c));
		if (is_taken != (f == HOST_NAME_GOOD))
			fail_msg("byte %d: %s", c, host_name_fault_text(f));
	}
}

/* A name of 254 bytes and its dot is longer than a name may be, whatever its labels. */
static void test_the_length_has_a_bound(void **state)
{
	char text[300];
	struct host_name n;

	(void)state;
	for (size_t len = 1; len < sizeof(text); len++) {
		for (size_t i = 0; i < len; i++)
			text[i] = i % 50 == 49 ? '.' : 'a';
		if (text[len - 1] == '.')
			text[len - 1] = 'a';
		bool is_good = host_name_read(&n, text, len) == HOST_NAME_GOOD;
		assert_int_equal(is_good, len <= HOST_NAME_BYTES_MAX);
	}
}

static void test_labels_of_dns_messages(void **state)
{
	struct host_name n = { 0 };

	(void)state;
	assert_int_equal(host_name_end(&n), HOST_NAME_EMPTY);
	assert_int_equal(host_name_add_label(&n, "WWW", 3), HOST_NAME_GOOD);
	assert_int_equal(host_name_add_label(&n, "pypi", 4), HOST_NAME_GOOD);
	assert_int_equal(host_name_add_label(&n, "org", 3), HOST_NAME_GOOD);
	assert_int_equal(host_name_end(&n), HOST_NAME_GOOD);
	assert_string_equal(n.text, "www.pypi.org");

	/* A dot in a label would be a border that the wire does not have. */
	n = (struct host_name){ 0 };
	assert_int_equal(host_name_add_label(&n, "pypi.org", 8), HOST_NAME_BYTE);
	n = (struct host_name){ 0 };
	assert_int_equal(host_name_add_label(&n, "", 0), HOST_NAME_LABEL_EMPTY);
	n = (struct host_name){ 0 };
	assert_int_equal(host_name_add_label(&n, "a\0b", 3), HOST_NAME_BYTE);
	n = (struct host_name){ 0 };
	for (int i = 0; i < 126; i++)
		assert_int_equal(host_name_add_label(&n, "a", 1), HOST_NAME_GOOD);
	assert_int_equal(n.len, 251);
	assert_int_equal(host_name_add_label(&n, "bb", 2), HOST_NAME_LONG);
	assert_int_equal(host_name_add_label(&n, "b", 1), HOST_NAME_GOOD);
	assert_int_equal(host_name_add_label(&n, "b", 1), HOST_NAME_LONG);
}

static void test_names_below_a_zone(void **state)
{
	static const struct {
		const char *name, *zone;
		bool is_below;
	} rows[] = {
		{ "a.b.c", "b.c", true },
		{ "a.b.c", "c", true },
		{ "x.a.b.c", "b.c", true },
		{ "b.c", "b.c", false },
		{ "ab.c", "b.c", false },
		{ "c", "b.c", false },
		{ "a.b.c", "a.b.c", false },
		{ "evilpypi.org", "pypi.org", false },
		{ "pypi.org.evil.org", "pypi.org", false },
		{ "a.pypi.org", "pypi.org", true },
	};
	struct host_name n;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(host_name_read(&n, rows[i].name, strlen(rows[i].name)),
				 0);
		if (host_name_is_below(&n, rows[i].zone) != rows[i].is_below)
			fail_msg("%s and %s", rows[i].name, rows[i].zone);
	}
}

static void test_names_that_public_dns_has_not(void **state)
{
	static const struct {
		const char *name;
		bool is_special;
	} rows[] = {
		{ "localhost", true },	   { "a", true },
		{ "org", true },	   { "a.localhost", true },
		{ "printer.local", true }, { "metadata.google.internal", true },
		{ "a.b.internal", true },  { "1.0.0.127.in-addr.arpa", true },
		{ "home.arpa", true },	   { "a.onion", true },
		{ "a.test", true },	   { "a.invalid", true },
		{ "a.example", true },	   { "a.org", false },
		{ "local.org", false },	   { "a.locals", false },
		{ "internal.com", false }, { "example.com", false },
		{ "a.arpa.net", false },
	};
	struct host_name n;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(host_name_read(&n, rows[i].name, strlen(rows[i].name)),
				 0);
		if (host_name_is_special(&n) != rows[i].is_special)
			fail_msg("%s", rows[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_normalised),
		cmocka_unit_test(test_texts_that_are_no_names),
		cmocka_unit_test(test_every_byte),
		cmocka_unit_test(test_the_length_has_a_bound),
		cmocka_unit_test(test_labels_of_dns_messages),
		cmocka_unit_test(test_names_below_a_zone),
		cmocka_unit_test(test_names_that_public_dns_has_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
