/* output_log: stores output in a file, in order and within its bounds. */
#include "executor/session/output_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

/* Most bytes in the whole folder of logs; one command's log may have a quarter. */
#define MAX  (4u << 20)
#define MOST (MAX / 4)
#define HALF (MOST / 2)

static struct output_logs output_logs;
static char *folder;

static int setup(void **state)
{
	char path[] = "/tmp/hutch-log-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(path));
	folder = text_copy(path);
	output_logs_init_sized(&output_logs, open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), MAX);
	return 0;
}

static int teardown(void **state)
{
	AUTO_FREE char *remove = text_format("rm -rf '%s'", folder);

	(void)state;
	output_logs_done(&output_logs);
	assert_int_equal(system(remove), 0);
	own_free(&folder);
	return 0;
}

/* Returns byte `at` of the test's stream, in which each eight bytes encode their
 * offset. */
static uint8_t byte_at(uint64_t at)
{
	uint64_t word = at / 8;

	return (uint8_t)(word >> (at % 8 * 8));
}

static void print(struct output_log *t, uint64_t from, size_t len)
{
	AUTO_FREE uint8_t *data = mem_new(len);

	for (size_t i = 0; i < len; i++)
		data[i] = byte_at(from + i);
	output_log_write(t, data, len);
}

/* Prints in pieces of many sizes. */
static void print_up_to(struct output_log *t, uint64_t len)
{
	for (size_t n = 1; t->len < len; n = n * 7 % 16381 + 1)
		print(t, t->len, n < len - t->len ? n : (size_t)(len - t->len));
}

static char *path_of(const char *label, uint32_t number)
{
	return text_format("%s/%s-%u", folder, label, number);
}

static bool is_there(const char *label, uint32_t number)
{
	AUTO_FREE char *path = path_of(label, number);

	return access(path, F_OK) == 0;
}

/* Checks that the file has the beginning of the stream and, after a gap of `missing`
 * bytes, its rest. */
static void check_file(const char *label, uint32_t number, uint64_t len, uint64_t missing)
{
	AUTO_FREE char *path = path_of(label, number);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = (size_t)(len - missing);
	AUTO_FREE uint8_t *got = mem_new(size);

	assert_true(fd >= 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), size);
	assert_int_equal(pread(fd, got, size, 0), size);
	for (size_t i = 0; i < size; i++) {
		uint64_t at = missing && i >= HALF ? i + missing : i;
		if (got[i] != byte_at(at))
			fail_msg("byte %zu of %zu is not that of %llu", i, size,
				 (unsigned long long)at);
	}
}

static void test_short_output_has_no_file_unless_one_is_wanted(void **state)
{
	struct output_log t;

	(void)state;
	output_log_init(&t, &output_logs, "main");
	assert_int_equal(output_log_tell(&t, true).number, 0); /* nothing was printed */
	print_up_to(&t, OUTPUT_LOG_HELD);
	assert_int_equal(output_log_tell(&t, false).number, 0);
	assert_int_equal(output_logs.count, 0);
	struct output_log_mark told = output_log_tell(&t, true);
	assert_int_equal(told.number, 1);
	assert_int_equal(told.missing, 0);
	check_file("main", 1, OUTPUT_LOG_HELD, 0);
	output_log_end(&t);
	print_up_to(&t, OUTPUT_LOG_HELD + 1);
	assert_int_equal(output_log_tell(&t, false).number, 2);
	check_file("main", 2, OUTPUT_LOG_HELD + 1, 0);
	print_up_to(&t, OUTPUT_LOG_HELD + 5000); /* it goes on */
	assert_int_equal(output_log_tell(&t, false).number, 2);
	check_file("main", 2, OUTPUT_LOG_HELD + 5000, 0);
	output_log_end(&t);
	assert_int_equal(output_logs.count, 2);
}

static void test_the_middle_of_a_flood_is_missing_and_the_rest_is_in_order(void **state)
{
	static const uint64_t lens[] = { MOST - 1, MOST, MOST + 1, MOST + 4095, MOST + HALF - 1,
					 MOST + HALF, MOST + HALF + 1, 2 * MOST + 12345,
					 9 * MOST + 1 };
	struct output_log t;

	(void)state;
	for (uint32_t i = 0; i < ARRAY_LEN(lens); i++) {
		uint64_t missing = lens[i] > MOST ? lens[i] - MOST : 0;
		output_log_init(&t, &output_logs, "flood");
		print_up_to(&t, lens[i]);
		struct output_log_mark told = output_log_tell(&t, false);
		assert_int_equal(told.number, i + 1);
		assert_int_equal(told.missing, missing);
		check_file("flood", i + 1, lens[i], missing);
		output_log_end(&t);
	}
	assert_true(output_logs.used <= MAX);
}

static void test_the_log_is_in_order_at_every_report(void **state)
{
	struct output_log t;

	(void)state;
	output_log_init(&t, &output_logs, "flood");
	for (uint64_t len = MOST / 3; len < 6 * MOST; len += MOST / 3 + 777) {
		uint64_t missing = len > MOST ? len - MOST : 0;
		print_up_to(&t, len);
		assert_int_equal(output_log_tell(&t, false).missing, missing);
		check_file("flood", 1, len, missing);
	}
	output_log_end(&t);
}

static void record_whole(struct output_log *t)
{
	output_log_init(t, &output_logs, "s");
	print_up_to(t, MOST + 100);
	assert_true(output_log_tell(t, false).number > 0);
}

static void test_the_oldest_file_makes_room_and_one_that_is_recorded_is_the_last(void **state)
{
	struct output_log first, t, all[5];

	(void)state;
	record_whole(&first);
	for (int i = 0; i < 6; i++) {
		record_whole(&t);
		output_log_end(&t);
	}
	assert_true(is_there("s", 1)); /* its command still runs */
	assert_false(is_there("s", 2));
	assert_false(is_there("s", 3));
	assert_true(is_there("s", 7));
	assert_true(output_logs.used <= MAX);
	/* All four commands still run: the log of the oldest is removed, and its
	 * command's report says so. */
	for (int i = 0; i < 4; i++)
		record_whole(&all[i]);
	assert_false(is_there("s", 1));
	struct output_log_mark told = output_log_tell(&first, true);
	assert_int_equal(told.number, 0);
	assert_int_equal(told.missing, MOST + 100);
	print_up_to(&first, MOST + 200); /* this goes nowhere */
	assert_int_equal(output_log_tell(&first, true).missing, MOST + 200);
	output_log_end(&first);
	for (int i = 0; i < 4; i++)
		output_log_end(&all[i]);
	assert_true(output_logs.used <= MAX);
}

static void test_there_are_so_many_files(void **state)
{
	struct output_log t;

	(void)state;
	output_log_init(&t, &output_logs, "s");
	for (int i = 0; i < 1100; i++) {
		print(&t, 0, 10);
		assert_int_equal(output_log_tell(&t, true).number, i + 1);
		output_log_end(&t);
	}
	assert_false(is_there("s", 100));
	assert_true(is_there("s", 101));
	assert_true(is_there("s", 1100));
}

static void test_without_a_folder_or_a_proper_label_nothing_is_recorded(void **state)
{
	static const char *const labels[] = { NULL, "", ".", "..", ".x", "a/b", "/" };
	struct output_logs none;
	struct output_log t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
		output_log_init(&t, &output_logs, labels[i]);
		print_up_to(&t, 0);
		print(&t, 0, OUTPUT_LOG_HELD + 1);
		assert_int_equal(output_log_tell(&t, true).number, 0);
		output_log_end(&t);
	}
	assert_int_equal(output_logs.count, 0);
	output_logs_init(&none, -1);
	output_log_init(&t, &none, "s");
	print(&t, 0, OUTPUT_LOG_HELD + 1);
	assert_int_equal(output_log_tell(&t, true).number, 0);
	output_log_end(&t);
	output_logs_done(&none);
	/* This folder's limit is too small for any output. */
	output_logs_init_sized(&none, open(folder, O_PATH | O_CLOEXEC), 4096);
	output_log_init(&t, &none, "s");
	print(&t, 0, OUTPUT_LOG_HELD + 1);
	assert_int_equal(output_log_tell(&t, true).number, 0);
	output_log_end(&t);
	output_logs_done(&none);
}

static void test_a_link_in_the_place_of_a_log_is_not_followed(void **state)
{
	AUTO_FREE char *link = path_of("s", 1), *target = text_format("%s/target", folder);
	AUTO_CLOSE int fd = open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	struct output_log t;
	struct stat st;

	(void)state;
	assert_int_equal(symlink("target", link), 0);
	output_log_init(&t, &output_logs, "s");
	print(&t, 0, OUTPUT_LOG_HELD + 1);
	struct output_log_mark told = output_log_tell(&t, true);
	assert_int_equal(told.number, 0);
	assert_int_equal(told.missing, OUTPUT_LOG_HELD + 1);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 0);
	output_log_end(&t);
	print(&t, 0, OUTPUT_LOG_HELD + 1);
	assert_int_equal(output_log_tell(&t, true).number, 2);
	output_log_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_short_output_has_no_file_unless_one_is_wanted),
		TEST(test_the_middle_of_a_flood_is_missing_and_the_rest_is_in_order),
		TEST(test_the_log_is_in_order_at_every_report),
		TEST(test_the_oldest_file_makes_room_and_one_that_is_recorded_is_the_last),
		TEST(test_there_are_so_many_files),
		TEST(test_without_a_folder_or_a_proper_label_nothing_is_recorded),
		TEST(test_a_link_in_the_place_of_a_log_is_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
