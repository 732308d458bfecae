/* belt: hands bytes on between two sides, tells each side of the other's end, and
 * knows which side waits for the other and since when. */
#include "cli/belt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "tests/patience.h"

#define T0 1000

struct stage {
	struct belt belt;
	/* Owned: the writing end of the input, and the reading end of the output. */
	int writer, reader;
};

static int setup(void **state)
{
	static struct stage s;
	int from[2], to[2];

	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	s = (struct stage){ .writer = from[1], .reader = to[0] };
	assert_int_equal(fcntl(s.writer, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(s.reader, F_SETFL, O_NONBLOCK), 0);
	belt_begin(&s.belt, from[0], to[1], T0);
	*state = &s;
	return 0;
}

static int teardown(void **state)
{
	struct stage *s = *state;

	belt_done(&s->belt);
	own_close(&s->writer);
	own_close(&s->reader);
	return 0;
}

/* Runs one turn without waiting.  Returns false if there was nothing to do. */
static bool turn(struct stage *s, int64_t now)
{
	struct pollfd fds[BELT_FDS];

	belt_watch(&s->belt, fds);
	if (poll(fds, BELT_FDS, 0) == 0)
		return false;
	belt_serve(&s->belt, fds, now);
	return true;
}

static bool reads(struct stage *s, const char *text)
{
	char got[64] = "";

	return read(s->reader, got, sizeof(got)) == (ssize_t)strlen(text) &&
	       !strcmp(got, text);
}

/* Writes to the pipe until it is full.  Returns the number of bytes. */
static size_t fill(int fd)
{
	static const char bytes[4096];
	size_t len = 0;

	for (ssize_t n; (n = write(fd, bytes, sizeof(bytes))) > 0;)
		len += (size_t)n;
	assert_int_equal(errno, EAGAIN);
	return len;
}

static size_t empty(int fd)
{
	static char bytes[4096];
	size_t len = 0;

	for (ssize_t n; (n = read(fd, bytes, sizeof(bytes))) > 0;)
		len += (size_t)n;
	return len;
}

static void test_the_writer_is_waited_for_since_something_last_came(void **state)
{
	struct stage *s = *state;

	assert_true(!s->belt.is_full && s->belt.moved_ms == T0);
	assert_false(turn(s, T0 + 10));
	assert_int_equal(write(s->writer, "one", 3), 3);
	assert_true(turn(s, T0 + 20));
	assert_true(!s->belt.is_full && s->belt.moved_ms == T0 + 20 && reads(s, "one"));
	assert_false(turn(s, T0 + 30));
	assert_true(s->belt.moved_ms == T0 + 20);
}

static void test_the_reader_is_waited_for_when_it_takes_nothing(void **state)
{
	struct stage *s = *state;
	size_t len = 0;

	while (!s->belt.is_full) {
		len += fill(s->writer);
		assert_true(turn(s, T0 + 10));
	}
	len += fill(s->writer);
	assert_false(turn(s, T0 + 20));
	own_close(&s->writer); /* closing the input moves no bytes */
	assert_false(turn(s, T0 + 20));
	assert_true(s->belt.moved_ms == T0 + 10);
	size_t came = empty(s->reader);
	assert_true(came > 0 && turn(s, T0 + 30) && s->belt.moved_ms == T0 + 30);
	while (!belt_has_ended(&s->belt)) {
		came += empty(s->reader);
		(void)turn(s, T0 + 40);
	}
	assert_true(came + empty(s->reader) == len);
}

static void test_the_writers_end_is_the_readers_behind_all_that_came(void **state)
{
	struct stage *s = *state;

	assert_int_equal(write(s->writer, "last", 4), 4);
	own_close(&s->writer);
	while (!belt_has_ended(&s->belt))
		assert_true(turn(s, T0 + 50));
	assert_true(s->belt.moved_ms == T0 + 50);
	assert_true(reads(s, "last") && reads(s, ""));
	assert_false(turn(s, T0 + 60));
}

static void test_the_writers_end_is_seen_while_the_reader_has_no_room(void **state)
{
	struct stage *s = *state;

	/* Both pipes have the same size: the output takes all of the input. */
	size_t len = fill(s->writer);
	while (turn(s, T0 + 10)) {
		/* until the input is empty */
	}
	assert_true(!s->belt.is_full && !belt_has_ended(&s->belt));
	own_close(&s->writer);
	assert_true(turn(s, T0 + 20) && belt_has_ended(&s->belt));
	assert_true(s->belt.moved_ms == T0 + 20 && empty(s->reader) == len);
}

static void test_the_readers_end_is_the_writers(void **state)
{
	struct stage *s = *state;

	own_close(&s->reader);
	assert_true(turn(s, T0 + 10) && belt_has_ended(&s->belt));
	assert_true(write(s->writer, "x", 1) < 0 && errno == EPIPE);
}

static void test_a_reader_that_goes_while_it_is_waited_for_is_seen(void **state)
{
	struct stage *s = *state;

	while (!s->belt.is_full) {
		(void)fill(s->writer);
		assert_true(turn(s, T0));
	}
	own_close(&s->reader);
	assert_true(turn(s, T0 + 10) && belt_has_ended(&s->belt));
	assert_true(write(s->writer, "x", 1) < 0 && errno == EPIPE);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_writer_is_waited_for_since_something_last_came),
		TEST(test_the_reader_is_waited_for_when_it_takes_nothing),
		TEST(test_the_writers_end_is_the_readers_behind_all_that_came),
		TEST(test_the_writers_end_is_seen_while_the_reader_has_no_room),
		TEST(test_the_readers_end_is_the_writers),
		TEST(test_a_reader_that_goes_while_it_is_waited_for_is_seen),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	(void)alarm(PATIENCE_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
