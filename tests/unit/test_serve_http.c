/* http: the connections of one server wake each other. */
#include "gateway/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "gateway/loop.h"
#include "tests/unit/scene.h"

struct server {
	struct http_request *stream; /* the first request; NULL: it is gone */
	unsigned closed;
};

static void on_head(void *context, struct http_request *r)
{
	(void)context;
	(void)r;
}

/* The first request becomes a stream, and each further one writes to it. */
static void on_complete(void *context, struct http_request *r)
{
	struct server *s = context;

	if (!s->stream) {
		s->stream = r;
		http_stream(r, 200, "text/plain", NULL);
		(void)http_write(r, "first", 5);
		return;
	}
	(void)http_write(s->stream, "second", 6);
	http_reply(r, 202, "text/plain", "done", 4);
}

static void on_closed(void *context, struct http_request *r)
{
	struct server *s = context;

	(void)r;
	s->closed++;
}

static int connected(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0 && connect(fd, (const struct sockaddr *)to, sizeof(*to)) == 0);
	return fd;
}

static void ask(int fd)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

	CHECK(io_write_all(fd, request, strlen(request)) == 0);
}

/* Reads until the text has come. */
static void expect(int fd, const char *text)
{
	char got[4096] = "";
	size_t len = 0;

	while (!strstr(got, text)) {
		ssize_t n = read(fd, got + len, sizeof(got) - 1 - len);
		CHECK(n > 0);
		len += (size_t)n;
	}
}

static void client(const struct sockaddr_in *to)
{
	int stream = connected(to), other = connected(to);

	ask(stream);
	expect(stream, "first");
	ask(other);
	expect(other, "done");
	expect(stream, "second");
	_exit(0); /* which closes both */
}

static int listening(struct sockaddr_in *ret)
{
	socklen_t len = sizeof(*ret);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	*ret = (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_int_equal(bind(fd, (struct sockaddr *)ret, len), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)ret, &len), 0);
	return fd;
}

/* libmicrohttpd resumes a connection in its next run.  If a request's handler wrote to the
 * stream of another connection, and no further event came, there was none. */
static void test_a_request_wakes_the_stream_of_another(void **state)
{
	struct server s = { 0 };
	const struct http_events events = { .context = &s,
					    .head = on_head,
					    .complete = on_complete,
					    .closed = on_closed };
	struct sockaddr_in at;
	struct loop l;
	struct err e;

	(void)state;
	(void)alarm(PATIENCE_S);
	int fd = listening(&at);
	pid_t pid = fork();
	if (pid == 0) {
		(void)alarm(PATIENCE_S);
		client(&at);
	}
	assert_int_equal(loop_init(&l, &e), 0);
	struct http *h = http_new(&l, fd, 8, NULL, &events, &e);
	assert_non_null(h);
	while (s.closed < 2)
		assert_int_equal(loop_step(&l, -1, &e), 0);
	assert_int_equal(scene_child_code(pid), 0);
	http_free(h);
	loop_done(&l);
	(void)alarm(0);
}

/* --- a client that goes ------------------------------------------------------------ */

struct waiting {
	struct http_request
		*request; /* whose answer is outstanding; NULL: there is none */
	unsigned closed;
};

static void on_complete_later(void *context, struct http_request *r)
{
	struct waiting *w = context;

	w->request = r;
}

static void on_closed_later(void *context, struct http_request *r)
{
	struct waiting *w = context;

	assert_ptr_equal(r, w->request);
	w->request = NULL;
	w->closed++;
}

/* How a handler may answer a request whose client has gone. */
static void reply(struct http_request *r)
{
	http_reply(r, 200, "text/plain", "late", 4);
	http_reply(r, 500, "text/plain", "again", 5);
}

static void stream(struct http_request *r)
{
	http_stream(r, 200, "text/plain", NULL);
	(void)http_write(r, "late", 4);
	http_end(r);
}

static void abort_it(struct http_request *r)
{
	http_abort(r);
	http_abort(r);
}

static void go_away_amid(void (*answer)(struct http_request *r))
{
	struct waiting w = { 0 };
	const struct http_events events = { .context = &w,
					    .head = on_head,
					    .complete = on_complete_later,
					    .closed = on_closed_later };
	struct sockaddr_in at;
	struct loop l;
	struct err e;
	int fd = listening(&at);

	(void)alarm(PATIENCE_S);
	assert_int_equal(loop_init(&l, &e), 0);
	struct http *h = http_new(&l, fd, 8, NULL, &events, &e);
	assert_non_null(h);
	int client = connected(&at);
	ask(client);
	while (!w.request)
		assert_int_equal(loop_step(&l, -1, &e), 0);
	assert_int_equal(http_count(h), 1);
	own_close(&client);
	while (http_count(h) >
	       0) /* the connection is given back, and the request is there */
		assert_int_equal(loop_step(&l, -1, &e), 0);
	assert_int_equal(w.closed, 0);
	assert_null(http_header(w.request, "Host"));
	assert_string_equal(http_path(w.request), "/");
	answer(w.request);
	assert_non_null(w.request); /* the handler may still use it */
	while (w.closed == 0)
		assert_int_equal(loop_step(&l, -1, &e), 0);
	http_free(h);
	assert_int_equal(w.closed, 1);
	loop_done(&l);
	(void)alarm(0);
}

static void test_a_client_that_goes_gives_its_connection_back(void **state)
{
	(void)state;
	go_away_amid(reply);
	go_away_amid(stream);
	go_away_amid(abort_it);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_request_wakes_the_stream_of_another),
		cmocka_unit_test(test_a_client_that_goes_gives_its_connection_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
