#include "rootfs-tools/layers/blobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>

#include "rootfs-tools/layers/hash.h"
#include "rootfs-tools/layers/quota.h"
#include "tests/unit/in_store.h"

/* printf abc | sha256sum */
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static const struct digest abc = { ABC };

static struct blob *begin(const struct store *s, const struct digest *d)
{
	struct blob *b = NULL;
	struct err e;

	if (blob_begin(s, d, &b, &e) < 0)
		fail_msg("%s", e.text);
	return b;
}

static void test_a_whole_blob_stands_under_its_digest(void **state)
{
	struct store s;
	struct digest got = { 0 };
	struct err e;
	uint64_t size = 0;
	size_t len = 0;
	AUTO_FREE char *data = NULL;

	(void)state;
	in_store_open(&s);
	assert_false(blobs_has(&s, &abc, NULL));
	assert_int_equal(blobs_open(&s, &abc, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	struct blob *b = begin(&s, &abc);
	assert_int_equal(blob_add(b, "a", 1, &e), 0);
	assert_int_equal(blob_add(b, "bc", 2, &e), 0);
	assert_int_equal(blob_at(b), 3);
	assert_int_equal(blob_commit(b, 3, &got, &e), 0);
	blob_done(b);
	assert_true(digest_equal(&got, &abc));
	assert_true(blobs_has(&s, &abc, &size));
	assert_int_equal(size, 3);
	assert_int_equal(blobs_read(&s, &abc, 3, &data, &len, &e), 0);
	assert_string_equal(data, "abc");
	assert_int_equal(blobs_read(&s, &abc, 2, &data, &len, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	/* The blob is there now, so the next begin returns NULL: no work is left. */
	assert_null(begin(&s, &abc));
	assert_false(in_store_has(&s, "tmp/blob-" ABC));
	store_done(&s);
}

static void test_one_that_nobody_expected_is_named_by_what_it_is(void **state)
{
	struct store s;
	struct digest got = { 0 };
	struct err e;

	(void)state;
	in_store_open(&s);
	for (int i = 0; i < 2; i++) {
		struct blob *b = begin(&s, NULL);
		assert_int_equal(blob_add(b, "abc", 3, &e), 0);
		assert_int_equal(blob_commit(b, UINT64_MAX, &got, &e), 0);
		blob_done(b);
		assert_string_equal(got.hex, ABC);
	}
	assert_true(blobs_has(&s, &abc, NULL));
	store_done(&s);
}

static void test_a_file_of_another_process_gets_the_digest_that_is_known(void **state)
{
	uint64_t size;
	struct store s;
	struct err e;

	(void)state;
	in_store_open(&s);
	struct blob *b = begin(&s, NULL);
	assert_int_equal(write(blob_file(b), "abc", 3), 3);
	assert_int_equal(blob_commit_as(b, &abc, &e), 0);
	blob_done(b);
	assert_true(blobs_has(&s, &abc, &size));
	assert_int_equal(size, 3);
	store_done(&s);
}

/* The bytes that another process has written are in the store already when the limit
 * is checked; they must not count twice. */
static void test_bytes_of_another_process_have_to_fit(void **state)
{
	struct store s;
	struct err e;

	(void)state;
	in_store_open(&s);
	assert_int_equal(quota_set(&s, 3, &e), 0);
	struct blob *b = begin(&s, NULL);
	assert_int_equal(write(blob_file(b), "abcd", 4), 4);
	assert_int_equal(blob_commit_as(b, &abc, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	blob_done(b);
	assert_int_equal(quota_used(&s), 0);
	b = begin(&s, NULL);
	assert_int_equal(write(blob_file(b), "abc", 3), 3);
	assert_int_equal(blob_commit_as(b, &abc, &e), 0);
	blob_done(b);
	store_done(&s);
}

static void test_the_next_try_goes_on_where_it_stopped(void **state)
{
	struct store s;
	struct err e;

	(void)state;
	in_store_open(&s);
	struct blob *b = begin(&s, &abc);
	assert_int_equal(blob_add(b, "ab", 2, &e), 0);
	blob_done(b);
	b = begin(&s, &abc);
	assert_int_equal(blob_at(b), 2);
	assert_int_equal(blob_add(b, "c", 1, &e), 0);
	assert_int_equal(blob_commit(b, 3, NULL, &e), 0);
	blob_done(b);
	assert_true(blobs_has(&s, &abc, NULL));
	store_done(&s);
}

static void test_a_blob_can_be_begun_again(void **state)
{
	struct store s;
	struct err e;

	(void)state;
	in_store_open(&s);
	struct blob *b = begin(&s, &abc);
	assert_int_equal(blob_add(b, "xyz", 3, &e), 0);
	assert_int_equal(blob_restart(b, &e), 0);
	assert_int_equal(blob_at(b), 0);
	assert_int_equal(blob_add(b, "abc", 3, &e), 0);
	assert_int_equal(blob_commit(b, 3, NULL, &e), 0);
	blob_done(b);
	store_done(&s);
}

/* A process was killed after it had written the last byte of a blob and before the
 * blob got its final name. */
static void test_a_whole_part_of_one_that_was_killed_is_taken(void **state)
{
	struct store s;
	struct err e;

	in_store_open(&s);
	scene_file(state, "hutch/store/tmp/blob-" ABC, "abc");
	AUTO_FREE char *path = scene_path(state, "hutch/store/tmp/blob-" ABC);
	assert_int_equal(chmod(path, 0400), 0);
	struct blob *b = begin(&s, &abc);
	assert_int_equal(blob_at(b), 3);
	assert_int_equal(blob_commit(b, 3, NULL, &e), 0);
	blob_done(b);
	store_done(&s);
}

static void commit_wrong(const struct store *s, const char *bytes, uint64_t size)
{
	struct digest got = { "untouched" };
	struct err e = { 0 };
	struct blob *b = begin(s, &abc);

	assert_int_equal(blob_at(b), 0);
	assert_int_equal(blob_add(b, bytes, strlen(bytes), &e), 0);
	assert_int_equal(blob_commit(b, size, &got, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_string_equal(got.hex, "untouched");
	blob_done(b);
	assert_false(blobs_has(s, &abc, NULL));
	assert_false(in_store_has(s, "tmp/blob-" ABC));
}

static void test_a_blob_with_another_digest_is_removed(void **state)
{
	struct store s;

	(void)state;
	in_store_open(&s);
	commit_wrong(&s, "abd", 3);
	commit_wrong(&s, "ab", 3);
	commit_wrong(&s, "abc", 4);
	commit_wrong(&s, "abcd", UINT64_MAX);
	store_done(&s);
}

static void test_nothing_is_left_of_nothing(void **state)
{
	struct store s;

	(void)state;
	in_store_open(&s);
	blob_done(begin(&s, &abc));
	assert_false(in_store_has(&s, "tmp/blob-" ABC));
	store_done(&s);
}

static void test_a_damaged_one_is_not_read(void **state)
{
	AUTO_FREE char *data = NULL;
	struct store s;
	size_t len;
	struct err e;

	in_store_open(&s);
	scene_file(state, "hutch/store/blobs/" ABC, "abd");
	assert_int_equal(blobs_read(&s, &abc, 100, &data, &len, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	store_done(&s);
}

/* Runs in a child.  Another process writes the blob meanwhile, so that this one
 * finds it in the store. */
static void play_second(void *arg)
{
	int *said = arg;
	struct store s;
	struct blob *b = NULL;
	char byte;

	CHECK(store_open(&s, false, NULL) == 0);
	CHECK(read(said[0], &byte, 1) == 1);
	CHECK(blob_begin(&s, &abc, &b, NULL) == 0 && b == NULL);
	store_done(&s);
}

static void test_two_do_not_fetch_the_same(void **state)
{
	struct store s;
	int said[2];

	(void)state;
	in_store_open(&s);
	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		(void)alarm(PATIENCE_S);
		play_second(said);
		_exit(0);
	}
	struct blob *b = begin(&s, &abc);
	assert_int_equal(write(said[1], "x", 1), 1);
	for (const char *at = "abc"; *at; at++)
		assert_int_equal(blob_add(b, at, 1, NULL), 0);
	assert_int_equal(blob_commit(b, 3, NULL, NULL), 0);
	blob_done(b);
	(void)close(said[0]);
	(void)close(said[1]);
	store_done(&s);
	assert_int_equal(scene_child_code(pid), 0);
}

/* Runs in a child that may write files of four bytes only. */
static void play_full(void *arg)
{
	const struct rlimit four = { 4, RLIM_INFINITY },
			    any = { RLIM_INFINITY, RLIM_INFINITY };
	struct store s;
	struct blob *b = NULL;
	struct err e;

	(void)arg;
	(void)signal(SIGXFSZ, SIG_IGN);
	CHECK(store_open(&s, false, NULL) == 0);
	CHECK(blob_begin(&s, &abc, &b, NULL) == 0 && b);
	CHECK(setrlimit(RLIMIT_FSIZE, &four) == 0);
	CHECK(blob_add(b, "a", 1, &e) == 0);
	CHECK(blob_add(b, "bcdefg", 6, &e) < 0 && e.sys == EFBIG);
	CHECK(blob_at(b) == 1);
	CHECK(setrlimit(RLIMIT_FSIZE, &any) == 0);
	CHECK(blob_add(b, "bc", 2, &e) == 0);
	CHECK(blob_commit(b, 3, NULL, &e) == 0);
	blob_done(b);
	store_done(&s);
}

static void test_a_full_disk_is_an_error_and_no_end(void **state)
{
	struct store s;
	AUTO_FREE char *data = NULL;
	size_t len;

	(void)state;
	in_store_open(&s);
	scene_child(play_full, NULL);
	assert_int_equal(blobs_read(&s, &abc, 100, &data, &len, NULL), 0);
	store_done(&s);
}

#define IN_STORE(t) cmocka_unit_test_setup_teardown(t, in_store_setup, scene_teardown)

int main(void)
{
	scene_leave_root();
	const struct CMUnitTest tests[] = {
		IN_STORE(test_a_whole_blob_stands_under_its_digest),
		IN_STORE(test_one_that_nobody_expected_is_named_by_what_it_is),
		IN_STORE(test_a_file_of_another_process_gets_the_digest_that_is_known),
		IN_STORE(test_bytes_of_another_process_have_to_fit),
		IN_STORE(test_the_next_try_goes_on_where_it_stopped),
		IN_STORE(test_a_blob_can_be_begun_again),
		IN_STORE(test_a_whole_part_of_one_that_was_killed_is_taken),
		IN_STORE(test_a_blob_with_another_digest_is_removed),
		IN_STORE(test_nothing_is_left_of_nothing),
		IN_STORE(test_a_damaged_one_is_not_read),
		IN_STORE(test_two_do_not_fetch_the_same),
		IN_STORE(test_a_full_disk_is_an_error_and_no_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
