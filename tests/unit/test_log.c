/* log: entries are complete, the oldest are dropped with their file, and a full
 * disk suspends the log for a while. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"
#include "supervisor/log.h"

#define NOW 1000000

struct place {
	char path[64];
	struct log log;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	strcpy(p->path, "/tmp/hutch-log.XXXXXX");
	assert_non_null(mkdtemp(p->path));
	log_init(&p->log, open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		 "output", LOG_FILE_MAX);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	static const char *const names[] = { "output", "output.1", "output.next" };
	struct place *p = *state;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)unlinkat(p->log.folder, names[i], 0);
	assert_int_equal(rmdir(p->path), 0);
	log_done(&p->log);
	free(p);
	return 0;
}

/* Adds entry number n, whose line has `len` bytes with its newline. */
static void add(struct log *l, unsigned n, size_t len)
{
	char *line = malloc(len + 16);
	struct err e;

	assert_non_null(line);
	memset(line, 'x', len);
	line[sprintf(line, "%u", n)] = ' ';
	line[len - 1] = '\n';
	assert_int_equal(log_add(l, line, len, NOW, &e), LOG_WRITTEN);
	free(line);
}

/* Returns the number of the entry that begins at this offset. */
static int entry_at(const struct log *l, uint64_t at)
{
	char text[16] = "";

	return at < l->end && log_read(l, at, text, sizeof(text) - 1) ? atoi(text) : -1;
}

static off_t size_of(const struct log *l, const char *name)
{
	struct stat st;

	return fstatat(l->folder, name, &st, 0) == 0 ? st.st_size : -1;
}

static void test_entries_are_read_from_any_number(void **state)
{
	struct log *l = &((struct place *)*state)->log;

	for (unsigned n = 0; n < 100; n++)
		add(l, n, 10 + n);
	assert_int_equal(l->begin, 0);
	assert_int_equal(size_of(l, "output"), (off_t)l->end);
	assert_int_equal(size_of(l, "output.1"), -1);
	uint64_t at = 0;
	for (unsigned n = 0; n < 100; n++) {
		assert_int_equal(entry_at(l, at), n);
		at += 10 + n;
	}
	assert_int_equal(at, l->end);
}

static void test_the_tail_is_whole_entries(void **state)
{
	struct log *l = &((struct place *)*state)->log;

	assert_int_equal(log_tail(l, 5), 0);
	for (unsigned n = 0; n < 300; n++)
		add(l, n, 5000 + 7 * n); /* the file is read in many blocks */
	assert_int_equal(log_tail(l, 0), l->end);
	for (unsigned count = 1; count <= 300; count++)
		assert_int_equal(entry_at(l, log_tail(l, count)), 300 - count);
	assert_int_equal(log_tail(l, 301), 0);
	assert_int_equal(log_tail(l, UINT64_MAX), 0);
}

static void test_two_files_are_kept_and_an_entry_is_in_one(void **state)
{
	struct log *l = &((struct place *)*state)->log;
	size_t len = 100003;
	unsigned fit = LOG_FILE_MAX / (unsigned)len, n = 0;

	for (; n < fit; n++)
		add(l, n, len);
	assert_int_equal(size_of(l, "output.1"), -1);
	add(l, n++, len);
	assert_int_equal(size_of(l, "output.1"), (off_t)(fit * len));
	assert_int_equal(size_of(l, "output"), (off_t)len);
	assert_int_equal(l->begin, 0);
	for (; n < 3 * fit + 5; n++)
		add(l, n, len);
	assert_int_equal(l->begin, 2 * fit * len);
	assert_int_equal(l->middle, 3 * fit * len);
	assert_int_equal(size_of(l, "output"), (off_t)(5 * len));
	assert_int_equal(size_of(l, "output.next"), -1);
	/* The last lines begin in the older of the two files. */
	assert_int_equal(entry_at(l, log_tail(l, 5)), n - 5);
	assert_int_equal(entry_at(l, log_tail(l, 6)), n - 6);
	assert_int_equal(log_tail(l, fit + 5), l->begin);
	assert_int_equal(log_tail(l, fit + 6), l->begin);
	/* A read never spans the two files. */
	char *bytes = malloc(2 * len);
	assert_non_null(bytes);
	assert_int_equal(log_read(l, l->middle - len, bytes, 2 * len), len);
	free(bytes);
}

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_an_entry_that_does_not_fit_stops_the_log_for_a_while(void **state)
{
	static const struct {
		int64_t at;
		rlim_t room; /* largest size of a file that the kernel permits */
		enum log_outcome outcome;
		off_t size;
		uint64_t lost;
	} rows[] = {
		{ 0, 103, LOG_STOPPED, 100, 7 }, /* a part of the entry can be written */
		{ 0, RLIM_INFINITY, LOG_SILENT, 100, 14 },
		{ LOG_RETRY_MS - 1, RLIM_INFINITY, LOG_SILENT, 100, 21 },
		/* A failed retry is not reported again, and the next retry comes
		 * after the same time. */
		{ LOG_RETRY_MS, 103, LOG_SILENT, 100, 28 },
		{ 2 * LOG_RETRY_MS - 1, RLIM_INFINITY, LOG_SILENT, 100, 35 },
		{ 2 * LOG_RETRY_MS, RLIM_INFINITY, LOG_RESUMED, 107, 35 },
		{ 2 * LOG_RETRY_MS, RLIM_INFINITY, LOG_WRITTEN, 114, 35 },
	};
	struct log *l = &((struct place *)*state)->log;
	struct err e;

	assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	add(l, 0, 100);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		limit_files(rows[i].room);
		enum log_outcome outcome =
			log_add(l, "a line\n", 7, NOW + rows[i].at, &e);
		limit_files(RLIM_INFINITY);
		if (outcome != rows[i].outcome || size_of(l, "output") != rows[i].size ||
		    l->end != (uint64_t)rows[i].size || l->lost != rows[i].lost)
			fail_msg("row %zu: %d, %lld bytes, %llu lost", i, outcome,
				 (long long)size_of(l, "output"),
				 (unsigned long long)l->lost);
		if (outcome == LOG_STOPPED)
			assert_non_null(strstr(e.text, "write the log"));
	}
	assert_int_equal(log_tail(l, 1), 107);
}

/* The files belong to their owner, who may have truncated them. */
static void test_a_truncated_log_reads_as_nothing(void **state)
{
	struct log *l = &((struct place *)*state)->log;
	char text[8];

	add(l, 0, 100);
	assert_int_equal(ftruncate(l->now, 0), 0);
	assert_int_equal(log_read(l, 0, text, sizeof(text)), 0);
	assert_int_equal(log_tail(l, 1), 0);
}

static void test_without_a_folder_it_has_stopped(void **state)
{
	struct log l;
	struct err e;

	(void)state;
	log_init(&l, -1, "output", LOG_FILE_MAX);
	assert_int_equal(log_tail(&l, 1), 0);
	assert_int_equal(log_add(&l, "x\n", 2, NOW, &e), LOG_STOPPED);
	assert_int_equal(log_add(&l, "x\n", 2, NOW, &e), LOG_SILENT);
	log_done(&l);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_entries_are_read_from_any_number),
		TEST(test_the_tail_is_whole_entries),
		TEST(test_two_files_are_kept_and_an_entry_is_in_one),
		TEST(test_an_entry_that_does_not_fit_stops_the_log_for_a_while),
		TEST(test_a_truncated_log_reads_as_nothing),
		cmocka_unit_test(test_without_a_folder_it_has_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
