/* instance: decides when a running sandbox is checked, and when it is ended after
 * its channel was closed. */
#include "sandbox/launch/instance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd_pass.h"
#include "base/frame.h"
#include "base/list.h"
#include "base/own.h"
#include "egress/gate/gate_report.h"
#include "egress/gate/gateway.h"
#include "egress/launch/egress.h"
#include "egress/launch/egress_news.h"
#include "protocol/message.h"
#include "sandbox/cgroup/watchdog.h"
#include "sandbox/launch/spawn.h"

#define NOW 1000000
/* The constants of instance.c. */
#define CLOSED_MS 2000
#define SYNC_MS	  5000

struct scene {
	struct sandbox box; /* a sandbox without a process that could be killed */
	struct instance instance;
	int executor; /* the executor's end of the channel */
	struct egress egress;
	int gate; /* the gate's end of its socket; 0: there is no network of rules */
};

static struct scene s;

static void open_scene(uint64_t watched_memory)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
	s = (struct scene){ .executor = ends[1] };
	sandbox_init(&s.box);
	s.box.channel = ends[0];
	s.instance = (struct instance){ .sandbox = &s.box, .state = INSTANCE_READY,
				  .watched_memory = watched_memory };
	instance_init(&s.instance, NOW);
}

static void close_scene(void)
{
	instance_done(&s.instance);
	own_close(&s.box.channel);
	own_close(&s.executor);
}

/* A sandbox that starts, and has a network of rules which is not made yet.  Its executor
 * has said "hello" already, and a request was queued. */
static void open_network(void)
{
	const struct hello hello = { .version = PROTOCOL_VERSION, .pid = 1 };
	struct buffer b;
	int ends[2];
	struct err e;

	open_scene(0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	egress_init(&s.egress);
	s.egress.gate_control = ends[0];
	s.gate = ends[1];
	s.instance.egress = &s.egress;
	s.instance.state = INSTANCE_STARTING;
	instance_init(&s.instance, NOW);
	buffer_init(&b, 4096);
	assert_int_equal(message_put_hello(&b, &hello, &e), 0);
	assert_int_equal(write(s.executor, buffer_data(&b), buffer_len(&b)),
			 buffer_len(&b));
	buffer_done(&b);
	assert_int_equal(channel_send_stop(&s.instance.channel, 0, &e), 0);
}

static void close_network(void)
{
	egress_done(&s.egress);
	own_close(&s.gate);
	close_scene();
}

/* Returns whether the request has reached the executor. */
static bool has_request(void)
{
	char byte;

	return recv(s.executor, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 1;
}

/* Runs a turn of the loop, as if poll(2) had returned at `now`. */
static void turn(int64_t now)
{
	struct pollfd w[INSTANCE_POLLS];

	instance_watch(&s.instance, w);
	assert_true(poll(w, INSTANCE_POLLS, 0) >= 0);
	instance_serve(&s.instance, w, now);
	instance_expire(&s.instance, now);
}

static void test_without_anything_to_wait_for_nothing_is_due(void **state)
{
	(void)state;
	open_scene(0);
	assert_int_equal(instance_due(&s.instance), 0);
	turn(NOW + 1000000000);
	assert_int_equal(instance_due(&s.instance), 0);
	assert_int_equal(s.instance.cause, INSTANCE_RUNS);
	close_scene();
}

/* The executor ends a moment after its channel closes; the instance waits for that
 * for a bounded time. */
static void test_one_that_has_closed_its_channel_may_take_a_while_to_end(void **state)
{
	static const struct {
		int64_t at;
		enum instance_cause cause;
		int64_t due;
	} rows[] = {
		{ 0, INSTANCE_RUNS, CLOSED_MS },
		/* a check in a later turn does not move the deadline */
		{ 1, INSTANCE_RUNS, CLOSED_MS },
		{ CLOSED_MS - 1, INSTANCE_RUNS, CLOSED_MS },
		{ CLOSED_MS, INSTANCE_BROKE_PROTOCOL, -NOW },
		{ CLOSED_MS + 1, INSTANCE_BROKE_PROTOCOL, -NOW },
	};

	(void)state;
	open_scene(0);
	own_close(&s.executor);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		turn(NOW + rows[i].at);
		if (s.instance.cause != rows[i].cause ||
		    instance_due(&s.instance) != NOW + rows[i].due)
			fail_msg("row %zu: cause %d, due %lld", i, s.instance.cause,
				 (long long)instance_due(&s.instance) - NOW);
	}
	assert_non_null(
		strstr(s.instance.error.text, "it closed its channel and lived on"));
	close_scene();
}

static void test_memory_is_looked_at_at_an_interval(void **state)
{
	static const struct {
		int64_t at, next;
	} rows[] = {
		{ 0, WATCHDOG_MS },
		{ WATCHDOG_MS - 1, WATCHDOG_MS },
		{ WATCHDOG_MS, 2 * WATCHDOG_MS },
		{ 2 * WATCHDOG_MS - 1, 2 * WATCHDOG_MS },
		/* After a suspend of the host the check is made once, not five
		 * times. */
		{ 7 * WATCHDOG_MS, 8 * WATCHDOG_MS },
	};

	(void)state;
	open_scene(1 << 20);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		turn(NOW + rows[i].at);
		if (instance_due(&s.instance) != NOW + rows[i].next)
			fail_msg("row %zu: next at %lld", i,
				 (long long)instance_due(&s.instance) - NOW);
	}
	assert_int_equal(s.instance.cause, INSTANCE_RUNS);
	close_scene();
}

/* Memory is not measured while the instance is being killed; after its end there is
 * no deadline at all. */
static void test_after_the_end_nothing_is_due(void **state)
{
	(void)state;
	open_scene(1 << 20);
	instance_end(&s.instance);
	turn(NOW + WATCHDOG_MS);
	assert_int_equal(instance_due(&s.instance), NOW + WATCHDOG_MS);
	s.instance.state = INSTANCE_GONE;
	assert_int_equal(instance_due(&s.instance), 0);
	close_scene();
}

static void test_no_program_starts_before_its_network(void **state)
{
	const struct gate_report report = { .form = GATEWAY_PAIR };

	(void)state;
	open_network();
	turn(NOW);
	assert_int_equal(s.instance.state, INSTANCE_STARTING);
	assert_false(has_request());
	assert_int_equal(fd_pass_send(s.gate, &report, sizeof(report), &s.executor, 1),
			 sizeof(report));
	turn(NOW);
	assert_int_equal(s.egress.form, EGRESS_GATEWAY);
	assert_true(s.egress.space >= 0);
	assert_true(has_request());
	turn(NOW);
	assert_int_equal(s.instance.state, INSTANCE_READY);
	/* the gate's end is no end of the set-up any more */
	own_close(&s.gate);
	turn(NOW);
	assert_int_equal(s.instance.cause, INSTANCE_RUNS);
	close_network();
}

static void test_without_its_network_a_sandbox_ends(void **state)
{
	struct gate_report report = { .form = GATEWAY_PAIR };

	(void)state;
	for (int dies = 0; dies < 2; dies++) {
		open_network();
		(void)err_set(&report.err, ERR_SYSTEM, "open port %d", 80);
		if (!dies)
			assert_int_equal(write(s.gate, &report, sizeof(report)),
					 sizeof(report));
		own_close(&s.gate);
		turn(NOW);
		turn(NOW);
		assert_int_equal(s.instance.cause, INSTANCE_NOT_SET_UP);
		assert_int_equal(s.instance.state, INSTANCE_ENDING);
		assert_string_equal(
			s.instance.error.text,
			dies ? "hutch-gate has ended while it made the network"
			     : "open port 80");
		assert_false(has_request());
		close_network();
	}
}

/* --- reports wait for hutch-egress -------------------------------------------------- */

#define REPORT "report "
#define OUTPUT "output "
#define NEWS   "news "

/* The order in which the owner of the instance gets frames and news. */
static char heard[128];

static int hear_frame(void *context, const struct frame *f, struct err *e)
{
	(void)context;
	(void)e;
	strcat(heard, f->type == MSG_REPORT ? REPORT : OUTPUT);
	return 0;
}

static void hear_news(void *context, const struct egress_news *n, int64_t now)
{
	(void)context;
	(void)now;
	if (n->kind == EGRESS_NEWS_NET)
		strcat(heard, NEWS);
}

/* A scene with a network of rules, whose other end is hutch-egress. */
static void open_egress(struct egress *x, int *ret_egress)
{
	int ends[2];

	open_scene(0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
	egress_init(x);
	x->control = ends[0];
	*ret_egress = ends[1];
	s.instance.egress = x;
	s.instance.take = hear_frame;
	s.instance.egress_news = hear_news;
	heard[0] = '\0';
}

static void close_egress(struct egress *x, int *egress)
{
	own_close(egress);
	egress_done(x);
	close_scene();
}

/* The executor sends frames without content. */
static void send_frames(const uint16_t *types, size_t count)
{
	struct buffer b;

	buffer_init(&b, 4096);
	for (size_t i = 0; i < count; i++) {
		const size_t begun = frame_begin(&b, types[i], 1);
		assert_int_equal(frame_end(&b, begun, NULL), 0);
	}
	assert_int_equal(send(s.executor, buffer_data(&b), buffer_len(&b), 0),
			 buffer_len(&b));
	buffer_done(&b);
}

static void say(int egress, const char *line)
{
	assert_int_equal(send(egress, line, strlen(line), 0), strlen(line));
}

/* Checks the lines that hutch-egress gets. */
static void assert_asked(int egress, const char *expected)
{
	char got[64] = "";

	(void)recv(egress, got, sizeof(got) - 1, MSG_DONTWAIT);
	assert_string_equal(got, expected);
}

/* Returns whether the loop waits for frames. */
static bool awaits_frames(void)
{
	struct pollfd w[INSTANCE_POLLS];

	instance_watch(&s.instance, w);
	return w[INSTANCE_CHANNEL].fd >= 0 && (w[INSTANCE_CHANNEL].events & POLLIN);
}

static void turn_and_take(int64_t now)
{
	turn(now);
	while (instance_take(&s.instance))
		;
}

static void test_a_report_comes_after_what_hutch_egress_had_to_tell(void **state)
{
	static const uint16_t types[] = { MSG_OUTPUT, MSG_REPORT, MSG_OUTPUT,
					  MSG_REPORT };
	struct egress x;
	int egress;

	(void)state;
	open_egress(&x, &egress);
	send_frames(types, ARRAY_LEN(types));
	turn_and_take(NOW);
	assert_string_equal(heard, OUTPUT);
	assert_asked(egress, "{\"sync\":1}\n");
	assert_false(awaits_frames()); /* more of them would fill the memory */
	say(egress, "{\"net\":{}}\n{\"set\":{}}\n");
	turn_and_take(NOW + 1);
	assert_string_equal(heard, OUTPUT NEWS);
	say(egress, "{\"net\":{}}\n{\"synced\":1}\n");
	turn_and_take(NOW + 2);
	assert_string_equal(heard, OUTPUT NEWS NEWS REPORT OUTPUT);
	/* The next report has a question of its own. */
	assert_asked(egress, "{\"sync\":2}\n");
	say(egress, "{\"synced\":1}\n");
	turn_and_take(NOW + 3);
	assert_string_equal(heard, OUTPUT NEWS NEWS REPORT OUTPUT);
	say(egress, "{\"synced\":2}\n");
	turn_and_take(NOW + 4);
	assert_string_equal(heard, OUTPUT NEWS NEWS REPORT OUTPUT REPORT);
	assert_true(awaits_frames());
	assert_int_equal(instance_due(&s.instance), 0);
	close_egress(&x, &egress);
}

static void test_a_report_does_not_wait_for_ever(void **state)
{
	static const uint16_t types[] = { MSG_REPORT };
	struct egress x;
	int egress;

	(void)state;
	open_egress(&x, &egress);
	send_frames(types, ARRAY_LEN(types));
	turn_and_take(NOW);
	assert_int_equal(instance_due(&s.instance), NOW + SYNC_MS);
	turn_and_take(NOW + SYNC_MS - 1);
	assert_string_equal(heard, "");
	turn_and_take(NOW + SYNC_MS);
	assert_string_equal(heard, REPORT);
	/* hutch-egress ends while another one waits. */
	send_frames(types, ARRAY_LEN(types));
	turn_and_take(NOW + SYNC_MS);
	assert_string_equal(heard, REPORT);
	own_close(&egress);
	turn_and_take(NOW + SYNC_MS);
	assert_string_equal(heard, REPORT REPORT);
	/* There is none to wait for any more. */
	send_frames(types, ARRAY_LEN(types));
	turn_and_take(NOW + SYNC_MS);
	assert_string_equal(heard, REPORT REPORT REPORT);
	close_egress(&x, &egress);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_anything_to_wait_for_nothing_is_due),
		cmocka_unit_test(
			test_one_that_has_closed_its_channel_may_take_a_while_to_end),
		cmocka_unit_test(test_memory_is_looked_at_at_an_interval),
		cmocka_unit_test(test_after_the_end_nothing_is_due),
		cmocka_unit_test(test_no_program_starts_before_its_network),
		cmocka_unit_test(test_without_its_network_a_sandbox_ends),
		cmocka_unit_test(test_a_report_comes_after_what_hutch_egress_had_to_tell),
		cmocka_unit_test(test_a_report_does_not_wait_for_ever),
	};

	return cmocka_run_group_tests_name("guest", tests, NULL, NULL);
}
