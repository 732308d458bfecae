/* tar_to_zip: tars as copy.out writes them become zips that Python's zipfile reads,
 * whatever the pieces are, and hostile ones become errors. */
#include "gateway/zip/tar_to_zip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "tests/unit/archive.h"
#include "tests/unit/zips.h"

#define MIB (UINT64_C(1) << 20)

static const struct tar_to_zip_limits usual = { 1000, 64 * MIB, MIB };

/* Hands the tar over in pieces, and appends the zip to the file "out.zip". */
static int turn(void **state, const struct tar_to_zip_limits *limits,
		const struct buffer *tar, size_t piece, struct err *e)
{
	AUTO_CLOSE int out = zips_open(state, "out.zip", O_WRONLY | O_CREAT | O_TRUNC);
	struct tar_to_zip *z = tar_to_zip_new(limits, e);
	struct buffer *zip = tar_to_zip_output(z);
	size_t len = buffer_len(tar);
	int result = 0;

	assert_non_null(z);
	for (size_t at = 0; result == 0 && at < len; at += piece) {
		size_t n = len - at < piece ? len - at : piece;
		result = tar_to_zip_write(z, buffer_data(tar) + at, n, e);
		assert_int_equal(io_write_all(out, buffer_data(zip), buffer_len(zip)), 0);
		buffer_consume(zip, buffer_len(zip));
	}
	if (result == 0)
		result = tar_to_zip_end(z, e);
	assert_int_equal(io_write_all(out, buffer_data(zip), buffer_len(zip)), 0);
	tar_to_zip_free(z);
	return result;
}

static void good(void **state, struct buffer *tar, const char *list)
{
	static const size_t pieces[] = { 1, 511, 512, 1 << 20 };
	struct err e;

	tar_finish(tar);
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		if (turn(state, &usual, tar, pieces[i], &e) < 0)
			fail_msg("%s", e.text);
		zips_python(
			state,
			"with zipfile.ZipFile('out.zip') as z:\n"
			"    assert z.testzip() is None\n"
			"    for i in z.infolist():\n"
			"        print(ascii(i.filename), oct(i.external_attr >> 16), "
			"i.compress_type, i.date_time[0], z.read(i)[:9])\n"
			"    z.extractall('all')\n");
		AUTO_FREE char *printed = zips_printed(state);
		assert_string_equal(printed, list);
	}
	buffer_done(tar);
}

static void bad(void **state, const struct tar_to_zip_limits *limits, struct buffer *tar,
		int kind, const char *says)
{
	struct err e = { 0 };

	if (turn(state, limits, tar, 512, &e) == 0 || !strstr(e.text, says) ||
	    e.kind != kind)
		fail_msg("not '%s' but '%s' (%d)", says, e.text, e.kind);
	zips_python(state, "try:\n    zipfile.ZipFile('out.zip')\n    assert False\n"
			   "except zipfile.BadZipFile:\n    pass\n");
	buffer_done(tar);
}

static void test_files_alone_come_and_plain(void **state)
{
	struct buffer tar;

	tar_start(&tar);
	tar_folder(&tar, "./");
	tar_file(&tar, "./a.txt", "text");
	tar_folder(&tar, "empty");
	tar_folder(&tar, "dir/");
	tar_file(&tar, "dir/b", "");
	tar_link(&tar, "dir/to", "b");
	tar_hard_link(&tar, "dir/again", "dir/b");
	tar_file(&tar, "z", "last");
	good(state, &tar,
	     "'a.txt' 0o100644 0 2001 b'text'\n"
	     "'dir/b' 0o100644 0 2001 b''\n"
	     "'z' 0o100644 0 2001 b'last'\n");
}

static void test_an_empty_tar_is_an_empty_zip(void **state)
{
	struct buffer tar;

	tar_start(&tar);
	good(state, &tar, "");
}

static void test_names_are_utf8_however_long(void **state)
{
	struct buffer tar;

	tar_start(&tar);
	tar_file(&tar, "gr\xc3\xbcn/\xf0\x9f\x98\x80", "1");
	tar_file(&tar, "bad\xff\xc3", "2");
	tar_file(&tar,
		 "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd/"
		 "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee/"
		 "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff/"
		 "gggggggggggggggggggggggggggggggggggggggggggggggggggggggggggg/h",
		 "3");
	good(state, &tar,
	     "'gr\\xfcn/\\U0001f600' 0o100644 0 2001 b'1'\n"
	     "'bad__' 0o100644 0 2001 b'2'\n"
	     "'dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd/"
	     "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee/"
	     "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff/"
	     "gggggggggggggggggggggggggggggggggggggggggggggggggggggggggggg/h' "
	     "0o100644 0 2001 b'3'\n");
}

static void put_time(struct buffer *tar, const char *path, int64_t mtime)
{
	const struct tar_entry entry = {
		.type = TAR_FILE, .path = path, .mode = 0755, .mtime = mtime
	};

	tar_encode(tar, &entry);
}

static void test_times_are_those_that_a_zip_can_have(void **state)
{
	struct buffer tar;

	tar_start(&tar);
	put_time(&tar, "before", -1);
	put_time(&tar, "zero", 0);
	put_time(&tar, "now", INT64_C(1700000000));
	put_time(&tar, "far", INT64_MAX);
	good(state, &tar,
	     "'before' 0o100755 0 1980 b''\n"
	     "'zero' 0o100755 0 1980 b''\n"
	     "'now' 0o100755 0 2023 b''\n"
	     "'far' 0o100755 0 2106 b''\n");
}

static void test_a_large_file_is_the_same(void **state)
{
	const size_t len = 5000001;
	AUTO_FREE char *text = mem_new(len + 1);
	struct buffer tar;
	struct err e;

	for (size_t i = 0; i < len; i++)
		text[i] = (char)('a' + i * i % 26);
	text[len] = '\0';
	scene_file(state, "large", text);
	tar_start(&tar);
	tar_file(&tar, "large", text);
	tar_finish(&tar);
	assert_int_equal(turn(state, &usual, &tar, 100000, &e), 0);
	zips_python(state,
		    "with zipfile.ZipFile('out.zip') as z, open('large', 'rb') as f:\n"
		    "    assert z.read('large') == f.read()\n");
	buffer_done(&tar);
}

static void test_a_hostile_name_is_refused(void **state)
{
	static const char *const names[] = { "../up", "a/../../b", "./", "", ".." };
	struct buffer tar;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		tar_start(&tar);
		tar_raw(&tar, '0', *names[i] ? names[i] : "x", "text", 4);
		if (!*names[i]) {
			tar.bytes[tar.start] = '\0';
			tar_sum(tar.bytes + tar.start);
		}
		tar_finish(&tar);
		bad(state, &usual, &tar, ERR_PROTOCOL, "in the tar: it has no name");
	}
	tar_start(&tar);
	tar_file(&tar, "\x1b[2J/..", "");
	tar_finish(&tar);
	bad(state, &usual, &tar, ERR_PROTOCOL, "'^[[2J/..'");
}

static void test_other_forms_are_refused(void **state)
{
	struct buffer tar;

	tar_start(&tar);
	tar_raw(&tar, 'L', "././@LongLink", "name", 4);
	bad(state, &usual, &tar, ERR_PROTOCOL, "a form that hutch does not write");
	tar_start(&tar);
	tar_raw(&tar, 'S', "sparse", "", 0);
	bad(state, &usual, &tar, ERR_PROTOCOL, "a form that hutch does not write");
	tar_start(&tar);
	tar_raw(&tar, 'x', "records", "7 a=b\n7 a=b\n", 12);
	bad(state, &usual, &tar, ERR_PROTOCOL, "no tar");
	tar_start(&tar);
	tar_raw(&tar, 'x', "records", "6 a=b\n", 6);
	tar_raw(&tar, 'x', "records", "6 a=b\n", 6);
	bad(state, &usual, &tar, ERR_LIMIT, "too long");
	tar_start(&tar);
	AUTO_FREE char *zeros = mem_zeroed(1, 17000);
	tar_raw(&tar, 'x', "records", zeros, 17000);
	bad(state, &usual, &tar, ERR_LIMIT, "too long");
}

static void test_a_tar_without_its_end_is_no_zip(void **state)
{
	struct buffer tar;

	tar_start(&tar);
	tar_file(&tar, "a", "text");
	bad(state, &usual, &tar, ERR_PROTOCOL, "stops before its end");
	tar_start(&tar);
	tar_file(&tar, "a", "text");
	tar.end -= 510;
	bad(state, &usual, &tar, ERR_PROTOCOL, "stops before its end");
}

static void test_limits_hold(void **state)
{
	static const struct tar_to_zip_limits two = { 2, 100, 100 }, few = { 9, 7, 100 },
					      names = { 9, 100, 3 };
	const struct tar_to_zip_limits *const limits[] = { &two, &few, &names };
	struct buffer tar;

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		tar_start(&tar);
		tar_file(&tar, "aa", "text");
		tar_file(&tar, "bb", "text");
		tar_folder(&tar, "cc");
		tar_finish(&tar);
		bad(state, limits[i], &tar, ERR_LIMIT, "for a download");
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_files_alone_come_and_plain),
		TEST(test_an_empty_tar_is_an_empty_zip),
		TEST(test_names_are_utf8_however_long),
		TEST(test_times_are_those_that_a_zip_can_have),
		TEST(test_a_large_file_is_the_same),
		TEST(test_a_hostile_name_is_refused),
		TEST(test_other_forms_are_refused),
		TEST(test_a_tar_without_its_end_is_no_zip),
		TEST(test_limits_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
