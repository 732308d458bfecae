/* dns: questions to the stub resolver and their answers, byte by byte. */
#include "egress/dns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"
#include "tests/unit/exact.h"

#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

/* Headers: an id, flags, and the counts of the four sections. */
#define QUERY	   "\x12\x34\x01\x00\0\1\0\0\0\0\0\0"
#define QUERY_EDNS "\x12\x34\x01\x00\0\1\0\0\0\0\0\1"
#define NAME	   "\7ExAmPlE\3com\0"
#define IN_A	   "\0\1\0\1"
#define OPT	   "\0\0\x29\x04\xd0\0\0\0\0\0\0"
#define OPT_DO	   "\0\0\x29\x04\xd0\0\0\x80\0\0\0"

static enum dns_verdict parse(const void *bytes, size_t len, struct dns_question *ret)
{
	AUTO_FREE uint8_t *copy = exact_copy(bytes, len);

	return dns_parse(copy, len, ret);
}

static void test_messages_and_their_verdicts(void **state)
{
	static const struct {
		const char *about;
		const uint8_t *bytes;
		size_t len;
		enum dns_verdict verdict;
		const char *name;
	} rows[] = {
#define ROW(about, bytes, verdict, name) { about, BYTES(bytes), verdict, name }
		ROW("plain", QUERY NAME IN_A, DNS_QUESTION, "ExAmPlE.com"),
		ROW("EDNS", QUERY_EDNS NAME IN_A OPT, DNS_QUESTION, "ExAmPlE.com"),
		ROW("EDNS with DO", QUERY_EDNS NAME IN_A OPT_DO, DNS_QUESTION,
		    "ExAmPlE.com"),
		ROW("EDNS with a cookie",
		    QUERY_EDNS NAME IN_A "\0\0\x29\x10\0\0\0\0\0\0\x0c"
					 "\0\x0a\0\x08"
					 "12345678",
		    DNS_QUESTION, "ExAmPlE.com"),
		ROW("EDNS with two options",
		    QUERY_EDNS NAME IN_A "\0\0\x29\x10\0\0\0\0\0\0\x0a"
					 "\0\x0c\0\x02"
					 "\0\0"
					 "\0\x0c\0\0",
		    DNS_QUESTION, "ExAmPlE.com"),
		ROW("the root", QUERY "\0" IN_A, DNS_QUESTION, ""),
		ROW("one label", QUERY "\1a\0" IN_A, DNS_QUESTION, "a"),
		ROW("an underscore and a dash", QUERY "\5_a-b_\0" IN_A, DNS_QUESTION,
		    "_a-b_"),
		ROW("AAAA", QUERY NAME "\0\x1c\0\1", DNS_QUESTION, "ExAmPlE.com"),
		ROW("HTTPS", QUERY NAME "\0\x41\0\1", DNS_QUESTION, "ExAmPlE.com"),
		ROW("ANY", QUERY NAME "\0\xff\0\1", DNS_QUESTION, "ExAmPlE.com"),
		ROW("CAA", QUERY NAME "\1\1\0\1", DNS_QUESTION, "ExAmPlE.com"),
		ROW("AD and Z are overlooked",
		    "\x12\x34\x01\x60\0\1\0\0\0\0\0\0" NAME IN_A, DNS_QUESTION,
		    "ExAmPlE.com"),
		ROW("an RCODE is overlooked",
		    "\x12\x34\x01\x03\0\1\0\0\0\0\0\0" NAME IN_A, DNS_QUESTION,
		    "ExAmPlE.com"),

		ROW("a NUL in a label", QUERY "\3a\0b\0" IN_A, DNS_ODD_NAME, "a?b"),
		ROW("a dot in a label", QUERY "\3a.b\0" IN_A, DNS_ODD_NAME, "a?b"),
		ROW("a blank in a label", QUERY "\3a b\0" IN_A, DNS_ODD_NAME, "a?b"),
		ROW("a line end in a label", QUERY "\3a\nb\0" IN_A, DNS_ODD_NAME, "a?b"),
		ROW("an escape in a label", QUERY "\3a\x1b[\0" IN_A, DNS_ODD_NAME, "a?["),
		ROW("DEL in a label", QUERY "\3a\x7f"
				      "b\0" IN_A,
		    DNS_ODD_NAME, "a?b"),
		ROW("UTF-8 in a label", QUERY "\2\xc3\xa4\0" IN_A, DNS_ODD_NAME, "??"),
		ROW("an odd name with EDNS", QUERY_EDNS "\1\0\0" IN_A OPT, DNS_ODD_NAME,
		    "?"),

		ROW("an answer", "\x12\x34\x81\x80\0\1\0\0\0\0\0\0" NAME IN_A, DNS_DROP,
		    ""),
		ROW("an answer of another opcode",
		    "\x12\x34\xa9\x80\0\1\0\0\0\0\0\0" NAME IN_A, DNS_DROP, ""),
		ROW("nothing", "", DNS_DROP, ""),
		ROW("eleven bytes", "\x12\x34\1\0\0\1\0\0\0\0\0", DNS_DROP, ""),

		ROW("inverse query", "\x12\x34\x09\0\0\1\0\0\0\0\0\0" NAME IN_A,
		    DNS_NOT_IMPLEMENTED, ""),
		ROW("status", "\x12\x34\x10\0\0\0\0\0\0\0\0\0", DNS_NOT_IMPLEMENTED, ""),
		ROW("notify", "\x12\x34\x20\0\0\1\0\0\0\0\0\0" NAME IN_A,
		    DNS_NOT_IMPLEMENTED, ""),
		ROW("update", "\x12\x34\x28\0\0\1\0\0\0\1\0\0" NAME IN_A,
		    DNS_NOT_IMPLEMENTED, ""),
		ROW("opcode 15", "\x12\x34\x78\0\0\1\0\0\0\0\0\0" NAME IN_A,
		    DNS_NOT_IMPLEMENTED, ""),
		ROW("class CH", QUERY NAME "\0\1\0\3", DNS_NOT_IMPLEMENTED,
		    "ExAmPlE.com"),
		ROW("class ANY", QUERY NAME "\0\1\0\xff", DNS_NOT_IMPLEMENTED,
		    "ExAmPlE.com"),
		ROW("class 0", QUERY NAME "\0\1\0\0", DNS_NOT_IMPLEMENTED, "ExAmPlE.com"),
		ROW("class 0x8001 (mDNS)", QUERY NAME "\0\1\x80\1", DNS_NOT_IMPLEMENTED,
		    "ExAmPlE.com"),
		ROW("AXFR", QUERY NAME "\0\xfc\0\1", DNS_NOT_IMPLEMENTED, "ExAmPlE.com"),
		ROW("IXFR", QUERY NAME "\0\xfb\0\1", DNS_NOT_IMPLEMENTED, "ExAmPlE.com"),
		ROW("TSIG as a type", QUERY NAME "\0\xfa\0\1", DNS_NOT_IMPLEMENTED,
		    "ExAmPlE.com"),
		ROW("TKEY", QUERY NAME "\0\xf9\0\1", DNS_NOT_IMPLEMENTED, "ExAmPlE.com"),
		ROW("type 128", QUERY NAME "\0\x80\0\1", DNS_NOT_IMPLEMENTED,
		    "ExAmPlE.com"),
		ROW("another class and a version of EDNS",
		    QUERY_EDNS NAME "\0\1\0\3\0\0\x29\x04\xd0\0\1\0\0\0\0",
		    DNS_BAD_VERSION, "ExAmPlE.com"),

		ROW("EDNS version 1",
		    QUERY_EDNS NAME IN_A "\0\0\x29\x04\xd0\0\1\0\0\0\0", DNS_BAD_VERSION,
		    "ExAmPlE.com"),
		ROW("EDNS version 255",
		    QUERY_EDNS NAME IN_A "\0\0\x29\x04\xd0\0\xff\0\0\0\0",
		    DNS_BAD_VERSION, "ExAmPlE.com"),

		ROW("no question", "\x12\x34\x01\x00\0\0\0\0\0\0\0\0", DNS_MALFORMED, ""),
		ROW("no question, but its bytes",
		    "\x12\x34\x01\x00\0\0\0\0\0\0\0\0" NAME IN_A, DNS_MALFORMED, ""),
		ROW("two questions",
		    "\x12\x34\x01\x00\0\2\0\0\0\0\0\0" NAME IN_A NAME IN_A,
		    DNS_MALFORMED, ""),
		ROW("two said, one there", "\x12\x34\x01\x00\0\2\0\0\0\0\0\0" NAME IN_A,
		    DNS_MALFORMED, ""),
		ROW("65,535 questions", "\x12\x34\x01\x00\xff\xff\0\0\0\0\0\0" NAME IN_A,
		    DNS_MALFORMED, ""),
		ROW("256 questions", "\x12\x34\x01\x00\1\0\0\0\0\0\0\0" NAME IN_A,
		    DNS_MALFORMED, ""),
		ROW("an answer's record",
		    "\x12\x34\x01\x00\0\1\0\1\0\0\0\0" NAME IN_A
		    "\xc0\x0c\0\1\0\1\0\0\0\0\0\4abcd",
		    DNS_MALFORMED, ""),
		ROW("an authority's record",
		    "\x12\x34\x01\x00\0\1\0\0\0\1\0\0" NAME IN_A
		    "\xc0\x0c\0\1\0\1\0\0\0\0\0\4abcd",
		    DNS_MALFORMED, ""),
		ROW("two additional records",
		    "\x12\x34\x01\x00\0\1\0\0\0\0\0\2" NAME IN_A OPT OPT, DNS_MALFORMED,
		    ""),
		ROW("an additional record that is no OPT",
		    QUERY_EDNS NAME IN_A "\0\0\1\0\1\0\0\0\0\0\0", DNS_MALFORMED,
		    "ExAmPlE.com"),
		ROW("TSIG", QUERY_EDNS NAME IN_A "\0\0\xfa\0\xff\0\0\0\0\0\0",
		    DNS_MALFORMED, "ExAmPlE.com"),
		ROW("an OPT with a name", QUERY_EDNS NAME IN_A "\1a" OPT, DNS_MALFORMED,
		    "ExAmPlE.com"),
		ROW("an OPT with a pointer as its name",
		    QUERY_EDNS NAME IN_A "\xc0\x0c\0\x29\x04\xd0\0\0\0\0\0\0",
		    DNS_MALFORMED, "ExAmPlE.com"),
		ROW("an OPT longer than the message",
		    QUERY_EDNS NAME IN_A "\0\0\x29\x04\xd0\0\0\0\0\0\1", DNS_MALFORMED,
		    "ExAmPlE.com"),
		ROW("an option longer than the OPT",
		    QUERY_EDNS NAME IN_A "\0\0\x29\x04\xd0\0\0\0\0\0\4\0\x0a\0\1",
		    DNS_MALFORMED, "ExAmPlE.com"),
		ROW("half an option's head",
		    QUERY_EDNS NAME IN_A "\0\0\x29\x04\xd0\0\0\0\0\0\3\0\x0a\0",
		    DNS_MALFORMED, "ExAmPlE.com"),
		ROW("an OPT is missing", QUERY_EDNS NAME IN_A, DNS_MALFORMED,
		    "ExAmPlE.com"),
		ROW("a byte is left", QUERY NAME IN_A "\0", DNS_MALFORMED, "ExAmPlE.com"),
		ROW("an OPT that is not counted", QUERY NAME IN_A OPT, DNS_MALFORMED,
		    "ExAmPlE.com"),
		ROW("a byte behind OPT", QUERY_EDNS NAME IN_A OPT "\0", DNS_MALFORMED,
		    "ExAmPlE.com"),
		ROW("TC", "\x12\x34\x03\x00\0\1\0\0\0\0\0\0" NAME IN_A, DNS_MALFORMED,
		    ""),
		ROW("a pointer to itself", QUERY "\xc0\x0c" IN_A, DNS_MALFORMED, ""),
		ROW("a pointer behind a label", QUERY "\1a\xc0\x0c" IN_A, DNS_MALFORMED,
		    ""),
		ROW("a pointer forward", QUERY "\xc0\xff" IN_A, DNS_MALFORMED, ""),
		ROW("label type 01", QUERY "\x41"
				     "a\0" IN_A,
		    DNS_MALFORMED, ""),
		ROW("label type 10", QUERY "\x81"
				     "a\0" IN_A,
		    DNS_MALFORMED, ""),
		ROW("a label of 64", QUERY "\x40"
				     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
				     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\0" IN_A,
		    DNS_MALFORMED, ""),
		ROW("a label longer than the message", QUERY "\x3f"
						       "a\0" IN_A,
		    DNS_MALFORMED, ""),
		ROW("type 0", QUERY NAME "\0\0\0\1", DNS_MALFORMED, "ExAmPlE.com"),
		ROW("OPT as a type", QUERY NAME "\0\x29\0\1", DNS_MALFORMED,
		    "ExAmPlE.com"),
#undef ROW
	};
	struct dns_question q;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		enum dns_verdict got = parse(rows[i].bytes, rows[i].len, &q);
		if (got != rows[i].verdict || strcmp(q.name, rows[i].name) != 0)
			fail_msg("%s: %d and '%s'", rows[i].about, got, q.name);
	}
}

static void test_no_prefix_of_a_message_is_a_question(void **state)
{
	static const char whole[] =
		QUERY_EDNS NAME IN_A "\0\0\x29\x10\0\0\0\0\0\0\x0c\0\x0a\0\x08"
				     "12345678";
	struct dns_question q;
	uint8_t answer[DNS_ANSWER_MAX];

	(void)state;
	for (size_t len = 0; len < sizeof(whole) - 1; len++) {
		assert_int_equal(parse(whole, len, &q),
				 len < 12 ? DNS_DROP : DNS_MALFORMED);
		assert_true(dns_answer_empty(&q, DNS_FORMERR, answer, sizeof(answer)));
	}
	assert_int_equal(parse(whole, sizeof(whole) - 1, &q), DNS_QUESTION);
}

static void test_a_name_has_255_bytes_at_most(void **state)
{
	uint8_t bytes[12 + 300] = QUERY;
	struct dns_question q;

	(void)state;
	/* Three labels of 63, and a last one, whose length decides. */
	for (size_t last = 1; last <= 63; last++) {
		size_t at = 12;
		for (int i = 0; i < 3; i++, at += 64) {
			bytes[at] = 63;
			memset(bytes + at + 1, 'a', 63);
		}
		bytes[at] = (uint8_t)last;
		memset(bytes + at + 1, 'b', last);
		at += 1 + last;
		memcpy(bytes + at, "\0\0\1\0\1", 5);
		enum dns_verdict got = parse(bytes, at + 5, &q);
		assert_int_equal(got, last <= 61 ? DNS_QUESTION : DNS_MALFORMED);
		assert_int_equal(strlen(q.name), last <= 61 ? 192 + last : 0);
	}
	/* 127 labels of one byte are the most labels; one more is too long. */
	for (size_t labels = 126; labels <= 128; labels++) {
		for (size_t i = 0; i < labels; i++)
			memcpy(bytes + 12 + 2 * i, "\1c", 2);
		memcpy(bytes + 12 + 2 * labels, "\0\0\1\0\1", 5);
		assert_int_equal(parse(bytes, 12 + 2 * labels + 5, &q),
				 labels <= 127 ? DNS_QUESTION : DNS_MALFORMED);
	}
}

/* One byte of a valid message is set to each value: whatever that makes of it, the
 * parser reads no byte too many and any answer to it fits. */
static void test_each_value_of_each_byte(void **state)
{
	static const char whole[] = QUERY_EDNS NAME IN_A OPT;
	uint8_t bytes[sizeof(whole) - 1], answer[DNS_ANSWER_MAX];
	struct dns_question q;

	(void)state;
	for (size_t at = 0; at < sizeof(bytes); at++)
		for (unsigned value = 0; value < 256; value++) {
			memcpy(bytes, whole, sizeof(bytes));
			bytes[at] = (uint8_t)value;
			enum dns_verdict got = parse(bytes, sizeof(bytes), &q);
			assert_true(got <= DNS_DROP);
			size_t len = dns_answer_empty(&q, dns_verdict_rcode(got), answer,
						      sizeof(answer));
			assert_true(len >= 12 && len <= sizeof(answer));
		}
}

static void test_what_is_kept_of_a_question(void **state)
{
	struct dns_question q;

	(void)state;
	assert_int_equal(parse(BYTES("\xab\xcd\x01\x10\0\1\0\0\0\0\0\1" NAME
				     "\0\x1c\0\1" OPT_DO),
			       &q),
			 DNS_QUESTION);
	assert_int_equal(q.id, 0xabcd);
	assert_int_equal(q.type, DNS_AAAA);
	assert_int_equal(q.payload, 1232);
	assert_true(q.is_recursive && q.is_check_disabled && q.has_edns && q.is_dnssec_ok);
	assert_int_equal(q.wire_len, 17);
	assert_memory_equal(q.wire, NAME "\0\x1c\0\1", 17);
	assert_int_equal(parse(BYTES("\0\0\0\0\0\1\0\0\0\0\0\0" NAME IN_A), &q),
			 DNS_QUESTION);
	assert_int_equal(q.id, 0);
	assert_false(q.is_recursive || q.is_check_disabled || q.has_edns ||
		     q.is_dnssec_ok);
	assert_int_equal(q.payload, 512);
}

static void test_frames_of_tcp(void **state)
{
	static const struct {
		const uint8_t *bytes;
		size_t len;
		enum dns_frame frame;
		size_t want;
	} rows[] = {
		{ BYTES(""), DNS_FRAME_NEED_MORE, 0 },
		{ BYTES("\0"), DNS_FRAME_NEED_MORE, 0 },
		{ BYTES("\0\0"), DNS_FRAME_REFUSED, 0 },
		{ BYTES("\0\x0b"), DNS_FRAME_REFUSED, 0 },
		{ BYTES("\0\x0c"), DNS_FRAME_NEED_MORE, 0 },
		{ BYTES("\0\x0c"
			"12345678901"),
		  DNS_FRAME_NEED_MORE, 0 },
		{ BYTES("\0\x0c"
			"123456789012"),
		  DNS_FRAME_WHOLE, 12 },
		{ BYTES("\0\x0c"
			"123456789012\0"),
		  DNS_FRAME_WHOLE, 12 },
		{ BYTES("\x10\0"), DNS_FRAME_NEED_MORE, 0 },
		{ BYTES("\x10\1"), DNS_FRAME_REFUSED, 0 },
		{ BYTES("\xff\xff"), DNS_FRAME_REFUSED, 0 },
		{ BYTES("GET / HTTP/1.1"), DNS_FRAME_REFUSED, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_FREE uint8_t *copy = exact_copy(rows[i].bytes, rows[i].len);
		size_t len = 0;
		if (dns_tcp_next(copy, rows[i].len, &len) != rows[i].frame ||
		    len != rows[i].want)
			fail_msg("row %zu: %zu", i, len);
	}
}

static void test_answers_byte_by_byte(void **state)
{
	static const uint8_t v4[4] = { 198, 18, 0, 1 };
	static const uint8_t v6[16] = { 0xfd, 0, 0, 2, 0, 1, [15] = 7 };
	uint8_t got[DNS_ANSWER_MAX];
	struct dns_question q;
	size_t len;

	(void)state;
#define IS(text) (assert_int_equal(len, sizeof(text) - 1), \
		  assert_memory_equal(got, text, sizeof(text) - 1))
	parse(BYTES(QUERY NAME IN_A), &q);
	len = dns_answer_a(&q, v4, got, sizeof(got));
	IS("\x12\x34\x81\x80\0\1\0\1\0\0\0\0" NAME IN_A
	   "\xc0\x0c\0\1\0\1\0\0\0\1\0\4\xc6\x12\0\1");
	len = dns_answer_empty(&q, DNS_NOERROR, got, sizeof(got));
	IS("\x12\x34\x81\x80\0\1\0\0\0\0\0\0" NAME IN_A);
	len = dns_answer_empty(&q, DNS_NXDOMAIN, got, sizeof(got));
	IS("\x12\x34\x81\x83\0\1\0\0\0\0\0\0" NAME IN_A);
	len = dns_answer_empty(&q, DNS_REFUSED, got, sizeof(got));
	IS("\x12\x34\x81\x85\0\1\0\0\0\0\0\0" NAME IN_A);
	len = dns_answer_cut(&q, got, sizeof(got));
	IS("\x12\x34\x83\x80\0\1\0\0\0\0\0\0" NAME IN_A);

	parse(BYTES(QUERY_EDNS NAME "\0\x1c\0\1" OPT), &q);
	len = dns_answer_aaaa(&q, v6, got, sizeof(got));
	IS("\x12\x34\x81\x80\0\1\0\1\0\0\0\1" NAME "\0\x1c\0\1"
	   "\xc0\x0c\0\x1c\0\1\0\0\0\1\0\x10\xfd\0\0\2\0\1\0\0\0\0\0\0\0\0\0\7"
	   "\0\0\x29\x04\xd0\0\0\0\0\0\0");
	parse(BYTES(QUERY_EDNS NAME IN_A OPT_DO), &q);
	len = dns_answer_empty(&q, DNS_BADVERS, got, sizeof(got));
	IS("\x12\x34\x81\x80\0\1\0\0\0\0\0\1" NAME IN_A
	   "\0\0\x29\x04\xd0\1\0\x80\0\0\0");

	parse(BYTES("\0\1\x01\x10\0\1\0\0\0\0\0\0"
		    "\1" "1\1" "0\2" "18\3" "198\7in-addr\4arpa\0\0\x0c\0\1"),
	      &q);
	len = dns_answer_ptr(&q, "a.example", got, sizeof(got));
	IS("\0\1\x81\x90\0\1\0\1\0\0\0\0"
	   "\1" "1\1" "0\2" "18\3" "198\7in-addr\4arpa\0\0\x0c\0\1"
	   "\xc0\x0c\0\x0c\0\1\0\0\0\1\0\x0b"
	   "\1a\7example\0");

	/* A message without a question that could be read. */
	assert_int_equal(parse(BYTES(QUERY "\xc0\x0c" IN_A), &q), DNS_MALFORMED);
	len = dns_answer_empty(&q, DNS_FORMERR, got, sizeof(got));
	IS("\x12\x34\x81\x81\0\0\0\0\0\0\0\0");
	/* Another opcode is repeated. */
	assert_int_equal(parse(BYTES("\0\7\x28\0\0\1\0\0\0\1\0\0"), &q),
			 DNS_NOT_IMPLEMENTED);
	len = dns_answer_empty(&q, DNS_NOTIMP, got, sizeof(got));
	IS("\0\7\xa8\x84\0\0\0\0\0\0\0\0");
#undef IS
}

static void test_an_answer_without_room_is_cut(void **state)
{
	static const uint8_t v4[4] = { 198, 18, 0, 1 };
	struct dns_question q;

	(void)state;
	parse(BYTES(QUERY_EDNS NAME IN_A OPT), &q);
	/* 12 + 17 + 16 + 11 bytes, and 16 less without the record. */
	for (size_t size = 0; size <= 60; size++) {
		AUTO_FREE uint8_t *room = mem_new(size);
		size_t len = dns_answer_a(&q, v4, room, size);
		assert_int_equal(len, size < 40 ? 0 : size < 56 ? 40 : 56);
		if (len)
			assert_int_equal(room[2] & 2, size < 56 ? 2 : 0);
		if (len)
			assert_int_equal(room[7], size < 56 ? 0 : 1);
		assert_int_equal(dns_answer_empty(&q, DNS_NXDOMAIN, room, size),
				 size < 40 ? 0 : 40);
	}
}

static void test_the_room_of_udp(void **state)
{
	static const struct {
		uint16_t payload, room;
	} rows[] = { { 0, 512 },     { 511, 512 },   { 512, 512 },    { 513, 513 },
		     { 1231, 1231 }, { 1232, 1232 }, { 1233, 1232 }, { 65535, 1232 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dns_question q = { .payload = rows[i].payload };
		assert_int_equal(dns_udp_room(&q), rows[i].room);
	}
}

static void test_the_longest_answer_fits(void **state)
{
	uint8_t bytes[12 + DNS_QUESTION_MAX + 11] = QUERY_EDNS;
	uint8_t got[DNS_ANSWER_MAX];
	char name[DNS_NAME_SIZE];
	struct dns_question q;
	size_t at = 12;

	(void)state;
	for (int i = 0; i < 4; i++) {
		size_t label = i < 3 ? 63 : 61;
		bytes[at] = (uint8_t)label;
		memset(bytes + at + 1, 'a', label);
		memset(name + at - 12, 'a', label);
		name[at - 12 + label] = i < 3 ? '.' : '\0';
		at += 1 + label;
	}
	memcpy(bytes + at, "\0\0\x0c\0\1" OPT, 5 + 11);
	assert_int_equal(parse(bytes, at + 16, &q), DNS_QUESTION);
	assert_string_equal(q.name, name);
	assert_int_equal(dns_answer_ptr(&q, name, got, sizeof(got)),
			 12 + 259 + 12 + 255 + 11);
	assert_int_equal(got[2] & 2, 0);
	assert_int_equal(dns_answer_ptr(&q, name, got, 512), 12 + 259 + 11);
	assert_int_equal(got[2] & 2, 2);
}

static void test_a_name_that_is_none_is_not_sent(void **state)
{
	static const char *const names[] = {
		"", ".", "a.", ".a", "a..b",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.b"
	};
	uint8_t got[DNS_ANSWER_MAX];
	struct dns_question q;

	(void)state;
	parse(BYTES(QUERY NAME "\0\x0c\0\1"), &q);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_int_equal(dns_answer_ptr(&q, names[i], got, sizeof(got)), 29);
		assert_int_equal(got[3] & 15, DNS_SERVFAIL);
	}
}

static void test_names_of_addresses(void **state)
{
#define NIBBLES "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0."
	static const struct {
		const char *name;
		size_t len;
		const char *address;
	} rows[] = {
		{ "1.0.18.198.in-addr.arpa", 4, "\xc6\x12\0\1" },
		{ "1.0.18.198.IN-ADDR.ARPA", 4, "\xc6\x12\0\1" },
		{ "255.255.255.255.in-addr.arpa", 4, "\xff\xff\xff\xff" },
		{ "0.0.0.0.in-addr.arpa", 4, "\0\0\0\0" },
		{ "256.0.18.198.in-addr.arpa", 0, "" },
		{ "01.0.18.198.in-addr.arpa", 0, "" },
		{ "00.0.18.198.in-addr.arpa", 0, "" },
		{ "1000.0.18.198.in-addr.arpa", 0, "" },
		{ "-1.0.18.198.in-addr.arpa", 0, "" },
		{ "+1.0.18.198.in-addr.arpa", 0, "" },
		{ "0x1.0.18.198.in-addr.arpa", 0, "" },
		{ "a.0.18.198.in-addr.arpa", 0, "" },
		{ "0.18.198.in-addr.arpa", 0, "" },
		{ "18.198.in-addr.arpa", 0, "" },
		{ "9.1.0.18.198.in-addr.arpa", 0, "" },
		{ "0/25.0.18.198.in-addr.arpa", 0, "" },
		{ ".1.0.18.198.in-addr.arpa", 0, "" },
		{ "1.0.18.198.in-addr.arpa.", 0, "" },
		{ "1.0.18.198.in-addr.arpa.example", 0, "" },
		{ "1.0.18.198.in-addr", 0, "" },
		{ "1.0.18.198.", 0, "" },
		{ "1.0.18.198", 0, "" },
		{ "in-addr.arpa", 0, "" },
		{ "arpa", 0, "" },
		{ "", 0, "" },
		{ "7." NIBBLES "1.0.0.0.2.0.d.f.ip6.arpa", 16,
		  "\xfd\x02\x00\x01\0\0\0\0\0\0\0\0\0\0\0\x07" },
		{ "7." NIBBLES "1.0.0.0.2.0.D.F.IP6.ARPA", 16,
		  "\xfd\x02\x00\x01\0\0\0\0\0\0\0\0\0\0\0\x07" },
		{ "7." NIBBLES "1.0.0.0.2.0.d.g.ip6.arpa", 0, "" },
		{ "7." NIBBLES "1.0.0.0.2.0.d.ip6.arpa", 0, "" },
		{ "7." NIBBLES "1.0.0.0.2.0.d.f.f.ip6.arpa", 0, "" },
		{ "7." NIBBLES "1.0.0.0.2.0.d.ff.ip6.arpa", 0, "" },
		{ "7." NIBBLES "1.0.0.0.2.0.d.f.ip6.int", 0, "" },
		{ "7." NIBBLES "1.0.0.0.2.0.d.f", 0, "" },
		{ "ip6.arpa", 0, "" },
		{ "example.com", 0, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t got[16] = { 0x55 };
		AUTO_FREE uint8_t *name = exact_copy(rows[i].name, strlen(rows[i].name) + 1);
		size_t len = dns_ptr_address((const char *)name, got);
		if (len != rows[i].len || memcmp(got, rows[i].address, len) != 0)
			fail_msg("%s: %zu", rows[i].name, len);
		if (len == 0)
			assert_int_equal(got[0], 0x55);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages_and_their_verdicts),
		cmocka_unit_test(test_no_prefix_of_a_message_is_a_question),
		cmocka_unit_test(test_a_name_has_255_bytes_at_most),
		cmocka_unit_test(test_each_value_of_each_byte),
		cmocka_unit_test(test_what_is_kept_of_a_question),
		cmocka_unit_test(test_frames_of_tcp),
		cmocka_unit_test(test_answers_byte_by_byte),
		cmocka_unit_test(test_an_answer_without_room_is_cut),
		cmocka_unit_test(test_the_room_of_udp),
		cmocka_unit_test(test_the_longest_answer_fits),
		cmocka_unit_test(test_a_name_that_is_none_is_not_sent),
		cmocka_unit_test(test_names_of_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
