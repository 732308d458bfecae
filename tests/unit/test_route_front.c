/* front: connections of clients, where descriptors are scarce.
 *
 * The clients connect by a unix socket: there a connect and a close are with the front at
 * once, and on loopback they may come later than a turn looks for them. */
#include "gateway/route/front.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"

struct world {
	struct front front;
	struct pods pods;
	struct sockaddr_un at; /* a name that the kernel has chosen */
	socklen_t len;
	int listener, link[2];
	struct rlimit before;
};

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct err e;

	assert_non_null(w);
	w->at.sun_family = AF_UNIX;
	w->len = sizeof(w->at);
	w->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_int_equal(
		bind(w->listener, (struct sockaddr *)&w->at, sizeof(w->at.sun_family)),
		0);
	assert_int_equal(listen(w->listener, 16), 0);
	assert_int_equal(getsockname(w->listener, (struct sockaddr *)&w->at, &w->len), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, w->link),
			 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &w->before), 0);
	assert_int_equal(pods_add(&w->pods, "a=127.0.0.1:1", NULL, &e), 0);
	w->front.pods = &w->pods;
	w->front.connections = 100;
	w->front.wait_ms = 1000;
	const int fds[] = { w->listener, -1 };
	assert_int_equal(front_begin(&w->front, fds, w->link[0], &e), 0);
	*state = w;
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &w->before), 0);
	front_end(&w->front);
	pods_done(&w->pods);
	(void)close(w->listener);
	(void)close(w->link[0]);
	(void)close(w->link[1]);
	free(w);
	return 0;
}

static int connect_to(const struct world *w)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&w->at, w->len), 0);
	return fd;
}

/* Lets the process open no further descriptor. */
static void take_descriptors(const struct world *w)
{
	const int next = fcntl(w->listener, F_DUPFD, 0);
	const struct rlimit none = { (rlim_t)next, w->before.rlim_max };

	assert_true(next >= 0);
	(void)close(next);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
}

static void turn(struct world *w)
{
	struct err e;

	assert_int_equal(loop_step(&w->front.loop, 0, &e), 0);
}

/* Whether the next turn would find an event, and so begin at once. */
static bool is_ready(const struct world *w)
{
	struct pollfd p = { .fd = w->front.loop.epoll, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void a_connection_without_a_descriptor_waits_in_the_queue(void **state)
{
	struct world *w = *state;
	const int first = connect_to(w), second = connect_to(w);

	turn(w);
	assert_int_equal(w->front.count, 1);
	take_descriptors(w);
	assert_true(is_ready(w));
	turn(w);
	assert_int_equal(w->front.count, 1);
	assert_false(is_ready(w)); /* each turn would fail like this one */

	(void)close(first);
	turn(w); /* the first client ends */
	assert_int_equal(w->front.count, 0);
	turn(w);
	assert_int_equal(w->front.count, 1);
	(void)close(second);
}

static void a_sweep_tries_again_where_no_client_ends(void **state)
{
	struct world *w = *state;
	const int first = connect_to(w);

	take_descriptors(w);
	turn(w);
	assert_int_equal(w->front.count, 0);
	assert_false(is_ready(w));

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &w->before), 0);
	w->front.loop.now = w->front.sweep.due;
	loop_expire(&w->front.loop);
	turn(w);
	assert_int_equal(w->front.count, 1);
	(void)close(first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_connection_without_a_descriptor_waits_in_the_queue, begin, end),
		cmocka_unit_test_setup_teardown(a_sweep_tries_again_where_no_client_ends,
						begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
