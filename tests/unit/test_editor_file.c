/* editor_file: a file that other programs change during an edit.  The executor
 * makes an edit without a break, so the test takes its steps one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "executor/edit/editor_parts.h"
#include "executor/edit/undo.h"
#include "executor/files/encoding.h"
#include "protocol/action.h"

static const struct edit_request request = { .path = "f" };

struct fixture {
	char folder[32];
	struct job job;
	struct file file;
	struct undo undo;
	struct made made;
	struct edit_text text;
};

static void put(const char *path, const char *text)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
}

static void check_file(const char *path, const char *expected)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char got[100] = "";

	assert_true(fd >= 0 && read(fd, got, sizeof(got) - 1) >= 0);
	assert_string_equal(got, expected);
}

static int setup(void **state)
{
	struct fixture *d = calloc(1, sizeof(*d));

	assert_non_null(d);
	(void)snprintf(d->folder, sizeof(d->folder), "/tmp/hutch-unit.XXXXXX");
	assert_non_null(mkdtemp(d->folder));
	assert_int_equal(chdir(d->folder), 0);
	put("f", "one\n");
	d->job = (struct job){ .r = &request, .path = "f", .undo = &d->undo };
	buffer_init(&d->job.say, 1000);
	buffer_init(&d->job.diff, 1000);
	d->made.encoding = &encoding_utf8;
	buffer_init(&d->made.bytes, 100);
	assert_true(buffer_append(&d->made.bytes, "two\n", 4));
	assert_true(editor_load(&d->job, &d->file, true));
	*state = d;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *d = *state;

	editor_file_done(&d->file);
	buffer_done(&d->job.say);
	buffer_done(&d->job.diff);
	buffer_done(&d->made.bytes);
	(void)unlink("f");
	(void)unlink("g");
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(d->folder), 0);
	free(d);
	return 0;
}

static void check_refused(struct fixture *d)
{
	const char expected[] =
		"ERROR:\nRan into a change of the file by another process "
		"while trying to write to f. View it and edit it again.";

	assert_false(editor_store(&d->job, &d->file, &d->made, &d->text));
	assert_int_equal(buffer_len(&d->job.say), strlen(expected));
	assert_memory_equal(buffer_data(&d->job.say), expected, strlen(expected));
	assert_int_equal(buffer_len(&d->job.diff), 0);
}

static void test_an_untouched_file_is_replaced(void **state)
{
	struct fixture *d = *state;

	assert_true(editor_store(&d->job, &d->file, &d->made, &d->text));
	edit_text_done(&d->text);
	check_file("f", "two\n");
	assert_true(buffer_len(&d->job.diff) > 0);
}

static void test_a_file_that_was_appended_to_is_left_alone(void **state)
{
	put("f", "longer than before\n");
	check_refused(*state);
	check_file("f", "longer than before\n");
}

/* Waits until a change gets a new time, since a file system's clock may tick only
 * every few milliseconds. */
static void wait_for_tick(struct fixture *d)
{
	struct stat st;

	do {
		assert_int_equal(stat("f", &st), 0);
		assert_int_equal(chmod("f", st.st_mode & 07777), 0);
		assert_int_equal(stat("f", &st), 0);
	} while (st.st_ctim.tv_nsec == d->file.st.st_ctim.tv_nsec);
}

/* Content of the same length, with mtime put back: ctime still shows the change. */
static void test_a_file_that_was_overwritten_is_left_alone(void **state)
{
	struct fixture *d = *state;
	const struct timespec before[] = { d->file.st.st_atim, d->file.st.st_mtim };

	put("f", "1ne\n");
	wait_for_tick(d);
	assert_int_equal(utimensat(AT_FDCWD, "f", before, 0), 0);
	check_refused(*state);
	check_file("f", "1ne\n");
}

/* The mode was changed during the edit: the edit fails, since the new file would
 * have the old mode. */
static void test_a_mode_that_somebody_changed_is_left_alone(void **state)
{
	struct stat st;

	wait_for_tick(*state);
	assert_int_equal(chmod("f", 0400), 0);
	check_refused(*state);
	assert_int_equal(stat("f", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0400);
}

static void test_a_file_in_the_place_of_another_is_left_alone(void **state)
{
	put("g", "one\n");
	assert_int_equal(rename("g", "f"), 0);
	check_refused(*state);
	check_file("f", "one\n");
}

static void test_a_removed_file_does_not_come_back(void **state)
{
	assert_int_equal(unlink("f"), 0);
	check_refused(*state);
	assert_int_equal(access("f", F_OK), -1);
}

/* The file appears between the check of the path and the open. */
static void test_a_file_that_came_meanwhile_is_not_overwritten(void **state)
{
	uint8_t text[] = { 'x' };
	const struct content c = { text, 1 };
	struct result got = files_make("f", &c);

	(void)state;
	assert_int_equal(got.outcome, OUTCOME_ERROR);
	assert_int_equal(got.sys, EEXIST);
	check_file("f", "one\n");
	assert_int_equal(symlink("g", "link"), 0);
	got = files_make("link", &c);
	assert_int_equal(got.outcome, OUTCOME_DONE);
	check_file("g", "x");
	got = files_make("link", &c); /* fails, since the link's target exists now */
	assert_int_equal(got.sys, EEXIST);
	assert_int_equal(unlink("link"), 0);
	assert_int_equal(mkfifo("link", 0600), 0);
	AUTO_CLOSE int reader = open("link", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_int_equal(files_make("link", &c).sys, EEXIST);
	assert_int_equal(unlink("link"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_an_untouched_file_is_replaced),
		TEST(test_a_file_that_was_appended_to_is_left_alone),
		TEST(test_a_file_that_was_overwritten_is_left_alone),
		TEST(test_a_mode_that_somebody_changed_is_left_alone),
		TEST(test_a_file_in_the_place_of_another_is_left_alone),
		TEST(test_a_removed_file_does_not_come_back),
		TEST(test_a_file_that_came_meanwhile_is_not_overwritten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
