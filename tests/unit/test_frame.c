/* frame: splits bytes into frames and reads their fields, whatever length a
 * malicious peer claims. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/own.h"

/* Copies a body to memory of exactly its size, so that a sanitizer sees the
 * first byte read too far. */
static struct frame body_of(const void *bytes, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	return (struct frame){ .type = 1, .body = copy, .len = len };
}

static void free_body(struct frame *f)
{
	free((void *)(uintptr_t)f->body);
}

static void test_the_bytes_are_those_of_the_document(void **state)
{
	static const uint8_t expected[] = {
		47,  0,	  0, 0, 0x34, 0x12, 0, 0, 0xef, 0xbe, 0xad, 0xde, /* header */
		'u', 4,	  3, 2, 1,					/* u32 */
		'q', 8,	  7, 6, 5, 4, 3, 2, 1,				/* u64 */
		'b', 2,	  0, 0, 0, 0, 0xff,				/* bytes */
		's', 3,	  0, 0, 0, 'h', 'i', 0,				/* text */
		'l', 2,	  0, 0, 0,					/* list of two */
		's', 1,	  0, 0, 0, 0,					/* "" */
		's', 2,	  0, 0, 0, 'a', 0,				/* "a" */
	};
	char *list[] = { (char *)"", (char *)"a", NULL };
	struct buffer b;
	struct err e;

	(void)state;
	buffer_init(&b, 1000);
	size_t begun = frame_begin(&b, 0x1234, 0xdeadbeef);
	frame_put_u32(&b, 0x01020304);
	frame_put_u64(&b, 0x0102030405060708);
	frame_put_bytes(&b, "\0\xff", 2);
	frame_put_text(&b, "hi");
	frame_put_list(&b, list);
	assert_int_equal(frame_end(&b, begun, &e), 0);
	assert_int_equal(buffer_len(&b), sizeof(expected));
	assert_memory_equal(buffer_data(&b), expected, sizeof(expected));
	buffer_done(&b);
}

static void test_fields_are_read_as_they_were_written(void **state)
{
	char *list[] = { (char *)"one", (char *)"", (char *)"three", NULL };
	struct buffer b;
	struct frame f;
	struct err e;

	(void)state;
	buffer_init(&b, 1000);
	/* The second frame comes right after the first. */
	for (int round = 0; round < 2; round++) {
		size_t begun = frame_begin(&b, 7, 9);
		frame_put_u32(&b, UINT32_MAX);
		frame_put_u64(&b, UINT64_MAX);
		frame_put_bytes(&b, "", 0);
		frame_put_list(&b, list);
		frame_put_list(&b, NULL);
		assert_int_equal(frame_end(&b, begun, &e), 0);
	}
	for (int round = 0; round < 2; round++) {
		assert_int_equal(frame_next(&b, 1000, &f, &e), 1);
		assert_int_equal(f.type, 7);
		assert_int_equal(f.id, 9);
		struct fields in = fields_of(&f);
		assert_int_equal(fields_get_u32(&in), UINT32_MAX);
		assert_true(fields_get_u64(&in) == UINT64_MAX);
		assert_int_equal(fields_get_bytes(&in).len, 0);
		assert_int_equal(fields_get_list(&in), 3);
		assert_string_equal(fields_get_text(&in), "one");
		assert_string_equal(fields_get_text(&in), "");
		assert_false(fields_end(&in));
		assert_string_equal(fields_get_text(&in), "three");
		assert_int_equal(fields_get_list(&in), 0);
		assert_true(fields_end(&in));
		buffer_consume(&b, FRAME_HEADER + f.len);
	}
	assert_int_equal(frame_next(&b, 1000, &f, &e), 0);
	buffer_done(&b);
}

static void test_a_frame_is_there_only_when_its_last_byte_is(void **state)
{
	struct buffer whole, part;
	struct frame f;
	struct err e;

	(void)state;
	buffer_init(&whole, 100);
	buffer_init(&part, 100);
	size_t begun = frame_begin(&whole, 1, 2);
	frame_put_u32(&whole, 3);
	assert_int_equal(frame_end(&whole, begun, &e), 0);
	for (size_t i = 0; i < buffer_len(&whole); i++) {
		assert_int_equal(frame_next(&part, 100, &f, &e), 0);
		assert_true(buffer_append(&part, buffer_data(&whole) + i, 1));
	}
	assert_int_equal(frame_next(&part, 100, &f, &e), 1);
	buffer_done(&whole);
	buffer_done(&part);
}

static void test_bad_headers_are_refused_before_their_body_came(void **state)
{
	static const struct {
		uint8_t header[FRAME_HEADER];
		int expected;
	} rows[] = {
		{ { 0 }, 1 },
		{ { 100, 0, 0, 0, 1 }, 0 },
		{ { 101, 0, 0, 0, 1 }, -1 },
		{ { 0xff, 0xff, 0xff, 0xff, 1 }, -1 },
		{ { 0, 0, 0, 0x80, 1 }, -1 },
		{ { 0, 0, 0, 0, 1, 0, 1, 0 }, -1 },
		{ { 0, 0, 0, 0, 1, 0, 0, 1 }, -1 },
		{ { 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff }, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buffer b;
		struct frame f = { .type = 77 };
		struct err e;
		buffer_init(&b, 100);
		assert_true(buffer_append(&b, rows[i].header, FRAME_HEADER));
		assert_int_equal(frame_next(&b, 100, &f, &e), rows[i].expected);
		if (rows[i].expected < 0)
			assert_int_equal(e.kind, ERR_PROTOCOL);
		if (rows[i].expected <= 0)
			assert_int_equal(f.type, 77); /* untouched */
		buffer_done(&b);
	}
}

static void test_a_frame_that_does_not_fit_is_an_error(void **state)
{
	(void)state;
	for (size_t max = 0; max < 40; max++) {
		struct buffer b;
		struct err e;
		buffer_init(&b, max);
		size_t begun = frame_begin(&b, 1, 1);
		frame_put_u64(&b, 1);
		frame_put_text(&b, "text");
		int ended = frame_end(&b, begun, &e);
		assert_int_equal(ended, max >= FRAME_HEADER + 9 + 10 ? 0 : -1);
		if (ended < 0)
			assert_int_equal(e.kind, ERR_LIMIT);
		buffer_done(&b);
	}
}

static void test_the_frames_before_one_that_does_not_fit_are_whole(void **state)
{
	struct buffer b;
	struct frame f;
	struct err e;

	(void)state;
	buffer_init(&b, FRAME_HEADER * 2 + 3);
	assert_int_equal(frame_end(&b, frame_begin(&b, 5, 0), &e), 0);
	size_t begun = frame_begin(&b, 6, 0);
	frame_put_u32(&b, 1);
	assert_int_equal(frame_end(&b, begun, &e), -1);
	/* The frame that was too long is removed, so that only complete frames are
	 * left to be sent. */
	assert_int_equal(buffer_len(&b), FRAME_HEADER);
	assert_int_equal(frame_next(&b, 100, &f, &e), 1);
	assert_int_equal(f.type, 5);
	/* After that a frame that fits can be added. */
	assert_int_equal(frame_end(&b, frame_begin(&b, 7, 0), &e), 0);
	assert_int_equal(buffer_len(&b), FRAME_HEADER * 2);
	buffer_done(&b);
}

enum kind { U32, U64, BYTES, TEXT, LIST };

static void get(struct fields *in, enum kind kind)
{
	switch (kind) {
	case U32:
		(void)fields_get_u32(in);
		break;
	case U64:
		(void)fields_get_u64(in);
		break;
	case BYTES:
		(void)fields_get_bytes(in);
		break;
	case TEXT:
		(void)fields_get_text(in);
		break;
	case LIST:
		for (uint32_t left = fields_get_list(in); left > 0; left--)
			(void)fields_get_text(in);
		break;
	}
}

static void test_malformed_bodies_are_refused(void **state)
{
	static const struct {
		enum kind kind;
		size_t len;
		const char *body;
		bool is_good;
	} rows[] = {
		{ U32, 5, "u\1\2\3\4", true },
		{ U32, 4, "u\1\2\3", false },
		{ U32, 6, "u\1\2\3\4\5", false },
		{ U32, 0, "", false },
		{ U32, 1, "u", false },
		{ U32, 5, "U\1\2\3\4", false },
		{ U32, 9, "q\0\0\0\0\0\0\0\0", false },
		{ U64, 9, "q\0\0\0\0\0\0\0\0", true },
		{ U64, 8, "q\0\0\0\0\0\0\0", false },
		{ U64, 5, "q\0\0\0\0", false },
		{ BYTES, 5, "b\0\0\0\0", true },
		{ BYTES, 6, "b\1\0\0\0\0", true },
		{ BYTES, 5, "b\1\0\0\0", false },
		{ BYTES, 6, "b\0\0\0\0\0", false },
		{ BYTES, 6, "b\xff\xff\xff\xff\0", false },
		{ BYTES, 6, "b\0\0\0\x80\0", false },
		{ BYTES, 4, "b\0\0\0", false },
		{ TEXT, 6, "s\1\0\0\0\0", true },
		{ TEXT, 7, "s\2\0\0\0a\0", true },
		{ TEXT, 5, "s\0\0\0\0", false },
		{ TEXT, 6, "s\1\0\0\0a", false },
		{ TEXT, 7, "s\2\0\0\0\0\0", false },
		{ TEXT, 7, "s\2\0\0\0\0a", false },
		{ TEXT, 8, "s\3\0\0\0a\0\0", false },
		{ TEXT, 6, "s\2\0\0\0\0", false },
		{ TEXT, 6, "s\xff\xff\xff\xff\0", false },
		{ TEXT, 7, "b\2\0\0\0a\0", false },
		{ LIST, 5, "l\0\0\0\0", true },
		{ LIST, 11, "l\1\0\0\0s\1\0\0\0\0", true },
		{ LIST, 5, "l\1\0\0\0", false },
		{ LIST, 11, "l\2\0\0\0s\1\0\0\0\0", false },
		{ LIST, 11, "l\xff\xff\xff\xffs\1\0\0\0\0", false },
		{ LIST, 11, "l\0\0\0\0s\1\0\0\0\0", false },
		{ LIST, 10, "l\1\0\0\0b\0\0\0\0", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct frame f = body_of(rows[i].body, rows[i].len);
		struct fields in = fields_of(&f);
		get(&in, rows[i].kind);
		if (fields_end(&in) != rows[i].is_good)
			fail_msg("row %zu", i);
		free_body(&f);
	}
}

static void test_a_failure_sticks_and_what_follows_is_empty(void **state)
{
	struct frame f = body_of("q\1\1\1\1\1\1\1\1u\1\1\1\1", 14);
	struct fields in = fields_of(&f);

	(void)state;
	assert_int_equal(fields_get_u32(&in), 0); /* fails: the field is a u64 */
	assert_true(fields_get_u64(&in) == 0);
	assert_int_equal(fields_get_u32(&in), 0);
	assert_string_equal(fields_get_text(&in), "");
	assert_int_equal(fields_get_bytes(&in).len, 0);
	assert_non_null(fields_get_bytes(&in).data);
	assert_int_equal(fields_get_list(&in), 0);
	assert_false(fields_end(&in));
	free_body(&f);
}

/* The count of a list is bounded by the number of bytes left, so that it is safe to
 * allocate for that count. */
static void test_a_list_claims_no_more_than_is_there(void **state)
{
	(void)state;
	for (uint32_t texts = 0; texts < 5; texts++)
		for (uint32_t claimed = 0; claimed < 8; claimed++) {
			uint8_t body[64] = { 'l', (uint8_t)claimed };
			for (uint32_t i = 0; i < texts; i++)
				memcpy(body + 5 + 6 * i, "s\1\0\0\0\0", 6);
			struct frame f = body_of(body, 5 + 6 * texts);
			struct fields in = fields_of(&f);
			uint32_t count = fields_get_list(&in);
			assert_true(count <= texts);
			assert_int_equal(in.is_bad, claimed > texts);
			free_body(&f);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_bytes_are_those_of_the_document),
		cmocka_unit_test(test_fields_are_read_as_they_were_written),
		cmocka_unit_test(test_a_frame_is_there_only_when_its_last_byte_is),
		cmocka_unit_test(test_bad_headers_are_refused_before_their_body_came),
		cmocka_unit_test(test_a_frame_that_does_not_fit_is_an_error),
		cmocka_unit_test(test_the_frames_before_one_that_does_not_fit_are_whole),
		cmocka_unit_test(test_malformed_bodies_are_refused),
		cmocka_unit_test(test_a_failure_sticks_and_what_follows_is_empty),
		cmocka_unit_test(test_a_list_claims_no_more_than_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
