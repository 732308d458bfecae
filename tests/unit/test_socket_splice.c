/* socket_splice: copies bytes in both directions; each direction may end by itself,
 * in order or not. */
#include "protocol/socket_splice.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include <cmocka.h>

#include "tests/unit/sockets.h"

struct scene {
	struct socket_splice c;
	int peer;     /* the peer's end of the connection */
	int to, from; /* the other ends of the two pipes */
};

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	int ends[2], in[2], out[2];

	(void)signal(SIGPIPE, SIG_IGN);
	tcp_pair(ends);
	assert_int_equal(pipe2(in, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC | O_NONBLOCK), 0);
	unblock(ends[0]);
	socket_splice_init(&s->c, ends[0], in[0], out[1]);
	s->peer = ends[1];
	s->to = in[1];
	s->from = out[0];
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	socket_splice_done(&s->c);
	own_close(&s->peer);
	own_close(&s->to);
	own_close(&s->from);
	free(s);
	return 0;
}

static void put(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void test_bytes_go_both_ways(void **state)
{
	struct scene *s = *state;

	put(s->peer, "question");
	put(s->to, "answer");
	assert_true(comes(s->c.socket, POLLIN));
	assert_int_equal(socket_splice_run(&s->c), SOCKET_SPLICE_WAITS);
	must_read(s->from, "question");
	must_read(s->peer, "answer");
	assert_int_equal(s->c.out_bytes, 8);
	assert_int_equal(s->c.in_bytes, 6);
}

static void test_one_direction_ends_and_the_other_goes_on(void **state)
{
	struct scene *s = *state;

	put(s->peer, "all");
	(void)shutdown(s->peer, SHUT_WR);
	assert_true(comes(s->c.socket, POLLRDHUP));
	(void)socket_splice_run(&s->c);
	must_read(s->from, "all");
	assert_int_equal(how_it_ends(s->from), 0);
	assert_true(s->c.out < 0);
	assert_false(socket_splice_is_over(&s->c));
	put(s->to, "still");
	assert_int_equal(socket_splice_run(&s->c), SOCKET_SPLICE_WAITS);
	must_read(s->peer, "still");
}

static void test_a_pipe_that_ends_without_a_word_is_no_end(void **state)
{
	struct scene *s = *state;

	put(s->to, "half");
	own_close(&s->to);
	assert_int_equal(socket_splice_run(&s->c), SOCKET_SPLICE_WAITS);
	must_read(s->peer, "half");
	assert_int_equal(socket_splice_run(&s->c), SOCKET_SPLICE_WAITS);
	assert_true(has_nothing(s->peer));
	socket_splice_finish(&s->c);
	assert_int_equal(socket_splice_run(&s->c), SOCKET_SPLICE_WAITS);
	assert_int_equal(how_it_ends(s->peer), 0);
}

static void test_a_word_before_the_last_byte_cuts_nothing_off(void **state)
{
	struct scene *s = *state;

	socket_splice_finish(&s->c);
	put(s->to, "late");
	assert_int_equal(socket_splice_run(&s->c), SOCKET_SPLICE_WAITS);
	own_close(&s->to);
	(void)shutdown(s->peer, SHUT_WR);
	assert_true(comes(s->c.socket, POLLRDHUP));
	(void)socket_splice_run(&s->c);
	must_read(s->peer, "late");
	assert_int_equal(how_it_ends(s->peer), 0);
	assert_true(socket_splice_is_over(&s->c));
}

static void test_a_reset_is_told_and_given_on(void **state)
{
	struct scene *s = *state;

	reset(&s->peer);
	assert_true(comes(s->c.socket, POLLIN));
	assert_int_equal(socket_splice_run(&s->c), SOCKET_SPLICE_BROKEN);
	assert_int_equal(s->c.sys, ECONNRESET);
}

static void test_a_reset_is_seen_when_nothing_more_is_read(void **state)
{
	struct scene *s = *state;

	(void)shutdown(s->peer, SHUT_WR);
	assert_true(comes(s->c.socket, POLLRDHUP));
	(void)socket_splice_run(&s->c);
	assert_true(s->c.out < 0);
	reset(&s->peer);
	assert_true(comes(s->c.socket, POLLERR));
	assert_int_equal(socket_splice_run(&s->c), SOCKET_SPLICE_BROKEN);
}

static void test_a_reset_is_one_for_the_peer(void **state)
{
	struct scene *s = *state;

	socket_splice_reset(&s->c);
	assert_int_equal(how_it_ends(s->peer), ECONNRESET);
	assert_int_equal(how_it_ends(s->from), 0);
	socket_splice_reset(&s->c);
}

static void test_bytes_without_a_reader_keep_back_no_answer(void **state)
{
	struct scene *s = *state;

	put(s->to, "too large");
	own_close(&s->from); /* the pipe for the peer's bytes has no reader any more */
	put(s->peer, "question");
	assert_true(comes(s->c.socket, POLLIN));
	assert_int_equal(socket_splice_run(&s->c), SOCKET_SPLICE_WAITS);
	assert_true(s->c.is_unheard);
	must_read(s->peer, "too large");
	put(s->to, "by far");
	assert_int_equal(socket_splice_run(&s->c), SOCKET_SPLICE_WAITS);
	must_read(s->peer, "by far");
}

/* Sends bytes while the pipe is not read, which stops the splice again and again;
 * then all bytes arrive. */
static void test_an_end_that_does_not_read_stops_the_other_and_loses_nothing(void **state)
{
	enum { SIZE = 4096 };
	struct scene *s = *state;
	static uint8_t piece[SIZE], got[SIZE];
	size_t sent = 0, read_back = 0;

	unblock(s->peer);
	for (int stuck = 0; stuck < 3; stuck++) {
		ssize_t n;
		while ((n = write(s->peer, piece, SIZE)) > 0)
			sent += (size_t)n, stuck = 0;
		(void)socket_splice_run(&s->c);
	}
	/* As many bytes were taken as fit into the pipe and the two queues of the
	 * connection. */
	assert_true(sent > 65536 && sent < 64u << 20);
	assert_int_equal(socket_splice_run(&s->c), SOCKET_SPLICE_WAITS);
	while (read_back < sent) {
		ssize_t n = read(s->from, got, sizeof(got));
		if (n > 0)
			read_back += (size_t)n;
		else if (socket_splice_run(&s->c) == SOCKET_SPLICE_WAITS &&
			 has_nothing(s->from))
			assert_true(comes(s->c.socket, POLLIN));
	}
	assert_int_equal(read_back, sent);
	assert_true(has_nothing(s->from));
}

static void test_an_edge_comes_for_each_end(void **state)
{
	struct scene *s = *state;
	struct epoll_event event;
	AUTO_CLOSE int epoll = epoll_create1(EPOLL_CLOEXEC);

	assert_true(socket_splice_watch(&s->c, epoll, 77));
	while (epoll_wait(epoll, &event, 1, 0) == 1)
		assert_int_equal(event.data.u64, 77);
	put(s->peer, "x");
	assert_int_equal(epoll_wait(epoll, &event, 1, PATIENCE_MS), 1);
	put(s->to, "y");
	assert_int_equal(epoll_wait(epoll, &event, 1, PATIENCE_MS), 1);
	assert_int_equal(epoll_wait(epoll, &event, 1, 0), 0);
	socket_splice_done(&s->c);
	assert_int_equal(epoll_wait(epoll, &event, 1, 0), 0);
}

static void forget_events(int epoll)
{
	struct epoll_event event;

	while (epoll_wait(epoll, &event, 1, 0) == 1)
		;
}

/* Takes all bytes out of the pipe as the other side does it. */
static void take_all(int pipe)
{
	AUTO_CLOSE int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	while (splice(pipe, NULL, null, NULL, 1u << 20, SPLICE_F_NONBLOCK) > 0)
		;
}

static void test_bytes_that_are_taken_are_no_event(void **state)
{
	struct scene *s = *state;
	struct epoll_event event;
	AUTO_CLOSE int epoll = epoll_create1(EPOLL_CLOEXEC);

	assert_true(socket_splice_watch(&s->c, epoll, 1));
	put(s->peer, "question");
	assert_true(comes(s->c.socket, POLLIN));
	assert_int_equal(socket_splice_run(&s->c), SOCKET_SPLICE_WAITS);
	forget_events(epoll);
	take_all(s->from);
	assert_int_equal(epoll_wait(epoll, &event, 1, 0), 0);
}

/* Sends one byte and moves it on if there is room.  Each byte takes one place of the pipe,
 * since splice(2) joins none. */
static bool moves_a_byte(struct scene *s)
{
	const uint64_t before = s->c.out_bytes;

	put(s->peer, "x");
	assert_true(comes(s->c.socket, POLLIN));
	assert_int_equal(socket_splice_run(&s->c), SOCKET_SPLICE_WAITS);
	return s->c.out_bytes > before;
}

static void test_room_in_a_full_pipe_is_an_event(void **state)
{
	struct scene *s = *state;
	struct epoll_event event;
	AUTO_CLOSE int epoll = epoll_create1(EPOLL_CLOEXEC);

	assert_true(socket_splice_watch(&s->c, epoll, 1));
	for (int again = 0; again < 2; again++) {
		while (moves_a_byte(s))
			;
		forget_events(epoll);
		take_all(s->from);
		assert_int_equal(epoll_wait(epoll, &event, 1, PATIENCE_MS), 1);
		assert_true(moves_a_byte(s));
		/* The socket has no byte any more, and room is no event again. */
		forget_events(epoll);
		take_all(s->from);
		assert_int_equal(epoll_wait(epoll, &event, 1, 0), 0);
	}
}

static struct epoll_event next_event(int epoll)
{
	struct epoll_event event = { 0 };

	assert_int_equal(epoll_wait(epoll, &event, 1, PATIENCE_MS), 1);
	return event;
}

static void test_an_event_of_bytes_moves_these_alone(void **state)
{
	struct scene *s = *state;
	struct epoll_event event;
	AUTO_CLOSE int epoll = epoll_create1(EPOLL_CLOEXEC);

	assert_true(socket_splice_watch(&s->c, epoll, 77));
	forget_events(epoll);
	put(s->to, "answer");
	event = next_event(epoll);
	assert_int_equal(event.data.u64, 77 | SOCKET_SPLICE_PIPE);
	put(s->peer, "question");
	assert_true(comes(s->c.socket, POLLIN));
	assert_int_equal(socket_splice_take(&s->c, &event), SOCKET_SPLICE_WAITS);
	must_read(s->peer, "answer");
	assert_true(has_nothing(s->from));
	event = next_event(epoll);
	assert_int_equal(event.data.u64, 77);
	assert_int_equal(socket_splice_take(&s->c, &event), SOCKET_SPLICE_WAITS);
	must_read(s->from, "question");
}

static void test_bytes_and_an_end_are_one_event(void **state)
{
	struct scene *s = *state;
	struct epoll_event event;
	AUTO_CLOSE int epoll = epoll_create1(EPOLL_CLOEXEC);

	assert_true(socket_splice_watch(&s->c, epoll, 1));
	forget_events(epoll);
	socket_splice_finish(&s->c);
	put(s->to, "last");
	own_close(&s->to);
	event = next_event(epoll);
	assert_int_equal(socket_splice_take(&s->c, &event), SOCKET_SPLICE_WAITS);
	must_read(s->peer, "last");
	assert_int_equal(how_it_ends(s->peer), 0);
	put(s->peer, "all");
	(void)shutdown(s->peer, SHUT_WR);
	assert_true(comes(s->c.socket, POLLRDHUP));
	while (!socket_splice_is_over(&s->c)) {
		event = next_event(epoll);
		(void)socket_splice_take(&s->c, &event);
	}
	must_read(s->from, "all");
}

/* A transfer in both directions, of which the ends read only when all else has
 * stopped. */
struct transfer {
	uint64_t sent, got;
};

static bool sends(struct transfer *t, int to, uint64_t all)
{
	static const uint8_t piece[60000];
	const uint64_t left = all - t->sent;
	ssize_t n = left ? write(to, piece, left < sizeof(piece) ? left : sizeof(piece))
			 : 0;

	t->sent += n > 0 ? (uint64_t)n : 0;
	return n > 0;
}

static bool gets(struct transfer *t, int from)
{
	static uint8_t piece[100000];
	ssize_t n = read(from, piece, sizeof(piece));

	t->got += n > 0 ? (uint64_t)n : 0;
	return n > 0;
}

static bool has_event(struct scene *s, int epoll)
{
	struct epoll_event event;

	if (epoll_wait(epoll, &event, 1, 0) != 1)
		return false;
	enum socket_splice_state now = socket_splice_take(&s->c, &event);
	while (now == SOCKET_SPLICE_HAS_MORE)
		now = socket_splice_run(&s->c);
	assert_int_equal(now, SOCKET_SPLICE_WAITS);
	return true;
}

static void test_an_event_of_bytes_and_of_room_moves_both(void **state)
{
	struct scene *s = *state;
	struct transfer in = { 0 };
	struct epoll_event event;
	AUTO_CLOSE int epoll = epoll_create1(EPOLL_CLOEXEC);

	unblock(s->peer);
	assert_true(socket_splice_watch(&s->c, epoll, 1));
	while (sends(&in, s->to, UINT64_MAX))
		while (has_event(s, epoll))
			;
	const uint64_t before = s->c.in_bytes;
	assert_true(in.sent > before); /* the socket has no room for them */
	put(s->peer, "x");
	assert_true(comes(s->c.socket, POLLIN));
	while (in.got < before)
		if (!gets(&in, s->peer))
			assert_true(comes(s->peer, POLLIN));
	assert_true(comes(s->c.socket, POLLOUT));
	do {
		event = next_event(epoll);
	} while (event.data.u64 & SOCKET_SPLICE_PIPE);
	assert_int_equal(event.events, EPOLLIN | EPOLLOUT);
	(void)socket_splice_take(&s->c, &event);
	assert_true(s->c.in_bytes > before);
	must_read(s->from, "x");
}

static void test_events_alone_move_all_bytes_however_slow_the_ends(void **state)
{
	enum { ALL = 16 << 20 };
	struct scene *s = *state;
	struct transfer out = { 0 }, in = { 0 };
	AUTO_CLOSE int epoll = epoll_create1(EPOLL_CLOEXEC);

	unblock(s->peer);
	assert_true(socket_splice_watch(&s->c, epoll, 1));
	while (out.got < ALL || in.got < ALL) {
		struct pollfd fds[] = { { .fd = epoll, .events = POLLIN },
					{ .fd = s->peer, .events = POLLIN },
					{ .fd = s->from, .events = POLLIN } };
		if (has_event(s, epoll) || sends(&out, s->peer, ALL) ||
		    sends(&in, s->to, ALL))
			continue;
		if (!gets(&out, s->from) && !gets(&in, s->peer))
			assert_true(poll(fds, ARRAY_LEN(fds), PATIENCE_MS) > 0);
	}
	assert_int_equal(out.got + in.got, 2 * ALL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bytes_go_both_ways),
		TEST(test_one_direction_ends_and_the_other_goes_on),
		TEST(test_a_pipe_that_ends_without_a_word_is_no_end),
		TEST(test_a_word_before_the_last_byte_cuts_nothing_off),
		TEST(test_a_reset_is_told_and_given_on),
		TEST(test_a_reset_is_seen_when_nothing_more_is_read),
		TEST(test_a_reset_is_one_for_the_peer),
		TEST(test_bytes_without_a_reader_keep_back_no_answer),
		TEST(test_an_end_that_does_not_read_stops_the_other_and_loses_nothing),
		TEST(test_an_edge_comes_for_each_end),
		TEST(test_bytes_that_are_taken_are_no_event),
		TEST(test_room_in_a_full_pipe_is_an_event),
		TEST(test_an_event_of_bytes_moves_these_alone),
		TEST(test_bytes_and_an_end_are_one_event),
		TEST(test_an_event_of_bytes_and_of_room_moves_both),
		TEST(test_events_alone_move_all_bytes_however_slow_the_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
