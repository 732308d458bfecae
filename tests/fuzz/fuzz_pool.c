/* Lines to a pool's socket are arbitrary bytes of the same user.  Every line is
 * answered in the documented form, memory is bounded, and no sandbox is handed
 * out twice or lost: each is with the pool, with the client, or released.  The
 * first byte tells how much is sent at once, which parts come with a
 * descriptor, and how many sandboxes wait. */
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd_pass.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/json/json.h"
#include "supervisor/pool/pool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HELLO	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hello\"}\n"
#define STOCK	7
#define OUT_MAX (64u << 10)

struct scene {
	struct pool pool;
	int64_t now; /* ms; set by the input */
	int sandboxes[STOCK]; /* the test's ends of the sandboxes that wait in the pool */
	size_t stocked, got;
	int client, nothing;
	struct buffer in;
};

static void must(int is_so)
{
	if (!is_so)
		abort();
}

static void add_sandbox(struct scene *x)
{
	struct waiting *w = &x->pool.waiting[x->pool.waiting_count++];
	int ends[2];

	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) ==
	     0);
	*w = (struct waiting){ .lease = ends[0], .since_ms = x->now };
	(void)snprintf(w->name, sizeof(w->name), "p-%zu", x->stocked);
	x->sandboxes[x->stocked++] = ends[1];
}

static void open_scene(struct scene *x, size_t stock)
{
	static char now[] = "now";
	struct pool_client *t = mem_zeroed(1, sizeof(*t));
	int ends[2];

	pools_init(&x->pool.place);
	strcpy(x->pool.place.name, "p");
	x->pool.size = STOCK;
	x->pool.created = now;
	x->pool.lease = x->pool.ready = x->pool.signals = -1;
	for (size_t i = 0; i < POOL_SPAWNS_MAX; i++)
		pool_spawn_init(&x->pool.spawns[i]);
	while (x->stocked < stock)
		add_sandbox(x);
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) ==
	     0);
	connection_init(&t->conn, ends[0], POOL_LINE_MAX, OUT_MAX);
	x->pool.clients[x->pool.client_count++] = t;
	x->client = ends[1];
	x->nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	buffer_init(&x->in, 256u << 20);
}

static bool is_open(int fd)
{
	struct pollfd w = { .fd = fd, .events = POLLIN };

	return poll(&w, 1, 0) == 0;
}

static void close_scene(struct scene *x)
{
	pool_clients_part(&x->pool);
	for (size_t i = 0; i < x->pool.waiting_count; i++)
		own_close(&x->pool.waiting[i].lease);
	own_close(&x->client);
	for (size_t i = 0; i < x->stocked; i++) {
		must(!is_open(x->sandboxes[i])); /* the keeper must not have closed it */
		own_close(&x->sandboxes[i]);
	}
	own_close(&x->nothing);
	buffer_done(&x->in);
}

/* Checks a whole answer.  Returns true if it hands out a sandbox. */
static bool check_line(const char *line, size_t len)
{
	static const char *const keys[] = { "jsonrpc", "id", "result", "error", NULL };
	struct json_at root, id, result, error, member;
	struct err e;
	AUTO_JSON struct json *doc = json_parse(line, len, &e);

	must(doc != NULL);
	json_root(doc, "line", &root);
	must(json_only(&root, keys, &e) == 0);
	(void)json_member(&root, "id", &id); /* id is null if the request had none */
	const bool has_result = json_member(&root, "result", &result);
	const bool has_error = json_member(&root, "error", &error);
	must(has_result != has_error);
	if (has_error)
		must(json_member(&error, "code", &member) &&
		     json_member(&error, "message", &member) &&
		     json_member(&error, "data", &member));
	return has_result && json_member(&result, "sandbox", &member);
}

static void check_answers(struct scene *x, size_t *fds)
{
	const char *end;

	while (buffer_len(&x->in) &&
	       (end = memchr(buffer_data(&x->in), '\n', buffer_len(&x->in)))) {
		const char *line = (const char *)buffer_data(&x->in);
		if (check_line(line, (size_t)(end - line))) {
			must(*fds > 0);
			--*fds;
			x->got++;
		}
		buffer_consume(&x->in, (size_t)(end - line) + 1);
	}
	must(*fds == 0);
}

static void hear(struct scene *x)
{
	char some[4096];
	size_t fds = 0;
	ssize_t n;
	int fd;

	while ((n = fd_pass_receive(x->client, some, sizeof(some), &fd)) > 0) {
		must(buffer_append(&x->in, some, (size_t)n));
		fds += fd >= 0;
		own_close(&fd);
	}
	check_answers(x, &fds);
}

/* Runs a turn of the keeper's loop.  Returns false if the loop would sleep. */
static bool turn(struct scene *x)
{
	struct pollfd w[1];

	pool_clients_watch(&x->pool, w);
	if (poll(w, x->pool.client_count, 0) == 0 &&
	    !clock_is_due(pool_clients_due(&x->pool), x->now))
		return false;
	pool_clients_serve(&x->pool, w);
	pool_clients_work(&x->pool, x->now);
	hear(x);
	must(x->pool.taken == x->got);
	must(x->got + x->pool.waiting_count == x->stocked);
	return true;
}

static void say(struct scene *x, const void *bytes, size_t len, bool has_fd)
{
	(void)fd_pass_send(x->client, bytes, len, &x->nothing,
			   has_fd); /* it may be closed */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scene *x = mem_zeroed(1, sizeof(*x));
	const unsigned mode = size ? data[0] : 0;
	const size_t step = mode & 8 ? 7 : 4096;

	x->now = 1000000;
	open_scene(x, mode & STOCK);
	say(x, HELLO, sizeof(HELLO) - 1, false);
	(void)turn(x);
	for (size_t at = 1; at < size; at += step) {
		say(x, data + at, size - at < step ? size - at : step, mode & 32);
		if (!(mode & 16))
			(void)turn(x);
		x->now += data[at];
	}
	(void)shutdown(x->client, SHUT_WR);
	while (turn(x)) {
		/* The loop runs until the keeper would sleep. */
	}
	/* A client is left only while it waits for an answer. */
	if (x->pool.client_count == 1)
		must(x->pool.clients[0]->asks != NULL);
	close_scene(x);
	free(x);
	return 0;
}
