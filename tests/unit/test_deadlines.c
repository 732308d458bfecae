/* The supervisor's deadlines count from the time of the step that sets them, and the
 * idle time-out from the end of the last use. */
#include "supervisor/supervisor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supervisor/rpc.h"
#include "tests/unit/control.h"

#define LONG_AGO 1    /* in ms; any real time of this machine is later */
#define STOP_MS	 2000 /* as clocks.c has it */

static struct control x;

static int setup(void **state)
{
	(void)state;
	control_begin(&x);
	x.s.now_ms = LONG_AGO;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	control_end(&x);
	return 0;
}

/* --- idle ----------------------------------------------------------------------- */

/* In these rows the sandbox has been in use since LONG_AGO, which is longer than its
 * idle time-out. */
static const struct {
	const char *what;
	bool has_user, has_reader, has_job, has_visit;
	enum clocks_end end; /* result of a check in the turn in which the use ended */
} uses[] = {
	{ "nobody", false, false, false, false, CLOCKS_IDLE },
	{ "a client that only looks", false, true, false, false, CLOCKS_IDLE },
	{ "a client", true, false, false, false, CLOCKS_GO_ON },
	{ "a process", false, false, true, false, CLOCKS_GO_ON },
	{ "a visit of a port", false, false, false, true, CLOCKS_GO_ON },
};

static void test_a_sandbox_is_idle_from_the_end_of_its_use_on(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(uses); i++) {
		int fd = -1;
		x.s.clocks.idle_ms = 1;
		clocks_ready(&x.s.clocks, LONG_AGO);
		if (uses[i].has_user || uses[i].has_reader)
			control_client(&x, &fd)->is_user = uses[i].has_user;
		x.s.jobs.alive = uses[i].has_job;
		x.launch.ports.visit_count = uses[i].has_visit;
		supervisor_look_at_clock(&x.s);
		clients_done(&x.s);
		x.s.jobs.alive = x.launch.ports.visit_count = 0;
		if (clocks_look(&x.s.clocks, true, x.s.now_ms) != uses[i].end)
			fail_msg("%s", uses[i].what);
		own_close(&fd);
		assert_int_equal(teardown(state) + setup(state), 0);
	}
}

/* --- behind a step that may block ---------------------------------------------- */

static void call(struct client *c, const char *line)
{
	struct rpc_request r;
	struct connection_fds none = { 0 };
	struct err e = { 0 };

	assert_int_equal(rpc_decode(line, strlen(line), &r, &e), 0);
	if (methods_call(&x.s, c, &r, &none, &e) != 0)
		fail_msg("%s", e.text);
	rpc_done(&r);
}

/* The supervisor may have waited for the ledger since the turn began, here at
 * LONG_AGO. */
static void test_the_grace_of_a_stop_begins_when_it_is_on_record(void **state)
{
	int fd;
	struct client *c = control_client(&x, &fd);

	(void)state;
	c->has_hello = true;
	call(c,
	     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"stop\",\"params\":{\"grace\":5}}");
	assert_true(x.s.is_stopping);
	assert_true(x.s.clocks.stop_due > LONG_AGO + 5000 + STOP_MS);
	own_close(&fd);
}

/* Each line counts from the time when it is handled, since handling the line before
 * may have taken long. */
static void test_each_line_has_a_time_of_its_own(void **state)
{
	static const char line[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nothing\"}\n";
	int fd;
	struct client *c = control_client(&x, &fd);

	(void)state;
	assert_int_equal(write(fd, line, sizeof(line) - 1), sizeof(line) - 1);
	assert_true(connection_read(&c->conn));
	assert_true(clients_work(&x.s));
	assert_true(x.s.now_ms > LONG_AGO);
	own_close(&fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_sandbox_is_idle_from_the_end_of_its_use_on),
		TEST(test_the_grace_of_a_stop_begins_when_it_is_on_record),
		TEST(test_each_line_has_a_time_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
