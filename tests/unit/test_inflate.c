/* inflate: each compression is recognised, however the text is cut into reads. */
#include "rootfs-tools/layers/inflate.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "rootfs-tools/layers/gunzip.h"

static char folder[] = "/tmp/hutch-test.XXXXXX";

/* Runs a shell command in the folder, where "text" is a MiB of compressible text. */
static void shell(const char *command)
{
	AUTO_FREE char *line = text_format("cd %s && { %s; }", folder, command);

	assert_int_equal(system(line), 0);
}

static int begin(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	shell("seq 1 150000 | head -c 1048576 >text");
	return 0;
}

static int end(void **state)
{
	(void)state;
	shell("rm -f ./*");
	return rmdir(folder);
}

static int file(const char *name, int flags)
{
	AUTO_FREE char *path = text_format("%s/%s", folder, name);
	int fd = open(path, flags | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return fd;
}

static int inflate(struct err *e)
{
	AUTO_CLOSE int in = file("in", O_RDONLY);
	AUTO_CLOSE int out = file("out", O_WRONLY | O_CREAT | O_TRUNC);

	return inflate_begin(in, e) < 0 ? -1 : inflate_all(in, out, e);
}

/* `make` writes the file "in"; unpacked it must equal the output of `expect`. */
static void gives(const char *make, const char *expect)
{
	AUTO_FREE char *compare = text_format("{ %s; } | cmp - out", expect);
	struct err e;

	shell(make);
	if (inflate(&e) < 0)
		fail_msg("%s: %s", make, e.text);
	shell(compare);
}

static void fails(const char *make, const char *says)
{
	struct err e;

	shell(make);
	assert_int_equal(inflate(&e), -1);
	assert_int_equal(e.kind, ERR_PROTOCOL);
	if (!strstr(e.text, says))
		fail_msg("%s: %s", make, e.text);
}

/* This test runs first, while libarchive is not loaded, and checks that neither gzip
 * nor a broken gzip stream loads it. */
static void test_gzip_waits_for_no_other_library(void **state)
{
	AUTO_CLOSE int out = file("out", O_WRONLY | O_CREAT | O_TRUNC);
	struct err e;

	(void)state;
	gives("gzip -c text >in", "cat text");
	shell("! grep -q libarchive /proc/$PPID/maps");
	AUTO_CLOSE int in = file("in", O_RDONLY);
	assert_int_equal(inflate_begin(in, &e), 0);
	shell("cat text >in");
	assert_int_equal(inflate_all(in, out, &e), -1);
	assert_int_equal(e.kind, ERR_BUSY);
}

/* The first bytes, which tell the compression, can be read from a pipe only once. */
static void test_the_compression_is_found_out_in_a_pipe(void **state)
{
	int ends[2];
	struct err e;

	(void)state;
	shell("printf abc | gzip -c >in");
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	AUTO_CLOSE int in = ends[0];
	AUTO_CLOSE int to = ends[1];
	AUTO_CLOSE int out = file("out", O_WRONLY | O_CREAT | O_TRUNC);
	AUTO_CLOSE int from = file("in", O_RDONLY);
	assert_true(splice(from, NULL, to, NULL, 4096, 0) > 0);
	own_close(&to);
	assert_int_equal(inflate_begin(in, &e), 0);
	assert_int_equal(inflate_all(in, out, &e), 0);
	shell("printf abc | cmp - out");
}

static void test_each_is_found_out(void **state)
{
	(void)state;
	gives("gzip -c text >in", "cat text");
	gives("zstd -qc text >in", "cat text");
	gives("xz -0c text >in", "cat text");
	gives("cp text in", "cat text");
	gives("printf x >in", "printf x");
	gives("gzip -c </dev/null >in", "true");
}

static void test_gzip_is_done_by_its_own(void **state)
{
	static const uint8_t gzip[] = { 0x1f, 0x8b, 8, 0, 0, 0 }, other[6] = "ustar";

	(void)state;
	assert_true(gunzip_begin());
	assert_true(gunzip_takes(gzip, sizeof(gzip)));
	assert_false(gunzip_takes(other, sizeof(other)));
	assert_false(gunzip_takes(gzip, 1));
}

/* Compressed members one after another are one text, wherever they end within the
 * pieces that are read. */
static void test_members_in_a_row_are_one_text(void **state)
{
	(void)state;
	gives("gzip -c text >in; gzip -c text >>in; printf abc | gzip -c >>in",
	      "cat text text; printf abc");
	for (int i = -3; i <= 3; i++) {
		AUTO_FREE char *make = text_format(
			"n=$((262144 + %d - $(head -c 100 text | gzip -nc | wc -c)));"
			"head -c $n /dev/urandom >random;"
			"gzip -n1c random >in; head -c 100 text | gzip -nc >>in", i);
		gives(make, "cat random; head -c 100 text");
	}
	gives("for n in $(seq 300); do echo $n | gzip -c; done >in", "seq 300");
}

static void test_bytes_behind_the_end_are_passed_over(void **state)
{
	(void)state;
	gives("{ gzip -c text; printf junk; } >in", "cat text");
	gives("{ gzip -c text; head -c 1000000 /dev/zero; } >in", "cat text");
	gives("{ gzip -c text; printf '\\037'; } >in", "cat text");
}

static void test_missing_or_damaged_bytes_are_said(void **state)
{
	(void)state;
	fails("gzip -c text | head -c -1 >in", "truncated");
	fails("gzip -c text | head -c -8 >in", "truncated");
	fails("gzip -c text | head -c 1000 >in", "truncated");
	fails("gzip -c text | head -c 10 >in", "truncated");
	fails("gzip -c text | head -c -8 >in; printf 12345678 >>in", "checksum");
	fails("gzip -c text >in; head -c 100 text | dd of=in bs=1 seek=5000 conv=notrunc "
	      "status=none", "damaged");
}

static void test_twice_is_too_often(void **state)
{
	(void)state;
	fails("gzip -c text | gzip -c >in", "more than once");
	fails("zstd -qc text | gzip -c >in", "more than once");
	fails("gzip -c text | xz -0c >in", "more than once");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gzip_waits_for_no_other_library),
		cmocka_unit_test(test_the_compression_is_found_out_in_a_pipe),
		cmocka_unit_test(test_each_is_found_out),
		cmocka_unit_test(test_gzip_is_done_by_its_own),
		cmocka_unit_test(test_members_in_a_row_are_one_text),
		cmocka_unit_test(test_bytes_behind_the_end_are_passed_over),
		cmocka_unit_test(test_missing_or_damaged_bytes_are_said),
		cmocka_unit_test(test_twice_is_too_often),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
