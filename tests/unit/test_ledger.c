/* ledger: entries form a chain across files and writers; a killed writer's
 * partial entry is reported; every other change is found. */
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
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "store/ledger.h"
#include "store/ledger_check.h"
#include "store/ledger_walk.h"
#include "tests/patience.h"

#define FILES 40

struct place {
	char path[64];
	struct ledger l;
	struct list anchors;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	struct err e;

	assert_non_null(p);
	strcpy(p->path, "/tmp/hutch-ledger.XXXXXX");
	assert_non_null(mkdtemp(p->path));
	ledger_init(&p->l);
	assert_int_equal(ledger_open(&p->l, p->path, &e), 0);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	char name[LEDGER_NAME_MAX];

	for (unsigned i = 1; i < FILES; i++) {
		ledger_name(i, name);
		(void)unlinkat(p->l.folder, name, 0);
	}
	assert_int_equal(rmdir(p->path), 0);
	ledger_done(&p->l);
	list_done(&p->anchors);
	free(p);
	return 0;
}

static void add(struct ledger *l, unsigned n)
{
	char members[32];
	struct err e;

	(void)snprintf(members, sizeof(members), "\"n\":%u", n);
	assert_int_equal(ledger_add(l, "test", members, false, &e), 0);
}

/* Checks the whole ledger.  Returns -1 and sets *e if an entry is wrong. */
static int check(const struct place *p, struct ledger_check *c, struct err *e)
{
	struct ledger_walk w;
	struct ledger_line line;
	int more = 0;

	assert_int_equal(ledger_check_begin(c, &p->anchors, e), 0);
	assert_int_equal(ledger_walk_open(&w, p->path, e), 0);
	int result = 0;
	while (result == 0 && (more = ledger_walk_next(&w, &line, e)) > 0)
		result = ledger_check_line(c, &line, e);
	ledger_walk_done(&w);
	assert_true(more >= 0);
	return result < 0 ? -1 : ledger_check_end(c, e);
}

static void claim_whole(const struct place *p, uint64_t entries)
{
	struct ledger_check c;
	struct err e = { 0 };
	int rc = check(p, &c, &e);

	assert_string_equal(e.text, "");
	assert_int_equal(rc, 0);
	assert_int_equal(c.entries, entries);
	assert_int_equal(c.torn_len, 0);
}

static void claim_broken(const struct place *p, const char *where)
{
	struct ledger_check c;
	struct err e = { 0 };

	assert_int_equal(check(p, &c, &e), -1);
	if (strncmp(e.text, where, strlen(where)))
		fail_msg("'%s', not '%s'", e.text, where);
}

/* Returns a whole file, with a 0 after it. */
static char *text_of(const struct place *p, unsigned number, size_t *ret_len)
{
	char name[LEDGER_NAME_MAX], *text;
	size_t len;

	ledger_name(number, name);
	AUTO_CLOSE int fd = openat(p->l.folder, name, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(io_read_file(fd, name, 1u << 26, &text, &len, NULL), 0);
	if (ret_len)
		*ret_len = len;
	return text;
}

static void put_text(const struct place *p, unsigned number, const char *text, size_t len)
{
	char name[LEDGER_NAME_MAX];

	ledger_name(number, name);
	const int flags = O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC;
	AUTO_CLOSE int fd = openat(p->l.folder, name, flags, 0600);
	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, text, len), 0);
}

static void test_entries_follow_from_one_another(void **state)
{
	struct place *p = *state;
	struct ledger_entry x;
	struct stat st;

	for (unsigned n = 0; n < 50; n++)
		add(&p->l, n);
	claim_whole(p, 50);
	AUTO_FREE char *text = text_of(p, 1, NULL);
	assert_true(ledger_read_entry(text, strcspn(text, "\n") + 1, &x));
	assert_string_equal(x.prev.hex, LEDGER_NO_ENTRY);
	assert_int_equal(x.seq, 1);
	assert_int_equal(x.time_len, 30);
	assert_int_equal(x.event_len, 4);
	assert_int_equal(fstat(p->l.file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

/* Each byte of each line but the last, whose hash no later line has, and the
 * newline that ends a line. */
static void test_a_changed_byte_is_found(void **state)
{
	struct place *p = *state;
	size_t len;

	for (unsigned n = 0; n < 4; n++)
		add(&p->l, n);
	AUTO_FREE char *text = text_of(p, 1, &len);
	size_t last = len - 1;
	while (text[last - 1] != '\n')
		last--;
	for (size_t i = 0; i + 1 < last; i++) {
		char was = text[i];
		text[i] = was == '1' ? '2' : '1';
		put_text(p, 1, text, len);
		claim_broken(p, "log.1:");
		text[i] = was;
	}
	put_text(p, 1, text, len);
	claim_whole(p, 4);
}

/* Writes the lines of the first file in another order: '0' is the first of them. */
static void reorder(const struct place *p, const char *order)
{
	AUTO_FREE char *text = text_of(p, 1, NULL);
	char *lines[16], *rest = text, all[16384] = "";
	size_t count = 0;

	for (char *line; count < 16 && (line = strsep(&rest, "\n")) && *line;)
		lines[count++] = line;
	for (; *order; order++) {
		assert_true((size_t)(*order - '0') < count);
		strcat(strcat(all, lines[*order - '0']), "\n");
	}
	put_text(p, 1, all, strlen(all));
}

static void test_lines_that_are_missing_doubled_or_moved_are_found(void **state)
{
	static const struct {
		const char *order, *where;
	} changes[] = {
		{ "0134", "log.1:3: it does not follow from entry 2" },
		{ "02134", "log.1:2: it does not follow" },
		{ "001234", "log.1:2: it does not follow" },
		{ "1234", "log.1:1: the log begins with entry 2" },
		{ "43210", "log.1:1: the log begins with entry 5" },
	};
	struct place *p = *state;
	size_t len;

	for (unsigned n = 0; n < 5; n++)
		add(&p->l, n);
	AUTO_FREE char *text = text_of(p, 1, &len);
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		reorder(p, changes[i].order);
		claim_broken(p, changes[i].where);
		put_text(p, 1, text, len);
	}
	claim_whole(p, 5);
}

static void test_a_tail_that_was_cut_off_is_seen_with_an_anchor_alone(void **state)
{
	struct place *p = *state;

	for (unsigned n = 0; n < 5; n++)
		add(&p->l, n);
	list_add(&p->anchors, p->l.last.hex);
	claim_whole(p, 5);
	reorder(p, "0123");
	claim_broken(p, "no entry has the hash");
	list_done(&p->anchors);
	claim_whole(p, 4);
}

static void test_an_anchor_is_64_digits(void **state)
{
	struct list anchors = { 0 };
	struct ledger_check c;
	struct err e;

	(void)state;
	list_add(&anchors, "abc");
	assert_int_equal(ledger_check_begin(&c, &anchors, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	list_done(&anchors);
}

/* --- files ---------------------------------------------------------------------- */

static void test_the_chain_goes_on_in_the_next_file(void **state)
{
	struct place *p = *state;
	struct ledger other;
	struct err e;

	p->l.file_max = 1000;
	for (unsigned n = 0; n < 60; n++)
		add(&p->l, n);
	assert_true(p->l.number > 5);
	claim_whole(p, 60);
	/* A second writer, which has only read the files. */
	ledger_init(&other);
	other.file_max = 1000;
	assert_int_equal(ledger_open(&other, p->path, &e), 0);
	assert_int_equal(other.number, p->l.number);
	for (unsigned n = 0; n < 20; n++)
		add(&other, n);
	add(&p->l, 60); /* this writer notices the entries that the other one added */
	assert_int_equal(p->l.number, other.number);
	ledger_done(&other);
	claim_whole(p, 81);
}

static void test_files_that_were_taken_away_are_missed(void **state)
{
	struct place *p = *state;
	AUTO_FREE char *last = NULL;

	p->l.file_max = 1000;
	while (p->l.number < 4) {
		if (p->l.number == 1) {
			free(last);
			last = text_copy(p->l.last.hex);
		}
		add(&p->l, 0);
	}
	AUTO_FREE char *second = text_of(p, 2, NULL);
	assert_int_equal(unlinkat(p->l.folder, "log.2", 0), 0);
	claim_broken(p, "log.3:1: it does not follow");
	put_text(p, 2, second, strlen(second));
	/* The owner may have moved the oldest file elsewhere: the log is accepted
	 * again with the hash of the last moved entry as an anchor. */
	assert_int_equal(unlinkat(p->l.folder, "log.1", 0), 0);
	claim_broken(p, "log.2:1: the log begins with entry");
	struct ledger_entry x;
	assert_true(ledger_read_entry(second, strcspn(second, "\n") + 1, &x));
	list_add(&p->anchors, x.prev.hex);
	struct ledger_check c;
	struct err e;
	assert_int_equal(check(p, &c, &e), 0);
	assert_int_equal(c.first, x.seq);
}

/* --- what is torn ---------------------------------------------------------------- */

static void test_a_part_of_a_line_is_ended_and_told(void **state)
{
	static const char *const parts[] = {
		"{",	    "{\"v\":1,\"prev\":\"00", "{\"v\":1,\"a\":{}", "x\ny", "",
		"<torn>\n", "abc<torn>\n{\"v\":1",
	};
	struct place *p = *state;
	struct ledger_check c;
	struct err e;

	add(&p->l, 0);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		assert_int_equal(io_write_all(p->l.file, parts[i], strlen(parts[i])), 0);
		assert_int_equal(check(p, &c, &e), 0);
		assert_int_equal(c.torn_len, strlen(parts[i]));
		add(&p->l, 1);
		assert_int_equal(check(p, &c, &e), 0);
		assert_int_equal(c.torn_len, 0);
		assert_int_equal(c.torn_count, i < 4 ? i + 1 : i);
	}
	/* The chain of hashes includes the entry that reports a torn line, so
	 * changing it is found. */
	size_t len;
	AUTO_FREE char *text = text_of(p, 1, &len);
	char *at = strstr(text, "x\ny<torn>");
	assert_non_null(at);
	*at = 'z';
	put_text(p, 1, text, len);
	claim_broken(p, "log.1:");
}

static void test_an_entry_without_its_newline_is_no_entry(void **state)
{
	struct place *p = *state;
	size_t len;

	add(&p->l, 0);
	add(&p->l, 1);
	AUTO_FREE char *text = text_of(p, 1, &len);
	put_text(p, 1, text, len - 1);
	add(&p->l, 2); /* the torn entry does not count, so its number is used again */
	struct ledger_check c;
	struct err e;
	assert_int_equal(check(p, &c, &e), 0);
	assert_int_equal(c.entries, 3);
	assert_int_equal(c.torn_count, 1);
}

static void test_the_first_line_of_a_file_may_be_torn(void **state)
{
	struct place *p = *state;

	assert_int_equal(io_write_all(p->l.file, "{\"v\"", 4), 0);
	add(&p->l, 0);
	claim_whole(p, 2);
	p->l.file_max = 100;
	assert_int_equal(io_write_all(p->l.file, "{\"v\"", 4), 0);
	/* The torn line is ended in the same file, although the file is full. */
	add(&p->l, 1);
	assert_int_equal(p->l.number, 1);
	add(&p->l, 2);
	assert_int_equal(p->l.number, 2);
	claim_whole(p, 5);
}

/* A whole line that is no entry was not left by a killed writer, so it is
 * neither ended nor reported as torn. */
static void test_a_whole_line_that_is_no_entry_refuses_the_next(void **state)
{
	static const char *const lines[] = { "junk\n", "{}\n", "\n" };
	struct place *p = *state;
	size_t len;
	struct err e;

	add(&p->l, 0);
	AUTO_FREE char *text = text_of(p, 1, &len);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		assert_int_equal(io_write_all(p->l.file, lines[i], strlen(lines[i])), 0);
		assert_int_equal(ledger_add(&p->l, "test", "", false, &e), -1);
		assert_non_null(strstr(e.text, "no entry"));
		claim_broken(p, "log.1:2: it is no entry");
		put_text(p, 1, text, len);
	}
	/* A line that is longer than any entry is no torn entry either. */
	AUTO_FREE char *much = calloc(1, 3 * LEDGER_ENTRY_MAX);
	assert_int_equal(io_write_all(p->l.file, much, 3 * LEDGER_ENTRY_MAX), 0);
	assert_int_equal(ledger_add(&p->l, "test", "", false, &e), -1);
	put_text(p, 1, text, len);
	p->l.size = UINT64_MAX;
	add(&p->l, 1);
	claim_whole(p, 2);
}

/* --- bounds ----------------------------------------------------------------------- */

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_an_entry_that_does_not_fit_leaves_the_ledger_as_it_was(void **state)
{
	struct place *p = *state;
	struct stat st;
	struct err e;

	assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	add(&p->l, 0);
	assert_int_equal(fstat(p->l.file, &st), 0);
	limit_files((rlim_t)st.st_size + 20);
	assert_int_equal(ledger_add(&p->l, "test", "", false, &e), -1);
	assert_non_null(strstr(e.text, "write the audit log"));
	limit_files(RLIM_INFINITY);
	claim_whole(p, 1);
	add(&p->l, 1);
	claim_whole(p, 2);
}

static void test_an_entry_is_bounded(void **state)
{
	struct place *p = *state;
	AUTO_FREE char *much = calloc(1, LEDGER_ENTRY_MAX + 1);
	struct err e;

	memset(much, 'x', LEDGER_ENTRY_MAX);
	assert_int_equal(ledger_add(&p->l, "test", much, false, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	/* After the longest possible entry further ones can be added. */
	memcpy(much, "\"x\":\"", 5);
	strcpy(much + LEDGER_ENTRY_MAX - 514, "\"");
	for (int i = 0; i < 4; i++) {
		p->l.size = UINT64_MAX;
		assert_int_equal(ledger_add(&p->l, "test", much, false, &e), 0);
	}
	claim_whole(p, 4);
}

/* --- several ------------------------------------------------------------------------ */

#define WRITERS 8
#define EACH	100

static void write_each(const char *path)
{
	struct ledger l;
	struct err e;

	ledger_init(&l);
	l.file_max = 20000;
	l.wait_ms = PATIENCE_MS; /* its turn to have the lock may come late */
	if (ledger_open(&l, path, &e) < 0)
		_exit(1);
	for (int n = 0; n < EACH; n++)
		if (ledger_add(&l, "test", "\"n\":1", false, &e) < 0)
			_exit(2);
	_exit(0);
}

static void test_writers_side_by_side_make_one_chain(void **state)
{
	struct place *p = *state;
	pid_t pids[WRITERS];
	int status;

	for (int i = 0; i < WRITERS; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0)
			write_each(p->path);
	}
	for (int i = 0; i < WRITERS; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	claim_whole(p, WRITERS * EACH);
}

/* Starts a child that holds the lock until the other end of its socket is closed. */
static pid_t hold_lock(const char *path, int operation, int *ret_release)
{
	int ends[2];
	char byte;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)close(ends[0]);
		if (flock(folder, operation) < 0 || write(ends[1], "x", 1) != 1)
			_exit(1);
		_exit(read(ends[1], &byte, 1) == 0 ? 0 : 1);
	}
	(void)close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	*ret_release = ends[0];
	return pid;
}

static void release(pid_t pid, int *release)
{
	int status;

	own_close(release);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* With a waiting time of 0 the lock is tried exactly once, so that no clock matters. */
static void test_a_lock_that_is_held_for_too_long_is_told(void **state)
{
	static const struct {
		int held, wanted;
		bool is_had;
	} cases[] = {
		{ LOCK_EX, LOCK_EX, false },
		{ LOCK_EX, LOCK_SH, false },
		{ LOCK_SH, LOCK_EX, false },
		{ LOCK_SH, LOCK_SH, true },
	};
	struct place *p = *state;
	struct err e;

	add(&p->l, 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int holder;
		pid_t pid = hold_lock(p->path, cases[i].held, &holder);
		int result = ledger_lock(p->l.folder, cases[i].wanted, 0, &e);
		assert_int_equal(result, cases[i].is_had ? 0 : -1);
		assert_true(cases[i].is_had || e.kind == ERR_BUSY);
		assert_int_equal(flock(p->l.folder, LOCK_UN), 0);
		p->l.wait_ms = 0;
		assert_int_equal(ledger_add(&p->l, "test", "", false, &e), -1);
		assert_int_equal(e.kind, ERR_BUSY);
		release(pid, &holder);
		assert_int_equal(ledger_lock(p->l.folder, cases[i].wanted, 0, &e), 0);
		assert_int_equal(flock(p->l.folder, LOCK_UN), 0);
	}
	claim_whole(p, 1);
}

static void test_a_lock_that_is_let_go_of_in_time_is_had(void **state)
{
	struct place *p = *state;
	struct err e;
	int holder, status;

	add(&p->l, 0);
	p->l.wait_ms = PATIENCE_MS;
	pid_t pid = hold_lock(p->path, LOCK_EX, &holder);
	pid_t waiter = fork();
	assert_true(waiter >= 0);
	if (waiter == 0) {
		/* Otherwise the holder would not see the end of file. */
		own_close(&holder);
		_exit(ledger_add(&p->l, "test", "", false, &e) == 0 ? 0 : 1);
	}
	release(pid, &holder);
	assert_int_equal(waitpid(waiter, &status, 0), waiter);
	assert_int_equal(status, 0);
	claim_whole(p, 2);
}

static void test_a_folder_that_others_may_write_to_is_refused(void **state)
{
	struct place *p = *state;
	struct ledger other;
	struct err e;

	ledger_init(&other);
	assert_int_equal(chmod(p->path, 0777), 0);
	assert_int_equal(ledger_open(&other, p->path, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	ledger_done(&other);
	assert_int_equal(chmod(p->path, 0700), 0);
}

/* A link in the place of a file would redirect entries elsewhere. */
static void test_a_link_is_not_followed(void **state)
{
	struct place *p = *state;
	struct err e;

	p->l.file_max = 10;
	add(&p->l, 0);
	assert_int_equal(symlinkat("log.1", p->l.folder, "log.2"), 0);
	assert_int_equal(ledger_add(&p->l, "test", "", false, &e), -1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_entries_follow_from_one_another),
		TEST(test_a_changed_byte_is_found),
		TEST(test_lines_that_are_missing_doubled_or_moved_are_found),
		TEST(test_a_tail_that_was_cut_off_is_seen_with_an_anchor_alone),
		TEST(test_an_anchor_is_64_digits),
		TEST(test_the_chain_goes_on_in_the_next_file),
		TEST(test_files_that_were_taken_away_are_missed),
		TEST(test_a_part_of_a_line_is_ended_and_told),
		TEST(test_an_entry_without_its_newline_is_no_entry),
		TEST(test_the_first_line_of_a_file_may_be_torn),
		TEST(test_a_whole_line_that_is_no_entry_refuses_the_next),
		TEST(test_an_entry_that_does_not_fit_leaves_the_ledger_as_it_was),
		TEST(test_an_entry_is_bounded),
		TEST(test_writers_side_by_side_make_one_chain),
		TEST(test_a_lock_that_is_held_for_too_long_is_told),
		TEST(test_a_lock_that_is_let_go_of_in_time_is_had),
		TEST(test_a_folder_that_others_may_write_to_is_refused),
		TEST(test_a_link_is_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
