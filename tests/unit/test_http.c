#include "rootfs-tools/registry/http.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

#define HEARD_MAX 8192
#define LINE	  32

/* A server with one answer for each path, which records the requests. */
struct said {
	const char *path, *answer;
	size_t flood; /* number of bytes of header lines that follow the answer */
	/* Whether the server then keeps the connection open and sends nothing. */
	bool stalls;
};

struct server {
	pid_t pid;
	unsigned port;
	/* The requests, in memory shared with the server's process: HEARD_MAX bytes. */
	char *heard;
};

static void flood(int fd, size_t left)
{
	char block[4096];

	for (size_t i = 0; i < sizeof(block); i += LINE)
		(void)memcpy(block + i, "X: yyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n", LINE);
	for (; left; left -= left < sizeof(block) ? left : sizeof(block))
		if (io_write_all(fd, block, left < sizeof(block) ? left : sizeof(block)) <
		    0)
			return;
}

static void answer(int fd, const struct said *said, const char *request)
{
	for (; said->path; said++) {
		size_t len = strlen(said->path);
		if (strncmp(request + 4, said->path, len) != 0 || request[4 + len] != ' ')
			continue;
		(void)io_write_all(fd, said->answer, strlen(said->answer));
		flood(fd, said->flood);
		while (said->stalls)
			pause();
	}
}

static void serve(int listener, const struct said *said, char *heard)
{
	for (;;) {
		char request[4096] = "";
		size_t len = 0;
		AUTO_CLOSE int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		while (len + 1 < sizeof(request) && !strstr(request, "\r\n\r\n")) {
			ssize_t n = read(fd, request + len, sizeof(request) - 1 - len);
			if (n <= 0)
				break;
			len += (size_t)n;
			request[len] = '\0';
		}
		size_t before = strlen(heard);
		(void)snprintf(heard + before, HEARD_MAX - before, "%s", request);
		answer(fd, said, request);
	}
}

static void start(struct server *s, const struct said *said)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	s->port = ntohs(at.sin_port);
	s->heard = mmap(NULL, HEARD_MAX, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(s->heard != MAP_FAILED);
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (s->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)signal(SIGPIPE, SIG_IGN);
		serve(fd, said, s->heard);
	}
}

static void stop(struct server *s)
{
	assert_int_equal(kill(s->pid, SIGKILL), 0);
	assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
	assert_int_equal(munmap(s->heard, HEARD_MAX), 0);
}

static const struct http_rules patient = { .patience_s = 30 },
			       hasty = { .patience_s = 1 };

struct asked {
	enum http_result result;
	struct http_answer answer;
	struct err e;
};

static void ask(struct asked *x, const struct http_rules *rules, struct http_request *r)
{
	struct http *h = http_new(rules);

	memset(x, 0, sizeof(*x));
	r->max = r->max ? r->max : 4096;
	x->result = http_ask(h, r, &x->answer, &x->e);
	http_free(h);
}

/* Asks that server for the path `path`, as above. */
static void ask_path(struct asked *x, const struct server *s, const char *path,
		     const char *authorization)
{
	AUTO_FREE char *url = text_format("http://127.0.0.1:%u%s", s->port, path);

	ask(x, &patient,
	    &(struct http_request){ .url = url, .authorization = authorization });
}

static const struct said ordinary[] = {
	{ .path = "/ok",
	  .answer =
		  "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n"
		  "Docker-Content-Digest: sha256:ab\r\nWWW-Authenticate: Basic realm=a\r\n"
		  "www-authenticate:Bearer realm=b\r\nContent-Length: 2\r\n\r\n{}" },
	{ .path = "/busy",
	  .answer =
		  "HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n" },
	{ .path = "/short",
	  .answer = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc" },
	{ .path = "/long",
	  .answer = "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n",
	  .flood = 5000 },
	{ .path = "/headers", .answer = "HTTP/1.1 200 OK\r\n", .flood = 90000 },
	{ .path = "/many", .answer = "HTTP/1.1 200 OK\r\n\r\n", .flood = 100 << 20 },
	{ .path = "/refused",
	  .answer = "HTTP/1.1 404 No\r\nContent-Length: 20000\r\n\r\n",
	  .flood = 20000 },
	{ .path = "/garbage", .answer = "hello\r\n\r\n" },
	{ .path = "/loop",
	  .answer = "HTTP/1.1 302 Go\r\nLocation: /loop\r\nContent-Length: 0\r\n\r\n" },
	{ .path = "/here",
	  .answer = "HTTP/1.1 307 Go\r\nLocation: /ok\r\nContent-Length: 0\r\n\r\n" },
	{ .path = "/file",
	  .answer =
		  "HTTP/1.1 302 Go\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n" },
	{ .path = "/user",
	  .answer = "HTTP/1.1 302 Go\r\nLocation: http://a:secret@127.0.0.1/\r\n"
		    "Content-Length: 0\r\n\r\n" },
	{ .path = "/plain",
	  .answer = "HTTP/1.1 302 Go\r\nLocation: http://registry.example/?secret\r\n"
		    "Content-Length: 0\r\n\r\n" },
	{ 0 },
};

static int begin(void **state)
{
	static struct server s;
	struct err e;

	start(&s, ordinary);
	*state = &s;
	return http_begin(&e);
}

static int end(void **state)
{
	stop(*state);
	return 0;
}

static void test_an_answer_is_taken_apart(void **state)
{
	struct asked x;

	ask_path(&x, *state, "/ok", NULL);
	assert_int_equal(x.result, HTTP_ANSWERED);
	assert_int_equal(x.answer.status, 200);
	assert_string_equal(x.answer.type, "application/json");
	assert_string_equal(x.answer.digest, "sha256:ab");
	assert_int_equal(x.answer.challenges.count, 2);
	assert_string_equal(x.answer.challenges.items[1], "Bearer realm=b");
	assert_string_equal(x.answer.body, "{}");
	http_answer_done(&x.answer);
	ask_path(&x, *state, "/busy", NULL);
	assert_int_equal(x.answer.status, 429);
	assert_int_equal(x.answer.retry_after_s, 7);
	http_answer_done(&x.answer);
}

static const struct {
	const char *path;
	enum http_result result;
	const char *says;
} wrong[] = {
	{ "/short", HTTP_BROKE, "ended before all was there" },
	{ "/long", HTTP_FAILED, "more than 4096 bytes" },
	{ "/many", HTTP_FAILED, "more than 4096 bytes" },
	{ "/headers", HTTP_FAILED, "bytes of headers" },
	{ "/garbage", HTTP_FAILED, "127.0.0.1" },
	{ "/nothing", HTTP_BROKE, "without an answer" },
	{ "/loop", HTTP_FAILED, "more than 5 redirects" },
	{ "/file", HTTP_FAILED, "neither https nor http" },
	{ "/user", HTTP_FAILED, "no user or password" },
	{ "/plain", HTTP_FAILED, "registry.example is not asked without TLS" },
};

static void test_an_error_is_one_sentence_and_bounded(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct asked x;
		ask_path(&x, *state, wrong[i].path, NULL);
		assert_int_equal(x.result, wrong[i].result);
		assert_non_null(strstr(x.e.text, wrong[i].says));
		assert_null(strstr(x.e.text, "secret"));
		assert_true(x.answer.len <= 4096);
		http_answer_done(&x.answer);
	}
}

static void test_the_start_of_a_failed_answer_is_kept(void **state)
{
	struct asked x;

	ask_path(&x, *state, "/refused", NULL);
	assert_int_equal(x.result, HTTP_ANSWERED);
	assert_int_equal(x.answer.status, 404);
	assert_int_equal(x.answer.len, HTTP_ERROR_MAX);
	http_answer_done(&x.answer);
}

static void test_an_authorization_stays_with_the_one_it_is_for(void **state)
{
	const struct server *other = *state;
	AUTO_FREE char *leads_on =
		text_format("HTTP/1.1 302 Go\r\nLocation: http://127.0.0.1:%u"
			    "/ok\r\nContent-Length: 0\r\n\r\n",
			    other->port);
	const struct said said[] = { { .path = "/on", .answer = leads_on }, { 0 } };
	struct server first;
	struct asked x;

	start(&first, said);
	other->heard[0] = '\0';
	ask_path(&x, &first, "/on", "Bearer secret");
	assert_int_equal(x.answer.status, 200);
	assert_non_null(strstr(first.heard, "Authorization: Bearer secret"));
	assert_non_null(strstr(other->heard, "GET /ok"));
	assert_null(strcasestr(other->heard, "authorization"));
	http_answer_done(&x.answer);
	/* If a redirect stays on the same host and port, the authorization is sent
	 * again. */
	other->heard[0] = '\0';
	ask_path(&x, other, "/here", "Bearer secret");
	assert_int_equal(x.answer.status, 200);
	const char *second = strstr(other->heard, "GET /ok");
	assert_non_null(second);
	assert_non_null(strstr(second, "Authorization: Bearer secret"));
	http_answer_done(&x.answer);
	stop(&first);
}

static int take(void *context, const struct http_answer *a, const void *data, size_t len,
		struct err *e)
{
	(void)data;
	*(size_t *)context += len;
	return a->status == 200 ? 0 : err_set(e, ERR_PROTOCOL, "other");
}

static void test_a_body_is_taken_as_it_comes(void **state)
{
	const struct server *s = *state;
	AUTO_FREE char *url = text_format("http://127.0.0.1:%u/long", s->port);
	size_t got = 0;
	struct asked x;

	s->heard[0] = '\0';
	ask(&x, &patient,
	    &(struct http_request){
		    .url = url, .take = take, .context = &got, .from = 12 });
	assert_int_equal(x.result, HTTP_ANSWERED);
	assert_int_equal(got, 5000);
	assert_null(x.answer.body);
	assert_non_null(strstr(s->heard, "Range: bytes=12-"));
	http_answer_done(&x.answer);
}

static void test_a_server_that_stalls_is_left(void **state)
{
	const struct said said[] = {
		{ .path = "/stall",
		  .answer = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
		  .stalls = true },
		{ 0 },
	};
	struct server s;
	struct asked x;

	(void)state;
	start(&s, said);
	AUTO_FREE char *url = text_format("http://127.0.0.1:%u/stall", s.port);
	ask(&x, &hasty, &(struct http_request){ .url = url });
	assert_int_equal(x.result, HTTP_BROKE);
	assert_non_null(strstr(x.e.text, "the transfer has stalled"));
	http_answer_done(&x.answer);
	stop(&s);
}

static void test_no_server_differs_from_one_that_breaks_off(void **state)
{
	const struct said said[] = { { 0 } };
	struct server s;
	struct asked x;

	(void)state;
	start(&s, said);
	AUTO_FREE char *url = text_format("http://127.0.0.1:%u/", s.port);
	AUTO_FREE char *tls = text_format("https://127.0.0.1:%u/", s.port);
	AUTO_FREE char *far = text_format("http://registry.example:%u/", s.port);
	ask(&x, &patient, &(struct http_request){ .url = far });
	assert_int_equal(x.result, HTTP_FAILED);
	assert_non_null(strstr(x.e.remedy, "--insecure registry.example"));
	stop(&s);
	ask(&x, &patient, &(struct http_request){ .url = url });
	assert_int_equal(x.result, HTTP_AWAY);
	ask(&x, &patient, &(struct http_request){ .url = tls });
	assert_int_equal(x.result, HTTP_AWAY);
}

static void test_tls_is_asked_of_a_server_without_tls(void **state)
{
	const struct server *s = *state;
	AUTO_FREE char *url = text_format("https://127.0.0.1:%u/ok", s->port);
	struct asked x;

	s->heard[0] = '\0';
	ask(&x, &hasty,
	    &(struct http_request){ .url = url, .authorization = "Bearer secret" });
	assert_true(x.result == HTTP_AWAY || x.result == HTTP_BROKE);
	assert_null(strstr(s->heard, "secret"));
}

static const struct {
	const char *host;
	bool is_loopback;
} hosts[] = {
	{ "localhost", true },
	{ "LOCALHOST:5000", true },
	{ "127.0.0.1", true },
	{ "127.9.8.7:1", true },
	{ "[::1]", true },
	{ "[::1]:5000", true },
	{ "localhost.evil.example", false },
	{ "127.0.0.1.evil.example", false },
	{ "128.0.0.1", false },
	{ "[::2]", false },
	{ "127", false },
	{ "", false },
};

static void test_this_machine_is_known_by_its_names_only(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++)
		assert_int_equal(http_is_loopback(hosts[i].host), hosts[i].is_loopback);
}

static void test_an_insecure_host_is_so_with_any_port_or_with_one(void **state)
{
	struct list insecure = { 0 };
	const struct http_rules rules = { &insecure, 1 };

	(void)state;
	list_add(&insecure, "a.lan");
	list_add(&insecure, "b.lan:5000");
	assert_true(http_is_insecure(&rules, "a.lan"));
	assert_true(http_is_insecure(&rules, "A.lan:1"));
	assert_true(http_is_insecure(&rules, "b.lan:5000"));
	assert_false(http_is_insecure(&rules, "b.lan"));
	assert_false(http_is_insecure(&rules, "b.lan:50001"));
	assert_false(http_is_insecure(&rules, "xa.lan"));
	assert_false(http_is_insecure(&rules, "a.lan.evil"));
	list_done(&insecure);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_answer_is_taken_apart),
		cmocka_unit_test(test_an_error_is_one_sentence_and_bounded),
		cmocka_unit_test(test_the_start_of_a_failed_answer_is_kept),
		cmocka_unit_test(test_an_authorization_stays_with_the_one_it_is_for),
		cmocka_unit_test(test_a_body_is_taken_as_it_comes),
		cmocka_unit_test(test_a_server_that_stalls_is_left),
		cmocka_unit_test(test_no_server_differs_from_one_that_breaks_off),
		cmocka_unit_test(test_tls_is_asked_of_a_server_without_tls),
		cmocka_unit_test(test_this_machine_is_known_by_its_names_only),
		cmocka_unit_test(test_an_insecure_host_is_so_with_any_port_or_with_one),
	};

	/* The tests must not use the proxy of the user that runs them. */
	(void)unsetenv("http_proxy");
	(void)unsetenv("https_proxy");
	(void)unsetenv("HTTPS_PROXY");
	(void)unsetenv("ALL_PROXY");
	(void)unsetenv("all_proxy");
	return cmocka_run_group_tests(tests, begin, end);
}
