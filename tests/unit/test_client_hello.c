/* client_hello: the name that TLS asks for, of real clients and of ones that lie. */
#include "egress/client_hello.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"
#include "tests/unit/exact.h"
#include "tests/unit/hello_cases.h"

static enum hello_verdict parse(const void *bytes, size_t len, struct client_hello *ret)
{
	AUTO_FREE uint8_t *copy = exact_copy(bytes, len);

	return client_hello_parse(copy, len, ret);
}

static void test_hellos_of_real_clients(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hello_cases); i++) {
		struct client_hello h;
		if (parse(hello_cases[i].bytes, hello_cases[i].len, &h) != HELLO_DONE)
			fail_msg("%s", hello_cases[i].about);
		assert_string_equal(h.name, hello_cases[i].name);
		assert_string_equal(h.alpn, hello_cases[i].alpn);
		assert_int_equal(h.has_name, *h.name != 0);
		assert_int_equal(h.has_alpn, *h.alpn != 0);
		assert_false(h.has_ech);
	}
}

static void test_each_prefix_needs_more(void **state)
{
	struct client_hello h = { .name = "untouched" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hello_cases); i++)
		for (size_t len = 0; len < hello_cases[i].len; len++)
			if (parse(hello_cases[i].bytes, len, &h) != HELLO_NEED_MORE)
				fail_msg("%s: %zu bytes", hello_cases[i].about, len);
	assert_string_equal(h.name, "untouched");
}

static void test_bytes_behind_the_record_are_left_alone(void **state)
{
	uint8_t bytes[2048];
	struct client_hello h;

	(void)state;
	memcpy(bytes, hello_curl, sizeof(hello_curl));
	memset(bytes + sizeof(hello_curl), 0xff, 100);
	assert_int_equal(parse(bytes, sizeof(hello_curl) + 100, &h), HELLO_DONE);
	assert_string_equal(h.name, "www.example.com");
}

/* Puts the message of a hello into records of `size` bytes. */
static size_t split(const uint8_t *hello, size_t len, size_t size, uint8_t *to)
{
	const uint8_t *at = hello + 5, *end = hello + len;
	size_t made = 0;

	while (at < end) {
		size_t part = (size_t)(end - at) < size ? (size_t)(end - at) : size;
		memcpy(to + made, "\x16\3\1", 3);
		to[made + 3] = (uint8_t)(part >> 8);
		to[made + 4] = (uint8_t)part;
		memcpy(to + made + 5, at, part);
		made += 5 + part;
		at += part;
	}
	return made;
}

static void test_a_hello_in_many_records(void **state)
{
	static uint8_t bytes[16384];

	(void)state;
	for (size_t size = 1; size < 400; size += size < 20 ? 1 : 37) {
		struct client_hello h;
		size_t len = split(hello_go, sizeof(hello_go), size, bytes);
		assert_int_equal(parse(bytes, len, &h), HELLO_DONE);
		assert_string_equal(h.name, "www.example.com");
		for (size_t cut = 0; cut < len; cut += 1 + len / 600)
			assert_int_equal(parse(bytes, cut, &h), HELLO_NEED_MORE);
	}
}

/* --- hellos that are made ------------------------------------------------------ */

/* Builds a hello with these extensions; returns its length. */
static size_t make(const char *extensions, size_t len, uint8_t *to)
{
	static const uint8_t head[] = "\x16\3\1\0\0"		 /* record */
				      "\1\0\0\0\3\3"		 /* message, version */
				      "0123456789abcdef0123456789abcdef" /* random */
				      "\0\0\2\x13\1\1\0";	 /* no session; ... */
	size_t body = sizeof(head) - 1, whole = body + 2 + len;

	memcpy(to, head, body);
	to[body] = (uint8_t)(len >> 8);
	to[body + 1] = (uint8_t)len;
	memcpy(to + body + 2, extensions, len);
	to[3] = (uint8_t)((whole - 5) >> 8);
	to[4] = (uint8_t)(whole - 5);
	to[7] = (uint8_t)((whole - 9) >> 8);
	to[8] = (uint8_t)(whole - 9);
	return whole;
}

#define SNI_A  "\0\0\0\x06\0\4\0\0\1a"
#define ALPN_H "\0\x10\0\5\0\3\2h2"

static void test_extensions(void **state)
{
	static const struct {
		const char *about, *bytes;
		size_t len;
		enum hello_verdict verdict;
		const char *name, *alpn;
		bool has_ech;
	} rows[] = {
#define ROW(about, bytes, ...) { about, bytes, sizeof(bytes) - 1, __VA_ARGS__ }
#define BAD HELLO_MALFORMED, "", "", false
		ROW("none", "", HELLO_DONE, "", "", false),
		ROW("a name", SNI_A, HELLO_DONE, "a", "", false),
		ROW("a name and ALPN", SNI_A ALPN_H, HELLO_DONE, "a", "h2", false),
		ROW("case is kept", "\0\0\0\x08\0\6\0\0\3aBc", HELLO_DONE, "aBc", "",
		    false),
		ROW("two protocols", "\0\x10\0\x0e\0\x0c\2h2\x08http/1.1", HELLO_DONE, "",
		    "h2,http/1.1", false),
		ROW("GREASE among extensions", "\x0a\x0a\0\0" SNI_A "\xfa\xfa\0\1\0",
		    HELLO_DONE, "a", "", false),
		ROW("GREASE among protocols", "\0\x10\0\x08\0\6\2\x3a\x3a\2h2",
		    HELLO_DONE, "", "h2", false),
		ROW("no GREASE, though it looks like it",
		    "\0\x10\0\x08\0\6\2\x3a\x4a\2h2", HELLO_DONE, "", ":J,h2", false),
		ROW("odd bytes in a protocol", "\0\x10\0\x08\0\6\5\x1b[\0,x", HELLO_DONE,
		    "", "?[??x", false),
		ROW("an unknown extension", "\x12\x34\0\2ab" SNI_A, HELLO_DONE, "a", "",
		    false),
		ROW("ECH", "\xfe\x0d\0\4\0\1\2\3" SNI_A, HELLO_DONE, "a", "", true),
		ROW("ECH of a draft", "\xfe\x0a\0\0" SNI_A, HELLO_DONE, "a", "", true),
		ROW("ESNI", "\xff\xce\0\0", HELLO_DONE, "", "", true),

		ROW("a name twice", SNI_A SNI_A, BAD),
		ROW("a name twice, apart", SNI_A ALPN_H SNI_A, BAD),
		ROW("ALPN twice", ALPN_H ALPN_H, BAD),
		ROW("GREASE twice", "\x0a\x0a\0\0\x0a\x0a\0\0", BAD),
		ROW("an unknown one twice", "\x12\x34\0\0\x12\x34\0\0", BAD),
		ROW("two names in one list", "\0\0\0\x0a\0\x08\0\0\1a\0\0\1b", BAD),
		ROW("a name and another kind", "\0\0\0\x0a\0\x08\0\0\1a\1\0\1b", BAD),
		ROW("another kind", "\0\0\0\x06\0\4\1\0\1a", BAD),
		ROW("no name in the list", "\0\0\0\2\0\0", BAD),
		ROW("no list", "\0\0\0\0", BAD),
		ROW("an empty name", "\0\0\0\5\0\3\0\0\0", BAD),
		ROW("a list shorter than its name", "\0\0\0\x06\0\3\0\0\1a", BAD),
		ROW("a list longer than its name", "\0\0\0\x07\0\5\0\0\1a\0", BAD),
		ROW("a byte behind the list", "\0\0\0\x07\0\4\0\0\1a\0", BAD),
		ROW("a list longer than the extension", "\0\0\0\x06\0\5\0\0\1a", BAD),
		ROW("a name longer than the list", "\0\0\0\x06\0\4\0\0\2a", BAD),
		ROW("a NUL in the name", "\0\0\0\x08\0\6\0\0\3a\0b", BAD),
		ROW("a NUL behind the name", "\0\0\0\x07\0\5\0\0\2a\0", BAD),
		ROW("a blank in the name", "\0\0\0\x07\0\5\0\0\2a ", BAD),
		ROW("a line end in the name", "\0\0\0\x07\0\5\0\0\2a\n", BAD),
		ROW("UTF-8 in the name", "\0\0\0\x07\0\5\0\0\2\xc3\xa4", BAD),
		ROW("DEL in the name", "\0\0\0\x07\0\5\0\0\2a\x7f", BAD),
		ROW("an empty list of protocols", "\0\x10\0\2\0\0", BAD),
		ROW("an empty protocol", "\0\x10\0\3\0\1\0", BAD),
		ROW("no list of protocols", "\0\x10\0\0", BAD),
		ROW("a protocol longer than its list", "\0\x10\0\5\0\3\3h2", BAD),
		ROW("a byte behind the protocols", "\0\x10\0\6\0\3\2h2\0", BAD),
		ROW("an extension longer than the hello", SNI_A "\x12\x34\0\3ab", BAD),
		ROW("half an extension's head", SNI_A "\x12\x34\0", BAD),
		ROW("one byte of an extension", SNI_A "\x12", BAD),
#undef BAD
#undef ROW
	};
	uint8_t bytes[400];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct client_hello h = { 0 };
		size_t len = make(rows[i].bytes, rows[i].len, bytes);
		enum hello_verdict got = parse(bytes, len, &h);
		if (got != rows[i].verdict || strcmp(h.name, rows[i].name) != 0 ||
		    strcmp(h.alpn, rows[i].alpn) != 0 || h.has_ech != rows[i].has_ech)
			fail_msg("%s: %d '%s' '%s'", rows[i].about, got, h.name, h.alpn);
		for (size_t cut = 0; cut < len; cut++)
			assert_int_equal(parse(bytes, cut, &h), HELLO_NEED_MORE);
	}
}

static void test_names_of_each_length(void **state)
{
	uint8_t bytes[600];
	char extension[300] = { 0 };

	(void)state;
	for (size_t name = 1; name <= 257; name++) {
		struct client_hello h = { 0 };
		const uint8_t head[9] = { 0, 0, (uint8_t)((name + 5) >> 8),
					  (uint8_t)(name + 5), (uint8_t)((name + 3) >> 8),
					  (uint8_t)(name + 3), 0, (uint8_t)(name >> 8),
					  (uint8_t)name };
		memcpy(extension, head, 9);
		memset(extension + 9, 'n', name);
		size_t len = make(extension, 9 + name, bytes);
		assert_int_equal(parse(bytes, len, &h),
				 name <= 255 ? HELLO_DONE : HELLO_MALFORMED);
		assert_int_equal(strlen(h.name), name <= 255 ? name : 0);
	}
}

/* One byte of a good hello is changed. */
static void test_heads(void **state)
{
	static const struct {
		const char *about;
		size_t at;
		uint8_t value;
		enum hello_verdict verdict;
	} rows[] = {
		{ "record version 3.0", 2, 0, HELLO_DONE },
		{ "record version 3.4", 2, 4, HELLO_DONE },
		{ "record version 2.1", 1, 2, HELLO_MALFORMED },
		{ "record version 15.1 (Go takes it)", 1, 15, HELLO_MALFORMED },
		{ "record version 16.1", 1, 16, HELLO_NOT_TLS },
		{ "an alert", 0, 21, HELLO_MALFORMED },
		{ "a change of ciphers", 0, 20, HELLO_MALFORMED },
		{ "application data", 0, 23, HELLO_MALFORMED },
		{ "a heartbeat", 0, 24, HELLO_MALFORMED },
		{ "record type 19", 0, 19, HELLO_NOT_TLS },
		{ "record type 25", 0, 25, HELLO_NOT_TLS },
		{ "a ServerHello", 5, 2, HELLO_MALFORMED },
		{ "a HelloRequest", 5, 0, HELLO_MALFORMED },
		{ "a message of 1 MiB", 6, 16, HELLO_TOO_LARGE },
		{ "a message a byte longer", 8, 54, HELLO_NEED_MORE },
		{ "a message a byte shorter", 8, 52, HELLO_MALFORMED },
		{ "a record a byte shorter", 4, 56, HELLO_MALFORMED },
		{ "a record a byte longer", 4, 58, HELLO_MALFORMED },
		{ "version 2.3", 9, 2, HELLO_MALFORMED },
		{ "version 3.255", 10, 255, HELLO_DONE },
		{ "a session longer than the hello", 43, 200, HELLO_MALFORMED },
		{ "no ciphers", 45, 0, HELLO_MALFORMED },
		{ "an odd number of bytes of ciphers", 45, 3, HELLO_MALFORMED },
		{ "no compression", 48, 0, HELLO_MALFORMED },
		{ "fewer extensions than bytes", 51, 9, HELLO_MALFORMED },
		{ "more extensions than bytes", 51, 11, HELLO_MALFORMED },
	};
	uint8_t bytes[400];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct client_hello h;
		size_t len = make(SNI_A, sizeof(SNI_A) - 1, bytes);
		assert_int_equal(bytes[8], 53);
		bytes[rows[i].at] = rows[i].value;
		enum hello_verdict got = parse(bytes, len, &h);
		if (got != rows[i].verdict)
			fail_msg("%s: %d", rows[i].about, got);
	}
}

static void test_other_first_bytes(void **state)
{
#define ROW(bytes, verdict) { bytes, sizeof(bytes) - 1, verdict }
	static const struct {
		const char *bytes;
		size_t len;
		enum hello_verdict verdict;
	} rows[] = {
		ROW("", HELLO_NEED_MORE),
		ROW("G", HELLO_NOT_TLS),
		ROW("GET / HTTP/1.1\r\n", HELLO_NOT_TLS),
		ROW("SSH-2.0-", HELLO_NOT_TLS),
		ROW("\0", HELLO_NOT_TLS),
		ROW("\0\0\0\x08\x04\xd2\x16\x2f", HELLO_NOT_TLS), /* PostgreSQL */
		ROW("\x16", HELLO_NEED_MORE),
		ROW("\x16\3", HELLO_NEED_MORE),
		ROW("\x16\3\1\0", HELLO_NEED_MORE),
		ROW("\x16\3\1\0\0", HELLO_MALFORMED),
		ROW("\x16\3\1\x40\1", HELLO_MALFORMED),
		ROW("\x16\3\1\x40\0", HELLO_NEED_MORE),
		ROW("\x16\3\1\0\4\1\0\0\0", HELLO_MALFORMED),
		ROW("\x16\3\1\0\1\1\x17", HELLO_MALFORMED), /* other data between */
		ROW("\x16\3\1\0\1\1\x16\2", HELLO_MALFORMED),
		ROW("\x16\3\1\0\1\1\x16", HELLO_NEED_MORE),
		ROW("\x15", HELLO_NEED_MORE),
		ROW("\x15\3\1\0\2\1\0\x16\3\1", HELLO_MALFORMED), /* an alert first */
		ROW("\x80", HELLO_NEED_MORE),
		ROW("\x80\x2e", HELLO_NEED_MORE),
		ROW("\x80\x2e\1", HELLO_MALFORMED), /* SSLv2 */
		ROW("\x80\x2e\1\0\2", HELLO_MALFORMED),
		ROW("\x80\x2e\1\3\1", HELLO_MALFORMED),
		ROW("\xff\xff\1", HELLO_MALFORMED),
		ROW("\x80\x2e\2", HELLO_NOT_TLS),
	};
#undef ROW

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct client_hello h;
		enum hello_verdict got = parse(rows[i].bytes, rows[i].len, &h);
		if (got != rows[i].verdict)
			fail_msg("row %zu: %d", i, got);
	}
}

static void test_a_hello_of_16_kib_is_too_large(void **state)
{
	static uint8_t bytes[40000];
	struct client_hello h;

	(void)state;
	/* One extension fills the hello up to `whole` bytes. */
	for (size_t whole = 16380; whole <= 16388; whole++) {
		static char extension[16400];
		size_t body = whole - 52 - 4;
		memcpy(extension, "\x12\x34", 2);
		extension[2] = (char)(body >> 8);
		extension[3] = (char)body;
		assert_int_equal(make(extension, 4 + body, bytes), whole);
		assert_int_equal(parse(bytes, whole, &h),
				 whole <= CLIENT_HELLO_MAX ? HELLO_DONE : HELLO_TOO_LARGE);
	}
	/* A hello of 6,000 records of one byte: their heads count, too. */
	for (size_t i = 0; i < 6000; i++)
		memcpy(bytes + 6 * i, "\x16\3\1\0\1", 6);
	bytes[5] = 1;
	bytes[17] = 0x20;
	assert_int_equal(parse(bytes, 16383, &h), HELLO_NEED_MORE);
	assert_int_equal(parse(bytes, 16384, &h), HELLO_TOO_LARGE);
	assert_int_equal(parse(bytes, 36000, &h), HELLO_TOO_LARGE);
}

static void test_a_long_list_of_protocols_is_cut(void **state)
{
	uint8_t bytes[800];
	char extension[600] = "\0\x10";
	struct client_hello h;
	size_t at = 6;

	(void)state;
	for (int i = 0; i < 40; i++, at += 8)
		memcpy(extension + at, "\7abcdefg", 8);
	extension[2] = (char)((at - 4) >> 8);
	extension[3] = (char)(at - 4);
	extension[4] = (char)((at - 6) >> 8);
	extension[5] = (char)(at - 6);
	size_t len = make(extension, at, bytes);
	assert_int_equal(parse(bytes, len, &h), HELLO_DONE);
	assert_int_equal(strlen(h.alpn), 127);
}

static void test_a_hello_retry_request_is_known(void **state)
{
	static const uint8_t retry[] =
		"\x16\3\3\0\x58\2\0\0\x54\3\3"
		"\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91"
		"\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c";
	static const uint8_t alert[] = "\x15\3\3\0\2\2\x28";
	uint8_t other[sizeof(retry)];
	bool is_retry = false;

	(void)state;
	for (size_t len = 0; len < sizeof(retry) - 1; len++) {
		AUTO_FREE uint8_t *copy = exact_copy(retry, len);
		assert_int_equal(client_hello_is_retry(copy, len, &is_retry),
				 HELLO_NEED_MORE);
	}
	assert_int_equal(client_hello_is_retry(retry, sizeof(retry) - 1, &is_retry),
			 HELLO_DONE);
	assert_true(is_retry);
	memcpy(other, retry, sizeof(retry));
	other[42] ^= 1;
	assert_int_equal(client_hello_is_retry(other, sizeof(other) - 1, &is_retry),
			 HELLO_DONE);
	assert_false(is_retry);
	assert_int_equal(client_hello_is_retry(alert, 1, &is_retry), HELLO_MALFORMED);
	other[5] = 11;
	assert_int_equal(client_hello_is_retry(other, 6, &is_retry), HELLO_MALFORMED);
	other[5] = 2;
	other[4] = 37;
	assert_int_equal(client_hello_is_retry(other, 43, &is_retry), HELLO_MALFORMED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hellos_of_real_clients),
		cmocka_unit_test(test_each_prefix_needs_more),
		cmocka_unit_test(test_bytes_behind_the_record_are_left_alone),
		cmocka_unit_test(test_a_hello_in_many_records),
		cmocka_unit_test(test_extensions),
		cmocka_unit_test(test_names_of_each_length),
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_other_first_bytes),
		cmocka_unit_test(test_a_hello_of_16_kib_is_too_large),
		cmocka_unit_test(test_a_long_list_of_protocols_is_cut),
		cmocka_unit_test(test_a_hello_retry_request_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
