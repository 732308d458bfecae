/* channel: requests are sent as far as the socket has room. Three descriptors are
 * sent exactly once, with the first byte of the request to which they belong. */
#include "sandbox/launch/channel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/own.h"
#include "protocol/message.h"
#include "tests/unit/scene.h"

struct pair {
	struct channel ours;
	int theirs, null;
	struct buffer got; /* all bytes that the peer received */
	unsigned passed;   /* number of descriptors that the peer received */
	size_t passed_at;  /* offset of the byte with which the descriptors came */
};

static int pair_setup(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));
	int ends[2];

	if (!p || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	channel_init(&p->ours, ends[0]);
	p->theirs = ends[1];
	p->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	buffer_init(&p->got, 32u << 20);
	*state = p;
	return 0;
}

static int pair_teardown(void **state)
{
	struct pair *p = *state;

	own_close(&p->ours.fd);
	own_close(&p->theirs);
	own_close(&p->null);
	buffer_done(&p->got);
	channel_done(&p->ours);
	free(p);
	return 0;
}

/* Returns false if there is nothing to receive. */
static bool receive(struct pair *p)
{
	union {
		char space[CMSG_SPACE(16 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec bytes = { buffer_reserve(&p->got, 65536), 65536 };
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(p->theirs, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;

	if (n <= 0)
		return false;
	for (size_t i = 0; head && CMSG_LEN((i + 1) * sizeof(int)) <= head->cmsg_len;
	     i++) {
		int fd;
		memcpy(&fd, CMSG_DATA(head) + i * sizeof(fd), sizeof(fd));
		p->passed_at = buffer_len(&p->got);
		p->passed++;
		own_close(&fd);
	}
	buffer_added(&p->got, (size_t)n);
	return true;
}

static int send_exec(struct pair *p, size_t size, struct err *e)
{
	AUTO_FREE char *long_word = calloc(1, size + 1);
	char *argv[] = { long_word, NULL }, *env[] = { NULL };
	const struct exec x = { .cwd = "/", .argv = argv, .env = env };
	const int fds[3] = { p->null, p->null, p->null };

	memset(long_word, 'x', size);
	return channel_send_exec(&p->ours, 1, &x, fds, e);
}

static struct frame first_frame(struct pair *p)
{
	struct frame f;
	struct err e;

	assert_int_equal(frame_next(&p->got, FRAME_MAX_TO_EXECUTOR, &f, &e), 1);
	return f;
}

static void test_a_small_request_goes_at_once(void **state)
{
	struct pair *p = *state;
	struct err e;

	assert_int_equal(send_exec(p, 10, &e), 0);
	assert_true(channel_has_passed(&p->ours));
	assert_int_equal(channel_events(&p->ours), POLLIN);
	assert_true(receive(p));
	assert_int_equal(p->passed, 3);
	assert_int_equal(p->passed_at, 0);
	assert_int_equal(first_frame(p).type, MSG_EXEC);
	assert_int_equal(first_frame(p).id, 1);
}

static void test_a_cgroup_goes_alone_and_before_a_request(void **state)
{
	struct pair *p = *state;
	struct err e;

	assert_int_equal(channel_send_cgroup(&p->ours, p->null, &e), 0);
	assert_true(channel_has_passed(&p->ours));
	assert_int_equal(send_exec(p, 10, &e), 0);
	assert_true(receive(p));
	assert_int_equal(p->passed, 1);
	assert_int_equal(p->passed_at, 0);
	assert_int_equal(first_frame(p).type, MSG_CGROUP);
	assert_true(receive(p));
	assert_int_equal(p->passed, 1 + 3);
	assert_int_equal(p->passed_at, FRAME_HEADER);
}

static void test_requests_wait_while_they_are_held(void **state)
{
	struct pair *p = *state;
	struct err e;

	p->ours.is_held = true;
	assert_int_equal(channel_send_cgroup(&p->ours, p->null, &e), 0);
	assert_true(receive(p));
	assert_int_equal(p->passed, 1);
	assert_int_equal(send_exec(p, 10, &e), 0);
	assert_int_equal(channel_flush(&p->ours, &e), 0);
	assert_false(receive(p));
	assert_false(channel_has_passed(&p->ours));
	assert_int_equal(channel_events(&p->ours), POLLIN);
	assert_int_equal(channel_send_signal(&p->ours, 1, 15, &e), 0);
	p->ours.is_held = false;
	assert_int_equal(channel_events(&p->ours), POLLIN | POLLOUT);
	assert_int_equal(channel_flush(&p->ours, &e), 0);
	assert_true(receive(p));
	assert_int_equal(p->passed, 1 + 3);
	assert_int_equal(p->passed_at, FRAME_HEADER);
}

static void test_a_large_one_goes_as_the_socket_takes_it(void **state)
{
	struct pair *p = *state;
	size_t turns = 0;
	struct err e;

	assert_int_equal(send_exec(p, 7u << 20, &e), 0);
	while (channel_events(&p->ours) & POLLOUT) {
		while (receive(p))
			;
		assert_int_equal(channel_flush(&p->ours, &e), 0);
		turns++;
	}
	while (receive(p))
		;
	assert_true(turns > 1);
	assert_int_equal(p->passed, 3);
	assert_int_equal(p->passed_at, 0);
	assert_int_equal(first_frame(p).len + FRAME_HEADER, buffer_len(&p->got));
}

/* As long as the socket has no room, the descriptors are not sent, so the supervisor
 * must not close its copies. */
static void test_without_room_nothing_has_passed(void **state)
{
	struct pair *p = *state;
	struct err e;

	while (send(p->ours.fd, "xxxxxxxx", 8, MSG_DONTWAIT) > 0)
		;
	assert_int_equal(send_exec(p, 10, &e), 0);
	assert_false(channel_has_passed(&p->ours));
	assert_int_equal(channel_events(&p->ours), POLLIN | POLLOUT);
	while (receive(p))
		;
	assert_int_equal(p->passed, 0);
	assert_int_equal(channel_flush(&p->ours, &e), 0);
	assert_true(channel_has_passed(&p->ours));
	assert_true(receive(p));
	assert_int_equal(p->passed, 3);
}

static void test_a_request_beyond_8_mib_is_an_error_and_sends_nothing(void **state)
{
	struct pair *p = *state;
	struct err e;

	assert_int_equal(send_exec(p, 8u << 20, &e), -1);
	assert_int_equal(e.kind, ERR_LIMIT);
	assert_non_null(strstr(e.text, "arguments and environment"));
	assert_false(receive(p));
	assert_true(channel_has_passed(&p->ours));
}

static void test_a_request_to_nobody_is_dropped_quietly(void **state)
{
	struct pair *p = *state;
	struct err e;

	own_close(&p->theirs);
	assert_int_equal(send_exec(p, 10, &e), 0);
	assert_int_equal(channel_send_signal(&p->ours, 1, 15, &e), 0);
	assert_int_equal(channel_events(&p->ours), POLLIN);
}

static void test_signal_and_resize(void **state)
{
	struct pair *p = *state;
	uint32_t signo, rows, cols;
	struct frame f;
	struct err e;

	assert_int_equal(channel_send_signal(&p->ours, 7, 15, &e), 0);
	assert_int_equal(channel_send_resize(&p->ours, 7, 25, 81, &e), 0);
	while (receive(p))
		;
	f = first_frame(p);
	assert_int_equal(f.id, 7);
	assert_int_equal(message_get_signal(&f, &signo, &e), 0);
	assert_int_equal(signo, 15);
	buffer_consume(&p->got, FRAME_HEADER + f.len);
	f = first_frame(p);
	assert_int_equal(message_get_resize(&f, &rows, &cols, &e), 0);
	assert_int_equal(rows, 25);
	assert_int_equal(cols, 81);
	assert_int_equal(p->passed, 0);
}

static void test_end_and_hold(void **state)
{
	struct pair *p = *state;
	bool is_held;
	struct frame f;
	struct err e;

	assert_int_equal(channel_send_end(&p->ours, 7, &e), 0);
	assert_int_equal(channel_send_hold(&p->ours, true, &e), 0);
	while (receive(p))
		;
	f = first_frame(p);
	assert_int_equal(f.id, 7);
	assert_int_equal(f.type, MSG_END);
	assert_int_equal(message_get_end(&f, &e), 0);
	buffer_consume(&p->got, FRAME_HEADER + f.len);
	f = first_frame(p);
	assert_int_equal(f.id, 0);
	assert_int_equal(message_get_hold(&f, &is_held, &e), 0);
	assert_true(is_held);
}

static void test_a_signal_to_all_and_a_stop(void **state)
{
	struct pair *p = *state;
	uint32_t signo, grace_ms;
	struct frame f;
	struct err e;

	assert_int_equal(channel_send_signal(&p->ours, 0, 19, &e), 0);
	assert_int_equal(channel_send_stop(&p->ours, 10000, &e), 0);
	while (receive(p))
		;
	f = first_frame(p);
	assert_int_equal(f.id, 0);
	assert_int_equal(message_get_signal(&f, &signo, &e), 0);
	assert_int_equal(signo, 19);
	buffer_consume(&p->got, FRAME_HEADER + f.len);
	f = first_frame(p);
	assert_int_equal(f.id, 0);
	assert_int_equal(message_get_stop(&f, &grace_ms, &e), 0);
	assert_int_equal(grace_ms, 10000);
	assert_int_equal(p->passed, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_a_small_request_goes_at_once),
		TEST(test_a_cgroup_goes_alone_and_before_a_request),
		TEST(test_requests_wait_while_they_are_held),
		TEST(test_a_large_one_goes_as_the_socket_takes_it),
		TEST(test_without_room_nothing_has_passed),
		TEST(test_a_request_beyond_8_mib_is_an_error_and_sends_nothing),
		TEST(test_a_request_to_nobody_is_dropped_quietly),
		TEST(test_signal_and_resize),
		TEST(test_end_and_hold),
		TEST(test_a_signal_to_all_and_a_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
