/* tar: headers that are written can be read again, also those of other
 * programs; anything that is no header is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "archive/entries.h"
#include "tests/unit/archive.h"

/* Reads a tar of one entry into t->now. */
static void read_back(const struct buffer *tar, struct entries *t)
{
	struct err e;

	entries_init(t, tar_open(tar));
	if (entries_next(t, &e) != 1)
		fail_msg("%s", e.text);
}

static void close_back(struct entries *t)
{
	(void)close(t->in);
	entries_done(t);
}

static void check_same(const struct tar_entry *entry, size_t len)
{
	struct buffer tar;
	struct entries t;

	tar_start(&tar);
	tar_encode(&tar, entry);
	assert_int_equal(buffer_len(&tar), len);
	read_back(&tar, &t);
	assert_int_equal(t.now.type, entry->type);
	if (entry->type == TAR_FOLDER) {
		size_t path = strlen(entry->path);
		assert_int_equal(strncmp(t.now.path, entry->path, path), 0);
		assert_string_equal(t.now.path + path, "/");
	} else {
		assert_string_equal(t.now.path, entry->path);
	}
	assert_string_equal(t.now.link, entry->link ? entry->link : "");
	assert_int_equal(t.now.mode, entry->mode);
	assert_true(t.now.uid == entry->uid && t.now.gid == entry->gid);
	assert_true(t.now.size == entry->size);
	assert_true(t.now.mtime == entry->mtime);
	assert_int_equal(t.now.mtime_ns, entry->mtime_ns);
	close_back(&t);
	buffer_done(&tar);
}

static void test_numbers_that_fit_are_in_the_header(void **state)
{
	(void)state;
	check_same(&(struct tar_entry){ .path = "a" }, 512);
	check_same(&(struct tar_entry){ .path = "a", .mode = 07777, .uid = 07777777,
					.gid = 07777777, .size = 077777777777,
					.mtime = 077777777777 },
		   512);
}

static void test_numbers_that_do_not_fit_are_in_records(void **state)
{
	static const struct tar_entry entries[] = {
		{ .path = "a", .uid = 010000000 },
		{ .path = "a", .gid = UINT32_MAX },
		{ .path = "a", .size = 0100000000000 },
		{ .path = "a", .size = INT64_MAX },
		{ .path = "a", .mtime = 0100000000000 },
		{ .path = "a", .mtime = 1, .mtime_ns = 1 },
		{ .path = "a", .mtime = 1, .mtime_ns = 999999999 },
		{ .path = "a", .mtime = -1 },
		{ .path = "a", .mtime = -1, .mtime_ns = 999999999 },
		{ .path = "a", .mtime = -2, .mtime_ns = 500000000 },
		{ .path = "a", .mtime = -123456789012, .mtime_ns = 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(entries); i++)
		check_same(&entries[i], 3 * TAR_BLOCK);
}

/* Returns `count` letters x, with a slash at the place `slash`. */
static char *letters(size_t count, size_t slash)
{
	char *text = memset(malloc(count + 1), 'x', count);

	text[count] = '\0';
	if (slash < count)
		text[slash] = '/';
	return text;
}

static void test_names_of_any_length_come_back(void **state)
{
	static const struct {
		size_t count, slash;
		enum tar_type type;
		size_t len;
	} names[] = {
		{ 100, 999, TAR_FILE, 512 },
		{ 101, 999, TAR_FILE, 1536 },
		{ 101, 0, TAR_FILE, 1536 },
		{ 101, 1, TAR_FILE, 512 },
		{ 101, 99, TAR_FILE, 512 },
		{ 256, 155, TAR_FILE, 512 },
		{ 256, 154, TAR_FILE, 1536 },
		{ 256, 156, TAR_FILE, 1536 },
		{ 257, 155, TAR_FILE, 1536 },
		{ 99, 999, TAR_FOLDER, 512 },
		{ 100, 999, TAR_FOLDER, 1536 },
		{ 255, 155, TAR_FOLDER, 512 },
		{ 256, 155, TAR_FOLDER, 1536 },
		{ 5000, 999, TAR_FILE, 1024 + 5120 },
		{ 90, 999, TAR_LINK, 512 },
		{ 1 << 20, 9, TAR_FILE, 1024 + 512 + (1 << 20) },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		AUTO_FREE char *path = letters(names[i].count, names[i].slash);
		check_same(&(struct tar_entry){ .type = names[i].type,
						.path = path,
						.link = names[i].type == TAR_LINK
								? path
								: NULL },
			   names[i].len);
	}
}

static void test_the_target_of_a_link_comes_back(void **state)
{
	AUTO_FREE char *fits = letters(100, 50), *longer = letters(101, 50),
		       *longest = letters(4095, 50);

	(void)state;
	check_same(&(struct tar_entry){ .type = TAR_LINK, .path = "l", .link = fits },
		   512);
	check_same(&(struct tar_entry){ .type = TAR_LINK, .path = "l", .link = longer },
		   1536);
	check_same(&(struct tar_entry){ .type = TAR_HARD_LINK, .path = longest,
					.link = longest },
		   1024 + 8704);
}

/* The length of a record includes its own digits, so 99 and 100 are the hard
 * cases. */
static void test_records_of_every_length_say_how_long_they_are(void **state)
{
	(void)state;
	for (size_t count = 101; count < 1100; count++) {
		AUTO_FREE char *path = letters(count, 9999);
		size_t records = count + 9 > 999 ? count + 11 : count + 10;
		check_same(&(struct tar_entry){ .path = path },
			   1024 + (size_t)tar_padded(records));
	}
}

static void decode(const uint8_t *block, struct tar_entry *ret, int expected)
{
	static struct tar_text text;
	struct err e = { 0 };

	assert_int_equal(tar_decode(block, ret, &text, &e), expected);
	assert_int_equal(e.kind, expected < 0 ? ERR_PROTOCOL : ERR_NONE);
}

static void make_block(uint8_t block[TAR_BLOCK], size_t at, const void *data, size_t len)
{
	struct buffer tar;

	tar_start(&tar);
	tar_encode(&tar, &(struct tar_entry){ .path = "name", .mode = 0644, .size = 5,
					      .mtime = 7 });
	memcpy(block, buffer_data(&tar), TAR_BLOCK);
	memcpy(block + at, data, len);
	tar_sum(block);
	buffer_done(&tar);
}

#define SIZE_AT	 124
#define MTIME_AT 136

static void test_numbers_are_read_as_others_write_them(void **state)
{
	static const struct {
		size_t at;
		char text[13];
		int64_t expected;
	} numbers[] = {
		{ SIZE_AT, "00000000017", 15 },
		{ SIZE_AT, "         17 ", 15 },
		{ SIZE_AT, "17\0\0\0\0\0\0\0\0\0\0", 15 },
		{ SIZE_AT, "\0\0\0\0\0\0\0\0\0\0\0\0", 0 },
		{ SIZE_AT, "            ", 0 },
		{ SIZE_AT, "777777777777", 0777777777777 },
		{ SIZE_AT, "\x80\0\0\0\0\0\0\0\0\0\1\2", 258 },
		{ SIZE_AT, "\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", INT64_MAX },
		{ MTIME_AT, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", -1 },
		{ MTIME_AT, "\xff\xff\xff\xff\x80\0\0\0\0\0\0\0", INT64_MIN },
		{ MTIME_AT, "\x80\0\0\0\0\0\0\x20\0\0\0\0", INT64_C(1) << 37 },
	};
	uint8_t block[TAR_BLOCK];
	struct tar_entry entry;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		make_block(block, numbers[i].at, numbers[i].text, 12);
		decode(block, &entry, 0);
		int64_t got = numbers[i].at == SIZE_AT ? (int64_t)entry.size
						       : entry.mtime;
		if (got != numbers[i].expected)
			fail_msg("number %zu: %lld", i, (long long)got);
	}
}

static void test_a_field_without_a_number_is_refused(void **state)
{
	static const char numbers[][13] = {
		"00000000018", "-0000000017", "0x000000017", "abc",
		"\x80\0\0\0\x80\0\0\0\0\0\0\0",		    /* 2^63 */
		"\x81\0\0\0\0\0\0\0\0\0\0\0", "\xc0\0\0\0\0\0\0\0\0\0\0\0",
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", /* a size of -1 */
		"\xff\xff\xff\xff\x7f\xff\xff\xff\xff\xff\xff\xff",
	};
	uint8_t block[TAR_BLOCK];
	struct tar_entry entry;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		make_block(block, SIZE_AT, numbers[i], 12);
		decode(block, &entry, -1);
	}
}

static void test_a_wrong_checksum_is_refused(void **state)
{
	uint8_t block[TAR_BLOCK];
	struct tar_entry entry;

	(void)state;
	make_block(block, 0, "n", 1);
	decode(block, &entry, 0);
	block[0]++;
	decode(block, &entry, -1);
}

static void test_the_checksum_of_old_tars_is_taken(void **state)
{
	uint8_t block[TAR_BLOCK];
	struct tar_entry entry;
	int sum = 0;

	(void)state;
	make_block(block, 0, "\xe4\xf6\xfc", 4);
	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += i >= 148 && i < 156 ? ' ' : (int8_t)block[i];
	(void)snprintf((char *)block + 148, 8, "%06o", (unsigned)sum);
	decode(block, &entry, 0);
	assert_string_equal(entry.path, "\xe4\xf6\xfc");
}

static void test_gnu_has_no_front_part_of_a_name(void **state)
{
	uint8_t block[TAR_BLOCK];
	struct tar_entry entry;

	(void)state;
	make_block(block, 345, "front", 6);
	decode(block, &entry, 0);
	assert_string_equal(entry.path, "front/name");
	memcpy(block + 257, "ustar  ", 8);
	tar_sum(block);
	decode(block, &entry, 0);
	assert_string_equal(entry.path, "name");
}

static void test_a_folder_of_an_old_tar_ends_with_a_slash(void **state)
{
	struct buffer tar;
	struct entries t;

	(void)state;
	tar_start(&tar);
	tar_raw(&tar, '\0', "folder/", "", 0);
	read_back(&tar, &t);
	assert_int_equal(t.now.type, TAR_FOLDER);
	close_back(&t);
	buffer_done(&tar);
}

/* A device may have any size in its header, and no content follows. */
static void test_an_entry_without_content_has_no_content(void **state)
{
	static const char flags[] = "123456";
	uint8_t block[TAR_BLOCK];
	struct tar_entry entry;

	(void)state;
	for (const char *flag = flags; *flag; flag++) {
		make_block(block, 156, flag, 1);
		decode(block, &entry, 0);
		assert_true(entry.size == 0);
	}
}

static int read_records(const char *text, struct tar_pax *p, struct err *e)
{
	static char records[256];

	(void)snprintf(records, sizeof(records), "%s", text);
	*p = (struct tar_pax){ 0 };
	return tar_pax_decode(records, strlen(text), p, e);
}

static void test_records_say_what_they_say(void **state)
{
	struct tar_pax p;
	struct err e;

	(void)state;
	assert_int_equal(read_records("12 path=a=b\n6 x=y\n17 linkpath=c d\n\n12 size=123"
				      "\n8 uid=4\n8 gid=5\n16 mtime=-1.250\n",
				      &p, &e),
			 0);
	assert_string_equal(p.path, "a=b");
	assert_string_equal(p.link, "c d\n");
	assert_true(p.has_size && p.size == 123 && p.uid == 4 && p.gid == 5);
	assert_true(p.has_mtime && p.mtime == -2 && p.mtime_ns == 750000000);
	/* Further digits than nanoseconds are dropped; none after the point count as
	 * 0. */
	assert_int_equal(read_records("26 mtime=7.12345678912345\n", &p, &e), 0);
	assert_int_equal(p.mtime_ns, 123456789);
	assert_int_equal(read_records("12 mtime=7.\n", &p, &e), 0);
	/* An empty value removes the record's earlier value. */
	assert_int_equal(read_records("9 path=a\n8 path=\n11 size=12\n8 size=\n", &p, &e),
			 0);
	assert_null(p.path);
	assert_false(p.has_size);
}

static void test_an_invalid_pax_record_is_refused(void **state)
{
	static const char *const bad[] = {
		"path=a\n", "9path=a\n", "9 path=a", "11 path=a\n", "8 path=a\n",
		" 9 path=a\n", "-9 path=a\n", "0 path=a\n", "2 \n", "3 \n", "8 path-a\n",
		"99999999999999999999 path=a\n", "9 path=a\nx", "10 size=1x\n",
		"10 size=-1\n", "28 size=9223372036854775808\n", "11 mtime=ab\n",
		"12 mtime=1.x\n", "11 mtime=--1\n", "9 path=a\n9 size=\n\n",
	};
	struct tar_pax p;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		e.kind = ERR_NONE;
		if (read_records(bad[i], &p, &e) == 0)
			fail_msg("'%s' was taken", bad[i]);
		assert_int_equal(e.kind, ERR_PROTOCOL);
	}
}

/* A name with a 0 byte is refused: a reader that stops at the 0 would see another
 * name. */
static void test_a_zero_in_a_name_is_refused(void **state)
{
	char name[] = "11 path=a\0b\n", other[] = "9 x=a\0bc\n";
	struct tar_pax p = { 0 };
	struct err e;

	(void)state;
	assert_int_equal(tar_pax_decode(name, 12, &p, &e), -1);
	name[0] = '1', name[1] = '2';
	assert_int_equal(tar_pax_decode(name, 12, &p, &e), -1);
	assert_int_equal(tar_pax_decode(other, 9, &p, &e), 0);
}

static void test_a_sparse_file_is_refused_by_name(void **state)
{
	struct tar_pax p;
	struct buffer tar;
	struct entries t;
	struct err e;

	(void)state;
	assert_int_equal(read_records("22 GNU.sparse.major=1\n", &p, &e), -1);
	assert_int_equal(e.kind, ERR_UNSUPPORTED);
	assert_non_null(strstr(e.text, "sparse"));
	tar_start(&tar);
	tar_raw(&tar, 'S', "disk", "", 0);
	entries_init(&t, tar_open(&tar));
	assert_int_equal(entries_next(&t, &e), -1);
	assert_int_equal(e.kind, ERR_UNSUPPORTED);
	assert_non_null(strstr(e.text, "disk"));
	close_back(&t);
	buffer_done(&tar);
}

static void test_an_extended_header_is_for_the_next_entry_alone(void **state)
{
	struct buffer tar;
	struct entries t;
	struct err e;

	(void)state;
	tar_start(&tar);
	tar_raw(&tar, 'g', "x", "17 comment=hello\n", 17);
	tar_raw(&tar, 'V', "label", "", 0);
	tar_raw(&tar, 'L', "././@LongLink", "long/name", 10);
	tar_raw(&tar, 'K', "././@LongLink", "long/link\0rest", 15);
	tar_raw(&tar, '2', "short", "", 0);
	tar_raw(&tar, 'x', "x", "12 path=one\n", 12);
	tar_raw(&tar, 'x', "x", "9 size=3\n", 9);
	tar_raw(&tar, '0', "short", "abc", 3);
	tar_raw(&tar, '0', "plain", "", 0);
	read_back(&tar, &t);
	assert_string_equal(t.now.path, "long/name");
	assert_string_equal(t.now.link, "long/link");
	assert_int_equal(entries_next(&t, &e), 1);
	assert_string_equal(t.now.path, "one");
	assert_int_equal(entries_next(&t, &e), 1);
	assert_string_equal(t.now.path, "plain");
	assert_int_equal(entries_next(&t, &e), -1); /* no end mark */
	assert_int_equal(e.kind, ERR_PROTOCOL);
	close_back(&t);
	buffer_done(&tar);
}

static void test_headers_that_never_end_are_refused(void **state)
{
	static char large[TAR_HEADER_MAX + 1];
	struct buffer many, much;
	struct entries t;
	struct err e;

	(void)state;
	tar_start(&many);
	for (int i = 0; i < 1000; i++)
		tar_raw(&many, 'g', "x", "", 0);
	entries_init(&t, tar_open(&many));
	assert_int_equal(entries_next(&t, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	close_back(&t);
	tar_start(&much);
	tar_raw(&much, 'L', "x", large, sizeof(large));
	entries_init(&t, tar_open(&much));
	assert_int_equal(entries_next(&t, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	close_back(&t);
	buffer_done(&many);
	buffer_done(&much);
}

/* A tar that ends early is refused, wherever it is cut.  One zero block is enough as
 * end mark. */
static void test_a_tar_that_stops_anywhere_is_refused(void **state)
{
	struct buffer tar;
	struct entries t;
	struct err e;
	int more;

	(void)state;
	tar_start(&tar);
	tar_file(&tar, "a", "some text");
	tar_finish(&tar);
	for (size_t len = 0; len < 4 * TAR_BLOCK; len += 37) {
		struct buffer cut = tar;
		cut.end = cut.start + len;
		entries_init(&t, tar_open(&cut));
		while ((more = entries_next(&t, &e)) > 0)
			;
		assert_int_equal(more, len < 3 * TAR_BLOCK ? -1 : 0);
		close_back(&t);
	}
	buffer_done(&tar);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_that_fit_are_in_the_header),
		cmocka_unit_test(test_numbers_that_do_not_fit_are_in_records),
		cmocka_unit_test(test_names_of_any_length_come_back),
		cmocka_unit_test(test_the_target_of_a_link_comes_back),
		cmocka_unit_test(test_records_of_every_length_say_how_long_they_are),
		cmocka_unit_test(test_numbers_are_read_as_others_write_them),
		cmocka_unit_test(test_a_field_without_a_number_is_refused),
		cmocka_unit_test(test_a_wrong_checksum_is_refused),
		cmocka_unit_test(test_the_checksum_of_old_tars_is_taken),
		cmocka_unit_test(test_gnu_has_no_front_part_of_a_name),
		cmocka_unit_test(test_a_folder_of_an_old_tar_ends_with_a_slash),
		cmocka_unit_test(test_an_entry_without_content_has_no_content),
		cmocka_unit_test(test_records_say_what_they_say),
		cmocka_unit_test(test_an_invalid_pax_record_is_refused),
		cmocka_unit_test(test_a_zero_in_a_name_is_refused),
		cmocka_unit_test(test_a_sparse_file_is_refused_by_name),
		cmocka_unit_test(test_an_extended_header_is_for_the_next_entry_alone),
		cmocka_unit_test(test_headers_that_never_end_are_refused),
		cmocka_unit_test(test_a_tar_that_stops_anywhere_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
