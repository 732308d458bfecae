/* connect_frames: messages are split where their headers say, and a client's bytes are believed
 * nothing beyond their end. */
#include "gateway/connect_frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"

#define BYTES(text) text, sizeof(text) - 1

static const struct {
	const char *what, *bytes;
	size_t len;
	const char *texts[3]; /* the messages, in order; NULL: no more */
	int end;	      /* what follows them: 0, nothing; -1, no message */
} streams[] = {
	{ "no byte", BYTES(""), { NULL }, 0 },
	{ "one message", BYTES("\0\0\0\0\2{}"), { "{}" }, 0 },
	{ "an empty one", BYTES("\0\0\0\0\0"), { "" }, 0 },
	{ "two", BYTES("\0\0\0\0\1a\0\0\0\0\2bc"), { "a", "bc" }, 0 },
	{ "an empty one between",
	  BYTES("\0\0\0\0\1a\0\0\0\0\0\0\0\0\0\1b"),
	  { "a", "", "b" },
	  0 },
	{ "half a header", BYTES("\0\0\0\0"), { NULL }, -1 },
	{ "one byte", BYTES("\0"), { NULL }, -1 },
	{ "a text that is cut", BYTES("\0\0\0\0\3{}"), { NULL }, -1 },
	{ "a second one that is cut", BYTES("\0\0\0\0\1a\0\0\0\0\2b"), { "a" }, -1 },
	{ "a byte behind", BYTES("\0\0\0\0\1ab"), { "a" }, -1 },
	{ "a compressed one", BYTES("\1\0\0\0\2{}"), { NULL }, -1 },
	{ "an end", BYTES("\2\0\0\0\2{}"), { NULL }, -1 },
	{ "an unknown flag", BYTES("\200\0\0\0\2{}"), { NULL }, -1 },
	{ "the longest length", BYTES("\0\377\377\377\377{}"), { NULL }, -1 },
	{ "the sign of a length", BYTES("\0\200\0\0\2{}"), { NULL }, -1 },
	{ "the bytes in the wrong order", BYTES("\0\2\0\0\0{}"), { NULL }, -1 },
};

static void test_streams_are_split_into_messages(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
		const char *at = streams[i].bytes;
		size_t len = streams[i].len;
		struct connect_frame f;
		size_t n = 0;
		int found;

		while ((found = connect_next(&at, &len, &f)) == 1) {
			const char *text = n < 3 ? streams[i].texts[n++] : NULL;
			if (!text || strlen(text) != f.len ||
			    memcmp(text, f.text, f.len) != 0)
				fail_msg("%s: message %zu differs", streams[i].what, n);
		}
		if (found != streams[i].end || (n < 3 && streams[i].texts[n]))
			fail_msg("%s: ends with %d after %zu", streams[i].what, found, n);
		assert_ptr_equal(at + len, streams[i].bytes + streams[i].len);
	}
}

static const struct {
	size_t len;
	uint8_t flags, header[CONNECT_HEADER];
} headers[] = {
	{ 0, 0, { 0, 0, 0, 0, 0 } },
	{ 2, 0, { 0, 0, 0, 0, 2 } },
	{ 0x01020304, 0, { 0, 1, 2, 3, 4 } },
	{ 0xffffffff, CONNECT_FLAG_END, { 2, 255, 255, 255, 255 } },
};

static void test_headers_are_written(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
		uint8_t header[CONNECT_HEADER];

		connect_header(headers[i].flags, headers[i].len, header);
		assert_memory_equal(header, headers[i].header, CONNECT_HEADER);
	}
}

static void test_the_longest_message_is_taken_and_no_longer_one(void **state)
{
	const size_t most = CONNECT_HEADER + CONNECT_MESSAGE_MAX + 1;
	AUTO_FREE char *bytes = calloc(1, most);
	struct connect_frame f;

	(void)state;
	assert_non_null(bytes);
	for (size_t more = 0; more < 2; more++) {
		const char *at = bytes;
		size_t len = CONNECT_HEADER + CONNECT_MESSAGE_MAX + more;

		connect_header(0, CONNECT_MESSAGE_MAX + more, (uint8_t *)bytes);
		assert_int_equal(connect_next(&at, &len, &f), more ? -1 : 1);
		assert_int_equal(len, more ? most : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams_are_split_into_messages),
		cmocka_unit_test(test_headers_are_written),
		cmocka_unit_test(test_the_longest_message_is_taken_and_no_longer_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
