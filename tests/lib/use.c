/* Calls of a program when nothing fails. */
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "tests/lib/trial.h"

/* Output that was written before a time-out is delivered.  A shell may take any time
 * until it writes, so the time-out is doubled until some output came. */
static void time_out(struct hutch *h)
{
	struct hutch_exec x = { .size = sizeof(x),
				.timeout_ms = 100,
				.cwd = "/tmp",
				.argv = (const char *const[]){
					"sh", "-c", "pwd; sleep 1000", NULL } };
	struct hutch_result r;
	struct hutch_error e;
	bool has_written;

	do {
		works(&e, hutch_run(h, &x, NULL, &r, &e) == 0);
		has_written = r.out_len > 0;
		check(r.timed_out && r.exit_code == 137);
		check(!strcmp(r.out, has_written ? "/tmp\n" : ""));
		check(has_written || x.timeout_ms < PATIENCE_MS);
		x.timeout_ms *= 2;
		hutch_result_done(&r);
	} while (!has_written);
}

static void run_commands(void)
{
	struct hutch *h = trial_create("box");
	const char *const cat[] = { "sh", "-c", "cat; echo told >&2; exit 3", NULL };
	const char *const env[] = { "GREETING=hello \"there\"", NULL };
	struct hutch_exec x = { .size = sizeof(x), .argv = cat, .env = env };
	const size_t len = 3000000;
	char *bytes = malloc(len), said[64];
	const struct hutch_input input = { .size = sizeof(input),
					   .data = bytes,
					   .len = len };
	struct hutch_result r;
	struct hutch_error e;

	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)(i * 7919 >> 3);
	works(&e, hutch_run(h, &x, &input, &r, &e) == 0);
	check(r.exit_code == 3 && !r.timed_out && r.lost == 0);
	check(r.out_len == len && memcmp(r.out, bytes, len) == 0 && r.out[len] == '\0');
	check(!strcmp(r.err, "told\n"));
	hutch_result_done(&r);

	/* This command gets no input, and leaves a process behind that holds its
	 * pipes. */
	x.argv = (const char *const[]){ "sh", "-c",
					"sleep 1000 & printf %s \"$GREETING\"", NULL };
	works(&e, hutch_run(h, &x, &input, &r, &e) == 0);
	check(r.exit_code == 0 && !strcmp(r.out, "hello \"there\""));
	hutch_result_done(&r);
	free(bytes);

	time_out(h);
	check(trial_sh(h, "kill -TERM $$", NULL, 0) == 128 + SIGTERM);
	check(trial_sh(h, "head -c 40000000 /dev/zero | wc -c", said, sizeof(said)) == 0);
	check(atoi(said) == 40000000);

	/* hutch_run() returned all output, so that none of it came as a message. */
	struct hutch_message *m;
	works(&e, hutch_next(h, 0, &m, &e) == 1 && m->type == HUTCH_READY);
	hutch_message_free(m);
	works(&e, hutch_next(h, 0, &m, &e) == 0);
	trial_end(h);
}

/* Requests made before the connection is open are sent once it is, with their
 * descriptors. */
static void run_at_once(void)
{
	const char *const args[] = { "box", NULL };
	const struct hutch_how how = { .size = sizeof(how), .program = trial_program() };
	struct hutch_error e;
	struct hutch *h, *other;
	char said[10];

	const int lasting = trial_lasting();
	works(&e, hutch_create(args, &how, &h, &e) == 0);
	const struct hutch_exec x = { .size = sizeof(x),
				      .flags = HUTCH_FDS,
				      .fds = { 0, 1, 2 },
				      .argv = (const char *const[]){ "true", NULL } };
	works(&e, hutch_exec(h, &x, NULL, &e) == 2);
	check(trial_lasting() == lasting);
	check(trial_sh(h, "echo 1", said, sizeof(said)) == 0 && !strcmp(said, "1\n"));
	works(&e, hutch_attach("box", &how, &other, &e) == 0);
	check(trial_sh(other, "echo 2", said, sizeof(said)) == 0 && !strcmp(said, "2\n"));
	hutch_close(other);
	trial_end(h);
}

/* The words of a main process come behind the name, which the handle has to find. */
static void make_one_with_a_main_process(void)
{
	const char *const args[] = { "--main", "box",  "--",
				     "sh",     "-c",   "exec sleep \"$1\"",
				     "--",     "1000", NULL };
	const struct hutch_how how = { .size = sizeof(how), .program = trial_program() };
	struct hutch_error e;
	struct hutch *h;
	char said[10];

	works(&e, hutch_create(args, &how, &h, &e) == 0);
	works(&e, hutch_ready(h, PATIENCE_MS, &e) == 0);
	check(!strcmp(hutch_name(h), "box"));
	check(trial_sh(h, "grep -hx sleep /proc/*/comm", said, sizeof(said)) == 0);
	check(!strcmp(said, "sleep\n"));
	trial_end(h);
}

/* Flags of `hutch create` make a network of rules. */
static void allow_a_host(void)
{
	const char *const args[] = { "--allow", "@host:9", "box", NULL };
	const struct hutch_how how = { .size = sizeof(how), .program = trial_program() };
	struct hutch_error e;
	struct hutch *h;
	char said[10];

	works(&e, hutch_create(args, &how, &h, &e) == 0);
	works(&e, hutch_ready(h, PATIENCE_MS, &e) == 0);
	check(trial_sh(h, "getent ahosts host.hutch.internal >/dev/null && echo 1", said,
		       sizeof(said)) == 0);
	check(!strcmp(said, "1\n"));
	check(trial_sh(h, "getent ahosts other.internal", said, sizeof(said)) == 2);
	trial_end(h);
}

static void keep_no_more_than_16_mib(void)
{
	struct hutch *h = trial_create("box");
	const struct hutch_exec x = { .size = sizeof(x),
				      .argv = (const char *const[]){
					      "head", "-c", "20000000", "/dev/zero",
					      NULL } };
	struct hutch_result r;
	struct hutch_error e;

	works(&e, hutch_run(h, &x, NULL, &r, &e) == 0);
	check(r.out_len == 16u << 20 && r.lost == 20000000 - r.out_len);
	hutch_result_done(&r);
	trial_end(h);
}

/* Uses an event loop for everything; every call is made before the sandbox is
 * ready. */
static void serve_an_event_loop(void)
{
	const char *const args[] = { "--hostname", "looped", "box", NULL };
	const struct hutch_how how = { .size = sizeof(how), .program = trial_program() };
	const char *const sh[] = {
		"sh", "-c", "hostname; read a; echo \"got $a\"; printf '\\377\\000'", NULL
	};
	const struct hutch_exec x = { .size = sizeof(x),
				      .argv = sh,
				      .flags = HUTCH_STDIN };
	const struct hutch_input input = {
		.size = sizeof(input), .data = "a line\n", .len = 7, .flags = HUTCH_EOF
	};
	struct hutch_message *m;
	struct hutch_error e;
	struct hutch *h;
	int order = 0, tags[3], turns = 0;
	char out[100];
	size_t len = 0;
	int64_t code = -1, process = 0;

	works(&e, hutch_create(args, &how, &h, &e) == 0);
	struct pollfd w = { .fd = hutch_fd(h, &e), .events = POLLIN };
	works(&e, w.fd >= 0 && hutch_fd(h, &e) == w.fd);
	works(&e, hutch_info(h, &tags[0], &e) == 2);
	works(&e, hutch_exec(h, &x, &tags[1], &e) == 3);
	while (code < 0) {
		check(poll(&w, 1, PATIENCE_MS) == 1 && ++turns < 1000);
		while (hutch_next(h, 0, &m, &e) == 1) {
			check(m->type == HUTCH_READY || order > 0);
			order++;
			if (m->type == HUTCH_ANSWER && m->call == 2)
				check(m->tag == &tags[0] && m->error.kind == HUTCH_OK);
			if (m->type == HUTCH_ANSWER && m->call == 3) {
				check(m->tag == &tags[1]);
				check(hutch_json_integer(m->json, "process", &process));
				works(&e, hutch_exec_write(h, process, &input, &tags[2],
							   &e) == 4);
			}
			if (m->type == HUTCH_OUTPUT) {
				check(m->process == process && m->stream == 1);
				memcpy(out + len, m->data, m->data_len);
				len += m->data_len;
			}
			if (m->type == HUTCH_EVENT)
				check(hutch_json_integer(m->json, "exit_code", &code));
			hutch_message_free(m);
		}
	}
	check(poll(&w, 1, 0) == 0);
	/* A message that another thread's wait has read makes the descriptor
	 * readable for poll(2). */
	works(&e, hutch_info(h, &tags[0], &e) > 0);
	hutch_message_free(trial_answer(h, hutch_stats(h, HUTCH_WAIT, &e)));
	check(poll(&w, 1, 0) == 1 && hutch_next(h, 0, &m, &e) == 1 && m->tag == &tags[0]);
	hutch_message_free(m);
	check(poll(&w, 1, 0) == 0);
	check(len == 20 && !memcmp(out, "looped\ngot a line\n\377\0", 20) && code == 0);
	trial_end(h);
}

/* hutch_next() tells a program that makes no request, and only polls, that the
 * sandbox is ready. */
static void open_for_a_caller_that_only_polls(void)
{
	struct hutch *box = trial_create("box"), *h;
	const struct hutch_how how = { .size = sizeof(how), .program = trial_program() };
	struct hutch_message *m;
	struct hutch_error e;

	works(&e, hutch_attach("box", &how, &h, &e) == 0);
	struct pollfd w = { .fd = hutch_fd(h, &e), .events = POLLIN };
	m = NULL;
	while (!m) {
		check(poll(&w, 1, PATIENCE_MS) == 1);
		works(&e, hutch_next(h, 0, &m, &e) >= 0);
	}
	works(&m->error, m->type == HUTCH_READY);
	hutch_message_free(m);
	hutch_close(h);
	trial_end(box);
}

static void copy_files(void)
{
	struct hutch *h = trial_create("box");
	int tar[2], words[2];
	char said[200];
	int64_t process = 0;
	struct hutch_error e;

	check(pipe2(tar, O_CLOEXEC) == 0 && pipe2(words, O_CLOEXEC) == 0);
	check(trial_sh(h, "mkdir a; echo one >a/1; seq 1000 >a/2", NULL, 0) == 0);
	/* Copies out and in at once through one pipe, so that no byte passes
	 * through this program. */
	const struct hutch_copy out = { .size = sizeof(out),
					.path = "a",
					.flags = HUTCH_FDS,
					.tar = tar[1],
					.sentences = -1 };
	const struct hutch_copy in = { .size = sizeof(in),
				       .path = "b/",
				       .name = "c",
				       .flags = HUTCH_FDS,
				       .tar = tar[0],
				       .sentences = words[1] };
	check(trial_sh(h, "mkdir b", NULL, 0) == 0);
	hutch_message_free(trial_answer(h, hutch_copy_out(h, &out, HUTCH_WAIT, &e)));
	struct hutch_message *m = trial_answer(h, hutch_copy_in(h, &in, HUTCH_WAIT, &e));
	close(tar[0]), close(tar[1]), close(words[1]);
	check(hutch_json_integer(m->json, "process", &process));
	hutch_message_free(m);
	m = trial_answer(h, hutch_exec_wait(h, process, HUTCH_WAIT, &e));
	check(strstr(m->json, "\"error\":null"));
	hutch_message_free(m);
	check(trial_sh(h, "diff -r a b/c && ls b", said, sizeof(said)) == 0);
	check(!strcmp(said, "c\n"));

	const struct hutch_copy none = { .size = sizeof(none), .path = "none" };
	m = trial_answer(h, hutch_copy_out(h, &none, HUTCH_WAIT, &e));
	check(hutch_json_integer(m->json, "process", &process));
	hutch_message_free(m);
	m = trial_answer(h, hutch_exec_wait(h, process, HUTCH_WAIT, &e));
	char *why = hutch_json_string(m->json, "error");
	check(why && !strcmp(why, "not_found"));
	free(why);
	hutch_message_free(m);
	check(read(words[0], said, sizeof(said)) == 0);
	close(words[0]);
	trial_end(h);
}

static void do_actions(void)
{
	struct hutch *h = trial_create("box");
	struct hutch_error e;
	char *quoted = hutch_json_quote("echo \"a\\b\"; read x </tmp/go; printf '%s' ü"),
	     action[300];
	char *content;
	bool was_told = false;

	check(quoted && trial_sh(h, "mkfifo /tmp/go", NULL, 0) == 0);
	snprintf(action, sizeof(action),
		 "{\n \"action\": \"run\",\r\n \"args\": {\"command\": %s}}\n", quoted);
	free(quoted);
	const int64_t call = hutch_act(h, action, HUTCH_STREAM, NULL, &e);
	struct hutch_message *m;
	for (;;) {
		works(&e, hutch_next(h, PATIENCE_MS, &m, &e) == 1);
		if (m->type == HUTCH_ANSWER)
			break;
		const bool is_told = m->type == HUTCH_OUTPUT && m->stream == 0 &&
				     m->data_len > 0;
		hutch_message_free(m);
		if (is_told && !was_told) /* let the command go on after its first line */
			check(trial_sh(h, "echo >/tmp/go", NULL, 0) == 0);
		was_told |= is_told;
	}
	check(was_told && m->call == call);
	content = hutch_json_string(m->json, "content");
	check(content && !strcmp(content, "a\\b\nü"));
	free(content);
	hutch_message_free(m);

	/* More than a socket's buffer holds. */
	char *large = malloc(3000100);
	int len = sprintf(
		large,
		"{\"action\":\"write\",\"args\":{\"path\":\"large\",\"content\":\"");
	memset(large + len, 'x', 3000000);
	strcpy(large + len + 3000000, "\"}}");
	hutch_message_free(trial_answer(h, hutch_act(h, large, 0, HUTCH_WAIT, &e)));
	check(trial_sh(h, "[ $(wc -c <large) -ge 3000000 ]", NULL, 0) == 0);
	free(large);

	const int64_t slow =
		hutch_act(h,
			  "{\"action\":\"run\",\"id\":7,\"args\":{\"command\":"
			  "\"echo go; sleep 1000\"}}",
			  HUTCH_STREAM, HUTCH_WAIT, &e);
	hutch_message_free(trial_next(h, HUTCH_OUTPUT, 0));
	hutch_message_free(trial_answer(h, hutch_cancel(h, 7, HUTCH_WAIT, &e)));
	hutch_message_free(trial_answer(h, slow));
	check(hutch_wait(h, hutch_cancel(h, 8, HUTCH_WAIT, &e), PATIENCE_MS, NULL, &e) ==
	      -1);
	check(e.kind == HUTCH_NOT_FOUND);
	trial_end(h);
}

static void stream_actions(void)
{
	struct hutch *h = trial_create("box");
	static const char line[] =
		"{\"action\":\"run\",\"id\":1,\"args\":{\"command\":\"echo hi\"}}\n";
	struct hutch_error e;
	char said[4096];

	const int64_t call = hutch_info(h, HUTCH_WAIT, &e);
	check(hutch_act_stream(h, 0, &e) == -1 && e.kind == HUTCH_BUSY);
	hutch_message_free(trial_answer(h, call));
	int fd = hutch_act_stream(h, 0, &e);
	works(&e, fd >= 0);
	check(hutch_info(h, NULL, &e) == -1 && e.kind == HUTCH_INVALID);
	check(write(fd, line, strlen(line)) == (ssize_t)strlen(line));
	const ssize_t n = read(fd, said, sizeof(said) - 1);
	check(n > 0);
	said[n] = '\0';
	check(strstr(said, "\"cause\":1") && strchr(said, '\n') == said + n - 1);
	close(fd);
	trial_end(h);
}

static void hand_over(void)
{
	struct hutch *h = trial_create("box"), *taken = NULL;
	struct hutch_error e;
	int64_t pid = 0;

	const int64_t call = hutch_info(h, HUTCH_WAIT, &e);
	check(hutch_detach(h, &e) == -1 && e.kind == HUTCH_BUSY);
	hutch_message_free(trial_answer(h, call));
	const int fd = hutch_detach(h, &e);
	works(&e, fd >= 0);
	check(hutch_info(h, NULL, &e) == -1 && e.kind == HUTCH_INVALID);
	hutch_close(h);
	check(hutch_adopt("bad/name", fd, NULL, &taken, &e) == -1 &&
	      e.kind == HUTCH_INVALID);
	works(&e, hutch_adopt("box", fd, NULL, &taken, &e) == 0);
	check(!strcmp(hutch_name(taken), "box"));
	struct hutch_message *m = trial_answer(taken, hutch_info(taken, HUTCH_WAIT, &e));
	check(hutch_json_integer(m->json, "pid", &pid) && pid > 0);
	hutch_message_free(m);
	trial_end(taken);
}

static void watch_and_steer(void)
{
	struct hutch *h = trial_create("box");
	struct hutch *other = trial_attach("box");
	struct hutch_error e;
	int64_t number = 0;

	struct hutch_message *m = trial_answer(h, hutch_events(h, 0, HUTCH_WAIT, &e));
	check(hutch_json_integer(m->json, "next", &number) && number > 0);
	hutch_message_free(m);
	hutch_message_free(trial_answer(h, hutch_pause(h, HUTCH_WAIT, &e)));
	check(hutch_wait(
		      other,
		      hutch_exec(other,
				 &(struct hutch_exec){
					 .size = sizeof(struct hutch_exec),
					 .argv = (const char *const[]){ "true", NULL } },
				 HUTCH_WAIT, &e),
		      -1, NULL, &e) == -1);
	check(e.kind == HUTCH_BUSY && e.exit_code == 125);
	hutch_message_free(trial_answer(other, hutch_unpause(other, 0, HUTCH_WAIT, &e)));
	m = trial_answer(h, hutch_stats(h, HUTCH_WAIT, &e));
	check(hutch_json_integer(m->json, "pids", &number) && number >= 0);
	hutch_message_free(m);
	char *status = NULL;
	while (!status || strcmp(status, "paused")) {
		free(status);
		m = trial_next(h, HUTCH_EVENT, 0);
		status = hutch_json_string(m->json, "status");
		hutch_message_free(m);
	}
	free(status);
	/* One handle stops the sandbox; both get the message. */
	hutch_message_free(trial_answer(other, hutch_stop(other, 5, HUTCH_WAIT, &e)));
	m = trial_next(h, HUTCH_ENDED, 0);
	check(m->error.kind == HUTCH_DISCONNECTED &&
	      strstr(m->error.remedy, "hutch ps -a"));
	hutch_message_free(m);
	check(hutch_next(h, 0, &m, &e) == -1 && e.kind == HUTCH_DISCONNECTED);
	hutch_close(other);
	trial_end(h);
}

/* --- once more --------------------------------------------------------------- */

static void end_by_kill(struct hutch *h)
{
	struct hutch_error e;

	works(&e, hutch_kill(h, NULL, &e) > 0);
	hutch_message_free(trial_next(h, HUTCH_ENDED, 0));
	hutch_close(h);
}

static void read_what_the_supervisor_logs(void)
{
	check(setenv("HUTCH_LOG_LEVEL", "info", 1) ==
	      0); /* at this level the supervisor logs something */
	struct hutch *h = trial_create("box");
	const struct hutch_request logs = { .size = sizeof(logs),
					    .method = "logs",
					    .params = "{\"of\":\"supervisor\"}" };
	struct hutch_error e;

	hutch_message_free(trial_answer(h, hutch_call(h, &logs, HUTCH_WAIT, &e)));
	struct hutch_message *m = trial_next(h, HUTCH_EVENT, 0);
	char *level = hutch_json_string(m->json, "level");
	char *event = hutch_json_string(m->json, "event");
	check(level && !event && m->process == 0);
	free(level);
	hutch_message_free(m);
	trial_end(h);
}

/* library.bats has made the sandbox `box`, which has ended, with a file in it. */
static void start_again(void)
{
	const char *const args[] = { "-e", "A=b", "box", NULL };
	const struct hutch_how how = { .size = sizeof(how),
				       .program = trial_program(),
				       .verb = "start" };
	struct hutch_error e;
	struct hutch *h;
	char said[20];

	for (int round = 0; round < 2; round++) {
		works(&e, hutch_create(args, &how, &h, &e) == 0);
		works(&e, hutch_ready(h, PATIENCE_MS, &e) == 0);
		check(trial_sh(h, "cat /data/new; echo $A", said, sizeof(said)) == 0);
		check(!strcmp(said, "one\nb\n"));
		end_by_kill(h);
	}
	works(&e, hutch_rm("box", 0, &how, &e) == 0);
	check(hutch_create(args, &how, &h, &e) == 0);
	check(hutch_ready(h, PATIENCE_MS, &e) < 0 && strstr(e.message, "is kept"));
	hutch_close(h);
}

/* --- two threads and more --------------------------------------------------- */

#define THREADS 6
#define ROUNDS	20
#define CALLS	300 /* short calls: a thread often reads another's answer */

struct hand {
	struct hutch *h;
	int number;
	pthread_t thread;
};

static void *work(void *arg)
{
	const struct hand *hand = arg;
	char line[200], said[100], want[40];

	for (int i = 0; i < ROUNDS; i++) {
		struct hutch_error e;
		snprintf(want, sizeof(want), "%d-%d", hand->number, i);
		snprintf(line, sizeof(line), "printf %s; exit %d", want, i);
		check(trial_sh(hand->h, line, said, sizeof(said)) == i &&
		      !strcmp(said, want));
		snprintf(line, sizeof(line),
			 "{\"action\":\"stat\",\"args\":{\"path\":\"/%s\"}}", want);
		struct hutch_message *m = trial_answer(
			hand->h, hutch_act(hand->h, line, 0, HUTCH_WAIT, &e));
		check(strstr(m->json, want));
		hutch_message_free(m);
	}
	for (int i = 0; i < CALLS; i++) {
		struct hutch_error e;
		hutch_message_free(
			trial_answer(hand->h, hutch_info(hand->h, HUTCH_WAIT, &e)));
	}
	return NULL;
}

/* Takes all messages from the handle; none of them may be the answer to a call of
 * the other threads. */
static void *take(void *arg)
{
	const struct hand *hand = arg;
	struct hutch_message *m;
	struct hutch_error e;
	int64_t own = 0;
	int answers = 0;

	for (;;) {
		if (own == 0)
			own = hutch_info(hand->h, &own, &e);
		check(hutch_next(hand->h, PATIENCE_MS, &m, &e) == 1);
		const bool is_last = m->type == HUTCH_ENDED;
		check(m->type != HUTCH_OUTPUT && m->type != HUTCH_EVENT);
		if (m->type == HUTCH_ANSWER) {
			check(m->tag == &own && m->call == own);
			own = ++answers < 100 ? 0 : -1;
		}
		hutch_message_free(m);
		if (is_last)
			return NULL;
	}
}

static void give_each_thread_its_answers(void)
{
	struct hutch *h = trial_create("box");
	struct hand hands[THREADS], taker = { .h = h };
	struct hutch_error e;

	check(pthread_create(&taker.thread, NULL, take, &taker) == 0);
	for (int i = 0; i < THREADS; i++) {
		hands[i] = (struct hand){ .h = h, .number = i };
		check(pthread_create(&hands[i].thread, NULL, work, &hands[i]) == 0);
	}
	for (int i = 0; i < THREADS; i++)
		check(pthread_join(hands[i].thread, NULL) == 0);
	(void)hutch_wait(h, hutch_kill(h, HUTCH_WAIT, &e), PATIENCE_MS, NULL, &e);
	check(pthread_join(taker.thread, NULL) == 0);
	trial_end(h);
}

/* --- and one that waits for what another takes ------------------------------ */

struct rivals {
	struct hutch *h;
	atomic_int taken;
	atomic_bool is_over; /* the thread ends after the next message */
	double cpu_s;	     /* processor time of the thread */
};

static int take_one(struct rivals *r, int timeout_ms)
{
	struct hutch_message *m;
	struct hutch_error e;
	const int got = hutch_next(r->h, timeout_ms, &m, &e);

	works(&e, got >= 0);
	if (got == 1) {
		r->taken += m->type == HUTCH_ANSWER;
		hutch_message_free(m);
	}
	return got;
}

static double in_seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* Processor time of this thread so far. */
static double used_cpu(void)
{
	struct rusage used;

	check(getrusage(RUSAGE_THREAD, &used) == 0);
	return in_seconds(used.ru_utime) + in_seconds(used.ru_stime);
}

static void *compete(void *arg)
{
	struct rivals *r = arg;

	while (take_one(r, -1) == 1 && !r->is_over)
		;
	r->cpu_s = used_cpu();
	return NULL;
}

static void wait_without_being_busy(void)
{
	struct rivals r = { .h = trial_create("box") };
	struct hutch_error e;
	pthread_t thread;

	check(pthread_create(&thread, NULL, compete, &r) == 0);
	for (int i = 0; i < 100; i++) {
		works(&e, hutch_info(r.h, NULL, &e) > 0);
		while (r.taken <= i)
			(void)take_one(&r, 0);
	}
	/* No message comes while this thread uses the processor for 0.4 s.  A
	 * waiting thread that polled instead of sleeping would use as much time. */
	for (const double until = used_cpu() + 0.4; used_cpu() < until;)
		;
	r.is_over = true;
	works(&e, hutch_info(r.h, NULL, &e) > 0);
	check(pthread_join(thread, NULL) == 0);
	if (r.cpu_s >= 0.2)
		fprintf(stderr, "%.3f s\n", r.cpu_s);
	check(r.cpu_s < 0.2);
	trial_end(r.h);
}

/* A program that has called setlocale(3) may have a decimal comma; JSON has a
 * point. */
static void read_fractions_in_any_locale(void)
{
	double number = 0;

	check(setlocale(LC_ALL, "de_DE.UTF-8"));
	check(!strcmp(localeconv()->decimal_point, ","));
	check(hutch_json_number("{\"cpu\":1.75}", "cpu", &number) && number == 1.75);
	check(hutch_json_number("{\"a\":-25.5e-1}", "a", &number) && number == -2.55);
	check(!hutch_json_number("{\"a\":1.5e999}", "a", &number)); /* out of range */
	check(!strcmp(localeconv()->decimal_point, ",")); /* the locale is unchanged */
}

const struct trial trials_use[] = {
	{ "run_commands", run_commands },
	{ "run_at_once", run_at_once },
	{ "make_one_with_a_main_process", make_one_with_a_main_process },
	{ "allow_a_host", allow_a_host },
	{ "keep_no_more_than_16_mib", keep_no_more_than_16_mib },
	{ "serve_an_event_loop", serve_an_event_loop },
	{ "open_for_a_caller_that_only_polls", open_for_a_caller_that_only_polls },
	{ "copy_files", copy_files },
	{ "do_actions", do_actions },
	{ "stream_actions", stream_actions },
	{ "hand_over", hand_over },
	{ "watch_and_steer", watch_and_steer },
	{ "read_what_the_supervisor_logs", read_what_the_supervisor_logs },
	{ "start_again", start_again },
	{ "give_each_thread_its_answers", give_each_thread_its_answers },
	{ "wait_without_being_busy", wait_without_being_busy },
	{ "read_fractions_in_any_locale", read_fractions_in_any_locale },
	{ NULL, NULL },
};
