#include "supervisor/pool/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd_pass.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/own.h"
#include "sandbox/launch/result.h"
#include "supervisor/rpc.h"

/* The room for answers that the client has not read; a client has one request at a
 * time. */
#define OUT_MAX	 (64u << 10)
#define DEAF_MS	 100
/* The longest wait in seconds that a `take` may ask for: a day. */
#define WAIT_MAX_S 86400

/* --- coming and going ---------------------------------------------------------- */

/* Sends the client the reason of the refusal without blocking, and closes the
 * connection. */
static void refuse(int fd, const struct err *e)
{
	struct buffer line;

	buffer_init(&line, 8192);
	rpc_put_error(&line, "null", RPC_FAILED, e);
	(void)send(fd, buffer_data(&line), buffer_len(&line),
		   MSG_DONTWAIT | MSG_NOSIGNAL);
	buffer_done(&line);
	(void)close(fd);
}

void pool_clients_accept(struct pool *p, int64_t now)
{
	struct err e;
	int fd = accept4(p->place.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	/* Either the connection was closed again already, or the keeper has no free
	 * descriptor.  In the latter case poll(2) would report the connection in an
	 * endless loop, so none is accepted for a while. */
	if (fd < 0 && errno != EAGAIN && errno != ECONNABORTED)
		p->deaf_ms = now + DEAF_MS;
	if (fd < 0)
		return;
	if (peer_check(&p->self, fd, &e) < 0)
		return refuse(fd, &e);
	if (p->client_count == POOL_CLIENTS_MAX) {
		(void)err_set(&e, ERR_LIMIT,
			      "%d clients of pool '%s' are connected already",
			      POOL_CLIENTS_MAX, p->place.name);
		return refuse(fd, &e);
	}
	struct pool_client *t = mem_zeroed(1, sizeof(*t));
	connection_init(&t->conn, fd, POOL_LINE_MAX, OUT_MAX);
	p->clients[p->client_count++] = t;
	/* The first request usually has arrived already, so read it now.  If the
	 * connection is broken, a later read fails too. */
	(void)connection_read(&t->conn);
}

static void remove_client(struct pool *p, size_t i)
{
	struct pool_client *t = p->clients[i];

	p->clients[i] = p->clients[--p->client_count];
	connection_done(&t->conn);
	free(t->asks);
	free(t);
}

/* --- answers ------------------------------------------------------------------- */

static void fail(struct pool_client *t, const char *id, int code, const struct err *e)
{
	rpc_put_error(&t->conn.out, id, (enum rpc_code)code, e);
}

/* Answers the `take` or `stop` that a client has waited for. */
static void settle(struct pool_client *t, const struct err *e)
{
	if (e)
		fail(t, t->asks, RPC_FAILED, e);
	else
		rpc_put_result(&t->conn.out, t->asks, "{}");
	own_free(&t->asks);
	t->due_ms = 0;
	t->is_stop = false;
}

/* Hands a sandbox out: passes its connection together with the first byte of the
 * answer.  The answer must be sent in one piece, so a client that has not read earlier
 * answers is disconnected.  If a client is disconnected, the kernel closes a descriptor
 * that it has not received. */
static void hand_out(struct pool *p, struct pool_client *t, const struct waiting *x,
		     int64_t now)
{
	AUTO_FREE char *line = text_format("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":"
					   "{\"sandbox\":\"%s\"}}\n", t->asks, x->name);
	const ssize_t len = (ssize_t)strlen(line);
	struct err e;

	if (!connection_write(&t->conn) || buffer_len(&t->conn.out) > 0) {
		t->conn.out.is_cut = true;
		own_free(&t->asks);
		return;
	}
	ssize_t n = fd_pass_send(t->conn.fd, line, (size_t)len, &x->lease, 1);
	if (n < 0 && errno == ETOOMANYREFS) {
		(void)err_sys(&e, "pass the connection of sandbox '%s' on", x->name);
		settle(t, &e);
		return;
	}
	t->conn.out.is_cut = n != len;
	own_free(&t->asks);
	t->due_ms = 0;
	if (n > 0)
		pool_taken(p, now); /* the connection was sent, even if only a part of
				     * the answer was */
}

static struct pool_client *first_in_line(const struct pool *p)
{
	struct pool_client *first = NULL;

	for (size_t i = 0; i < p->client_count; i++) {
		struct pool_client *t = p->clients[i];
		if (t->asks && !t->is_stop && (!first || t->number < first->number))
			first = t;
	}
	return first;
}

static void too_late(const struct pool *p, struct pool_client *t)
{
	struct err e;

	if (p->trouble.kind != ERR_NONE) {
		e = p->trouble;
		(void)err_in(&e, "make a sandbox for pool '%s'", p->place.name);
	} else {
		(void)err_set(&e, ERR_BUSY,
			      "no sandbox of pool '%s' was ready in time: %zu are "
			      "being made",
			      p->place.name, p->making);
		(void)err_remedy(
			&e, "wait for longer, or make the pool larger: hutch pool create "
			    "--size");
	}
	e.sys = ETIMEDOUT;
	settle(t, &e);
}

static void look_at_line(struct pool *p, int64_t now)
{
	struct waiting *x;
	struct pool_client *t;
	struct err e;

	while ((t = first_in_line(p)) && !p->is_ending && (x = pool_oldest(p, now)))
		hand_out(p, t, x, now);
	while ((t = first_in_line(p)) && (p->is_ending || pool_is_in_trouble(p))) {
		e = p->trouble;
		if (p->is_ending)
			(void)err_set(&e, ERR_GONE, "pool '%s' is being removed",
				      p->place.name);
		else
			(void)err_in(&e, "make a sandbox for pool '%s'", p->place.name);
		settle(t, &e);
	}
	for (size_t i = 0; i < p->client_count; i++)
		if (p->clients[i]->asks && clock_is_due(p->clients[i]->due_ms, now))
			too_late(p, p->clients[i]);
}

int64_t pool_clients_due(const struct pool *p)
{
	int64_t due = 0;

	for (size_t i = 0; i < p->client_count; i++)
		due = clock_sooner(due, p->clients[i]->due_ms);
	return due;
}

/* --- methods ------------------------------------------------------------------- */

static int do_hello(struct pool *p, struct pool_client *t, struct rpc_request *r,
		    int64_t now, struct err *e)
{
	struct json_at at;
	uint64_t protocol = 1;

	(void)now;
	if (json_member(&r->params, "protocol", &at) && json_uint(&at, &protocol, e) < 0)
		return RPC_PARAMS;
	if (protocol != 1) {
		(void)err_set(e, ERR_UNSUPPORTED, "this pool speaks protocol 1, not %llu",
			      (unsigned long long)protocol);
		(void)err_remedy(e, "it was started by hutch " HUTCH_VERSION);
		t->is_closing = true;
		return RPC_FAILED;
	}
	t->has_hello = true;
	AUTO_FREE char *text = text_format("{\"protocol\":1,\"version\":\"" HUTCH_VERSION
					   "\",\"pool\":\"%s\"}", p->place.name);
	rpc_put_result(&t->conn.out, r->id, text);
	return 0;
}

static int do_take(struct pool *p, struct pool_client *t, struct rpc_request *r,
		   int64_t now, struct err *e)
{
	struct json_at at;
	double seconds = -1;

	if (json_member(&r->params, "timeout", &at) && json_number(&at, &seconds, e) < 0)
		return RPC_PARAMS;
	if (at.value && !(seconds >= 0 && seconds <= WAIT_MAX_S)) {
		(void)err_set(e, ERR_USAGE, "params.timeout: 0 to %d seconds",
			      WAIT_MAX_S);
		return RPC_PARAMS;
	}
	t->asks = r->id;
	r->id = NULL;
	t->number = ++p->number;
	if (at.value) /* "wait": 0 means that the take fails at once if no sandbox is
		       * ready */
		t->due_ms = now + (int64_t)(seconds * 1000);
	return 0;
}

static int do_info(struct pool *p, struct pool_client *t, struct rpc_request *r,
		   int64_t now, struct err *e)
{
	AUTO_FREE char *error = result_error_json(&p->trouble);
	size_t asking = 0;

	(void)now, (void)e;
	for (size_t i = 0; i < p->client_count; i++)
		asking += p->clients[i]->asks && !p->clients[i]->is_stop;
	AUTO_FREE char *text = text_format(
		"{\"name\":\"%s\",\"size\":%zu,\"ready\":%zu,\"making\":%zu,\"waiting\":%zu,"
		"\"made\":%llu,\"taken\":%llu,\"lost\":%llu,\"failed\":%llu,\"created\":\"%s\","
		"\"pid\":%d,\"error\":%s}",
		p->place.name, p->size, p->waiting_count, p->making, asking,
		(unsigned long long)p->made, (unsigned long long)p->taken,
		(unsigned long long)p->lost, (unsigned long long)p->failed, p->created,
		(int)getpid(), error);
	rpc_put_result(&t->conn.out, r->id, text);
	return 0;
}

/* The method `stop`; it is answered when all waiting sandboxes have ended. */
static int do_stop(struct pool *p, struct pool_client *t, struct rpc_request *r,
		   int64_t now, struct err *e)
{
	(void)e;
	t->asks = r->id;
	r->id = NULL;
	t->is_stop = true;
	pool_stop(p, now);
	return 0;
}

static const char *const no_keys[] = { NULL };
static const char *const hello_keys[] = { "protocol", NULL };
static const char *const take_keys[] = { "timeout", NULL };

static const struct method {
	const char *name;
	int (*call)(struct pool *p, struct pool_client *t, struct rpc_request *r,
		    int64_t now, struct err *e);
	const char *const *keys;
} methods[] = {
	{ "hello", do_hello, hello_keys },
	{ "take", do_take, take_keys },
	{ "info", do_info, no_keys },
	{ "stop", do_stop, no_keys },
};

static int call(struct pool *p, struct pool_client *t, struct rpc_request *r, int64_t now,
		struct err *e)
{
	const struct method *m = NULL;

	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (!strcmp(methods[i].name, r->method))
			m = &methods[i];
	if (!m) {
		(void)err_set(e, ERR_USAGE, "a pool has no method '%.60s'", r->method);
		return RPC_METHOD;
	}
	if (!t->has_hello && m->call != do_hello) {
		(void)err_set(e, ERR_USAGE, "the first request is 'hello'");
		return RPC_REQUEST;
	}
	if (r->params.value && json_only(&r->params, m->keys, e) < 0)
		return RPC_PARAMS;
	return m->call(p, t, r, now, e);
}

/* --- lines --------------------------------------------------------------------- */

static void take_request(struct pool *p, struct pool_client *t, const char *line,
			 size_t len, int64_t now)
{
	struct rpc_request r;
	struct err e;
	int code = rpc_decode(line, len, &r, &e);

	if (code == 0)
		code = call(p, t, &r, now, &e);
	if (code != 0)
		fail(t, r.id, code, &e);
	rpc_done(&r);
}

static bool may_ask(const struct pool_client *t)
{
	return !t->asks && !t->is_closing && !t->conn.out.is_cut &&
	       buffer_len(&t->conn.out) < OUT_MAX / 2;
}

/* Handles the lines of a client.  True: there were lines. */
static bool take_lines(struct pool *p, struct pool_client *t, int64_t now)
{
	bool has_some = false;
	struct connection_fds fds;
	enum line_kind kind;
	const char *line;
	size_t len;
	struct err e;

	while (may_ask(t) &&
	       (kind = connection_next(&t->conn, &line, &len, &fds)) != LINE_NONE) {
		has_some = true;
		if (kind == LINE_TOO_LONG || fds.count || fds.is_wrong) {
			(void)err_set(&e, ERR_LIMIT, kind == LINE_TOO_LONG
					      ? "a line of more than 4096 bytes"
					      : "a pool takes no descriptors");
			fail(t, "null", RPC_REQUEST, &e);
			t->is_closing = true;
		} else if (len > 0) {
			take_request(p, t, line, len, now);
		}
		connection_fds_done(&fds);
		connection_took(&t->conn);
	}
	return has_some;
}

/* --- the loop ------------------------------------------------------------------ */

/* Returns whether to read from the client.  It is read even while its request waits for
 * an answer, since only a read shows that the client has disconnected. */
static bool may_read(const struct pool_client *t)
{
	return !t->is_closing && connection_may_read(&t->conn) &&
	       buffer_len(&t->conn.lines.in) <= POOL_LINE_MAX;
}

void pool_clients_watch(const struct pool *p, struct pollfd *w)
{
	for (size_t i = 0; i < p->client_count; i++) {
		const struct pool_client *t = p->clients[i];
		w[i] = (struct pollfd){
			.fd = t->conn.fd,
			.events = (short)((may_read(t) ? POLLIN : 0) |
					  (buffer_len(&t->conn.out) ? POLLOUT : 0)),
		};
	}
}

/* Reads and writes the connections that are ready.  A client that has closed both
 * directions cannot read an answer, so it gets no sandbox. */
void pool_clients_serve(struct pool *p, const struct pollfd *w)
{
	for (size_t i = p->client_count; i-- > 0;) {
		struct pool_client *t = p->clients[i];
		bool is_well = !(w[i].revents & (POLLERR | POLLHUP | POLLNVAL));
		if (is_well && (w[i].revents & POLLOUT))
			is_well = connection_write(&t->conn);
		if (is_well && (w[i].revents & POLLIN) && may_read(t))
			is_well = connection_read(&t->conn);
		if (!is_well)
			remove_client(p, i);
	}
}

static bool is_finished(const struct pool_client *t)
{
	return t->conn.out.is_cut ||
	       (buffer_len(&t->conn.out) == 0 && !t->asks &&
		(t->is_closing || lines_is_over(&t->conn.lines)));
}

/* Handles all lines that can be handled now.  poll(2) would not wake the loop for lines
 * that were read already, so the loop here repeats as long as an answer makes a further
 * line possible.  It ends, since nothing new is read here. */
void pool_clients_work(struct pool *p, int64_t now)
{
	bool has_some;

	do {
		has_some = false;
		look_at_line(p, now);
		for (size_t i = 0; i < p->client_count; i++) {
			(void)connection_write(
				&p->clients[i]->conn); /* connection_write() fails again
							* below, where the client is
							* removed */
			has_some = take_lines(p, p->clients[i], now) || has_some;
		}
	} while (has_some);
	for (size_t i = p->client_count; i-- > 0;)
		if (!connection_write(&p->clients[i]->conn) || is_finished(p->clients[i]))
			remove_client(p, i);
}

void pool_clients_part(struct pool *p)
{
	for (size_t i = p->client_count; i-- > 0;) {
		if (p->clients[i]->asks)
			settle(p->clients[i], NULL);
		(void)connection_write(
			&p->clients[i]->conn); /* on failure: the client gets no answer */
		remove_client(p, i);
	}
}
