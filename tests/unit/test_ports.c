/* ports: lets clients connect to ports inside, whatever the executor reports about
 * the connections.  The test plays the executor. */
#include "sandbox/launch/ports.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/list.h"
#include "protocol/message.h"
#include "sandbox/launch/channel.h"
#include "tests/unit/sockets.h"

#define NOW 1000000
/* The value in ports.c. */
#define DEAF_MS 100

struct scene {
	struct ports p;
	struct channel channel;
	int inside;	 /* the executor's end of its channel */
	struct buffer got; /* received by the executor */
	int in, out;	 /* the executor's ends of the latest connection's pipes */
	int kept[2 * PORT_CONNECTS_MAX + 8], kept_count; /* and of those before */
	uint16_t port;
	struct err e;
};

static void add_port(struct scene *s, uint16_t guest)
{
	int fd = listen_at(AF_INET, &s->port);
	struct listener at;

	unblock(fd);
	assert_int_equal(listener_adopt(fd, &at, &s->e), 0);
	assert_int_equal(ports_add(&s->p, &at, guest, &s->e), 0);
	assert_null(at.host);
}

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	int ends[2];

	(void)signal(SIGPIPE, SIG_IGN);
	listener_expect_shared();
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
		0);
	channel_init(&s->channel, ends[0]);
	s->inside = ends[1];
	s->in = s->out = -1;
	buffer_init(&s->got, 65536);
	ports_init(&s->p);
	add_port(s, 80);
	ports_begin(&s->p, &s->channel);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	ports_done(&s->p);
	channel_done(&s->channel);
	own_close(&s->channel.fd);
	own_close(&s->inside);
	own_close(&s->in);
	own_close(&s->out);
	while (s->kept_count > 0)
		own_close(&s->kept[--s->kept_count]);
	buffer_done(&s->got);
	free(s);
	return 0;
}

static int work(struct scene *s)
{
	return ports_work(&s->p, true, NOW, &s->e);
}

static void work_when(struct scene *s)
{
	assert_true(comes(ports_fd(&s->p), POLLIN));
	assert_int_equal(work(s), 0);
}

/* Receives frames at the executor's end, with their descriptors. */
static void receive(struct scene *s)
{
	union {
		char space[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec bytes = { buffer_reserve(&s->got, 4096), 4096 };
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(s->inside, &m, MSG_CMSG_CLOEXEC);

	if (n <= 0)
		return;
	buffer_added(&s->got, (size_t)n);
	struct cmsghdr *head = CMSG_FIRSTHDR(&m);
	if (!head)
		return;
	assert_int_equal(head->cmsg_len, CMSG_LEN(2 * sizeof(int)));
	s->kept[s->kept_count++] = fd_take(&s->in);
	s->kept[s->kept_count++] = fd_take(&s->out);
	memcpy(&s->in, CMSG_DATA(head), sizeof(int));
	memcpy(&s->out, CMSG_DATA(head) + sizeof(int), sizeof(int));
}

/* Receives the next frame at the executor's end, checks its type, and returns its
 * id. */
static uint32_t told(struct scene *s, uint16_t type)
{
	struct frame f;
	uint32_t port;

	while (frame_next(&s->got, 65536, &f, &s->e) != 1) {
		assert_true(comes(s->inside, POLLIN));
		receive(s);
	}
	assert_int_equal(f.type, type);
	if (type == MSG_DIAL) {
		assert_int_equal(message_get_dial(&f, &port, &s->e), 0);
		assert_int_equal(port, 80);
	}
	const uint32_t id = f.id;
	buffer_consume(&s->got, FRAME_HEADER + f.len);
	return id;
}

static bool is_told_nothing(struct scene *s)
{
	receive(s);
	return buffer_len(&s->got) == 0;
}

/* Sends a frame of the executor about a connection. */
static int says(struct scene *s, uint16_t type, uint32_t id, uint32_t sys)
{
	struct buffer b;
	struct frame f;

	buffer_init(&b, 4096);
	int put = type == MSG_CLOSED ? message_put_closed(&b, id, sys, &s->e)
				     : message_put_word(&b, type, id, &s->e);
	assert_int_equal(put, 0);
	assert_int_equal(frame_next(&b, 4096, &f, &s->e), 1);
	int got = ports_frame(&s->p, &f, &s->e);
	buffer_done(&b);
	return got;
}

/* Connects a client, which is accepted.  Returns its socket. */
static int client(struct scene *s, uint32_t *ret_id)
{
	int fd = connect_at(s->port);

	work_when(s);
	*ret_id = told(s, MSG_DIAL);
	assert_true(*ret_id & DIAL_ID);
	return fd;
}

static void test_a_visit_from_the_first_byte_to_the_last_word(void **state)
{
	struct scene *s = *state;
	uint32_t id;
	AUTO_CLOSE int c = client(s, &id);

	assert_int_equal(write(c, "GET", 3), 3);
	work_when(s);
	must_read(s->in, "GET");
	(void)shutdown(c, SHUT_WR);
	work_when(s);
	assert_int_equal(told(s, MSG_FINISH), id);
	assert_int_equal(how_it_ends(s->in), 0);
	assert_int_equal(write(s->out, "200", 3), 3);
	own_close(&s->out);
	assert_int_equal(says(s, MSG_FINISHED, id, 0), 0);
	assert_int_equal(says(s, MSG_CLOSED, id, 0), 0);
	must_read(c, "200");
	assert_int_equal(how_it_ends(c), 0);
	assert_int_equal(s->p.visit_count, 0);
	assert_true(is_told_nothing(s));
}

static void test_refused_inside_is_a_reset_outside(void **state)
{
	struct scene *s = *state;
	uint32_t id;
	AUTO_CLOSE int c = client(s, &id);

	assert_int_equal(says(s, MSG_CLOSED, id, ECONNREFUSED), 0);
	assert_int_equal(how_it_ends(c), ECONNRESET);
	assert_int_equal(s->p.visit_count, 0);
}

static void test_a_part_is_never_taken_for_the_whole(void **state)
{
	struct scene *s = *state;
	uint32_t id;
	AUTO_CLOSE int c = client(s, &id);

	assert_int_equal(write(s->out, "half", 4), 4);
	own_close(&s->out); /* as the kernel does for a killed process */
	work_when(s);
	must_read(c, "half");
	assert_true(has_nothing(c));
	ports_end(&s->p);
	assert_int_equal(how_it_ends(c), ECONNRESET);
}

static void test_bytes_before_the_end_are_handed_over(void **state)
{
	struct scene *s = *state;
	uint32_t id;
	AUTO_CLOSE int c = client(s, &id);

	assert_int_equal(write(s->out, "all of it", 9), 9);
	own_close(&s->out);
	assert_int_equal(says(s, MSG_FINISHED, id, 0), 0);
	ports_end(&s->p);
	must_read(c, "all of it");
	assert_int_equal(how_it_ends(c), 0);
}

/* The executor has ended, but the ports have not noticed: the pipe for the client's
 * bytes has no reader.  Bytes that the client is still to get are delivered. */
static void test_nobody_hears_any_more_and_what_was_finished_is_handed_over(void **state)
{
	struct scene *s = *state;
	uint32_t id;
	AUTO_CLOSE int c = client(s, &id);

	own_close(&s->in);
	assert_int_equal(write(s->out, "all ", 4), 4);
	assert_int_equal(write(c, "?", 1), 1);
	work_when(s);
	assert_true(is_told_nothing(s));
	assert_int_equal(write(s->out, "of it", 5), 5);
	own_close(&s->out);
	assert_int_equal(says(s, MSG_FINISHED, id, 0), 0);
	ports_end(&s->p);
	must_read(c, "all of it");
}

/* Writes as much as fits while the client reads nothing; returns the number of
 * bytes. */
static size_t fill(struct scene *s)
{
	static const char piece[4096];
	size_t whole = 0;
	ssize_t n;

	unblock(s->out);
	do {
		while ((n = write(s->out, piece, sizeof(piece))) > 0)
			whole += (size_t)n;
		assert_int_equal(work(s), 0);
		while (s->p.has_more)
			assert_int_equal(work(s), 0);
	} while ((n = write(s->out, piece, 1)) > 0 && (whole += (size_t)n));
	return whole;
}

/* Reads available bytes, waiting if there are none.  Returns their number; 0:
 * the end; -1. */
static ssize_t read_some(int fd)
{
	static char piece[65536];

	assert_true(comes(fd, POLLIN));
	return read(fd, piece, sizeof(piece));
}

/* As long as the time stands still, a client that does not read keeps its
 * connection, however often the port checks it. */
static void test_the_end_waits_for_a_client_that_is_behind(void **state)
{
	struct scene *s = *state;
	uint32_t id;
	AUTO_CLOSE int c = client(s, &id);
	ssize_t whole = (ssize_t)fill(s), n = 0;

	own_close(&s->out);
	assert_int_equal(says(s, MSG_FINISHED, id, 0), 0);
	while (!ports_part(&s->p, NOW + 1, NOW))
		if (!s->p.has_more)
			whole -= read_some(c); /* -1: the sum becomes wrong */
	assert_int_equal(s->p.visit_count, 0);
	while ((n = read_some(c)) > 0)
		whole -= n;
	assert_int_equal(n, 0);
	assert_int_equal(whole, 0);
}

static void test_the_end_does_not_wait_for_ever(void **state)
{
	static const struct {
		int64_t at;
		bool is_over;
	} rows[] = { { 0, false }, { 999, false }, { 1000, true } };
	struct scene *s = *state;
	uint32_t id;
	AUTO_CLOSE int c = client(s, &id);

	assert_true(fill(s) > 0);
	own_close(&s->out);
	assert_int_equal(says(s, MSG_FINISHED, id, 0), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(ports_part(&s->p, NOW + 1000, NOW + rows[i].at),
				 rows[i].is_over);
	assert_int_equal(s->p.visit_count, 0);
	while (read_some(c) > 0)
		errno = 0; /* reads the data that had arrived before the reset */
	assert_int_equal(errno, ECONNRESET);
}

static void test_a_client_that_resets_is_told_inside_and_waited_for(void **state)
{
	struct scene *s = *state;
	uint32_t id;
	int c = client(s, &id);

	reset(&c);
	work_when(s);
	assert_int_equal(told(s, MSG_HANGUP), id);
	assert_int_equal(s->p.visit_count, 1);
	assert_int_equal(says(s, MSG_CLOSED, id, ECONNRESET), 0);
	assert_int_equal(s->p.visit_count, 0);
	assert_true(is_told_nothing(s));
}

/* Frames of the executor about a connection that come at a wrong time; each breaks
 * the protocol. */
static void test_words_at_the_wrong_time(void **state)
{
	static const struct {
		uint16_t before, type;
		bool is_other;
	} rows[] = {
		/* An orderly close, but neither direction has ended. */
		{ MSG_NONE, MSG_CLOSED, false },
		{ MSG_NONE, MSG_FINISHED, true },    /* an id of no connection */
		{ MSG_NONE, MSG_CLOSED, true },
		{ MSG_FINISHED, MSG_FINISHED, false },
		/* The supervisor's direction has not ended. */
		{ MSG_FINISHED, MSG_CLOSED, false },
	};
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint32_t id;
		AUTO_CLOSE int c = client(s, &id);
		if (rows[i].before)
			assert_int_equal(says(s, rows[i].before, id, 0), 0);
		s->e = (struct err){ 0 };
		if (says(s, rows[i].type, rows[i].is_other ? id ^ 1 : id, 0) == 0)
			fail_msg("row %zu", i);
		assert_int_equal(s->e.kind, ERR_PROTOCOL);
		ports_end(&s->p);
	}
}

static void test_nothing_is_said_after_the_last_word(void **state)
{
	struct scene *s = *state;
	uint32_t id;
	AUTO_CLOSE int c = client(s, &id);

	assert_int_equal(says(s, MSG_CLOSED, id, ECONNRESET), 0);
	assert_int_equal(says(s, MSG_CLOSED, id, ECONNRESET), -1);
}

/* Skips the test if the limit on descriptors is too low: a connection needs its
 * client's descriptor and five more. */
static void skip_where_not_all_fit(void)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_cur < 8 * PORT_CONNECTS_MAX)
		skip();
}

/* The number of connections is bounded.  The next client waits in the listener's
 * queue until a connection ends. */
static void test_there_is_a_bound(void **state)
{
	struct scene *s = *state;
	static int clients[PORT_CONNECTS_MAX + 1];
	uint32_t first = 0, id;

	skip_where_not_all_fit();
	for (int i = 0; i < PORT_CONNECTS_MAX; i++) {
		clients[i] = client(s, &id);
		first = first ? first : id;
	}
	clients[PORT_CONNECTS_MAX] = connect_at(s->port);
	work_when(s);
	assert_true(is_told_nothing(s));
	assert_int_equal(s->p.visit_count, PORT_CONNECTS_MAX);
	assert_int_equal(says(s, MSG_CLOSED, first, ECONNREFUSED), 0);
	assert_int_equal(ports_work(&s->p, false, NOW, &s->e), 0);
	assert_int_not_equal(told(s, MSG_DIAL), first);
	for (int i = 0; i <= PORT_CONNECTS_MAX; i++)
		own_close(&clients[i]);
}

/* While a request waits for room in the channel to the executor, no further client
 * is accepted. */
static void test_a_channel_that_is_full_leaves_them_in_the_queue(void **state)
{
	struct scene *s = *state;

	assert_true(buffer_append(&s->channel.out, "x", 1));
	AUTO_CLOSE int c = connect_at(s->port);
	work_when(s);
	assert_int_equal(s->p.visit_count, 0);
	buffer_consume(&s->channel.out, 1);
	assert_int_equal(ports_work(&s->p, false, NOW, &s->e), 0);
	assert_int_equal(s->p.visit_count, 1);
}

/* A socket that is not accepted from a port is led inside, too; with a full channel it
 * waits, and those beyond the bound are refused. */
static void test_a_connected_socket_is_led_inside(void **state)
{
	struct scene *s = *state;
	uint32_t id;
	int pair[2];

	tcp_pair(pair);
	unblock(pair[1]);
	AUTO_CLOSE int c = pair[0];
	assert_true(buffer_append(&s->channel.out, "x", 1));
	assert_int_equal(ports_connect(&s->p, &pair[1], 80, &s->e), 0);
	assert_int_equal(pair[1], -1);
	assert_int_equal(ports_due(&s->p), PORTS_AT_ONCE);
	assert_int_equal(work(s), 0);
	assert_int_equal(s->p.visit_count, 0);
	buffer_consume(&s->channel.out, 1);
	assert_int_equal(ports_work(&s->p, false, NOW, &s->e), 0);
	id = told(s, MSG_DIAL);
	assert_int_equal(write(c, "GET", 3), 3);
	work_when(s);
	must_read(s->in, "GET");
	assert_int_equal(says(s, MSG_CLOSED, id, ECONNREFUSED), 0);
	assert_int_equal(how_it_ends(c), ECONNRESET);
}

static void test_few_connected_sockets_wait(void **state)
{
	struct scene *s = *state;
	int ends[2 * PORTS_KNOCKS_MAX + 2];

	assert_true(buffer_append(&s->channel.out, "x", 1));
	for (int i = 0; i <= PORTS_KNOCKS_MAX; i++) {
		tcp_pair(ends + 2 * i);
		int result = ports_connect(&s->p, &ends[2 * i], 80, &s->e);
		assert_int_equal(result, i == PORTS_KNOCKS_MAX ? -1 : 0);
	}
	assert_int_equal(s->e.kind, ERR_LIMIT);
	ports_close(&s->p);
	assert_int_equal(ports_connect(&s->p, &ends[2 * PORTS_KNOCKS_MAX], 80, &s->e),
			 -1);
	assert_int_equal(s->e.kind, ERR_GONE);
	for (int i = 0; i < 2 * PORTS_KNOCKS_MAX + 2; i++)
		own_close(&ends[i]);
}

/* Sockets that another sandbox holds leave half of all places to the published ports. */
static void test_connected_sockets_leave_places_to_ports(void **state)
{
	enum { MOST = PORT_CONNECTS_MAX / 2 };
	struct scene *s = *state;
	static int others[MOST + 1];
	uint32_t first = 0, id;
	int pair[2];

	skip_where_not_all_fit();
	for (int i = 0; i <= MOST; i++) {
		tcp_pair(pair);
		unblock(pair[1]);
		others[i] = pair[0];
		assert_int_equal(ports_connect(&s->p, &pair[1], 80, &s->e), 0);
		assert_int_equal(work(s), 0);
		id = i < MOST ? told(s, MSG_DIAL) : 0;
		first = first ? first : id;
	}
	assert_true(is_told_nothing(s));
	assert_int_equal(s->p.visit_count, MOST);
	AUTO_CLOSE int c = client(s, &id);
	assert_int_equal(s->p.visit_count, MOST + 1);
	assert_int_equal(says(s, MSG_CLOSED, first, ECONNREFUSED), 0);
	assert_int_equal(work(s), 0);
	assert_int_not_equal(told(s, MSG_DIAL), first);
	for (int i = 0; i <= MOST; i++)
		own_close(&others[i]);
}

static void test_a_port_that_is_removed_takes_its_visits_along(void **state)
{
	struct scene *s = *state;
	uint32_t id;
	AUTO_CLOSE int c = client(s, &id);
	AUTO_FREE char *host = text_copy(s->p.all[0].at.host);

	assert_int_equal(ports_count(&s->p, &s->p.all[0]), 1);
	assert_int_equal(ports_remove(&s->p, "127.0.0.1:1", &s->e), -1);
	assert_int_equal(s->e.kind, ERR_NOT_FOUND);
	assert_int_equal(ports_remove(&s->p, host, &s->e), 0);
	assert_int_equal(how_it_ends(c), ECONNRESET);
	assert_int_equal(told(s, MSG_HANGUP), id);
	assert_int_equal(s->p.count, 0);
	assert_int_equal(says(s, MSG_CLOSED, id, ECONNRESET), 0);
	assert_int_equal(s->p.visit_count, 0);
}

static void test_the_same_socket_is_published_once(void **state)
{
	struct scene *s = *state;
	struct listener at;

	assert_int_equal(listener_adopt(dup(s->p.all[0].at.fd), &at, &s->e), 0);
	assert_int_equal(ports_add(&s->p, &at, 81, &s->e), -1);
	assert_int_equal(s->e.kind, ERR_EXISTS);
	listener_done(&at);
}

static void test_closed_ports_let_nobody_in(void **state)
{
	struct scene *s = *state;

	ports_close(&s->p);
	AUTO_CLOSE int c = connect_at(s->port);
	work_when(s);
	assert_int_equal(s->p.visit_count, 0);
}

/* The process that made the listening socket still has it, and may shut it down. */
static void test_a_socket_that_listens_no_more_keeps_nobody_out(void **state)
{
	struct scene *s = *state;
	uint32_t id;

	assert_int_equal(shutdown(s->p.all[0].at.fd, SHUT_RD), 0);
	add_port(s, 80);
	AUTO_CLOSE int c = client(s, &id);
	assert_int_equal(ports_count(&s->p, &s->p.all[1]), 1);
	assert_int_equal(ports_due(&s->p), 0);
}

/* Flags that are left over do not make the loop wake up when there are no ports. */
static void test_without_ports_nothing_is_due(void **state)
{
	struct scene *s = *state;
	AUTO_FREE char *host = text_copy(s->p.all[0].at.host);

	assert_int_equal(ports_remove(&s->p, host, &s->e), 0);
	s->p.deaf_ms = NOW; /* as after an accept(2) that had no free descriptor */
	s->p.has_more = true;	   /* left over from a connection that has ended */
	assert_int_equal(ports_work(&s->p, false, NOW, &s->e), 0);
	assert_int_equal(ports_due(&s->p), 0);
}

/* The process that made the listening socket shares its open file description, and
 * may clear O_NONBLOCK. */
static void test_a_socket_that_blocks_again_keeps_nobody_out(void **state)
{
	struct scene *s = *state;
	const int fd = s->p.all[0].at.fd;
	int clients[3];
	uint32_t id;

	for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
		assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK), 0);
		clients[i] = client(s, &id);
	}
	for (size_t i = 0; i < ARRAY_LEN(clients); i++)
		own_close(&clients[i]);
}

static void test_all_who_wait_are_let_in_at_once(void **state)
{
	struct scene *s = *state;
	AUTO_CLOSE int one = connect_at(s->port);
	AUTO_CLOSE int two = connect_at(s->port);

	work_when(s);
	assert_int_equal(s->p.visit_count, 2);
}

static void test_frames_that_are_not_for_visits_are_left(void **state)
{
	struct scene *s = *state;
	uint32_t id;

	ports_allow(&s->p, 7);
	AUTO_CLOSE int one = client(s, &id);
	AUTO_CLOSE int two = connect_at(s->port);
	work_when(s);
	assert_int_equal(s->p.visit_count, 1);
	assert_int_equal(ports_due(&s->p), 0);
	ports_allow(&s->p, 8);
	assert_int_equal(ports_due(&s->p), PORTS_AT_ONCE);
	assert_int_equal(ports_work(&s->p, false, NOW, &s->e), 0);
	assert_int_equal(s->p.visit_count, 2);
	assert_int_equal(ports_visit_fds(&s->p), 6);
}

/* Returns the lowest free descriptor number. */
static int free_number(void)
{
	AUTO_CLOSE int fd = dup(0);

	assert_true(fd >= 0);
	return fd;
}

/* Runs the ports' work at `now`, while the limit permits only `more` further
 * descriptors. */
static void work_with(struct scene *s, int64_t now, int more)
{
	struct rlimit was, less;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	less = was;
	less.rlim_cur = (rlim_t)(free_number() + more);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
	const int done = ports_work(&s->p, true, now, &s->e);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(done, 0);
}

/* If there is no descriptor for a client, or none for its pipes, no client is
 * accepted for a while: poll(2) would report the same client again at once. */
static void test_without_descriptors_nobody_is_let_in_for_a_while(void **state)
{
	static const struct {
		int more; /* descriptors */
		int ended; /* how the connection of a client that was accepted ends */
	} rows[] = { { 0, 0 }, { 1, ECONNRESET }, { 3, ECONNRESET } };
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_CLOSE int first = connect_at(s->port);
		assert_true(comes(ports_fd(&s->p), POLLIN));
		work_with(s, NOW, rows[i].more);
		assert_int_equal(s->p.visit_count, 0);
		assert_int_equal(ports_due(&s->p), NOW + DEAF_MS);
		if (rows[i].ended)
			assert_int_equal(how_it_ends(first), rows[i].ended);
		AUTO_CLOSE int second = rows[i].ended ? connect_at(s->port) : -1;
		assert_true(second < 0 || comes(ports_fd(&s->p), POLLIN));
		assert_int_equal(ports_work(&s->p, true, NOW + DEAF_MS - 1, &s->e), 0);
		assert_int_equal(s->p.visit_count, 0);
		assert_int_equal(ports_due(&s->p), NOW + DEAF_MS);
		assert_int_equal(ports_work(&s->p, false, NOW + DEAF_MS, &s->e), 0);
		assert_int_equal(s->p.visit_count, 1);
		assert_int_equal(ports_due(&s->p), 0);
		(void)told(s, MSG_DIAL);
		ports_end(&s->p);
	}
}

static void test_ports_let_somebody_in_by_turns(void **state)
{
	struct scene *s = *state;
	static int clients[PORT_CONNECTS_MAX + 2];
	uint32_t ids[2], id;

	skip_where_not_all_fit();
	for (int i = 0; i < PORT_CONNECTS_MAX; i++) {
		clients[i] = client(s, &id);
		ids[i % 2] = id;
	}
	for (int i = PORT_CONNECTS_MAX; i < PORT_CONNECTS_MAX + 2; i++)
		clients[i] = connect_at(s->port);
	add_port(s, 80);
	AUTO_CLOSE int other = connect_at(s->port);
	work_when(s);
	assert_int_equal(says(s, MSG_CLOSED, ids[0], ECONNREFUSED), 0);
	assert_int_equal(says(s, MSG_CLOSED, ids[1], ECONNREFUSED), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ports_work(&s->p, false, NOW, &s->e), 0);
		(void)told(s, MSG_DIAL);
	}
	assert_int_equal(ports_count(&s->p, &s->p.all[1]), 1);
	for (int i = 0; i < PORT_CONNECTS_MAX + 2; i++)
		own_close(&clients[i]);
}

/* Setup: raises the limit on descriptors up to the hard one.  Clients, connections
 * and passed descriptors all belong to this process, and exceed the 1024 of a login. */
static int raise_descriptors(void **state)
{
	struct rlimit files;

	(void)state;
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return -1;
	files.rlim_cur = files.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &files);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_visit_from_the_first_byte_to_the_last_word),
		TEST(test_refused_inside_is_a_reset_outside),
		TEST(test_a_part_is_never_taken_for_the_whole),
		TEST(test_bytes_before_the_end_are_handed_over),
		TEST(test_nobody_hears_any_more_and_what_was_finished_is_handed_over),
		TEST(test_the_end_waits_for_a_client_that_is_behind),
		TEST(test_the_end_does_not_wait_for_ever),
		TEST(test_a_client_that_resets_is_told_inside_and_waited_for),
		TEST(test_words_at_the_wrong_time),
		TEST(test_nothing_is_said_after_the_last_word),
		TEST(test_there_is_a_bound),
		TEST(test_a_channel_that_is_full_leaves_them_in_the_queue),
		TEST(test_a_connected_socket_is_led_inside),
		TEST(test_few_connected_sockets_wait),
		TEST(test_connected_sockets_leave_places_to_ports),
		TEST(test_a_port_that_is_removed_takes_its_visits_along),
		TEST(test_the_same_socket_is_published_once),
		TEST(test_closed_ports_let_nobody_in),
		TEST(test_a_socket_that_listens_no_more_keeps_nobody_out),
		TEST(test_without_ports_nothing_is_due),
		TEST(test_a_socket_that_blocks_again_keeps_nobody_out),
		TEST(test_all_who_wait_are_let_in_at_once),
		TEST(test_frames_that_are_not_for_visits_are_left),
		TEST(test_without_descriptors_nobody_is_let_in_for_a_while),
		TEST(test_ports_let_somebody_in_by_turns),
	};

	return cmocka_run_group_tests(tests, raise_descriptors, NULL);
}
