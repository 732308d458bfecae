/* connection: reads lines, and the descriptors that come with them, from a peer that
 * may be any process. */
#include "supervisor/connection.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>


#define LINE_MAX_HERE 100
#define OUT_MAX_HERE  (4u << 20)

struct scene {
	struct connection conn;
	int peer;
	int nothing; /* a descriptor to pass */
	size_t open; /* descriptors of this process */
};

static size_t count_open(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t count = 0;

	assert_non_null(d);
	while (readdir(d))
		count++;
	(void)closedir(d);
	return count;
}

static int setup(void **state)
{
	static struct scene s;
	int ends[2];

	s.nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
	connection_init(&s.conn, ends[0], LINE_MAX_HERE, OUT_MAX_HERE);
	s.peer = ends[1];
	s.open = count_open();
	*state = &s;
	return 0;
}

/* Closes all descriptors that a test may have left open. */
static int teardown(void **state)
{
	struct scene *s = *state;

	connection_done(&s->conn);
	if (s->peer >= 0) {
		(void)close(s->peer);
		s->open--;
	}
	(void)close(s->nothing);
	assert_int_equal(count_open(), s->open - 2);
	return 0;
}

/* Sends the bytes, with `count` descriptors beside the first one. */
static void say(const struct scene *s, const char *text, size_t len, unsigned count)
{
	union {
		char space[CMSG_SPACE(64 * sizeof(int))];
		struct cmsghdr align;
	} control = { .space = { 0 } };
	struct iovec bytes = { (void *)(uintptr_t)text, len };
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1 };

	if (count) {
		m.msg_control = control.space;
		m.msg_controllen = CMSG_SPACE(count * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof(int));
		for (unsigned i = 0; i < count; i++)
			memcpy(CMSG_DATA(c) + i * sizeof(int), &s->nothing, sizeof(int));
	}
	assert_int_equal(sendmsg(s->peer, &m, MSG_NOSIGNAL), len);
}

static void say_text(const struct scene *s, const char *text, unsigned count)
{
	say(s, text, strlen(text), count);
}

static bool is_waiting(const struct scene *s)
{
	char c;

	return recv(s->conn.fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

/* Reads all that has come, as far as there is room; a closed connection only once. */
static void hear(struct scene *s)
{
	while (is_waiting(s) && connection_may_read(&s->conn))
		assert_true(connection_read(&s->conn));
}

/* Takes the next line and compares it; closes the descriptors that came with it. */
static struct connection_fds line(struct scene *s, const char *expected)
{
	struct connection_fds fds;
	const char *text;
	size_t len;

	assert_int_equal(connection_next(&s->conn, &text, &len, &fds), LINE_WHOLE);
	assert_int_equal(len, strlen(expected));
	assert_memory_equal(text, expected, len);
	for (unsigned i = 0; i < fds.count; i++)
		assert_true(fcntl(fds.fds[i], F_GETFD) & FD_CLOEXEC);
	struct connection_fds seen = fds;
	connection_fds_done(&fds);
	connection_took(&s->conn);
	return seen;
}

static void expect_line(struct scene *s, const char *text, unsigned count, bool is_wrong)
{
	struct connection_fds fds = line(s, text);

	assert_int_equal(fds.count, count);
	assert_int_equal(fds.is_wrong, is_wrong);
}

static void expect_none(struct scene *s)
{
	struct connection_fds fds;
	const char *text;
	size_t len;

	assert_int_equal(connection_next(&s->conn, &text, &len, &fds), LINE_NONE);
	assert_int_equal(fds.count, 0);
}

static void lines_come_whole_and_in_order(void **state)
{
	struct scene *s = *state;

	say_text(s, "a\nbc", 0);
	hear(s);
	expect_line(s, "a", 0, false);
	expect_none(s);
	say_text(s, "d\n\n", 0);
	hear(s);
	expect_line(s, "bcd", 0, false);
	expect_line(s, "", 0, false);
	expect_none(s);
}

static void descriptors_come_with_their_line(void **state)
{
	struct scene *s = *state;

	for (unsigned count = 1; count <= CONNECTION_FDS; count++) {
		say_text(s, "with\n", count);
		hear(s);
		expect_line(s, "with", count, false);
	}
}

/* The kernel returns earlier bytes without descriptors in the same read as the bytes
 * with them: those descriptors must not go to the earlier lines. */
static void lines_before_do_not_get_them(void **state)
{
	struct scene *s = *state;

	say_text(s, "one\ntwo\n", 0);
	say_text(s, "three\nfour\n", 3);
	say_text(s, "five\n", 0);
	say_text(s, "six\n", 2);
	hear(s);
	expect_line(s, "one", 0, false);
	expect_line(s, "two", 0, false);
	expect_line(s, "three", 3, false);
	expect_line(s, "four", 0, false);
	expect_line(s, "five", 0, false);
	expect_line(s, "six", 2, false);
	expect_none(s);
}

static void half_a_line_keeps_them_until_it_is_whole(void **state)
{
	struct scene *s = *state;

	say_text(s, "x", 3);
	hear(s);
	expect_none(s);
	say_text(s, "y\n", 0);
	hear(s);
	expect_line(s, "xy", 3, false);
}

static void beside_another_byte_they_are_wrong(void **state)
{
	struct scene *s = *state;

	say_text(s, "a", 0);
	say_text(s, "b\nc\n", 1);
	hear(s);
	expect_line(s, "ab", 0, true);
	expect_line(s, "c", 0, false);
}

static void twice_for_a_line_they_are_wrong(void **state)
{
	struct scene *s = *state;

	say_text(s, "a", 2);
	say_text(s, "b\n", 1);
	hear(s);
	expect_line(s, "ab", 0, true);
}

static void more_than_three_are_wrong(void **state)
{
	struct scene *s = *state;

	for (unsigned count = CONNECTION_FDS + 1; count <= 64; count *= 2) {
		say_text(s, "many\n", count);
		say_text(s, "next\n", 1);
		hear(s);
		expect_line(s, "many", 0, true);
		expect_line(s, "next", 1, false);
	}
}

/* If a line comes with too many descriptors, reading must go on; otherwise the
 * connection would wait for the end of a line that it does not read. */
static void many_in_one_line_do_not_stop_it(void **state)
{
	struct scene *s = *state;

	for (int i = 0; i < 3 * CONNECTION_PASSED; i++) {
		say_text(s, "x", 1);
		hear(s);
	}
	say_text(s, "\nnext\n", 0);
	hear(s);
	expect_line(s, "xxxxxxxxxxxx", 0, true);
	expect_line(s, "next", 0, false);
}

static void lines_with_descriptors_wait_for_each_other(void **state)
{
	struct scene *s = *state;

	for (int i = 0; i < 3 * CONNECTION_PASSED; i++)
		say_text(s, "x\n", 1);
	hear(s);
	assert_int_equal(s->conn.passed_count, CONNECTION_PASSED);
	for (int i = 0; i < 3 * CONNECTION_PASSED; i++) {
		hear(s);
		expect_line(s, "x", 1, false);
	}
	expect_none(s);
}

/* A request of usual length takes one page of memory, and no buffer that is made for it
 * grows while it is read. */
static void what_is_short_takes_little_memory(void **state)
{
	struct scene *s = *state;

	say_text(s, "with\n", 3);
	hear(s);
	assert_int_equal(s->conn.lines.in.room, 4096);
	expect_line(s, "with", 3, false);
}

/* After a read that filled its room the next ones take more at once. */
static void what_is_long_is_read_in_larger_pieces(void **state)
{
	static const char much[4096 + LINES_AT_ONCE];
	struct scene *s = *state;

	say(s, much, sizeof(much), 0);
	assert_true(connection_read(&s->conn));
	assert_int_equal(buffer_len(&s->conn.lines.in), 4096);
	expect_none(s);
	assert_true(connection_read(&s->conn));
	assert_int_equal(buffer_len(&s->conn.lines.in), LINES_AT_ONCE);
	assert_false(is_waiting(s));
}

static void expect_too_long(struct scene *s, unsigned count, bool is_wrong)
{
	struct connection_fds fds;
	const char *text;
	size_t len;

	assert_int_equal(connection_next(&s->conn, &text, &len, &fds), LINE_TOO_LONG);
	assert_int_equal(fds.count, count);
	assert_int_equal(fds.is_wrong, is_wrong);
	connection_fds_done(&fds);
	connection_took(&s->conn);
}

static void a_long_line_is_dropped_as_it_comes(void **state)
{
	static const char much[1000] = { [0 ... 999] = 'x' };
	struct scene *s = *state;

	for (int with = 0; with <= 1; with++) {
		for (int i = 0; i < 200; i++) {
			say(s, much, sizeof(much), i == 0 ? with : 0);
			hear(s);
			expect_none(s);
			assert_true(buffer_len(&s->conn.lines.in) <= LINE_MAX_HERE);
		}
		say_text(s, "\n", 0);
		say_text(s, "next\n", 2);
		hear(s);
		expect_too_long(s, (unsigned)with, false);
		expect_line(s, "next", 2, false);
	}
}

static void a_long_line_with_wrong_descriptors_harms_no_other(void **state)
{
	static const char much[1000] = { [0 ... 999] = 'x' };
	struct scene *s = *state;

	for (int i = 0; i < 20; i++) {
		say(s, much, sizeof(much), 1);
		hear(s);
		expect_none(s);
	}
	say_text(s, "\nnext\n", 0);
	say_text(s, "last\n", 3);
	hear(s);
	expect_too_long(s, 0, true);
	expect_line(s, "next", 0, false);
	expect_line(s, "last", 3, false);
}

static void what_is_there_at_the_end_is_a_line(void **state)
{
	struct scene *s = *state;

	say_text(s, "last", 1);
	(void)close(s->peer);
	s->peer = -1;
	s->open--;
	hear(s);
	expect_line(s, "last", 1, false);
	expect_none(s);
	assert_true(lines_is_over(&s->conn.lines));
	assert_false(connection_may_read(&s->conn));
}

static void what_nobody_takes_is_closed(void **state)
{
	struct scene *s = *state;

	say_text(s, "a\n", 3);
	say_text(s, "b\n", 3);
	say_text(s, "c", 3);
	hear(s);
	assert_int_equal(s->conn.passed_count, 3);
}

static void a_kernel_without_descriptors_left_is_told_of(void **state)
{
	struct scene *s = *state;
	int some[4096];
	unsigned count = 0;

	say_text(s, "a\n", 3);
	while (count < 4096 && (some[count] = dup(s->nothing)) >= 0)
		count++;
	/* Only if the limit was reached, so that no descriptor is free. */
	if (count < 4096)
		hear(s);
	while (count > 0)
		(void)close(some[--count]);
	hear(s);
	struct connection_fds fds = line(s, "a");
	assert_true(fds.is_wrong ? fds.count == 0 : fds.count == 3);
}

static void what_goes_out_waits_for_the_peer(void **state)
{
	static const char much[1u << 20];
	struct scene *s = *state;
	char got[1u << 16];
	size_t sum = 0;
	ssize_t n;

	assert_true(buffer_append(&s->conn.out, much, sizeof(much)));
	assert_true(connection_write(&s->conn));
	assert_true(buffer_len(&s->conn.out) > 0);
	while ((n = recv(s->peer, got, sizeof(got), MSG_DONTWAIT)) > 0) {
		sum += (size_t)n;
		assert_true(connection_write(&s->conn));
	}
	assert_int_equal(sum, sizeof(much));
	(void)close(s->peer);
	s->peer = -1;
	s->open--;
	assert_true(buffer_append(&s->conn.out, much, 1));
	assert_false(connection_write(&s->conn)); /* and no SIGPIPE */
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(lines_come_whole_and_in_order),
		CASE(descriptors_come_with_their_line),
		CASE(lines_before_do_not_get_them),
		CASE(half_a_line_keeps_them_until_it_is_whole),
		CASE(beside_another_byte_they_are_wrong),
		CASE(twice_for_a_line_they_are_wrong),
		CASE(more_than_three_are_wrong),
		CASE(many_in_one_line_do_not_stop_it),
		CASE(lines_with_descriptors_wait_for_each_other),
		CASE(what_is_short_takes_little_memory),
		CASE(what_is_long_is_read_in_larger_pieces),
		CASE(a_long_line_is_dropped_as_it_comes),
		CASE(a_long_line_with_wrong_descriptors_harms_no_other),
		CASE(what_is_there_at_the_end_is_a_line),
		CASE(what_nobody_takes_is_closed),
		CASE(a_kernel_without_descriptors_left_is_told_of),
		CASE(what_goes_out_waits_for_the_peer),
	};

	return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
