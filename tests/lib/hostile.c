/* A peer that breaks the protocol.  This program plays the `hutch connect` that
 * hands over a connection; the test itself is the other end of that connection. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/fd_pass.h"
#include "tests/lib/trial.h"

#define PEER 40 /* descriptor number of the connection in the program that plays hutch */

/* Whether signals are in the state in which a shell starts a program: none blocked,
 * none ignored. */
static bool is_fresh(void)
{
	struct sigaction now;
	sigset_t blocked;

	check(sigprocmask(SIG_SETMASK, NULL, &blocked) == 0);
	for (int signo = 1; signo < 32; signo++)
		if (sigismember(&blocked, signo) == 1 ||
		    (sigaction(signo, NULL, &now) == 0 && now.sa_handler == SIG_IGN))
			return false;
	return true;
}

int trial_impostor(char **argv)
{
	const char *said = getenv("IMPOSTOR_SAYS");
	int peer = PEER;

	if (!is_fresh())
		return 1;
	if (said)
		return write(!strcmp(argv[1], "create") ? 3 : 1, said, strlen(said)) < 0;
	return fd_pass_send(1, "{\"error\":null}\n", 15, &peer, 1) < 0;
}

/* Returns a handle that is connected to *ret_peer, which the caller closes. */
static struct hutch *begin_hostile(int *ret_peer)
{
	static char self[200];
	const struct hutch_how how = { .size = sizeof(how), .program = self };
	struct hutch_error e;
	struct hutch *h;
	int ends[2];

	const ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	check(len > 0);
	self[len] = '\0';
	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	/* dup2(2) makes a copy without close-on-exec. */
	check(dup2(ends[0], PEER) == PEER);
	works(&e, hutch_attach("hostile", &how, &h, &e) == 0);
	close(ends[0]);
	close(PEER);
	*ret_peer = ends[1];
	return h;
}

static struct hutch *open_hostile(int *ret_peer)
{
	struct hutch *h = begin_hostile(ret_peer);
	struct hutch_error e;

	works(&e, hutch_ready(h, PATIENCE_MS, &e) == 0);
	return h;
}

/* If this process has no free descriptor number, the kernel drops the
 * descriptor that is handed over. */
static void find_no_descriptor_for_a_connection(void)
{
	struct hutch_error e;
	struct rlimit old;
	int peer;
	struct hutch *h = begin_hostile(&peer);
	struct pollfd ended = { .fd = hutch_fd(h, &e), .events = POLLIN };

	check(ended.fd >= 0 && poll(&ended, 1, PATIENCE_MS) == 1);
	old = trial_use_up_descriptors();
	check(hutch_ready(h, PATIENCE_MS, &e) == -1);
	check(setrlimit(RLIMIT_NOFILE, &old) == 0);
	works(&e, e.kind == HUTCH_LIMIT && strstr(e.message, "Too many open files"));
	hutch_close(h);
	close(peer);
}

#define ANSWER(id, rest) "{\"jsonrpc\":\"2.0\",\"id\":" #id "," rest "}\n"

static const struct {
	const char *line;
	const char *why; /* part of the error message; NULL: the line is accepted */
} lines[] = {
	{ "hello\n", "no JSON" },
	{ "\n", "no JSON" },
	{ "{\"a\":\"\xff\"}\n", "no JSON" },
	{ "[]\n", "an answer with no result" },
	{ ANSWER(2, "\"result\":{},\"result\":{}"), "stands twice" },
	{ ANSWER(2, "\"result\":{},\"error\":{}"), "an error as well" },
	{ ANSWER(2, "\"method\":\"x\""), "no result" },
	{ ANSWER(3, "\"result\":{}"), "without a request" },
	{ ANSWER(1, "\"result\":{}"), "without a request" },
	{ ANSWER(-2, "\"result\":{}"), "without a request" },
	{ ANSWER("2", "\"result\":{}"), "no number" },
	{ ANSWER(2.5, "\"result\":{}"), "no number" },
	{ ANSWER(null,
		 "\"error\":{\"code\":-32000,\"message\":\"too many\",\"data\":{\"kind\":\"limit\"}}"),
	  "too many" },
	{ "{\"method\":\"output\",\"params\":7}\n", "without params" },
	{ "{\"method\":\"event\"}\n", "without params" },
	{ "{\"method\":\"log\",\"params\":null}\n", "without params" },
	{ "{\"method\":\"of a later version\"}\n", NULL },
	{ "{\"method\":\"output\",\"params\":{}}\n", NULL },
	{ "{\"method\":\"output\",\"params\":{\"process\":\"x\",\"stream\":1,\"base64\":\"=\",\"dropped\":-1}}\n",
	  NULL },
	{ "{\"method\":\"event\",\"params\":{\"event\":7,\"process\":1}}\n", NULL },
};

static void hold_lines_to_the_protocol(void)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct hutch_error e;
		int peer;
		struct hutch *h = open_hostile(&peer);
		static const char good[] = ANSWER(2, "\"result\":{\"a\":1}");

		const int64_t call = hutch_info(h, HUTCH_WAIT, &e);
		check(call == 2);
		check(write(peer, lines[i].line, strlen(lines[i].line)) > 0);
		check(write(peer, good, strlen(good)) > 0);
		const int rc = hutch_wait(h, call, PATIENCE_MS, NULL, &e);
		if ((rc == 0) != !lines[i].why ||
		    (rc < 0 && !strstr(e.message, lines[i].why)))
			fprintf(stderr, "line %zu: %s\n", i,
				rc ? e.message : "it was let pass");
		check((rc == 0) == !lines[i].why);
		check(rc == 0 || strstr(e.message, lines[i].why));
		check(rc == 0 || e.kind == HUTCH_PROTOCOL || e.kind == HUTCH_LIMIT);
		hutch_close(h);
		close(peer);
	}
}

static void *write_without_end(void *arg)
{
	const int peer = *(int *)arg;
	char *much = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t sent = 0;
	ssize_t n;

	check(much != MAP_FAILED);
	while ((n = send(peer, much, 1 << 20, MSG_NOSIGNAL)) > 0)
		sent += (size_t)n;
	munmap(much, 1 << 20);
	check(sent < 40u << 20);
	return NULL;
}

static void bound_a_line(void)
{
	struct hutch_error e;
	pthread_t thread;
	int peer;
	struct hutch *h = open_hostile(&peer);

	check(pthread_create(&thread, NULL, write_without_end, &peer) == 0);
	check(hutch_wait(h, hutch_info(h, HUTCH_WAIT, &e), PATIENCE_MS, NULL, &e) == -1);
	check(e.kind == HUTCH_PROTOCOL && strstr(e.message, "32 MiB"));
	check(pthread_join(thread, NULL) == 0);
	hutch_close(h);
	close(peer);
}

/* Sends more than 16 MiB while no thread takes messages: the library keeps 16
 * MiB and reports the number of dropped messages. */
static void *flood(void *arg)
{
	static const char good[] = ANSWER(2, "\"result\":{}");
	const int peer = *(int *)arg;
	char line[8192];

	memset(line, 'x', sizeof(line));
	for (int i = 0; i < 4000; i++) {
		const int len =
			snprintf(line, sizeof(line),
				 "{\"method\":\"output\",\"params\":{\"process\":1,"
				 "\"stream\":\"stdout\",\"data\":\"%-7900d\"}}\n",
				 i);
		check(send(peer, line, (size_t)len, MSG_NOSIGNAL) == len);
	}
	check(write(peer, good, strlen(good)) > 0);
	return NULL;
}

static void bound_what_nobody_takes(void)
{
	struct hutch_message *m;
	struct hutch_error e;
	pthread_t thread;
	uint64_t missed = 0, taken = 0;
	int peer;
	struct hutch *h = open_hostile(&peer);

	check(pthread_create(&thread, NULL, flood, &peer) == 0);
	hutch_message_free(trial_answer(h, hutch_info(h, HUTCH_WAIT, &e)));
	check(pthread_join(thread, NULL) == 0);
	while (hutch_next(h, 0, &m, &e) == 1) {
		missed += m->missed;
		taken += m->type == HUTCH_OUTPUT;
		/* The messages that are kept are the latest, in order. */
		if (m->type == HUTCH_OUTPUT)
			check((uint64_t)atoi(m->data) == missed + taken - 1);
		hutch_message_free(m);
	}
	check(missed + taken == 4000 && missed > 0 && taken > 500);
	hutch_close(h);
	close(peer);
}

#define CHATTERERS 4

/* Sends until the peer closes its end.  Each line is one write, so that lines
 * of several threads do not mix. */
static void *chatter(void *arg)
{
	const int peer = *(int *)arg;
	char line[8192];
	int len = sprintf(line, "{\"method\":\"event\",\"params\":{\"x\":[0");

	while (len < 8000)
		len += sprintf(line + len, ",%d", 0);
	len += sprintf(line + len, "]}}\n");
	while (send(peer, line, (size_t)len, MSG_NOSIGNAL) == len)
		;
	return NULL;
}

static void keep_time_though_there_is_always_more(void)
{
	struct hutch_error e;
	pthread_t threads[CHATTERERS];
	int peer;
	struct hutch *h = open_hostile(&peer);

	alarm(PATIENCE_S);
	for (int i = 0; i < CHATTERERS; i++)
		check(pthread_create(&threads[i], NULL, chatter, &peer) == 0);
	for (int i = 0; i < 40; i++) {
		check(hutch_wait(h, hutch_info(h, HUTCH_WAIT, &e), 1, NULL, &e) == -1);
		works(&e, e.kind == HUTCH_TIMEOUT);
	}
	hutch_close(h);
	for (int i = 0; i < CHATTERERS; i++)
		check(pthread_join(threads[i], NULL) == 0);
	alarm(0);
	close(peer);
}

/* The program that plays `hutch` prints lines that hutch never prints. */
static void judge_what_the_program_says(void)
{
	static const struct {
		const char *said, *message;
		int kind;
	} said[] = {
		{ "", "without saying how it went", HUTCH_SYSTEM },
		{ "hutch: no\n", "without saying how it went", HUTCH_SYSTEM },
		{ "{\"error\":null}\n", "no connection", HUTCH_PROTOCOL },
		{ "{\"error\":7}\n", "without words", HUTCH_INTERNAL },
		{ "{\"error\":{\"kind\":\"usage\",\"message\":\"m\",\"remedy\":\"r\"}}\n",
		  "m", HUTCH_INVALID },
		{ "{\"error\":{\"kind\":\"new\",\"message\":\"m\"}}\n", "m",
		  HUTCH_INTERNAL },
	};
	char self[200];
	const ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	check(len > 0);
	self[len] = '\0';
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		const struct hutch_how how = { .size = sizeof(how), .program = self };
		const char *const args[] = { "x", NULL };
		struct hutch_error e;
		struct hutch *h;

		setenv("IMPOSTOR_SAYS", said[i].said, 1);
		for (int creates = 0; creates < 2; creates++) {
			works(&e, (creates ? hutch_create(args, &how, &h, &e) :
					     hutch_attach("x", &how, &h, &e)) == 0);
			const int64_t call = hutch_info(h, HUTCH_WAIT, &e);
			check(hutch_ready(h, PATIENCE_MS, &e) == -1);
			works(&e, e.kind == said[i].kind &&
					  strstr(e.message, said[i].message));
			check(hutch_wait(h, call, -1, NULL, &e) == -1 &&
			      e.kind == said[i].kind);
			hutch_close(h);
		}
	}
	unsetenv("IMPOSTOR_SAYS");
}

static void start_programs_as_a_shell_would(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction old;
	sigset_t some, before;
	int peer;

	sigemptyset(&some);
	sigaddset(&some, SIGTERM);
	check(sigprocmask(SIG_BLOCK, &some, &before) == 0 &&
	      sigaction(SIGPIPE, &ignore, &old) == 0);
	hutch_close(open_hostile(&peer));
	close(peer);
	check(sigaction(SIGPIPE, &old, NULL) == 0 &&
	      sigprocmask(SIG_SETMASK, &before, NULL) == 0);
}

const struct trial trials_hostile[] = {
	{ "find_no_descriptor_for_a_connection", find_no_descriptor_for_a_connection },
	{ "hold_lines_to_the_protocol", hold_lines_to_the_protocol },
	{ "bound_a_line", bound_a_line },
	{ "bound_what_nobody_takes", bound_what_nobody_takes },
	{ "keep_time_though_there_is_always_more",
	  keep_time_though_there_is_always_more },
	{ "start_programs_as_a_shell_would", start_programs_as_a_shell_would },
	{ "judge_what_the_program_says", judge_what_the_program_says },
	{ NULL, NULL },
};
