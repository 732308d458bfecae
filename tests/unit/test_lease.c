/* lease: a sandbox that ends with one connection. Tests what each client may ask for
 * before the sandbox is taken, and which client's leaving ends it. The test runs the
 * parts of the supervisor that serve clients; another process stands for pid 1. */
#include "supervisor/lease.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/socket.h>

#include "policy/policy.h"
#include "sandbox/launch/launch.h"
#include "supervisor/supervisor.h"
#include "tests/unit/register.h"

#define NOW	   1000000
#define TTL_MS	   60000
#define ANSWER_MAX 65536

#define HELLO		 "\"method\":\"hello\""
#define INFO		 "\"method\":\"info\""
#define RELEASE		 "\"method\":\"release\""
#define RELEASE_AS(name) "\"method\":\"release\",\"params\":{\"name\":\"" name "\"}"

static struct {
	struct supervisor s;
	struct registry_entry entry;
	struct launch launch;
	struct policy policy;
	/* The test's end of the connection on which the sandbox's life depends. */
	int holder;
	int channel;   /* the executor's end of the channel, held by the test */
	unsigned open; /* descriptors before the test */
	char answer[ANSWER_MAX];
} x;

/* --- a sandbox that waits ---------------------------------------------------- */

static int make_pair(int *ret_ours)
{
	int ends[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends),
		0);
	*ret_ours = ends[0];
	return ends[1];
}

static pid_t start_process(void)
{
	const pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	return pid;
}

/* Starts the supervisor as supervisor_run() does, but does not confine it. */
static void start_supervisor(int lease)
{
	struct supervisor *s = &x.s;
	struct err e = { 0 };

	*s = (struct supervisor){ .now_ms = NOW,
				  .launch = &x.launch,
				  .entry = &x.entry,
				  .ready = -1,
				  .clocks = { .ttl_ms = TTL_MS },
				  .status = REGISTRY_READY,
				  .lease = { .fd = lease, .is_waiting = lease > 0 } };
	s->instance = (struct instance){ .sandbox = &x.launch.sandbox,
					 .context = s,
					 .state = INSTANCE_READY };
	instance_init(&s->instance, s->now_ms);
	pause_init(&s->pause);
	dispatcher_init(&s->dispatcher);
	methods_init_jobs(s);
	outputs_init(s);
	peer_self_init(&s->self);
	supervisor_log_init(&s->supervisor_log, s->entry, &s->dispatcher.secrets,
			    &s->now_ms);
	s->created = text_copy("2026-01-01T00:00:00Z");
	s->listener = registry_listen(s->entry, &e);
	if (s->listener < 0)
		fail_msg("%s", e.text);
	lease_serve(s);
}

static int start(void **state, bool has_lease)
{
	struct err e = { 0 };

	if (register_setup(state) < 0)
		return -1;
	x.holder = x.channel = -1;
	x.open = scene_open_fds();
	policy_init(&x.policy);
	launch_init(&x.launch, &x.policy);
	/* Started first, so that it inherits no connection. */
	x.launch.sandbox.pid = start_process();
	x.launch.sandbox.channel = make_pair(&x.channel);
	if ((has_lease ? registry_create_waiting("box", &x.entry, &e) :
			 registry_create("box", &x.entry, &e)) < 0)
		fail_msg("%s", e.text);
	start_supervisor(has_lease ? make_pair(&x.holder) : 0);
	return 0;
}

static int setup(void **state)
{
	return start(state, true);
}

static int setup_without(void **state)
{
	return start(state, false);
}

static void end_supervisor(struct supervisor *s)
{
	clients_done(s);
	own_close(&s->listener);
	pause_done(&s->pause);
	jobs_done(&s->jobs);
	outputs_done(s);
	dispatcher_done(&s->dispatcher);
	instance_done(&s->instance);
	events_done(&s->events);
	supervisor_log_done(&s->supervisor_log);
	peer_self_done(&s->self);
	own_free(&s->created);
}

/* Ends whatever a test has left running, and removes its files. */
static int teardown(void **state)
{
	if (x.launch.sandbox.pid > 0) {
		(void)kill(x.launch.sandbox.pid, SIGKILL);
		(void)waitpid(x.launch.sandbox.pid, NULL, 0);
		x.launch.sandbox.pid = 0;
	}
	end_supervisor(&x.s);
	end(&x.entry, REGISTRY_REMOVE);
	launch_done(&x.launch);
	policy_done(&x.policy);
	own_close(&x.holder);
	own_close(&x.channel);
	const unsigned left = scene_open_fds();
	if (left != x.open)
		print_error("%u descriptors before, %u after\n", x.open, left);
	return scene_teardown(state) == 0 && left == x.open ? 0 : -1;
}

/* --- those who talk to it ----------------------------------------------------- */

/* Does what the supervisor's loop does for its clients in one turn. */
static void turn(void)
{
	struct pollfd w[CLIENTS_MAX];

	clients_watch(&x.s, w);
	assert_true(poll(w, x.s.client_count, 0) >= 0);
	clients_serve(&x.s, w);
	while (clients_work(&x.s))
		;
}

static int join(void)
{
	struct err e = { 0 };
	const int fd = registry_connect(x.entry.name, &e);

	if (fd < 0)
		fail_msg("%s", e.text);
	clients_accept(&x.s);
	return fd;
}

static void send_request(int fd, const char *request)
{
	AUTO_FREE char *line =
		text_format("{\"jsonrpc\":\"2.0\",\"id\":7,%s}\n", request);

	assert_int_equal(send(fd, line, strlen(line), MSG_NOSIGNAL), strlen(line));
}

static const char *ask(int fd, const char *request)
{
	send_request(fd, request);
	turn();
	const ssize_t n = recv(fd, x.answer, sizeof(x.answer) - 1, MSG_DONTWAIT);
	x.answer[n > 0 ? n : 0] = '\0';
	return x.answer;
}

static void expect(int fd, const char *request, const char *part)
{
	if (!strstr(ask(fd, request), part))
		fail_msg("'%s' was expected, and came: %.300s", part, x.answer);
}

/* Connects and says hello. */
static int join_and_greet(void)
{
	const int fd = join();

	expect(fd, HELLO, "\"result\":{\"protocol\":1");
	return fd;
}

static void leave(int *fd)
{
	own_close(fd);
	turn();
}

static bool shows_as_waiting(void)
{
	struct registry_item item;
	struct err e = { 0 };

	if (registry_look(x.entry.name, &item, &e) < 0)
		fail_msg("%s", e.text);
	const bool is_waiting = item.is_waiting;
	registry_item_done(&item);
	return is_waiting;
}

static void expect_alive(void)
{
	assert_null(x.s.ending.reason);
	assert_false(instance_is_over(&x.s.instance));
	assert_int_equal(waitpid(x.launch.sandbox.pid, NULL, WNOHANG), 0);
}

/* Checks that the sandbox has ended because of the lease, and that pid 1 was killed. */
static void expect_end(void)
{
	int status = 0;

	assert_non_null(x.s.ending.reason);
	assert_string_equal(x.s.ending.reason, "stopped");
	assert_int_equal(x.s.ending.exit_code, 0);
	assert_non_null(x.s.ending.limit);
	assert_string_equal(x.s.ending.limit, "lease");
	assert_int_equal(x.s.ending.error.kind, ERR_GONE);
	assert_true(instance_is_over(&x.s.instance));
	assert_int_equal(waitpid(x.launch.sandbox.pid, &status, 0), x.launch.sandbox.pid);
	x.launch.sandbox.pid = 0;
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* --- waiting -------------------------------------------------------------------- */

static void test_a_waiting_sandbox_has_its_holder_as_a_client(void **state)
{
	(void)state;
	assert_int_equal(x.s.client_count, 1);
	assert_ptr_equal(x.s.lease.holder, x.s.clients[0]);
	assert_true(x.s.lease.fd <= 0); /* the client has taken over the descriptor */
	assert_string_equal(lease_state(&x.s.lease), "\"waiting\"");
	assert_int_equal(lease_check(&x.s, x.s.clients[0], NULL), 0);
	assert_true(shows_as_waiting());
	turn();
	expect_alive();
}

static const char *const looks[] = { "info", "stats", "port.list", "diff" };

static void test_a_look_at_a_waiting_sandbox_does_not_take_it(void **state)
{
	(void)state;
	AUTO_CLOSE int other = join_and_greet();

	for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
		AUTO_FREE char *request = text_format("\"method\":\"%s\"", looks[i]);
		assert_null(strstr(ask(other, request), "\"busy\""));
		assert_non_null(strstr(x.answer, "\"id\":7"));
	}
	expect(other, INFO, "\"lease\":\"waiting\"");
	assert_true(shows_as_waiting());
	/* --ttl counts only from when it is taken. */
	assert_int_equal(x.s.clocks.ttl_due, 0);
	expect_alive();
}

static const char *const uses[] = {
	"pause",       "unpause",    "rename",	 "release",    "events.subscribe",
	"exec.start",  "copy.in",    "copy.out", "exec.wait",  "exec.signal",
	"exec.resize", "exec.list",  "act",	 "act.stream", "cancel",
	"exec.attach", "exec.write", "logs",	 "update",     "port.add",
	"port.remove", "snapshot",
};

static void test_a_waiting_sandbox_is_busy_for_other_clients(void **state)
{
	(void)state;
	AUTO_CLOSE int other = join_and_greet();

	for (size_t i = 0; i < ARRAY_LEN(uses); i++) {
		AUTO_FREE char *request = text_format("\"method\":\"%s\"", uses[i]);
		expect(other, request, "\"kind\":\"busy\"");
		expect(other, request, "it waits to be handed out");
		expect(other, request, "hutch pool take");
	}
	assert_true(shows_as_waiting());
	expect_alive();
}

static void test_a_waiting_sandbox_can_be_ended_by_any_client(void **state)
{
	(void)state;
	AUTO_CLOSE int other = join_and_greet();

	assert_string_equal(ask(other, "\"method\":\"kill\""),
			    ""); /* after the end */
	assert_string_equal(x.s.ending.reason, "killed");
	assert_null(x.s.ending.limit);
	assert_true(instance_is_over(&x.s.instance));
}

static void test_a_waiting_sandbox_can_be_stopped_by_any_client(void **state)
{
	(void)state;
	AUTO_CLOSE int other = join_and_greet();

	assert_string_equal(ask(other, "\"method\":\"stop\""), "");
	assert_true(x.s.is_stopping);
}

static void test_a_waiting_sandbox_ends_when_its_holder_leaves(void **state)
{
	(void)state;
	AUTO_CLOSE int other = join_and_greet();

	leave(&other);
	expect_alive();
	leave(&x.holder);
	expect_end();
	assert_null(x.s.lease.holder); /* the holder has left */
}

/* --- held ------------------------------------------------------------------------ */

static void test_the_holders_hello_takes_it_for_everybody(void **state)
{
	(void)state;
	AUTO_CLOSE int other = join_and_greet();

	expect(x.holder, HELLO, "\"result\":{\"protocol\":1");
	expect(x.holder, INFO, "\"lease\":\"held\"");
	expect(other, INFO, "\"lease\":\"held\"");
	expect(other, "\"method\":\"exec.list\"", "\"result\"");
	expect(x.holder, "\"method\":\"exec.list\"", "\"result\"");
	expect(other, "\"method\":\"rename\",\"params\":{\"name\":\"house\"}",
	       "\"result\"");
	assert_string_equal(x.entry.name, "house");
	assert_false(shows_as_waiting());
	expect_alive();
}

static void test_the_time_outs_begin_once_with_the_holders_hello(void **state)
{
	(void)state;
	x.s.now_ms = NOW + 1000;
	expect(x.holder, HELLO, "\"result\"");
	assert_int_equal(x.s.clocks.ttl_due, NOW + 1000 + TTL_MS);
	x.s.now_ms = NOW + 2000;
	expect(x.holder, HELLO, "\"result\"");
	AUTO_CLOSE int other = join_and_greet();
	expect(other, INFO, "\"lease\":\"held\"");
	assert_int_equal(x.s.clocks.ttl_due, NOW + 1000 + TTL_MS);
}

static void test_a_hello_of_another_protocol_takes_nothing(void **state)
{
	(void)state;
	expect(x.holder, HELLO ",\"params\":{\"protocol\":2}",
	       "\"kind\":\"unsupported\"");
	assert_int_equal(x.s.clocks.ttl_due, 0);
	assert_true(shows_as_waiting());
}

static void test_the_holder_says_hello_first_as_everybody(void **state)
{
	(void)state;
	expect(x.holder, RELEASE, "the first request is 'hello'");
	assert_string_equal(lease_state(&x.s.lease), "\"waiting\"");
}

static void test_a_held_sandbox_ends_with_its_holder_and_no_other_client(void **state)
{
	(void)state;
	AUTO_CLOSE int one = join_and_greet();
	AUTO_CLOSE int two = join_and_greet();

	expect(x.holder, HELLO, "\"result\"");
	leave(&one);
	expect_alive();
	expect(two, INFO, "\"lease\":\"held\"");
	leave(&x.holder);
	expect_end();
	leave(&two);
	assert_string_equal(x.s.ending.limit, "lease");
}

static void test_a_lease_is_held_as_long_as_any_process_has_the_descriptor(void **state)
{
	(void)state;
	AUTO_CLOSE int handed = dup(x.holder);

	expect(x.holder, HELLO, "\"result\"");
	leave(&x.holder);
	expect_alive();
	expect(handed, INFO, "\"lease\":\"held\"");
	leave(&handed);
	expect_end();
}

/* Requests that the holder sent before its end of file are answered, and its
 * connection stays open until the sandbox has ended, whatever other clients ask
 * for meanwhile. */
static void test_a_holder_that_says_nothing_more_sees_the_end(void **state)
{
	char more;

	(void)state;
	AUTO_CLOSE int other = join_and_greet();
	send_request(x.holder, HELLO);
	assert_int_equal(shutdown(x.holder, SHUT_WR), 0);
	turn();
	expect(other, INFO, "\"lease\":\"held\"");
	expect(other, INFO, "\"lease\":\"held\"");
	assert_true(recv(x.holder, x.answer, sizeof(x.answer), MSG_DONTWAIT) > 0);
	assert_int_equal(recv(x.holder, &more, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	expect_end();
	x.s.has_ended = true; /* as supervisor_run() sets it */
	turn();
	assert_int_equal(recv(x.holder, &more, 1, MSG_DONTWAIT), 0);
}

static void test_the_first_reason_to_end_counts(void **state)
{
	(void)state;
	supervisor_end(&x.s, "timeout", 124, "ttl", NULL);
	leave(&x.holder);
	assert_string_equal(x.s.ending.reason, "timeout");
	assert_string_equal(x.s.ending.limit, "ttl");
}

/* --- released --------------------------------------------------------------------- */

static void test_released_it_lives_on_when_who_held_it_leaves(void **state)
{
	(void)state;
	AUTO_CLOSE int other = join_and_greet();

	expect(x.holder, HELLO, "\"result\"");
	expect(x.holder, RELEASE, "\"result\":{\"name\":\"box\"}");
	expect(other, INFO, "\"lease\":null");
	expect(x.holder, "\"method\":\"exec.list\"", "\"result\"");
	leave(&x.holder);
	expect_alive();
	leave(&other);
	expect_alive();
}

static void test_a_lease_is_released_once(void **state)
{
	(void)state;
	expect(x.holder, HELLO, "\"result\"");
	expect(x.holder, RELEASE, "\"result\"");
	expect(x.holder, RELEASE, "this connection holds no lease of sandbox 'box'");
	expect(x.holder, RELEASE_AS("house"), "\"kind\":\"invalid\"");
	assert_string_equal(x.entry.name, "box");
	expect_alive();
}

static void test_only_its_holder_releases_it(void **state)
{
	(void)state;
	AUTO_CLOSE int other = join_and_greet();

	expect(x.holder, HELLO, "\"result\"");
	expect(other, RELEASE_AS("house"), "\"kind\":\"invalid\"");
	assert_string_equal(x.entry.name, "box");
	expect(other, INFO, "\"lease\":\"held\"");
	leave(&x.holder);
	expect_end();
}

static void test_released_it_has_the_name_that_was_asked_for(void **state)
{
	struct registry_item item;
	struct err e;

	(void)state;
	expect(x.holder, HELLO, "\"result\"");
	expect(x.holder, RELEASE_AS("house"), "\"result\":{\"name\":\"house\"}");
	assert_int_equal(registry_look("house", &item, &e), 0);
	assert_non_null(strstr(item.info, "\"name\":\"house\""));
	registry_item_done(&item);
	expect_absent("box");
}

/* A release with a name that another sandbox has fails, and changes nothing. */
static void test_a_lease_is_held_as_before_where_the_name_is_taken(void **state)
{
	struct registry_entry house;

	(void)state;
	create("house", &house);
	expect(x.holder, HELLO, "\"result\"");
	expect(x.holder, RELEASE_AS("house"), "\"kind\":\"exists\"");
	expect(x.holder, RELEASE_AS("../x"), "\"kind\":\"invalid\"");
	expect(x.holder, "\"method\":\"release\",\"params\":{\"name\":7}", "\"error\"");
	expect(x.holder, INFO, "\"lease\":\"held\"");
	assert_string_equal(x.entry.name, "box");
	end(&house, REGISTRY_REMOVE);
	leave(&x.holder);
	expect_end();
}

/* Either a handle of libhutch was closed before the answer came, or the
 * supervisor was too slow for its client. */
static void test_a_lease_is_not_released_for_a_holder_that_has_gone(void **state)
{
	(void)state;
	expect(x.holder, HELLO, "\"result\"");
	send_request(x.holder, RELEASE_AS("house"));
	leave(&x.holder);
	expect_end();
}

/* The holder has sent its last request but still reads, so the answer tells it that
 * the sandbox is released. */
static void test_a_lease_is_released_for_a_holder_that_says_nothing_more(void **state)
{
	(void)state;
	expect(x.holder, HELLO, "\"result\"");
	send_request(x.holder, RELEASE);
	assert_int_equal(shutdown(x.holder, SHUT_WR), 0);
	turn();
	assert_true(recv(x.holder, x.answer, sizeof(x.answer), MSG_DONTWAIT) > 0);
	expect_alive();
}

/* --- none -------------------------------------------------------------------------- */

static void test_without_a_lease_nobodys_leaving_ends_it(void **state)
{
	(void)state;
	assert_int_equal(x.s.client_count, 0);
	AUTO_CLOSE int one = join_and_greet();
	AUTO_CLOSE int two = join_and_greet();
	expect(one, INFO, "\"lease\":null");
	expect(one, "\"method\":\"exec.list\"", "\"result\"");
	expect(two, RELEASE, "holds no lease");
	leave(&one);
	leave(&two);
	expect_alive();
	/* It is set when the supervisor's loop starts. */
	assert_int_equal(x.s.clocks.ttl_due, 0);
}

#define LEASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LEASE(test_a_waiting_sandbox_has_its_holder_as_a_client),
		LEASE(test_a_look_at_a_waiting_sandbox_does_not_take_it),
		LEASE(test_a_waiting_sandbox_is_busy_for_other_clients),
		LEASE(test_a_waiting_sandbox_can_be_ended_by_any_client),
		LEASE(test_a_waiting_sandbox_can_be_stopped_by_any_client),
		LEASE(test_a_waiting_sandbox_ends_when_its_holder_leaves),
		LEASE(test_the_holders_hello_takes_it_for_everybody),
		LEASE(test_the_time_outs_begin_once_with_the_holders_hello),
		LEASE(test_a_hello_of_another_protocol_takes_nothing),
		LEASE(test_the_holder_says_hello_first_as_everybody),
		LEASE(test_a_held_sandbox_ends_with_its_holder_and_no_other_client),
		LEASE(test_a_lease_is_held_as_long_as_any_process_has_the_descriptor),
		LEASE(test_a_holder_that_says_nothing_more_sees_the_end),
		LEASE(test_the_first_reason_to_end_counts),
		LEASE(test_released_it_lives_on_when_who_held_it_leaves),
		LEASE(test_a_lease_is_released_once),
		LEASE(test_only_its_holder_releases_it),
		LEASE(test_released_it_has_the_name_that_was_asked_for),
		LEASE(test_a_lease_is_held_as_before_where_the_name_is_taken),
		LEASE(test_a_lease_is_not_released_for_a_holder_that_has_gone),
		LEASE(test_a_lease_is_released_for_a_holder_that_says_nothing_more),
		cmocka_unit_test_setup_teardown(
			test_without_a_lease_nobodys_leaving_ends_it, setup_without,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
