/* port_connect: connects to a port inside, from the request to the connection's last
 * frame. */
#include "executor/port_connect.h"

#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/frame.h"
#include "executor/process/processes.h"
#include "protocol/message.h"
#include "tests/unit/sockets.h"

#define ID (DIAL_ID | 7)

struct scene {
	struct processes processes;
	struct port_connect d;
	struct buffer out;
	int to, from; /* the supervisor's ends of the connection's pipes */
	int server;
	uint16_t port;
};

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	(void)signal(SIGPIPE, SIG_IGN);
	processes_init(&s->processes);
	port_connect_init(&s->d, &s->processes);
	buffer_init(&s->out, 65536);
	s->to = s->from = -1;
	s->server = listen_at(AF_INET, &s->port);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	port_connect_done(&s->d);
	processes_done(&s->processes);
	buffer_done(&s->out);
	own_close(&s->to);
	own_close(&s->from);
	own_close(&s->server);
	free(s);
	return 0;
}

static void start(struct scene *s, uint32_t id, uint16_t port)
{
	int in[2], out[2];

	assert_int_equal(pipe2(in, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC | O_NONBLOCK), 0);
	own_close(&s->to);
	own_close(&s->from);
	s->to = in[1];
	s->from = out[0];
	const struct dial_request request = { id, port, in[0], out[1] };
	port_connect_start(&s->d, &request);
}

/* Runs the executor's loop until it sends a frame, and returns that. */
static struct frame next(struct scene *s)
{
	struct frame f = { 0 };
	struct err e;

	while (frame_next(&s->out, 65536, &f, &e) != 1) {
		assert_true(comes(port_connect_fd(&s->d), POLLIN));
		port_connect_serve(&s->d);
		assert_int_equal(port_connect_report(&s->d, &s->out, &e), 0);
	}
	return f;
}

static void must_say(struct scene *s, uint16_t type, uint32_t id, uint32_t sys)
{
	struct err e;
	uint32_t got;

	if (frame_next(&s->out, 65536, &(struct frame){ 0 }, &e) != 1)
		assert_int_equal(port_connect_report(&s->d, &s->out, &e), 0);
	struct frame f = next(s);
	assert_int_equal(f.type, type);
	assert_int_equal(f.id, id);
	if (type == MSG_CLOSED) {
		assert_int_equal(message_get_closed(&f, &got, &e), 0);
		assert_int_equal(got, sys);
	}
	buffer_consume(&s->out, FRAME_HEADER + f.len);
}

/* Runs turns until the server has a connection to accept. */
static int accepted(struct scene *s)
{
	assert_true(comes(s->server, POLLIN));
	int fd = accept4(s->server, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	port_connect_serve(&s->d);
	return fd;
}

static void serve_when(struct scene *s)
{
	assert_true(comes(port_connect_fd(&s->d), POLLIN));
	port_connect_serve(&s->d);
}

static void test_a_connection_carries_bytes_and_ends_in_order(void **state)
{
	struct scene *s = *state;

	start(s, ID, s->port);
	assert_true(port_connect_has(&s->d, ID));
	AUTO_CLOSE int peer = accepted(s);
	assert_int_equal(write(s->to, "GET", 3), 3);
	serve_when(s);
	must_read(peer, "GET");
	assert_int_equal(write(peer, "200", 3), 3);
	serve_when(s);
	must_read(s->from, "200");
	own_close(&peer);
	must_say(s, MSG_FINISHED, ID, 0);
	assert_int_equal(how_it_ends(s->from), 0);
	assert_true(port_connect_has(&s->d, ID));
	own_close(&s->to);
	port_connect_finish(&s->d, ID);
	must_say(s, MSG_CLOSED, ID, 0);
	assert_false(port_connect_has(&s->d, ID));
	assert_int_equal(s->processes.fds, 0);
}

static void test_the_second_loopback_is_tried_where_the_first_has_nobody(void **state)
{
	struct scene *s = *state;

	own_close(&s->server);
	s->server = listen_at(AF_INET6, &s->port);
	if (s->server < 0)
		skip();
	start(s, ID, s->port);
	if (has_nothing(s->server))
		serve_when(s);
	AUTO_CLOSE int peer = accepted(s);
	assert_int_equal(write(s->to, "six", 3), 3);
	serve_when(s);
	must_read(peer, "six");
}

static void test_a_port_where_nobody_listens_is_refused(void **state)
{
	struct scene *s = *state;

	own_close(&s->server);
	start(s, ID, s->port);
	must_say(s, MSG_CLOSED, ID, ECONNREFUSED);
	assert_int_equal(how_it_ends(s->from), 0);
	assert_int_equal(s->processes.fds, 0);
}

static void test_a_hangup_is_a_reset_for_the_server(void **state)
{
	struct scene *s = *state;

	start(s, ID, s->port);
	AUTO_CLOSE int peer = accepted(s);
	assert_int_equal(write(s->to, "last", 4), 4);
	port_connect_hang_up(&s->d, ID);
	must_say(s, MSG_CLOSED, ID, ECONNRESET);
	/* The peer got the data before the reset; read(2) may report either of them
	 * first. */
	assert_true(comes(peer, POLLIN));
	char got[8];
	ssize_t n = read(peer, got, sizeof(got));
	assert_true(n == 4 || (n < 0 && errno == ECONNRESET));
	if (n == 4)
		assert_int_equal(how_it_ends(peer), ECONNRESET);
}

static void test_a_reset_of_the_server_is_told_without_finished(void **state)
{
	struct scene *s = *state;

	start(s, ID, s->port);
	int peer = accepted(s);
	reset(&peer);
	must_say(s, MSG_CLOSED, ID, ECONNRESET);
}

static void test_words_that_crossed_are_ignored(void **state)
{
	struct scene *s = *state;
	struct err e;

	port_connect_finish(&s->d, ID);
	port_connect_hang_up(&s->d, ID);
	start(s, ID, s->port);
	AUTO_CLOSE int peer = accepted(s);
	port_connect_hang_up(&s->d, ID);
	port_connect_hang_up(&s->d, ID);
	port_connect_finish(&s->d, ID);
	must_say(s, MSG_CLOSED, ID, ECONNRESET);
	assert_int_equal(port_connect_report(&s->d, &s->out, &e), 0);
	assert_int_equal(buffer_len(&s->out), 0);
}

static void test_there_is_a_bound_and_descriptors_are_counted(void **state)
{
	struct scene *s = *state;
	struct err e;

	s->processes.fds_max = 9;
	for (uint32_t i = 0; i < 3; i++)
		start(s, ID + i, s->port);
	assert_int_equal(s->processes.fds, 9);
	start(s, ID + 3, s->port);
	must_say(s, MSG_CLOSED, ID + 3, EMFILE);
	s->processes.fds_max = 100000;
	for (uint32_t i = 3; i < PORT_CONNECTS_MAX; i++)
		start(s, ID + i, s->port);
	assert_int_equal(port_connect_report(&s->d, &s->out, &e), 0);
	assert_int_equal(buffer_len(&s->out), 0);
	start(s, ID + PORT_CONNECTS_MAX, s->port);
	must_say(s, MSG_CLOSED, ID + PORT_CONNECTS_MAX, EAGAIN);
	assert_int_equal(s->processes.fds, 3 * PORT_CONNECTS_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Leaves this process in a network of its own, whose sockets all get the same port. */
static bool has_one_port(uint16_t port)
{
	const int spaces = CLONE_NEWNET | (geteuid() == 0 ? 0 : CLONE_NEWUSER);
	struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP };

	if (unshare(spaces) < 0)
		return false;
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	AUTO_CLOSE int range =
		open("/proc/sys/net/ipv4/ip_local_port_range", O_WRONLY | O_CLOEXEC);
	return ioctl(fd, SIOCSIFFLAGS, &loopback) == 0 &&
	       dprintf(range, "%d %d\n", port, port) > 0;
}

/* The last test: it leaves the network of the others. */
static void
test_a_connection_with_itself_is_refused_and_leaves_the_port_free(void **state)
{
	struct scene *s = *state;
	const int yes = 1;
	const struct sockaddr_in at = { .sin_family = AF_INET,
					.sin_port = htons(s->port) };

	if (!has_one_port(s->port))
		skip(); /* this host lets the user make no network namespace */
	start(s, ID, s->port);
	must_say(s, MSG_CLOSED, ID, ECONNREFUSED);
	AUTO_CLOSE int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)),
			 0);
	assert_int_equal(bind(server, (const struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(server, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_connection_carries_bytes_and_ends_in_order),
		TEST(test_the_second_loopback_is_tried_where_the_first_has_nobody),
		TEST(test_a_port_where_nobody_listens_is_refused),
		TEST(test_a_hangup_is_a_reset_for_the_server),
		TEST(test_a_reset_of_the_server_is_told_without_finished),
		TEST(test_words_that_crossed_are_ignored),
		TEST(test_there_is_a_bound_and_descriptors_are_counted),
		TEST(test_a_connection_with_itself_is_refused_and_leaves_the_port_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
