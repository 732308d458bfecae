/* zip_to_tar: zips of Python's zipfile become tars, in pieces of any size, and hostile
 * ones become errors. */
#include "gateway/zip/zip_to_tar.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "tests/unit/zips.h"

#define MIB (UINT64_C(1) << 20)

static const struct zip_to_tar_limits usual = { 1000, 64 * MIB, 1700000000 };

/* Turns the file "in.zip" into "out.tar", in pieces of `piece` bytes. */
static int turn(void **state, const struct zip_to_tar_limits *limits, size_t piece,
		struct err *e)
{
	AUTO_CLOSE int in = zips_open(state, "in.zip", O_RDONLY);
	AUTO_CLOSE int out = zips_open(state, "out.tar", O_WRONLY | O_CREAT | O_TRUNC);
	AUTO_FREE char *bytes = mem_new(piece);
	struct zip_to_tar *z = zip_to_tar_new(in, limits, e);
	ssize_t n;

	if (!z)
		return -1;
	while ((n = zip_to_tar_read(z, bytes, piece, e)) > 0)
		assert_int_equal(io_write_all(out, bytes, (size_t)n), 0);
	assert_int_equal(zip_to_tar_read(z, bytes, piece, e), n);
	zip_to_tar_free(z);
	return (int)n;
}

static void good(void **state, const char *program, const char *list)
{
	static const size_t pieces[] = { 1, 511, 4096, 1 << 20 };
	struct err e;

	zips_python(state, program);
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		if (turn(state, &usual, pieces[i], &e) < 0)
			fail_msg("%s: %s", program, e.text);
		zips_python(state,
			    "for m in tarfile.open('out.tar'):\n"
			    "    print(m.name, oct(m.mode), m.type.decode(), m.size, "
			    "int(m.mtime))\n");
		AUTO_FREE char *printed = zips_printed(state);
		assert_string_equal(printed, list);
	}
}

static void bad(void **state, const struct zip_to_tar_limits *limits, const char *program,
		int kind, const char *says)
{
	struct err e = { 0 };

	zips_python(state, program);
	if (turn(state, limits, 4096, &e) == 0 || !strstr(e.text, says) || e.kind != kind)
		fail_msg("%s: not '%s' but '%s' (%d)", program, says, e.text, e.kind);
}

#define ZIP "with zipfile.ZipFile('in.zip', 'w', zipfile.ZIP_DEFLATED) as z:\n"

static void test_files_and_folders(void **state)
{
	good(state,
	     ZIP "    put(z, 'dir/', '', 0o755, stat.S_IFDIR)\n"
		 "    put(z, 'dir/file', 'text')\n"
		 "    put(z, 'dir/run.sh', 'text', 0o755)\n"
		 "    put(z, 'dir/plain', 'text' * 999, 0o640, method=0)\n"
		 "    z.writestr('by-name/only', '')\n",
	     "dir 0o755 5 0 1700000000\n"
	     "dir/file 0o644 0 4 1700000000\n"
	     "dir/run.sh 0o755 0 4 1700000000\n"
	     "dir/plain 0o640 0 3996 1700000000\n"
	     "by-name/only 0o600 0 0 1700000000\n");
}

static void test_an_empty_zip_is_an_empty_tar(void **state)
{
	good(state, ZIP "    pass\n", "");
}

static void test_no_mode_of_the_zips_shuts_its_owner_out_or_is_setuid(void **state)
{
	good(state,
	     ZIP "    put(z, 'd/', '', 0o1000, stat.S_IFDIR)\n"
		 "    put(z, 'd/f', '', 0o6055)\n",
	     "d 0o700 5 0 1700000000\n"
	     "d/f 0o655 0 0 1700000000\n");
}

static void test_names_keep_their_letters(void **state)
{
	good(state,
	     ZIP "    z.writestr('gr\\u00fcn/\\u4e2d\\U0001f600', 'x')\n"
		 "    z.writestr('n' * 200 + '/' + 'm' * 200, 'x')\n"
		 "with open('in.zip', 'rb+') as f:\n"
		 "    assert b'gr\\xc3\\xbcn/' in f.read()\n",
	     "grün/中😀 0o600 0 1 1700000000\n"
	     "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
	     "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
	     "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn/"
	     "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm"
	     "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm"
	     "mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm 0o600 0 1 1700000000\n");
}

static void test_the_content_is_the_same(void **state)
{
	struct err e;

	zips_python(state,
		    "random.seed(1)\n"
		    "with open('a', 'wb') as f: f.write(random.randbytes(3000001))\n"
		    "with open('b', 'wb') as f: f.write(b'abc' * 1000003)\n"
		    "with zipfile.ZipFile('in.zip', 'w', zipfile.ZIP_DEFLATED) as z:\n"
		    "    z.write('a')\n    z.write('b')\n");
	assert_int_equal(turn(state, &usual, 65536, &e), 0);
	zips_python(state, "with tarfile.open('out.tar') as t:\n"
			   "    for name in 'ab':\n"
			   "        with open(name, 'rb') as f:\n"
			   "            assert t.extractfile(name).read() == f.read()\n");
}

/* Each of these zips is refused, with these words. */
static const struct {
	const char *program, *says;
} hostile[] = {
	{ ZIP "    put(z, '/etc/passwd')\n",
	  "the zip's entry '/etc/passwd': an absolute" },
	{ ZIP "    put(z, 'a/../../b')\n", "the zip's entry 'a/../../b': " },
	{ ZIP "    put(z, '..')\n", "the zip's entry '..': " },
	{ ZIP "    put(z, '.')\n", "the zip's entry '.': it has no name" },
	{ ZIP "    put(z, 'x' * 256)\n", "too long" },
	{ ZIP "    put(z, 'x/' * 2048 + 'x')\n", "the name is too long" },
	{ ZIP "    put(z, 'to', '/etc/passwd', 0o777, stat.S_IFLNK)\n",
	  "the zip's entry 'to': links and devices are not unpacked" },
	{ ZIP "    put(z, 'disk', '', 0o644, stat.S_IFBLK)\n", "links and devices" },
	{ ZIP "    put(z, '..\\x1b[2J/..')\n", "'..^[[2J/..'" },
	{ "open('in.zip', 'w').write('no zip')\n", "read the zip: " },
	{ "open('in.zip', 'w').close()\n", "read the zip: " },
	/* The content was changed. */
	{ ZIP "    put(z, 'a', 'text', method=0)\n"
	      "b = open('in.zip', 'rb').read()\n"
	      "open('in.zip', 'wb').write(b.replace(b'text', b'next'))\n",
	  "unpack the zip: " },
	/* The sizes are smaller than the content. */
	{ ZIP
	  "    put(z, 'a', 'text' * 9)\n"
	  "b = open('in.zip', 'rb').read()\n"
	  "open('in.zip', 'wb').write(b.replace(struct.pack('<I', 36), b'\\4\\0\\0\\0'))\n",
	  "unpack the zip: " },
	{ ZIP
	  "    put(z, 'a', 'text' * 9)\n"
	  "b = open('in.zip', 'rb').read()\n"
	  "open('in.zip', 'wb').write(b.replace(struct.pack('<I', 36), b'\\0\\4\\0\\0'))\n",
	  "unpack the zip: " },
	/* The end is missing. */
	{ ZIP "    put(z, 'a', 'text')\n"
	      "b = open('in.zip', 'rb').read()\n"
	      "open('in.zip', 'wb').write(b[:-30])\n",
	  "read the zip: " },
};

static void test_a_hostile_zip_is_refused(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(hostile); i++)
		bad(state, &usual, hostile[i].program, ERR_PROTOCOL, hostile[i].says);
}

static void test_other_methods_are_refused(void **state)
{
	bad(state, &usual, ZIP "    put(z, 'a', 'text', method=zipfile.ZIP_LZMA)\n",
	    ERR_UNSUPPORTED, "another method than deflate");
	bad(state, &usual, ZIP "    put(z, 'a', 'text', method=zipfile.ZIP_BZIP2)\n",
	    ERR_UNSUPPORTED, "another method than deflate");
	/* The bit of encryption, in both headers. */
	bad(state, &usual,
	    ZIP "    put(z, 'a', 'text', method=0)\n"
		"b = bytearray(open('in.zip', 'rb').read())\n"
		"b[6] |= 1\nb[b.index(b'PK\\1\\2') + 8] |= 1\n"
		"open('in.zip', 'wb').write(b)\n",
	    ERR_UNSUPPORTED, "encrypted");
}

static void test_a_bomb_is_refused(void **state)
{
	static const struct zip_to_tar_limits one = { 1000, MIB, 0 },
					      large = { 1000, UINT64_MAX, 0 };

	bad(state, &one, ZIP "    put(z, 'a', bytes(1 << 20))\n    put(z, 'b')\n",
	    ERR_LIMIT, "the zip's entry 'b': the zip unpacks to too many bytes");
	/* Deflate packs no GiB into these few bytes. */
	bad(state, &large,
	    ZIP "    put(z, 'a', b'text' * 9)\n"
		"b = open('in.zip', 'rb').read()\n"
		"open('in.zip', 'wb').write(b.replace(struct.pack('<I', 36), "
		"struct.pack('<I', 1 << 30)))\n",
	    ERR_LIMIT, "the zip's entry 'a': the zip unpacks to too many bytes");
}

static void test_entries_are_counted(void **state)
{
	static const struct zip_to_tar_limits three = { 3, MIB, 0 };
	static const char many[] = ZIP "    for n in range(%d): put(z, str(n))\n";
	AUTO_FREE char *good_zip = text_format(many, 3);
	AUTO_FREE char *more = text_format(many, 4);
	AUTO_FREE char *most = text_format(many, 2000);
	struct err e;

	zips_python(state, good_zip);
	assert_int_equal(turn(state, &three, 512, &e), 0);
	bad(state, &three, more, ERR_LIMIT, "too many entries");
	bad(state, &three, most, ERR_LIMIT, "too many entries");
}

/* libarchive would keep 160 bytes for each of these entries.  With the sanitizers'
 * malloc the figures are 0. */
static void test_entries_beyond_the_limit_take_no_memory(void **state)
{
	static const struct zip_to_tar_limits three = { 3, MIB, 0 };
	char piece[512];
	struct err e;

	zips_python(state, ZIP "    for n in range(20000): z.writestr(str(n), '')\n");
	AUTO_CLOSE int in = zips_open(state, "in.zip", O_RDONLY);
	size_t before = mallinfo2().uordblks;
	struct zip_to_tar *z = zip_to_tar_new(in, &three, &e);
	assert_int_equal(zip_to_tar_read(z, piece, sizeof(piece), &e), -1);
	assert_in_range(mallinfo2().uordblks - before, 0, 512 << 10);
	zip_to_tar_free(z);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_setup, scene_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_files_and_folders),
		TEST(test_an_empty_zip_is_an_empty_tar),
		TEST(test_no_mode_of_the_zips_shuts_its_owner_out_or_is_setuid),
		TEST(test_names_keep_their_letters),
		TEST(test_the_content_is_the_same),
		TEST(test_a_hostile_zip_is_refused),
		TEST(test_other_methods_are_refused),
		TEST(test_a_bomb_is_refused),
		TEST(test_entries_are_counted),
		TEST(test_entries_beyond_the_limit_take_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
