/* layers: a complete layer with the expected digest gets into the store,
 * unpacked; no other does. */
#include "rootfs-tools/layers/layers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "rootfs-tools/layers/hash.h"
#include "tests/unit/archive.h"
#include "tests/unit/in_store.h"

/* Makes a layer that has a folder with a file.  Returns the tar's descriptor, and
 * its digest (the diff_id) in *ret. */
static int small_layer(struct digest *ret, const char *text)
{
	struct buffer tar;

	tar_start(&tar);
	tar_folder(&tar, "./");
	tar_folder(&tar, "etc");
	tar_file(&tar, "etc/file", text);
	tar_file(&tar, "etc/.wh.gone", "");
	tar_raw(&tar, '3', "null", "", 0);
	tar_finish(&tar);
	hash_bytes(buffer_data(&tar), buffer_len(&tar), ret);
	int fd = tar_open(&tar);
	buffer_done(&tar);
	return fd;
}

/* In a sandbox of hutch no jail can be made. */
static void skip_without_namespaces(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER) < 0);
	if (scene_child_code(pid))
		skip();
}

static void check_nothing(const struct store *s, const struct digest *d)
{
	AUTO_FREE char *layers = text_format("%s/layers", s->path);
	AUTO_FREE char *tmp = text_format("%s/tmp", s->path);

	assert_false(layers_has(s, d, NULL));
	assert_int_equal(rmdir(layers), 0); /* both are empty */
	assert_int_equal(rmdir(tmp), 0);
	assert_int_equal(mkdir(layers, 0700), 0);
	assert_int_equal(mkdir(tmp, 0700), 0);
}

static void unpack(const struct store *s, int blob, const struct digest *d,
		   struct layer_about *ret)
{
	struct digest is = { 0 };
	struct err e = { 0 };

	if (layers_unpack(s, blob, d, NULL, &is, ret, &e) < 0) {
		if (e.kind == ERR_REFUSED && strstr(e.text, "jail"))
			skip(); /* no namespaces */
		fail_msg("%s", e.text);
	}
	if (d)
		assert_true(digest_equal(&is, d));
}

static void check_small(const struct store *s, const struct digest *d, const char *text)
{
	AUTO_FREE char *path = text_format("%s/layers/%s/fs/etc/file", s->path, d->hex);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *is = NULL;
	size_t len;

	assert_true(fd >= 0);
	assert_int_equal(io_read_file(fd, path, 4096, &is, &len, NULL), 0);
	assert_string_equal(is, text);
}

/* Compares the members one by one, since the padding of the structs may differ. */
static void assert_same(const struct layer_about *a, const struct layer_about *b)
{
	assert_int_equal(a->entries, b->entries);
	assert_int_equal(a->bytes, b->bytes);
	assert_int_equal(a->left_out, b->left_out);
	assert_int_equal(a->hides_all, b->hides_all);
	assert_int_equal(a->there.entries, b->there.entries);
	assert_int_equal(a->there.bytes, b->there.bytes);
	assert_int_equal(a->there.sum, b->there.sum);
}

static void test_a_layer_is_unpacked_once(void **state)
{
	struct layer_about about = { 0 }, again = { 0 };
	struct store s;
	struct digest d;

	(void)state;
	in_store_open(&s);
	AUTO_CLOSE int blob = small_layer(&d, "text");
	AUTO_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	unsigned before = scene_open_fds();
	assert_false(layers_has(&s, &d, NULL));
	unpack(&s, blob, &d, &about);
	assert_int_equal(about.entries, 4);
	assert_int_equal(about.bytes, 4);
	assert_int_equal(about.left_out, 1);
	assert_false(about.hides_all);
	assert_true(layers_has(&s, &d, &again));
	assert_same(&about, &again);
	check_small(&s, &d, "text");
	/* The layer is in the store, so the blob is not even read. */
	unpack(&s, null, &d, &again);
	assert_same(&about, &again);
	/* Without a diff_id the tar has to be hashed to find that the store has it. */
	unpack(&s, blob, NULL, &again);
	assert_same(&about, &again);
	assert_int_equal(scene_open_fds(), before);
	assert_int_equal(lseek(blob, 0, SEEK_CUR), 0);
	store_done(&s);
}

/* The counts that the store has show which of the two it was: those of an unpacked layer are
 * its own. */
static void test_a_plain_tar_whose_layer_is_there_is_only_hashed(void **state)
{
	struct layer_about about = { 0 };
	struct err e = { 0 };
	struct store s;
	struct digest d;

	(void)state;
	in_store_open(&s);
	AUTO_CLOSE int blob = small_layer(&d, "text");
	unpack(&s, blob, NULL, &about);
	assert_int_equal(about.entries, 4);
	AUTO_FREE char *path = text_format("%s/layers/%s/about", s.path, d.hex);
	AUTO_FREE char *aside = text_format("%s/layers/%s/aside", s.path, d.hex);
	assert_int_equal(rename(path, aside), 0);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "entries 77\n", 11), 11);
	unpack(&s, blob, NULL, &about);
	assert_int_equal(about.entries, 77);
	/* hutch follows no link here, so these counts cannot be read. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("aside", path), 0);
	assert_int_equal(layers_unpack(&s, blob, NULL, NULL, NULL, NULL, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_non_null(strstr(e.text, "damaged"));
	assert_non_null(strstr(e.remedy, "verify --repair"));
	store_done(&s);
}

/* The digest of a compressed tar is not its layer's, which the caller takes for that. */
static void test_a_compressed_tar_is_none_that_has_to_be_plain(void **state)
{
	static const char gzip[600] = "\x1f\x8b\x08";
	const struct layer_limits limits = { .is_plain = true };
	AUTO_CLOSE int blob = memfd_create("blob", MFD_CLOEXEC);
	struct digest d = { 0 };
	struct store s;
	struct err e = { 0 };

	(void)state;
	in_store_open(&s);
	assert_int_equal(write(blob, gzip, sizeof(gzip)), sizeof(gzip));
	assert_int_equal(layers_unpack(&s, blob, NULL, &limits, &d, NULL, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_non_null(strstr(e.text, "compressed"));
	check_nothing(&s, &d);
	store_done(&s);
}

static void test_a_layer_with_another_digest_is_refused_and_removed(void **state)
{
	struct store s;
	struct digest is, other, untouched = { "x" };
	struct err e = { 0 };

	(void)state;
	skip_without_namespaces();
	in_store_open(&s);
	AUTO_CLOSE int blob = small_layer(&is, "text");
	hash_bytes("", 0, &other);
	assert_int_equal(layers_unpack(&s, blob, &other, NULL, &untouched, NULL, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_non_null(strstr(e.text, is.hex));
	assert_non_null(strstr(e.text, other.hex));
	assert_string_equal(untouched.hex, "x");
	check_nothing(&s, &other);
	assert_false(layers_has(&s, &is, NULL));
	store_done(&s);
}

/* A tar is used only if its digest is right.  If the blob is no tar, the error
 * says that rather than that the digest differs. */
static void test_a_layer_that_is_no_tar_is_refused_and_removed(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *says;
	} rows[] = {
		{ "", 0, "decompress" },
		{ "\x1f\x8b\x08\0\0\0\0\0\0\3garbage", 17, "decompress" },
		{ "\x28\xb5\x2f\xfd\xff\xff\xff\xff\xff\xff", 10, "decompress" },
		{ "\xfd" "7zXZ\0\0\0\0\0\0\0", 12, "decompress" },
		{ "#!/bin/sh\n", 10, "stops before its end" },
	};
	struct store s;
	struct digest d;

	(void)state;
	skip_without_namespaces();
	in_store_open(&s);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err e = { 0 };
		AUTO_CLOSE int blob = memfd_create("blob", MFD_CLOEXEC);
		assert_int_equal(io_write_all(blob, rows[i].bytes, rows[i].len), 0);
		hash_bytes(rows[i].bytes, rows[i].len, &d);
		assert_int_equal(layers_unpack(&s, blob, &d, NULL, NULL, NULL, &e), -1);
		if (e.kind != ERR_PROTOCOL || !strstr(e.text, rows[i].says))
			fail_msg("%zu: %s: %s", i, err_kind_name(e.kind), e.text);
		check_nothing(&s, &d);
	}
	store_done(&s);
}

/* Bytes after the tar's end are part of the digest. */
static void test_bytes_behind_the_end_are_hashed(void **state)
{
	const size_t more = 100 << 20;
	struct layer_about about;
	struct buffer tar;
	struct store s;
	struct digest d;
	struct hash *h = hash_new();

	(void)state;
	in_store_open(&s);
	tar_start(&tar);
	tar_file(&tar, "etc/file", "1");
	tar_finish(&tar);
	AUTO_FREE char *zeros = mem_zeroed(1, more);
	AUTO_CLOSE int blob = tar_open(&tar);
	assert_int_equal(ftruncate(blob, (off_t)(buffer_len(&tar) + more)), 0);
	hash_add(h, buffer_data(&tar), buffer_len(&tar));
	hash_add(h, zeros, more);
	hash_end(h, &d);
	hash_free(h);
	buffer_done(&tar);
	unpack(&s, blob, &d, &about);
	assert_int_equal(about.entries, 2);
	check_small(&s, &d, "1");
	store_done(&s);
}

static void test_bounds_are_kept(void **state)
{
	static const struct {
		struct layer_limits limits;
		const char *says;
	} rows[] = {
		{ { .entries_max = 3 }, "more than 3 entries" },
		{ { .bytes_max = 2048 }, "more than 2048 bytes" },
	};
	struct store s;
	struct digest d;

	(void)state;
	skip_without_namespaces();
	in_store_open(&s);
	AUTO_CLOSE int blob = small_layer(&d, "text");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err e = { 0 };
		assert_int_equal(
			layers_unpack(&s, blob, &d, &rows[i].limits, NULL, NULL, &e), -1);
		if (e.kind != ERR_LIMIT || !strstr(e.text, rows[i].says))
			fail_msg("%zu: %s: %s", i, err_kind_name(e.kind), e.text);
		check_nothing(&s, &d);
	}
	store_done(&s);
}

/* --- several at once ----------------------------------------------------------- */

static void be_another(const struct store *s, int blob, const struct digest *d)
{
	struct err e = { 0 };

	if (layers_unpack(s, blob, d, NULL, NULL, NULL, &e) < 0)
		(void)dprintf(2, "%s\n", e.text);
	_exit(e.kind != ERR_NONE);
}

static void test_several_at_once_agree(void **state)
{
	enum { OTHERS = 8 };
	struct store s;
	struct digest d;
	pid_t pids[OTHERS];

	(void)state;
	skip_without_namespaces();
	in_store_open(&s);
	AUTO_CLOSE int blob = small_layer(&d, "text");
	for (size_t i = 0; i < OTHERS; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0) /* half of them get no diff_id */
			be_another(&s, blob, i % 2 ? &d : NULL);
	}
	for (size_t i = 0; i < OTHERS; i++)
		assert_int_equal(scene_child_code(pids[i]), 0);
	check_small(&s, &d, "text");
	AUTO_FREE char *tmp = text_format("%s/tmp", s.path);
	assert_int_equal(rmdir(tmp), 0);
	store_done(&s);
}

#define PAGE 4096

/* Starts a process that unpacks a layer, sends it the first `len` bytes through a
 * pipe of one page, and kills it when at most that page is unread. Its jailed child
 * dies with it, and holds the lock of the unfinished layer until then: this process
 * is a subreaper and waits for both. */
static void kill_over(const struct store *s, const struct digest *d, const void *bytes,
		      size_t len)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(fcntl(ends[1], F_SETPIPE_SZ, PAGE), PAGE);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)close(ends[1]);
		be_another(s, ends[0], d);
	}
	(void)close(ends[0]);
	assert_int_equal(io_write_all(ends[1], bytes, len), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	(void)close(ends[1]);
	while (waitpid(-1, NULL, 0) > 0)
		;
	assert_int_equal(errno, ECHILD);
}

/* A killed process leaves a partial layer, which the next one removes. */
static void test_the_remains_of_a_kill_block_nothing(void **state)
{
	struct buffer tar;
	struct store s;
	struct digest d;

	(void)state;
	skip_without_namespaces();
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	in_store_open(&s);
	tar_start(&tar);
	for (size_t i = 0; i < 2000; i++) {
		AUTO_FREE char *name = text_format("etc/%zu", i);
		tar_file(&tar, name, name);
	}
	tar_file(&tar, "etc/file", "1");
	tar_finish(&tar);
	hash_bytes(buffer_data(&tar), buffer_len(&tar), &d);
	AUTO_CLOSE int blob = tar_open(&tar);
	const size_t len = buffer_len(&tar);
	for (size_t given = PAGE; !layers_has(&s, &d, NULL) && given < 2 * len;
	     given *= 2)
		kill_over(&s, &d, buffer_data(&tar), given < len ? given : len);
	buffer_done(&tar);
	unpack(&s, blob, &d, NULL);
	check_small(&s, &d, "1");
	AUTO_FREE char *tmp = text_format("%s/tmp", s.path);
	assert_int_equal(rmdir(tmp), 0);
	store_done(&s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, in_store_setup, scene_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_layer_is_unpacked_once),
		TEST(test_a_plain_tar_whose_layer_is_there_is_only_hashed),
		TEST(test_a_compressed_tar_is_none_that_has_to_be_plain),
		TEST(test_a_layer_with_another_digest_is_refused_and_removed),
		TEST(test_a_layer_that_is_no_tar_is_refused_and_removed),
		TEST(test_bytes_behind_the_end_are_hashed),
		TEST(test_bounds_are_kept),
		TEST(test_several_at_once_agree),
		TEST(test_the_remains_of_a_kill_block_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
