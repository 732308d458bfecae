/* pool_clients: serves the clients of a pool's keeper.  There are no sandboxes: one
 * end of a socket stands for each. */
#include "supervisor/pool/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd_pass.h"
#include "base/mem.h"
#include "base/own.h"

#define HELLO "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hello\"}\n"
#define INFO  "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"info\"}\n"
#define TAKE  "{\"jsonrpc\":\"2.0\",\"id\":\"t\",\"method\":\"take\"}\n"
#define STOP  "{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"stop\"}\n"
#define TAKE_WITHIN(seconds)                                                        \
	"{\"jsonrpc\":\"2.0\",\"id\":\"t\",\"method\":\"take\",\"params\":{\"timeout\":" \
	seconds "}}\n"

#define CLIENTS 3
#define STOCK	4

struct scene {
	struct pool pool;
	int64_t now; /* ms; one case changes the time */
	int clients[CLIENTS];
	/* The sandboxes' ends of the sockets that wait in the pool. */
	int sandboxes[STOCK];
	size_t stocked;
	char heard[1 << 20];
	int fds[STOCK]; /* descriptors that came with the bytes */
	size_t got;
};

static void pair(int ends[2])
{
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends),
		0);
}

static void say(struct scene *s, size_t client, const char *text)
{
	const ssize_t len = (ssize_t)strlen(text);

	assert_int_equal(send(s->clients[client], text, (size_t)len, MSG_NOSIGNAL), len);
}

static void add_client(struct scene *s, size_t at)
{
	struct pool_client *t = mem_zeroed(1, sizeof(*t));
	int ends[2];

	pair(ends);
	connection_init(&t->conn, ends[0], POOL_LINE_MAX, 64u << 10);
	s->pool.clients[s->pool.client_count++] = t;
	s->clients[at] = ends[1];
	say(s, at, HELLO);
}

static void add_sandbox(struct scene *s)
{
	struct waiting *x = &s->pool.waiting[s->pool.waiting_count++];
	int ends[2];

	pair(ends);
	*x = (struct waiting){ .lease = ends[0], .since_ms = s->now };
	(void)snprintf(x->name, sizeof(x->name), "p-%zu", s->stocked);
	s->sandboxes[s->stocked++] = ends[1];
}

static int setup(void **state)
{
	static struct scene s;
	static char now[] = "now";

	memset(&s, 0, sizeof(s));
	s.now = 1000000;
	pools_init(&s.pool.place);
	strcpy(s.pool.place.name, "p");
	s.pool.size = STOCK;
	s.pool.created = now;
	s.pool.lease = s.pool.ready = s.pool.signals = -1;
	for (size_t i = 0; i < POOL_SPAWNS_MAX; i++)
		pool_spawn_init(&s.pool.spawns[i]);
	for (size_t i = 0; i < CLIENTS; i++)
		add_client(&s, i);
	*state = &s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	pool_clients_part(&s->pool);
	for (size_t i = 0; i < s->pool.waiting_count; i++)
		own_close(&s->pool.waiting[i].lease);
	for (size_t i = 0; i < CLIENTS; i++)
		own_close(&s->clients[i]);
	for (size_t i = 0; i < s->stocked; i++)
		own_close(&s->sandboxes[i]);
	for (size_t i = 0; i < s->got; i++)
		own_close(&s->fds[i]);
	return 0;
}

/* Runs a turn of the keeper's loop.  Returns false if it would sleep. */
static bool turn(struct scene *s)
{
	struct pollfd w[CLIENTS];

	pool_clients_watch(&s->pool, w);
	if (poll(w, s->pool.client_count, 0) == 0 &&
	    !clock_is_due(pool_clients_due(&s->pool), s->now))
		return false;
	pool_clients_serve(&s->pool, w);
	pool_clients_work(&s->pool, s->now);
	return true;
}

static void listen_to(struct scene *s, size_t client)
{
	size_t len = strlen(s->heard);
	ssize_t n;
	int fd;

	while ((n = fd_pass_receive(s->clients[client], s->heard + len,
				    sizeof(s->heard) - len - 1, &fd)) > 0) {
		len += (size_t)n;
		if (fd >= 0)
			s->fds[s->got++] = fd;
	}
	s->heard[len] = '\0';
}

/* Runs the keeper until it would sleep, and returns the bytes that the client got. */
static const char *hear(struct scene *s, size_t client)
{
	s->heard[0] = '\0';
	do {
		listen_to(s, client);
	} while (turn(s));
	return s->heard;
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static bool is_gone(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

/* --- what is in line ------------------------------------------------------------ */

static void many_requests_in_one_piece_are_all_answered(void **state)
{
	struct scene *s = *state;

	char all[1000 * sizeof(INFO)] = "";
	for (int i = 0; i < 1000; i++)
		strcat(all, INFO);
	say(s, 0, all);
	assert_int_equal(count(hear(s, 0), "\"id\":\"i\""), 1000);
}

static void what_is_behind_a_take_is_answered_when_that_was_too_late(void **state)
{
	struct scene *s = *state;

	say(s, 0, TAKE_WITHIN("1000") INFO);
	assert_null(strstr(hear(s, 0), "\"i\""));
	s->now += 999999;
	assert_string_equal(hear(s, 0), "");
	s->now++;
	const char *heard = hear(s, 0);
	assert_non_null(strstr(heard, "\"timeout\""));
	assert_non_null(strstr(heard, "\"i\""));
}

/* Each request to take a sandbox times out after its own time; one without a
 * time-out keeps waiting. */
static void takes_are_too_late_each_at_its_own_time(void **state)
{
	static const struct {
		const char *take;
		int64_t late; /* ms from the request to its time-out; 0: never */
	} cases[CLIENTS] = { { TAKE_WITHIN("86400"), 86400000 },
			     { TAKE_WITHIN("1.5"), 1500 }, { TAKE, 0 } };
	struct scene *s = *state;
	const int64_t asked = s->now;

	for (size_t i = 0; i < CLIENTS; i++) {
		(void)hear(s, i);
		say(s, i, cases[i].take);
		assert_string_equal(hear(s, i), "");
	}
	assert_int_equal(pool_clients_due(&s->pool), asked + 1500);
	for (s->now = asked + 1499; s->now <= asked + 1500; s->now++)
		for (size_t i = 0; i < CLIENTS; i++)
			assert_int_equal(strstr(hear(s, i), "\"timeout\"") != NULL,
					 cases[i].late == 1500 && s->now == asked + 1500);
	assert_int_equal(pool_clients_due(&s->pool), asked + 86400000);
	s->now = asked + 86400000;
	assert_non_null(strstr(hear(s, 0), "\"timeout\""));
	assert_int_equal(pool_clients_due(&s->pool), 0);
	assert_string_equal(hear(s, 2), "");
	add_sandbox(s);
	pool_clients_work(&s->pool, s->now);
	assert_non_null(strstr(hear(s, 2), "\"p-0\""));
}

/* A request with a time-out of 0 s is answered in the turn in which it came. */
static void one_that_does_not_wait_is_answered_at_once(void **state)
{
	struct scene *s = *state;

	say(s, 0, TAKE_WITHIN("0"));
	assert_non_null(strstr(hear(s, 0), "\"timeout\""));
	add_sandbox(s);
	say(s, 0, TAKE_WITHIN("0"));
	assert_non_null(strstr(hear(s, 0), "\"p-0\""));
}

static void takes_are_answered_in_their_order_each_with_a_sandbox_of_its_own(void **state)
{
	struct scene *s = *state;

	for (size_t i = 0; i < CLIENTS; i++) {
		say(s, CLIENTS - 1 - i, TAKE);
		(void)hear(s, CLIENTS - 1 - i);
	}
	for (size_t i = 0; i < CLIENTS; i++)
		add_sandbox(s);
	pool_clients_work(&s->pool, s->now);
	for (size_t i = 0; i < CLIENTS; i++) {
		char name[16];
		(void)snprintf(name, sizeof(name), "\"p-%zu\"", i);
		assert_non_null(strstr(hear(s, CLIENTS - 1 - i), name));
		assert_int_equal(s->got, i + 1);
		assert_int_equal(write(s->fds[i], "x", 1), 1);
		assert_int_equal(is_gone(s->sandboxes[i]), false);
	}
	assert_int_equal(s->pool.taken, CLIENTS);
	assert_int_equal(s->pool.waiting_count, 0);
}

static void one_that_takes_twice_in_one_piece_gets_two(void **state)
{
	struct scene *s = *state;

	add_sandbox(s);
	add_sandbox(s);
	say(s, 0, TAKE TAKE);
	const char *heard = hear(s, 0);
	assert_non_null(strstr(heard, "\"p-0\""));
	assert_non_null(strstr(heard, "\"p-1\""));
	assert_int_equal(s->got, 2);
}

/* --- what goes wrong ------------------------------------------------------------- */

static void what_has_died_is_not_handed_out(void **state)
{
	struct scene *s = *state;

	add_sandbox(s);
	add_sandbox(s);
	own_close(&s->sandboxes[0]);
	say(s, 0, TAKE);
	assert_non_null(strstr(hear(s, 0), "\"p-1\""));
	assert_int_equal(s->pool.lost, 1);
}

/* A sandbox that was told to end, and has closed its half, is not handed out
 * either. */
static void what_is_ending_is_not_handed_out(void **state)
{
	struct scene *s = *state;

	add_sandbox(s);
	assert_int_equal(shutdown(s->sandboxes[0], SHUT_WR), 0);
	say(s, 0, TAKE_WITHIN("0"));
	assert_null(strstr(hear(s, 0), "\"p-0\""));
}

static void a_client_that_leaves_its_answer_ends_what_was_on_its_way(void **state)
{
	struct scene *s = *state;

	add_sandbox(s);
	say(s, 0, TAKE);
	while (turn(s)) {
		/* The keeper has sent its answer, which the client does not read. */
	}
	assert_int_equal(s->pool.taken, 1);
	assert_int_equal(is_gone(s->sandboxes[0]), false);
	own_close(&s->clients[0]);
	assert_true(is_gone(s->sandboxes[0]));
}

static void a_client_that_left_before_its_turn_gets_none(void **state)
{
	struct scene *s = *state;

	say(s, 0, TAKE);
	(void)hear(s, 0);
	own_close(&s->clients[0]);
	while (turn(s)) {
		/* The keeper notices it. */
	}
	add_sandbox(s);
	pool_clients_work(&s->pool, s->now);
	assert_int_equal(s->pool.waiting_count, 1);
	assert_int_equal(s->pool.client_count, CLIENTS - 1);
}

/* A client whose socket is full is dropped, and the next client gets the sandbox. */
static void who_does_not_read_gets_no_sandbox(void **state)
{
	struct scene *s = *state;

	while (s->pool.clients[0]->conn.lines.in.end < 8192 &&
	       send(s->clients[0], INFO, strlen(INFO), MSG_NOSIGNAL) > 0)
		(void)turn(s);
	(void)send(s->clients[0], "\n" TAKE, strlen("\n" TAKE), MSG_NOSIGNAL);
	while (turn(s)) {
		/* The loop runs until the client's socket is full. */
	}
	add_sandbox(s);
	say(s, 1, TAKE);
	assert_non_null(strstr(hear(s, 1), "\"p-0\""));
}

static void garbage_is_told_and_the_others_are_served(void **state)
{
	static const char *const wrong[] = { "{}\n", "[]\n", "\x01\xff\n",
					     "{\"a\":1,\"a\":1}\n" };
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		say(s, 0, wrong[i]);
		assert_non_null(strstr(hear(s, 0), "\"error\""));
		say(s, 1, INFO);
		assert_non_null(strstr(hear(s, 1), "\"i\""));
	}
}

/* --- the end ----------------------------------------------------------------------- */

static void the_end_answers_takes_at_once_and_stops_at_last(void **state)
{
	struct scene *s = *state;

	say(s, 0, TAKE);
	(void)hear(s, 0);
	say(s, 1, STOP);
	assert_null(strstr(hear(s, 1), "\"s\""));
	assert_non_null(strstr(hear(s, 0), "disconnected"));
	say(s, 2, TAKE);
	assert_non_null(strstr(hear(s, 2), "disconnected"));
	pool_clients_part(&s->pool);
	s->heard[0] = '\0';
	listen_to(s, 1);
	assert_non_null(strstr(s->heard, "\"id\":\"s\",\"result\":{}"));
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(many_requests_in_one_piece_are_all_answered),
		CASE(what_is_behind_a_take_is_answered_when_that_was_too_late),
		CASE(takes_are_too_late_each_at_its_own_time),
		CASE(one_that_does_not_wait_is_answered_at_once),
		CASE(takes_are_answered_in_their_order_each_with_a_sandbox_of_its_own),
		CASE(one_that_takes_twice_in_one_piece_gets_two),
		CASE(what_has_died_is_not_handed_out),
		CASE(what_is_ending_is_not_handed_out),
		CASE(a_client_that_leaves_its_answer_ends_what_was_on_its_way),
		CASE(a_client_that_left_before_its_turn_gets_none),
		CASE(who_does_not_read_gets_no_sandbox),
		CASE(garbage_is_told_and_the_others_are_served),
		CASE(the_end_answers_takes_at_once_and_stops_at_last),
	};

	return cmocka_run_group_tests_name("pool_clients", tests, NULL, NULL);
}
