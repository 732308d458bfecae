/* client: a server of a control socket may be late, of another version, or broken.
 * Here the test plays the server, at the other end of a socketpair, with answers
 * that are written beforehand. */
#include "cli/common/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "tests/patience.h"
#include "tests/unit/scene.h"

#define HELLO                                                                             \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocol\":1,\"version\":\"0.1.0\"," \
	"\"name\":\"box\",\"id\":\"3f2a90b1c4d5\",\"state\":\"ready\"}}\n"

struct pair {
	struct client client;
	int peer;
	struct err e;
};

static void say(const struct pair *p, const char *line)
{
	assert_int_equal(io_write_all(p->peer, line, strlen(line)), 0);
}

static void open_pair(struct pair *p, const char *answers)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	*p = (struct pair){ .peer = ends[1] };
	say(p, answers);
	client_over(&p->client, ends[0], "box");
	p->client.patience_ms = 0; /* 0: reads only what has arrived already */
}

static void close_pair(struct pair *p)
{
	client_done(&p->client);
	client_done(&p->client); /* the second call must do nothing */
	own_close(&p->peer);
}

/* Reads the next line that the client sent; stores the descriptors that came with
 * its first byte in ret_fds. */
static void read_line(const struct pair *p, char *line, size_t size, int *ret_fds)
{
	_Alignas(struct cmsghdr) char control[256];
	struct iovec one = { line, 1 };
	struct msghdr m = { .msg_iov = &one, .msg_iovlen = 1, .msg_control = control,
			    .msg_controllen = sizeof(control) };
	size_t len = 1;

	assert_true(scene_readable(p->peer, 0));
	assert_int_equal(recvmsg(p->peer, &m, MSG_CMSG_CLOEXEC), 1);
	*ret_fds = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		int fds[8];
		*ret_fds = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(c), (size_t)*ret_fds * sizeof(int));
		for (int i = 0; i < *ret_fds; i++)
			own_close(&fds[i]);
	}
	while (line[len - 1] != '\n' && len + 1 < size)
		assert_int_equal(read(p->peer, line + len++, 1), 1);
	line[len] = '\0';
}

static void test_hello_goes_out_with_the_first_request_and_its_descriptors(void **state)
{
	struct pair p;
	char line[256];
	int fds;

	(void)state;
	open_pair(&p, HELLO);
	assert_int_equal(client_send_fds(&p.client, "exec.start", "{\"argv\":[\"x\"]}",
					 &(struct client_fds){ { 0, 1, 2 }, 3 }, &p.e),
			 2);
	assert_int_equal(client_send(&p.client, "info", NULL, &p.e), 3);
	read_line(&p, line, sizeof(line), &fds);
	assert_string_equal(
		line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\",\"params\":"
		      "{\"protocol\":1}}\n");
	assert_int_equal(fds, 3);
	read_line(&p, line, sizeof(line), &fds);
	assert_string_equal(line,
			    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"exec.start\","
			    "\"params\":{\"argv\":[\"x\"]}}\n");
	assert_int_equal(fds, 0);
	read_line(&p, line, sizeof(line), &fds);
	assert_string_equal(
		line,
		"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"info\",\"params\":{}}\n");
	assert_int_equal(fds, 0);
	close_pair(&p);
}

static void count(void *context, const struct message *m)
{
	int *seen = context;

	assert_true(json_view_is(m->method, "event"));
	(*seen)++;
}

static void test_answers_are_told_apart_and_notifications_handed_on(void **state)
{
	struct pair p;
	struct json_view r;
	int64_t n = 0;
	int seen = 0;

	(void)state;
	open_pair(&p, HELLO
		  "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"n\":1}}\n"
		  "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":33}\n"
		  "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"n\":2}}\n"
		  "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":22}\n");
	p.client.context = &seen;
	p.client.take = count;
	assert_int_equal(client_send(&p.client, "info", NULL, &p.e), 2);
	assert_int_equal(client_send(&p.client, "info", NULL, &p.e), 3);
	assert_int_equal(client_await(&p.client, 2, &r, &p.e), 0);
	assert_true(json_view_integer(r, &n));
	assert_int_equal(n, 22);
	assert_int_equal(seen, 2);
	assert_string_equal(p.client.id, "3f2a90b1c4d5");
	close_pair(&p);
}

static const struct {
	const char *error;
	enum err_kind kind;
	const char *text, *remedy;
	int exit_code;
} errors[] = {
	{ "{\"code\":-32000,\"message\":\"no process 7\",\"data\":{\"kind\":\"not_found\","
	  "\"remedy\":null}}",
	  ERR_NOT_FOUND, "sandbox 'box': no process 7", "", 125 },
	{ "{\"code\":-32000,\"message\":\"m\",\"data\":{\"kind\":\"not_found\",\"remedy\":\"r\","
	  "\"exit_code\":127}}",
	  ERR_NOT_FOUND, "sandbox 'box': m", "r", 127 },
	{ "{\"code\":-32000,\"message\":\"m\",\"data\":{\"kind\":\"busy\",\"exit_code\":0}}",
	  ERR_BUSY, "sandbox 'box': m", "", 125 },
	{ "{\"code\":-32000,\"message\":\"m\",\"data\":{\"kind\":\"exists\",\"exit_code\":256}}",
	  ERR_EXISTS, "sandbox 'box': m", "", 125 },
	{ "{\"code\":-32000,\"data\":{\"kind\":\"to come\"}}", ERR_INTERNAL,
	  "sandbox 'box': an error", "", 125 },
	{ "7", ERR_INTERNAL, "sandbox 'box': an error", "", 125 },
};

static void test_an_error_keeps_its_kind_words_and_exit_code(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
		AUTO_FREE char *answers = text_format(HELLO "{\"id\":2,\"error\":%s}\n",
						      errors[i].error);
		struct json_view r = { "untouched", 9 };
		struct pair p;
		open_pair(&p, answers);
		assert_int_equal(client_call(&p.client, "x", NULL, &r, &p.e), -1);
		assert_int_equal(p.e.kind, errors[i].kind);
		assert_string_equal(p.e.text, errors[i].text);
		assert_string_equal(p.e.remedy, errors[i].remedy);
		assert_int_equal(p.client.exit_code, errors[i].exit_code);
		assert_string_equal(r.text, "untouched");
		close_pair(&p);
	}
}

/* Invalid lines, which the server sends instead of the answer to hello, or after it. */
static const struct {
	const char *line, *says;
} broken[] = {
	{ "no json\n", "sent an invalid message" },
	{ "\n", "sent an invalid message" },
	{ "[]\n", "sent an invalid message" },
	{ "{\"id\":1}\n", "sent an invalid message" },
	{ "{\"id\":1,\"result\":{},\"error\":{}}\n", "sent an invalid message" },
	{ "{\"id\":2,\"result\":{}}\n", "sent an invalid message" },
	{ "{\"id\":0,\"result\":{}}\n", "sent an invalid message" },
	{ "{\"id\":\"1\",\"result\":{}}\n", "sent an invalid message" },
	{ "{\"id\":1,\"id\":1,\"result\":{}}\n", "sent an invalid message" },
	{ "{\"params\":{}}\n", "sent an invalid message" },
	{ "{\"id\":1,\"result\":{\"protocol\":2,\"version\":\"9.9\"}}\n",
	  "created by hutch 9.9, whose control protocol is not version 1" },
	{ "{\"id\":1,\"result\":{}}\n", "created by hutch of another version" },
	{ "{\"id\":1,\"error\":{\"message\":\"m\",\"data\":{\"kind\":\"unsupported\"}}}\n",
	  "whose control protocol is not version 1" },
	{ "{\"id\":null,\"error\":{\"message\":\"too many\",\"data\":{\"kind\":\"limit\"}}}\n",
	  "sandbox 'box': too many" },
};

static void test_an_invalid_greeting_is_one_clear_sentence(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
		struct pair p;
		open_pair(&p, broken[i].line);
		assert_int_equal(client_greet(&p.client, &p.e), -1);
		assert_non_null(strstr(p.e.text, broken[i].says));
		assert_false(p.client.is_greeted);
		close_pair(&p);
	}
}

static void test_a_server_that_says_nothing_is_stuck(void **state)
{
	struct pair p;
	struct json_view r;

	(void)state;
	open_pair(&p, "");
	assert_int_equal(client_call(&p.client, "info", NULL, &r, &p.e), -1);
	assert_true(p.client.is_stuck);
	assert_non_null(strstr(p.e.text, "does not answer"));
	assert_string_equal(p.e.remedy, "hutch rm -f box ends it");
	close_pair(&p);
}

/* An answer that has arrived in time counts, even if the client reads it after the
 * deadline. */
static void test_an_answer_is_waited_for_until_it_is_due(void **state)
{
	static const struct {
		const char *answer;
		int64_t due_ms;
		int result;
	} cases[] = {
		{ "{\"id\":2,\"result\":22}\n", 1, 0 },
		{ "{\"id\":2,\"result\":22}\n", INT64_MAX, 0 },
		{ "{\"id\":2,\"result\":22}\n", 0, 0 },
		{ "", 1, -1 },
		{ "{\"id\":2,", 1, -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct pair p;
		struct json_view r;
		open_pair(&p, HELLO);
		say(&p, cases[i].answer);
		p.client.due_ms = cases[i].due_ms;
		assert_int_equal(client_call(&p.client, "info", NULL, &r, &p.e),
				 cases[i].result);
		assert_int_equal(p.client.is_stuck, cases[i].result < 0);
		close_pair(&p);
	}
}

static void test_a_server_that_does_not_read_is_stuck(void **state)
{
	enum { LARGE = 4 << 20 };
	AUTO_FREE char *params = mem_new(LARGE);
	struct pair p;

	(void)state;
	memset(params, ' ', LARGE);
	params[LARGE - 1] = '\0';
	open_pair(&p, HELLO);
	assert_int_equal(client_send(&p.client, "info", params, &p.e), -1);
	assert_true(p.client.is_stuck);
	close_pair(&p);
}

static void test_a_server_that_closes_has_ended(void **state)
{
	static const char *const last[] = { HELLO, HELLO "{\"id\":2,",
					    HELLO "half a line", "" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(last); i++) {
		struct pair p;
		struct json_view r;
		open_pair(&p, last[i]);
		assert_int_equal(client_send(&p.client, "info", NULL, &p.e), 2);
		(void)shutdown(p.peer, SHUT_RDWR);
		assert_int_equal(client_await(&p.client, 2, &r, &p.e), -1);
		assert_true(p.client.is_closed);
		assert_int_equal(p.e.kind, ERR_GONE);
		assert_non_null(strstr(p.e.text, "closed the connection"));
		close_pair(&p);
	}
}

/* The server refuses a request and closes, while the client is still writing the
 * request: the client reports the server's message. */
static void test_messages_before_the_end_are_told(void **state)
{
	struct pair p;

	(void)state;
	open_pair(&p,
		  "{\"id\":null,\"error\":{\"message\":\"too many\",\"data\":{\"kind\":"
		  "\"limit\"}}}\n");
	own_close(&p.peer);
	assert_int_equal(client_send(&p.client, "info", NULL, &p.e), 2);
	assert_int_equal(client_greet(&p.client, &p.e), -1);
	assert_int_equal(p.e.kind, ERR_LIMIT);
	close_pair(&p);
}

static void test_a_line_in_pieces(void **state)
{
	struct pair p;
	struct message m;

	(void)state;
	open_pair(&p, HELLO "{\"id\":1,\"res");
	assert_int_equal(client_greet(&p.client, &p.e), 0);
	assert_int_equal(client_fill(&p.client, &p.e), 0);
	assert_int_equal(client_next(&p.client, &m, &p.e), 0);
	say(&p, "ult\":5}\n{\"method\":\"output\",\"params\":{}}\n{");
	assert_int_equal(client_fill(&p.client, &p.e), 1);
	assert_int_equal(client_next(&p.client, &m, &p.e), 1);
	assert_int_equal(m.id, 1);
	assert_memory_equal(m.result.text, "5", 1);
	assert_int_equal(client_next(&p.client, &m, &p.e), 1);
	assert_int_equal(m.id, 0);
	assert_true(json_view_is(m.method, "output"));
	assert_int_equal(client_next(&p.client, &m, &p.e), 0);
	assert_int_equal(client_next(&p.client, &m, &p.e), 0);
	close_pair(&p);
}

static void flood(void *arg)
{
	static char block[1 << 20];
	const struct pair *p = arg;

	memset(block, ' ', sizeof(block));
	while (io_write_all(p->peer, block, sizeof(block)) == 0)
		;
}

static void test_a_line_has_a_bound(void **state)
{
	struct pair p;
	struct json_view r;

	(void)state;
	open_pair(&p, HELLO);
	p.client.patience_ms = PATIENCE_MS;
	pid_t pid = fork();
	if (pid == 0) {
		own_close(&p.client.fd);
		flood(&p);
		_exit(0);
	}
	own_close(&p.peer);
	assert_int_equal(client_call(&p.client, "info", NULL, &r, &p.e), -1);
	assert_int_equal(p.e.kind, ERR_PROTOCOL);
	assert_non_null(strstr(p.e.text, "more than 32 MiB"));
	assert_true(buffer_len(&p.client.in) <= CLIENT_LINE_MAX + (1 << 20));
	close_pair(&p);
	assert_int_equal(scene_child_code(pid), 0);
}

static void test_a_name_that_nobody_has(void **state)
{
	struct client c;
	struct err e;

	(void)state;
	assert_int_equal(client_open(&c, "nobody", &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_string_equal(e.remedy, "hutch ps -a lists those that run and those that have ended");
	assert_int_equal(client_open(&c, "../x", &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	client_done(&(struct client){ 0 });
	client_done(NULL);
}

static int setup(void **state)
{
	(void)signal(SIGPIPE, SIG_IGN);
	return scene_setup(state) || setenv("XDG_RUNTIME_DIR", *state, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_hello_goes_out_with_the_first_request_and_its_descriptors),
		cmocka_unit_test(test_answers_are_told_apart_and_notifications_handed_on),
		cmocka_unit_test(test_an_error_keeps_its_kind_words_and_exit_code),
		cmocka_unit_test(test_an_invalid_greeting_is_one_clear_sentence),
		cmocka_unit_test(test_a_server_that_says_nothing_is_stuck),
		cmocka_unit_test(test_an_answer_is_waited_for_until_it_is_due),
		cmocka_unit_test(test_a_server_that_does_not_read_is_stuck),
		cmocka_unit_test(test_a_server_that_closes_has_ended),
		cmocka_unit_test(test_messages_before_the_end_are_told),
		cmocka_unit_test(test_a_line_in_pieces),
		cmocka_unit_test(test_a_line_has_a_bound),
		cmocka_unit_test(test_a_name_that_nobody_has),
	};

	(void)alarm(PATIENCE_S);
	return cmocka_run_group_tests(tests, setup, scene_teardown);
}
