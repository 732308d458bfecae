/* stream: bytes go from one socket to another through the kernel, in order, with their
 * end. */
#include "egress/gate/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/scene.h"

/* Two pairs of sockets: what is written to `source` can be moved from `from` to `to`, and
 * arrives at `sink`. */
struct line {
	int source, from, to, sink;
	struct stream_pool pool;
	struct stream stream;
};

static void line_init(struct line *l)
{
	int a[2], b[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, a), 0);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, b), 0);
	*l = (struct line){ .source = a[0], .from = a[1], .to = b[0], .sink = b[1] };
	stream_init(&l->stream);
}

static void line_done(struct line *l)
{
	stream_done(&l->stream);
	stream_pool_done(&l->pool);
	own_close(&l->source);
	own_close(&l->from);
	own_close(&l->to);
	own_close(&l->sink);
}

static enum stream_news move(struct line *l)
{
	return stream_move(&l->stream, &l->pool, l->from, l->to);
}

static void test_bytes_arrive_and_an_idle_stream_has_no_pipe(void **state)
{
	struct line l;
	char got[8];

	(void)state;
	line_init(&l);
	assert_int_equal(move(&l), STREAM_WAITS);
	assert_int_equal(write(l.source, "abc", 3), 3);
	assert_int_equal(move(&l), STREAM_WAITS);
	assert_int_equal(read(l.sink, got, sizeof(got)), 3);
	assert_memory_equal(got, "abc", 3);
	assert_int_equal(l.stream.bytes, 3);
	assert_int_equal(l.stream.pipe[0], -1);
	assert_int_equal(l.pool.count, 1);
	line_done(&l);
}

static void test_the_end_is_passed_on_behind_the_last_byte(void **state)
{
	struct line l;
	char got[8];

	(void)state;
	line_init(&l);
	assert_int_equal(write(l.source, "abc", 3), 3);
	own_close(&l.source);
	assert_int_equal(move(&l), STREAM_DONE);
	assert_int_equal(read(l.sink, got, sizeof(got)), 3);
	assert_int_equal(read(l.sink, got, sizeof(got)), 0);
	assert_int_equal(move(&l), STREAM_DONE);
	line_done(&l);
}

static void test_a_reader_that_is_slow_holds_a_pipe_and_loses_nothing(void **state)
{
	static char block[1 << 16], got[1 << 16];
	struct line l;
	size_t sent = 0, came = 0;
	ssize_t n;

	(void)state;
	line_init(&l);
	/* until neither the pipe nor a socket takes more */
	while ((n = write(l.source, block, sizeof(block))) > 0) {
		sent += (size_t)n;
		while (move(&l) == STREAM_MORE)
			;
	}
	assert_true(l.stream.held > 0 && l.stream.pipe[0] >= 0);
	while (came < sent) {
		while ((n = read(l.sink, got, sizeof(got))) > 0)
			came += (size_t)n;
		while (move(&l) == STREAM_MORE)
			;
	}
	assert_int_equal(came, sent);
	assert_int_equal(l.stream.bytes, sent);
	assert_int_equal(l.stream.pipe[0], -1);
	line_done(&l);
}

static void test_a_limit_holds_the_bytes_behind_it(void **state)
{
	struct line l;
	char got[8];

	(void)state;
	line_init(&l);
	l.stream.limit = 2;
	assert_int_equal(write(l.source, "abc", 3), 3);
	own_close(&l.source);
	assert_int_equal(move(&l), STREAM_WAITS);
	assert_int_equal(read(l.sink, got, sizeof(got)), 2);
	assert_int_equal(read(l.sink, got, sizeof(got)), -1);
	l.stream.limit = UINT64_MAX;
	assert_int_equal(move(&l), STREAM_DONE);
	assert_int_equal(read(l.sink, got, sizeof(got)), 1);
	assert_int_equal(*got, 'c');
	line_done(&l);
}

static void test_a_sink_that_is_gone_breaks_the_stream(void **state)
{
	struct line l;

	(void)state;
	line_init(&l);
	own_close(&l.sink);
	assert_int_equal(write(l.source, "abc", 3), 3);
	assert_int_equal(move(&l), STREAM_BROKE);
	line_done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_arrive_and_an_idle_stream_has_no_pipe),
		cmocka_unit_test(test_the_end_is_passed_on_behind_the_last_byte),
		cmocka_unit_test(
			test_a_reader_that_is_slow_holds_a_pipe_and_loses_nothing),
		cmocka_unit_test(test_a_limit_holds_the_bytes_behind_it),
		cmocka_unit_test(test_a_sink_that_is_gone_breaks_the_stream),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
