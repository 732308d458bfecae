/* dispatcher: even a malicious executor cannot use more than a bounded amount of the
 * host's memory. */
#include "actions/dispatcher.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/frame.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "protocol/message.h"

#define NOW 1000000ll /* ms */

struct office {
	struct dispatcher dispatcher;
	struct dispatcher_client client;
	struct buffer wire, out, frames;
	char *env[1];
};

static int setup(void **state)
{
	struct office *o = mem_zeroed(1, sizeof(*o));

	buffer_init(&o->wire, 64u << 20);
	buffer_init(&o->out, DISPATCHER_OUT_MAX);
	buffer_init(&o->frames, 64u << 20);
	dispatcher_init(&o->dispatcher);
	o->dispatcher.now_us = NOW * 1000;
	o->dispatcher.wire = &o->wire;
	o->client = (struct dispatcher_client){ .out = &o->out, .name = "" };
	o->dispatcher.shell =
		(struct exec){ .flags = EXEC_PTY, .cwd = "/", .env = o->env };
	o->dispatcher.sandbox_info = (struct sandbox_info){ .soft_s = 10,
							    .username = "agent",
							    .hostname = "hutch" };
	*state = o;
	return 0;
}

static int teardown(void **state)
{
	struct office *o = *state;

	dispatcher_leave(&o->dispatcher, &o->client);
	dispatcher_done(&o->dispatcher);
	buffer_done(&o->wire);
	buffer_done(&o->out);
	buffer_done(&o->frames);
	free(o);
	return 0;
}

__attribute__((format(printf, 2, 3))) static void ask(struct office *o, const char *fmt,
						      ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	int len = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	dispatcher_line(&o->dispatcher, &o->client, line, (size_t)len);
	(void)dispatcher_start(&o->dispatcher);
}

/* Takes the next request that the dispatcher sent to the executor.  Returns its
 * type, or 0 if there is none. */
static uint16_t requested(struct office *o, uint32_t *ret_id)
{
	struct frame f;
	struct err e;

	*ret_id = 0;
	if (frame_next(&o->wire, FRAME_MAX_TO_EXECUTOR, &f, &e) <= 0)
		return 0;
	uint16_t type = f.type;
	*ret_id = f.id;
	buffer_consume(&o->wire, FRAME_HEADER + f.len);
	return type;
}

static int answer(struct office *o, struct err *e)
{
	struct frame f;

	assert_int_equal(frame_next(&o->frames, FRAME_MAX_FROM_EXECUTOR, &f, e), 1);
	int result = dispatcher_frame(&o->dispatcher, &f, e);
	buffer_consume(&o->frames, FRAME_HEADER + f.len);
	(void)dispatcher_start(&o->dispatcher);
	return result;
}

static void answer_content(struct office *o, uint32_t id, char with, size_t len)
{
	char chunk[ACTION_CHUNK];
	struct err e;

	memset(chunk, with, sizeof(chunk));
	for (size_t n; len > 0; len -= n) {
		n = len < sizeof(chunk) ? len : sizeof(chunk);
		struct bytes text = { (const uint8_t *)chunk, n };
		assert_int_equal(action_put_text(&o->frames, MSG_CONTENT, id, text, &e),
				 0);
		assert_int_equal(answer(o, &e), 0);
	}
}

static void answer_done(struct office *o, uint32_t id)
{
	const struct done done = { OUTCOME_DONE, 0, "/f", "/" };
	struct err e;

	assert_int_equal(action_put_done(&o->frames, id, &done, &e), 0);
	assert_int_equal(answer(o, &e), 0);
}

static void answer_report(struct office *o, uint32_t id)
{
	const struct report r = { .state = REPORT_COMPLETED,
				  .cwd = "/",
				  .interpreter = "" };
	struct err e;

	assert_int_equal(action_put_report(&o->frames, id, &r, &e), 0);
	assert_int_equal(answer(o, &e), 0);
}

static void answer_started(struct office *o, uint32_t id)
{
	struct err e;

	assert_int_equal(message_put_started(&o->frames, id, 2, &e), 0);
	assert_int_equal(answer(o, &e), 0);
}

/* Returns the next observation, with its newline; allocated. */
static char *observation(struct office *o)
{
	dispatcher_deliver(&o->client);
	const char *line = (const char *)buffer_data(&o->out);
	const char *stop = buffer_len(&o->out) ? memchr(line, '\n', buffer_len(&o->out))
					       : NULL;
	if (!stop)
		return text_copy("");
	size_t len = (size_t)(stop + 1 - line);
	char *copy = mem_zeroed(1, len + 1);
	memcpy(copy, line, len);
	buffer_consume(&o->out, len);
	return copy;
}

static void expect(struct office *o, const char *part)
{
	AUTO_FREE char *line = observation(o);

	if (!strstr(line, part))
		fail_msg("'%s' was expected, and came: %.200s", part, line);
}

static void expect_nothing(struct office *o)
{
	AUTO_FREE char *line = observation(o);

	assert_string_equal(line, "");
}

/* Runs one command, so that the session is open; returns its id. */
static uint32_t open_session(struct office *o, const char *name)
{
	uint32_t session, id;

	ask(o, "{\"action\":\"run\",\"args\":{\"command\":\"true\"},\"session\":\"%s\"}",
	    name);
	assert_int_equal(requested(o, &session), MSG_OPEN);
	answer_started(o, session);
	assert_int_equal(requested(o, &id), MSG_RUN);
	answer_report(o, id);
	expect(o, "\"observation\":\"run\"");
	return session;
}

/* --- several commands ------------------------------------------------------ */

static void test_several_commands_are_refused_and_start_no_shell(void **state)
{
	struct office *o = *state;
	uint32_t id;

	ask(o, "{\"action\":\"run\",\"id\":7,\"args\":{\"command\":\"ls\\npwd\"}}");
	assert_int_equal(requested(o, &id), 0);
	expect(o,
	       "\"content\":\"ERROR: Cannot execute multiple commands at once.\\n"
	       "Please run each command separately OR chain them into a single command via "
	       "&& or ;\\nProvided commands:\\n(1) ls\\n(2) pwd\",\"extras\":{\"error_id\":"
	       "\"\"},\"cause\":7");
	ask(o, "{\"action\":\"run\",\"args\":{\"command\":\"# ls\\npwd\"}}");
	assert_int_equal(requested(o, &id), MSG_OPEN);
}

/* Actions are answered in the order in which they came, also those that are refused. */
static void test_a_refusal_waits_for_its_turn(void **state)
{
	struct office *o = *state;
	uint32_t id;

	(void)open_session(o, "main");
	ask(o, "{\"action\":\"run\",\"args\":{\"command\":\"a &&\\nb\"}}");
	ask(o, "{\"action\":\"run\",\"args\":{\"command\":\"a\\nb\"}}");
	ask(o, "{\"action\":\"run\",\"args\":{\"command\":\"a\\nb\",\"is_input\":true}}");
	assert_int_equal(requested(o, &id), MSG_RUN);
	expect_nothing(o);
	answer_report(o, id);
	expect(o, "\"observation\":\"run\"");
	expect(o, "(1) a\\n(2) b");
	assert_int_equal(requested(o, &id), MSG_RUN);
}

/* --- what is held --------------------------------------------------------- */

#define READ_IN "{\"action\":\"read\",\"args\":{\"path\":\"/f\"},\"session\":\"s%u\"}"

static void test_so_many_files_are_under_way_and_no_more(void **state)
{
	struct office *o = *state;
	uint32_t ids[DISPATCHER_FILES + 2], id;

	for (unsigned i = 0; i < DISPATCHER_FILES + 2; i++)
		ask(o, READ_IN, i);
	for (unsigned i = 0; i < DISPATCHER_FILES; i++)
		assert_int_equal(requested(o, &ids[i]), MSG_READ);
	assert_int_equal(requested(o, &id), 0);
	answer_done(o, ids[2]);
	assert_int_equal(requested(o, &ids[2]), MSG_READ);
	assert_int_equal(requested(o, &id), 0);
	answer_done(o, ids[0]);
	assert_int_equal(requested(o, &ids[0]), MSG_READ);
	for (unsigned i = 0; i < DISPATCHER_FILES; i++)
		answer_done(o, ids[i]);
	for (unsigned i = 0; i < DISPATCHER_FILES + 2; i++)
		expect(o, "\"observation\":\"read\"");
	assert_true(dispatcher_is_idle(&o->client));
}

/* Each byte becomes six in JSON, so one line alone exceeds the bound. */
#define LARGE (2u << 20)

static void test_hostile_content_waits_until_it_is_taken(void **state)
{
	struct office *o = *state;
	uint32_t ids[DISPATCHER_FILES];

	for (unsigned i = 0; i < DISPATCHER_FILES; i++) {
		ask(o, READ_IN, i);
		assert_int_equal(requested(o, &ids[i]), MSG_READ);
		answer_content(o, ids[i], 1, LARGE);
	}
	for (unsigned i = 0; i < DISPATCHER_FILES; i++)
		answer_done(o, ids[i]);
	assert_true(dispatcher_is_behind(&o->client));
	assert_true(buffer_len(&o->out) <= DISPATCHER_OUT_HIGH + 6 * LARGE + 4096);
	for (unsigned i = 0; i < DISPATCHER_FILES; i++) {
		AUTO_FREE char *line = observation(o);
		assert_true(strlen(line) > 6 * LARGE);
		assert_non_null(strstr(line, "\\u0001\\u0001"));
	}
	expect_nothing(o);
	assert_false(dispatcher_is_behind(&o->client));
	assert_true(dispatcher_is_idle(&o->client));
}

static void test_more_content_than_a_file_may_have_breaks_the_protocol(void **state)
{
	struct office *o = *state;
	struct err e;
	uint32_t id;

	ask(o, READ_IN, 0);
	assert_int_equal(requested(o, &id), MSG_READ);
	answer_content(o, id, 'x', DISPATCHER_FILE_MAX);
	const struct bytes text = { (const uint8_t *)"x", 1 };
	assert_int_equal(action_put_text(&o->frames, MSG_CONTENT, id, text, &e), 0);
	assert_int_equal(answer(o, &e), -1);
	assert_non_null(strstr(e.text, "more content than it may"));
}

static void test_each_client_that_asked_again_gets_a_copy_when_there_is_room(void **state)
{
	static const char again[] =
		"{\"action\":\"read\",\"args\":{\"path\":\"/f\"},\"id\":7,"
		"\"timestamp\":\"t\"}";
	struct office *o = *state;
	uint32_t id;

	for (int i = 0; i < 9; i++)
		ask(o, "%s", again);
	expect_nothing(o);
	ask(o, "%s", again);
	expect(o, "enough repeats");
	assert_int_equal(requested(o, &id), MSG_READ);
	answer_content(o, id, 2, LARGE);
	answer_done(o, id);
	assert_int_equal(requested(o, &id), 0);
	for (int i = 0; i < 9; i++) {
		assert_true(buffer_len(&o->out) <=
			    DISPATCHER_OUT_HIGH + 6 * LARGE + 4096);
		assert_true(dispatcher_is_behind(&o->client));
		AUTO_FREE char *line = observation(o);
		assert_true(strlen(line) > 6 * LARGE);
	}
	expect_nothing(o);
	ask(o, "%s", again);
	AUTO_FREE char *kept = observation(o);
	assert_true(strlen(kept) > 6 * LARGE);
}

static void test_a_full_dispatcher_says_so(void **state)
{
	struct office *o = *state;

	for (int i = 0; i < DISPATCHER_TASKS - 1; i++)
		ask(o, READ_IN, 0);
	assert_false(dispatcher_is_full(&o->dispatcher));
	ask(o, READ_IN, 0);
	assert_true(dispatcher_is_full(&o->dispatcher));
	dispatcher_end(&o->dispatcher, "it is over");
	for (int i = 0; i < DISPATCHER_TASKS; i++)
		expect(o, "ERROR: it is over");
	expect_nothing(o);
	assert_false(dispatcher_is_full(&o->dispatcher));
	ask(o, READ_IN, 0);
	expect(o, "ERROR: it is over");
	expect_nothing(o);
}

static void test_there_are_so_many_sessions(void **state)
{
	struct office *o = *state;

	for (unsigned i = 0; i < QUEUE_SESSIONS; i++)
		ask(o, READ_IN, i);
	expect_nothing(o);
	ask(o, READ_IN, QUEUE_SESSIONS);
	expect(o, "more than 64 sessions");
}

/* --- order ---------------------------------------------------------------- */

static void test_a_session_does_one_thing_after_the_other(void **state)
{
	struct office *o = *state;
	uint32_t first, second, id;

	(void)open_session(o, "a");
	ask(o,
	    "{\"action\":\"run\",\"args\":{\"command\":\"1\"},\"session\":\"a\",\"id\":1}");
	ask(o,
	    "{\"action\":\"read\",\"args\":{\"path\":\"/f\"},\"session\":\"a\",\"id\":2}");
	ask(o,
	    "{\"action\":\"read\",\"args\":{\"path\":\"/f\"},\"session\":\"b\",\"id\":3}");
	assert_int_equal(requested(o, &first), MSG_RUN);
	assert_int_equal(requested(o, &second), MSG_READ);
	assert_int_equal(requested(o, &id), 0);
	answer_done(o, second);
	expect(o, "\"cause\":3");
	answer_report(o, first);
	expect(o, "\"cause\":1");
	assert_int_equal(requested(o, &id), MSG_READ);
	answer_done(o, id);
	expect(o, "\"cause\":2");
}

static void test_a_cancel_reaches_what_runs_and_what_waits(void **state)
{
	struct office *o = *state;
	uint32_t first, id;

	(void)open_session(o, "a");
	ask(o,
	    "{\"action\":\"run\",\"args\":{\"command\":\"1\"},\"session\":\"a\",\"id\":1}");
	ask(o,
	    "{\"action\":\"run\",\"args\":{\"command\":\"2\"},\"session\":\"a\",\"id\":2}");
	assert_int_equal(requested(o, &first), MSG_RUN);
	ask(o, "{\"action\":\"cancel\",\"args\":{\"id\":2}}");
	expect(o, "\"observation\":\"null\"");
	expect(o, "cancelled before it started");
	ask(o, "{\"action\":\"cancel\",\"args\":{\"id\":1}}");
	expect(o, "\"observation\":\"null\"");
	assert_int_equal(requested(o, &id), MSG_CANCEL);
	assert_int_equal(id, first);
	answer_report(o, first);
	expect(o, "\"cause\":1");
	ask(o, "{\"action\":\"cancel\",\"args\":{\"id\":1}}");
	expect(o, "HUTCH$NOT_FOUND");
	assert_int_equal(requested(o, &id), 0);
}

/* --- time ------------------------------------------------------------------- */

#define FILE_MS 60000
#define OPEN_MS 60000

/* Sets the dispatcher's time to `ms` after the beginning. */
static void go_to(struct office *o, int64_t ms)
{
	o->dispatcher.now_us = (NOW + ms) * 1000;
}

static void expect_due(const struct office *o, int64_t ms)
{
	const int64_t due = dispatcher_deadline(&o->dispatcher);

	if (due != (ms ? NOW + ms : 0))
		fail_msg("due at %lld ms, and not %lld", (long long)(due ? due - NOW : 0),
			 (long long)ms);
}

static void test_an_answer_is_due_while_one_is_awaited(void **state)
{
	struct office *o = *state;
	uint32_t id;

	expect_due(o, 0);
	(void)open_session(o, "a");
	expect_due(o, 0);
	go_to(o, 100);
	ask(o,
	    "{\"action\":\"run\",\"args\":{\"command\":\"1\"},\"session\":\"a\",\"timeout\":5,"
	    "\"id\":1}");
	expect_due(o, 100 + 5000 + DISPATCHER_GRACE_MS);
	assert_int_equal(requested(o, &id), MSG_RUN);
	go_to(o, 1600);
	o->dispatcher.now_us += 250;
	answer_report(o, id);
	expect(o, "\"took_ms\":1500.250");
	expect_due(o, 0);
}

#define ASK(action, args, more)                                                          \
	"{\"action\":\"" action "\",\"args\":{" args "},\"session\":\"a\",\"id\":1" more \
	"}"
#define RUN(timeout) ASK("run", "\"command\":\"1\"", ",\"timeout\":" timeout)
#define LIST(timeout) ASK("list", "\"path\":\"/\"", ",\"timeout\":" timeout)

static void test_each_action_has_its_time(void **state)
{
	static const struct {
		const char *asked;
		bool is_open; /* whether the action's session is open */
		int64_t due;
	} rows[] = {
		{ RUN("0.5"), true, 500 + DISPATCHER_GRACE_MS },
		{ RUN("0.0001"), true, 1 + DISPATCHER_GRACE_MS },
		{ RUN("7"), false, OPEN_MS },
		{ ASK("read", "\"path\":\"/f\"", ",\"timeout\":7"), true, FILE_MS },
		{ ASK("write", "\"path\":\"/f\",\"content\":\"\"", ""), true, FILE_MS },
		{ ASK("edit", "\"command\":\"view\",\"path\":\"/f\"", ""), true,
		  FILE_MS },
		{ LIST("7"), true, 7000 + DISPATCHER_GRACE_MS },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct office *o = *state;
		uint32_t id;
		if (rows[i].is_open)
			(void)open_session(o, "a");
		go_to(o, 30);
		ask(o, "%s", rows[i].asked);
		print_message("row %zu\n", i);
		assert_int_not_equal(requested(o, &id), 0);
		go_to(o, 40); /* nothing is due then */
		(void)dispatcher_start(&o->dispatcher);
		expect_due(o, 30 + rows[i].due);
		/* A pause extends the action's time by its length. */
		dispatcher_postpone(&o->dispatcher, 1000);
		dispatcher_postpone(&o->dispatcher, 234);
		expect_due(o, 30 + rows[i].due + 1234);
		assert_int_equal(teardown(state) + setup(state), 0);
	}
}

/* Writing the record to the ledger takes five seconds here. */
static void take_long(void *context)
{
	struct office *o = context;

	o->dispatcher.now_us += 5000 * 1000;
}

/* Two actions begin in one turn, each after a record that takes long. */
static void test_a_time_out_counts_from_behind_the_record(void **state)
{
	struct office *o = *state;
	static const char *const lines[] = {
		ASK("read", "\"path\":\"/f\"", ""),
		"{\"action\":\"read\",\"args\":{\"path\":\"/f\"},\"session\":\"b\"}",
	};
	uint32_t id;

	o->dispatcher.look_at_clock = take_long;
	o->dispatcher.context = o;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		dispatcher_line(&o->dispatcher, &o->client, lines[i], strlen(lines[i]));
	assert_true(dispatcher_start(&o->dispatcher));
	expect_due(o, 5000 + FILE_MS);
	assert_int_equal(requested(o, &id), MSG_READ);
	go_to(o, 5002);
	answer_done(o, id);
	expect(o, "\"took_ms\":2.000");
	expect_due(o, 10000 + FILE_MS);
}

/* Among the actions that were sent to the executor, the one with the earliest deadline
 * decides how long the loop waits. */
static void test_the_first_of_each_session_is_waited_for(void **state)
{
	struct office *o = *state;
	uint32_t id;

	ask(o, "{\"action\":\"read\",\"args\":{\"path\":\"/f\"},\"session\":\"b\"}");
	go_to(o, 10);
	ask(o, "%s", LIST("7"));
	ask(o, "{\"action\":\"read\",\"args\":{\"path\":\"/f\"},\"session\":\"a\"}");
	expect_due(o, 10 + 7000 + DISPATCHER_GRACE_MS);
	assert_int_equal(requested(o, &id), MSG_READ);
	answer_done(o, id);
	expect_due(o, 10 + 7000 + DISPATCHER_GRACE_MS);
}

/* A cancelled action may take one grace period more, and never longer than without
 * the cancel. */
static void test_a_cancelled_action_is_waited_for_no_longer_than_a_grace(void **state)
{
	static const struct {
		const char *asked;
		int64_t at[2]; /* time of the cancel */
		int64_t due;
	} rows[] = {
		{ RUN("100"), { 50, 60 }, 50 + DISPATCHER_GRACE_MS },
		{ RUN("1"), { 9000, 9001 }, 1000 + DISPATCHER_GRACE_MS },
		{ LIST("100"), { 50, 9000 }, 50 + DISPATCHER_GRACE_MS },
		/* a file request has a shorter time-out of its own */
		{ ASK("read", "\"path\":\"/f\"", ""), { 50, 60 }, FILE_MS },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct office *o = *state;
		uint32_t id;
		(void)open_session(o, "a");
		ask(o, "%s", rows[i].asked);
		print_message("row %zu\n", i);
		assert_int_not_equal(requested(o, &id), 0);
		for (size_t n = 0; n < ARRAY_LEN(rows[i].at); n++) {
			go_to(o, rows[i].at[n]);
			assert_true(dispatcher_cancel(&o->dispatcher, &o->client, 1));
		}
		expect_due(o, rows[i].due);
		assert_int_equal(teardown(state) + setup(state), 0);
	}
}

/* While its client is behind, the stream does not read from the executor;
 * afterwards the executor has some time for the frames that it could not send. */
static void test_nothing_is_due_of_one_that_is_not_listened_to(void **state)
{
	static const struct {
		bool is_behind;
		int64_t away, due;
	} rows[] = {
		{ false, -NOW, 5000 + DISPATCHER_GRACE_MS },
		{ false, 4999, 5000 + DISPATCHER_GRACE_MS },
		{ false, 5001, 5001 + DISPATCHER_GRACE_MS },
		{ true, 5001, -NOW },
	};
	struct office *o = *state;

	assert_int_equal(dispatcher_deadline_of(&o->dispatcher, &o->client, NOW), 0);
	(void)open_session(o, "a");
	ask(o, "%s", RUN("5"));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		static uint8_t much[DISPATCHER_OUT_HIGH + 1];
		if (rows[i].is_behind)
			assert_true(buffer_append(&o->out, much, sizeof(much)));
		const int64_t due = dispatcher_deadline_of(&o->dispatcher, &o->client,
							   NOW + rows[i].away);
		if (due != NOW + rows[i].due)
			fail_msg("row %zu: %lld", i, (long long)due - NOW);
	}
}

/* git waits for its session's shell, whose start processes inside may stop: then the
 * git action times out. */
static void test_git_is_late_while_its_shell_is_not_there(void **state)
{
	struct office *o = *state;
	struct err e;
	uint32_t id;

	ask(o, "{\"action\":\"git_changes\",\"timeout\":5,\"args\":{\"path\":\"/p\"}}");
	while (requested(o, &id) != MSG_OPEN)
		assert_int_not_equal(id, 0);
	assert_true(dispatcher_due(&o->dispatcher) == NOW + 5000);
	go_to(o, 1000);
	dispatcher_postpone(&o->dispatcher, 2000); /* it was paused */
	assert_true(dispatcher_due(&o->dispatcher) == NOW + 7000);
	dispatcher_expire(&o->dispatcher, NOW + 6999);
	assert_int_equal(o->client.outstanding, 1);
	dispatcher_expire(&o->dispatcher, NOW + 7000);
	assert_true(o->client.outstanding == 0 && dispatcher_due(&o->dispatcher) == 0);
	expect(o, "ERROR: /p: it was not done within 5 seconds.");
	assert_int_equal(message_put_started(&o->frames, id, 9, &e), 0);
	/* The shell has started, so the next request can use it. */
	assert_int_equal(answer(o, &e), 0);
	ask(o, "{\"action\":\"git_changes\",\"timeout\":5,\"args\":{\"path\":\"/p\"}}");
	assert_int_equal(requested(o, &id), MSG_ERRAND);
}

/* The time that an action waited for a shell is subtracted from its time-out. */
static void test_git_has_what_is_left_of_its_time(void **state)
{
	static const struct { int64_t waited; uint64_t left; } rows[] = {
		{ 0, 5000 }, { 1200, 3800 }, { 4999, 1 }, { 6000, 1 },
	};
	struct office *o = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct errand_request r;
		struct frame f;
		struct err e;
		uint32_t id;
		ask(o,
		    "{\"action\":\"git_changes\",\"timeout\":5,\"args\":{\"path\":\"/p\"}}");
		while (requested(o, &id) != MSG_OPEN)
			assert_int_not_equal(id, 0);
		go_to(o, rows[i].waited);
		assert_int_equal(message_put_started(&o->frames, id, 9, &e), 0);
		assert_int_equal(answer(o, &e), 0);
		assert_int_equal(frame_next(&o->wire, FRAME_MAX_TO_EXECUTOR, &f, &e), 1);
		assert_true(f.type == MSG_ERRAND && action_get_errand(&f, &r, &e) == 0);
		if (r.timeout_ms != rows[i].left)
			fail_msg("row %zu: %llu", i, (unsigned long long)r.timeout_ms);
		assert_int_equal(teardown(state) + setup(state), 0);
		o = *state;
	}
}

/* The executor starts no shell once it was told to stop: such a failure is reported
 * as the sandbox's end, not as a missing shell. */
static void test_no_shell_is_told_from_a_sandbox_that_stops(void **state)
{
	static const struct { uint32_t sys; const char *error; } cases[] = {
		{ ENOENT, "HUTCH$NO_SHELL" }, { ECANCELED, "HUTCH$SANDBOX_ENDED" },
	};
	struct office *o = *state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct failed failed = { .stage = EXEC_STAGE_EXECVE,
					       .sys = cases[i].sys };
		struct err e;
		uint32_t id;
		ask(o, "{\"action\":\"run\",\"args\":{\"command\":\"1\"}}");
		while (requested(o, &id) != MSG_OPEN)
			assert_int_not_equal(id, 0);
		assert_int_equal(message_put_failed(&o->frames, id, &failed, &e), 0);
		assert_int_equal(answer(o, &e), 0);
		expect(o, cases[i].error);
	}
}

/* --- what must not come ---------------------------------------------------- */

enum { IS_RUN = 1, IS_READ = 2, IS_EDIT = 4, IS_ERRAND = 8, IS_OPENING = 16, IS_OPEN = 32,
       IS_NOBODY = 64 };

static void put_frame(struct office *o, uint16_t type, uint32_t id)
{
	const struct bytes text = { (const uint8_t *)"x", 1 };
	const struct report report = { .state = REPORT_COMPLETED,
				       .cwd = "/",
				       .interpreter = "" };
	const struct done done = { OUTCOME_DONE, 0, "/f", "/" };
	const struct edited edited = { .outcome = OUTCOME_DONE };
	const struct returned returned = { .path = "/f", .cwd = "/", .stat.target = "" };
	const struct failed failed = { .stage = EXEC_STAGE_EXECVE, .sys = 2 };
	struct err e;

	switch (type) {
	case MSG_STARTED:
		assert_int_equal(message_put_started(&o->frames, id, 2, &e), 0);
		break;
	case MSG_FAILED:
		assert_int_equal(message_put_failed(&o->frames, id, &failed, &e), 0);
		break;
	case MSG_REPORT:
		assert_int_equal(action_put_report(&o->frames, id, &report, &e), 0);
		break;
	case MSG_DONE:
		assert_int_equal(action_put_done(&o->frames, id, &done, &e), 0);
		break;
	case MSG_EDITED:
		assert_int_equal(action_put_edited(&o->frames, id, &edited, &e), 0);
		break;
	case MSG_RETURNED:
		assert_int_equal(action_put_returned(&o->frames, id, &returned, &e), 0);
		break;
	default:
		assert_int_equal(action_put_text(&o->frames, type, id, text, &e), 0);
		break;
	}
}

/* Tells which frames are permitted about a command, a file, a session that is
 * opening or open, and an unknown request. */
static void test_a_frame_at_the_wrong_time_breaks_the_protocol(void **state)
{
	static const struct { uint16_t type; unsigned fits; } frames[] = {
		{ MSG_STARTED, IS_OPENING }, { MSG_FAILED, IS_OPENING },
		{ MSG_OUTPUT, 0 }, /* without --stream */
		{ MSG_CONTENT, IS_RUN | IS_READ | IS_EDIT | IS_ERRAND },
		{ MSG_REPORT, IS_RUN },	     { MSG_DONE, IS_READ },
		{ MSG_EDITED, IS_EDIT },     { MSG_EDIT, 0 },
		{ MSG_RETURNED, IS_ERRAND }, { MSG_ERRAND, 0 },
		{ MSG_HELLO, 0 },	     { MSG_EXITED, 0 },
		{ MSG_RUN, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(frames); i++)
		for (unsigned what = IS_RUN; what <= IS_NOBODY; what <<= 1) {
			struct office *o = *state;
			struct err e;
			uint32_t id, session = open_session(o, "a");
			if (what == IS_RUN)
				ask(o, "{\"action\":\"run\",\"args\":{\"command\":\"1\"},"
				       "\"session\":\"a\"}");
			if (what == IS_READ)
				ask(o, READ_IN, 0);
			if (what == IS_EDIT)
				ask(o, "{\"action\":\"edit\",\"args\":{\"path\":\"/f\"},"
				       "\"session\":\"a\"}");
			if (what == IS_ERRAND)
				ask(o, "{\"action\":\"stat\",\"args\":{\"path\":\"/f\"},"
				       "\"session\":\"a\"}");
			if (what == IS_OPENING)
				ask(o,
				    "{\"action\":\"run\",\"args\":{\"command\":\"1\"}}");
			assert_int_equal(requested(o, &id) != 0, what < IS_OPEN);
			if (what == IS_OPEN)
				id = session;
			put_frame(o, frames[i].type, id);
			bool fits = answer(o, &e) == 0;
			if (fits != ((frames[i].fits & what) != 0))
				fail_msg("%s, case %u", message_name(frames[i].type),
					 what);
			(void)teardown(state);
			(void)setup(state);
		}
}

static void answer_edited(struct office *o, uint32_t id, uint64_t text_len, int expected)
{
	const struct edited edited = { .outcome = OUTCOME_DONE, .text_len = text_len };
	struct err e;

	answer_content(o, id, 'x', 10);
	assert_int_equal(action_put_edited(&o->frames, id, &edited, &e), 0);
	assert_int_equal(answer(o, &e), expected);
}

/* A linter gets PATH and limits from the session.  If no session can be opened,
 * the file is edited without the linter. */
static void test_a_session_is_there_for_a_linter(void **state)
{
	const struct failed failed = { EXEC_STAGE_LOOKUP, 2 };
	struct office *o = *state;
	struct err e;
	uint32_t id;

	ask(o, "{\"action\":\"edit\",\"args\":{\"path\":\"/f\"}}");
	assert_int_equal(requested(o, &id), MSG_EDIT);
	answer_edited(o, id, 0, 0);
	o->dispatcher.sandbox_info.lints = true;
	ask(o, "{\"action\":\"read\",\"args\":{\"path\":\"/f\"}}");
	assert_int_equal(requested(o, &id), MSG_READ);
	answer_done(o, id);
	ask(o, "{\"action\":\"edit\",\"args\":{\"path\":\"/f\"}}");
	assert_int_equal(requested(o, &id), MSG_OPEN);
	assert_int_equal(message_put_failed(&o->frames, id, &failed, &e), 0);
	assert_int_equal(answer(o, &e), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(requested(o, &id), MSG_EDIT);
		answer_edited(o, id, 0, 0);
		ask(o, "{\"action\":\"edit\",\"args\":{\"path\":\"/f\"}}");
	}
	assert_int_equal(requested(o, &id), MSG_EDIT);
	answer_edited(o, id, 0, 0);
	ask(o, "{\"action\":\"edit\",\"args\":{\"path\":\"/f\"},\"session\":\"b\"}");
	assert_int_equal(requested(o, &id), MSG_OPEN);
	answer_started(o, id);
	assert_int_equal(requested(o, &id), MSG_EDIT);
}

static void test_an_edit_has_a_text_and_the_rest_is_its_diff(void **state)
{
	struct office *o = *state;
	uint32_t id;

	ask(o,
	    "{\"action\":\"edit\",\"args\":{\"path\":\"/f\",\"old_str\":\"o\"},\"id\":4}");
	assert_int_equal(requested(o, &id), MSG_EDIT);
	answer_edited(o, id, 7, 0);
	expect(o,
	       "\"content\":\"xxxxxxx\",\"extras\":{\"path\":\"/f\",\"prev_exist\":false,"
	       "\"old_content\":\"o\",\"new_content\":null,\"impl_source\":\"oh_aci\","
	       "\"diff\":\"xxx\",\"_diff_cache\":null},\"cause\":4,");
	ask(o,
	    "{\"action\":\"read\",\"args\":{\"path\":\"/f\",\"impl_source\":\"oh_aci\"}}");
	assert_int_equal(requested(o, &id), MSG_EDIT);
	answer_edited(o, id, 10, 0);
	expect(o, "\"content\":\"xxxxxxxxxx\",\"extras\":{\"path\":\"/f\","
		  "\"impl_source\":\"oh_aci\"}");
	/* The answer claims to have more text than came. */
	ask(o, "{\"action\":\"edit\",\"args\":{\"path\":\"/f\"}}");
	assert_int_equal(requested(o, &id), MSG_EDIT);
	answer_edited(o, id, 11, -1);
}

static void put_output(struct office *o, uint32_t id, size_t len)
{
	char chunk[ACTION_CHUNK];
	struct err e;

	memset(chunk, 'y', sizeof(chunk));
	for (size_t n; len > 0; len -= n) {
		n = len < sizeof(chunk) ? len : sizeof(chunk);
		struct bytes text = { (const uint8_t *)chunk, n };
		assert_int_equal(action_put_text(&o->frames, MSG_OUTPUT, id, text, &e),
				 0);
		assert_int_equal(answer(o, &e), 0);
	}
}

static bool requested_hold(struct office *o, uint32_t want)
{
	struct frame f;
	struct err e;
	bool is_held;

	assert_int_equal(frame_next(&o->wire, FRAME_MAX_TO_EXECUTOR, &f, &e), 1);
	assert_int_equal(f.type, MSG_HOLD);
	assert_int_equal(f.id, want);
	assert_int_equal(message_get_hold(&f, &is_held, &e), 0);
	buffer_consume(&o->wire, FRAME_HEADER + f.len);
	return is_held;
}

/* Streams a command of session "a" that has printed `len` bytes. */
static uint32_t begin_stream(struct office *o, size_t len)
{
	uint32_t id;

	o->client.streams = true;
	(void)open_session(o, "a");
	ask(o,
	    "{\"action\":\"run\",\"args\":{\"command\":\"1\"},\"session\":\"a\",\"id\":3}");
	assert_int_equal(requested(o, &id), MSG_RUN);
	put_output(o, id, len);
	return id;
}

static void test_a_stream_is_held_while_its_client_does_not_read(void **state)
{
	struct office *o = *state;
	uint32_t id = begin_stream(o, DISPATCHER_STREAM_HIGH / 2), other;

	assert_int_equal(requested(o, &other), 0);
	put_output(o, id, DISPATCHER_STREAM_HIGH / 2);
	assert_true(requested_hold(o, id));
	/* Another piece that was on its way when the hold was sent. */
	put_output(o, id, ACTION_CHUNK);
	assert_int_equal(requested(o, &other), 0);
	/* The stream resumes only when more than half of the room is free, so that
	 * it does not toggle all the time. */
	buffer_consume(&o->out, buffer_len(&o->out) - DISPATCHER_STREAM_HIGH / 2 - 1);
	(void)dispatcher_start(&o->dispatcher);
	assert_int_equal(requested(o, &other), 0);
	buffer_consume(&o->out, 1);
	(void)dispatcher_start(&o->dispatcher);
	assert_false(requested_hold(o, id));
}

static void test_nobody_is_held_for_a_client_that_has_gone(void **state)
{
	struct office *o = *state;
	uint32_t id = begin_stream(o, DISPATCHER_STREAM_HIGH + 1);

	assert_true(requested_hold(o, id));
	dispatcher_leave(&o->dispatcher, &o->client);
	(void)dispatcher_start(&o->dispatcher);
	assert_false(requested_hold(o, id));
}

static void test_output_that_is_not_told_is_counted(void **state)
{
	struct office *o = *state;
	uint32_t id = begin_stream(o, DISPATCHER_STREAM_HIGH);

	assert_true(requested_hold(o, id));
	while (!dispatcher_is_behind(&o->client))
		put_output(o, id, ACTION_CHUNK);
	size_t full = buffer_len(&o->out);
	put_output(o, id, 2 * ACTION_CHUNK + 5);
	assert_int_equal(buffer_len(&o->out), full);
	buffer_consume(&o->out, full);
	put_output(o, id, 1);
	expect(o,
	       "{\"event\":\"output\",\"cause\":3,\"session\":\"a\",\"dropped\":65541}");
	expect(o, "\"data\":\"y\"}");
	assert_false(requested_hold(o, id));
	/* Where no output follows, the count of dropped bytes comes before the
	 * observation. */
	while (!dispatcher_is_behind(&o->client))
		put_output(o, id, ACTION_CHUNK);
	put_output(o, id, 7);
	full = buffer_len(&o->out);
	answer_report(o, id);
	buffer_consume(&o->out, full);
	expect(o, "\"dropped\":7}");
	expect(o, "\"observation\":\"run\"");
}

#define STATIC "{\"action\":\"run\",\"id\":%d,\"args\":{\"command\":\"c\",\"is_static\":true}}"

static void test_a_session_for_one_action_is_opened_and_ended(void **state)
{
	struct office *o = *state;
	uint32_t session, id, other;

	(void)open_session(o, "main");
	ask(o, STATIC, 1);
	assert_int_equal(requested(o, &session), MSG_OPEN);
	ask(o, STATIC, 2);
	assert_int_equal(requested(o, &other), MSG_OPEN);
	assert_int_not_equal(session, other);
	answer_started(o, session);
	assert_int_equal(requested(o, &id), MSG_RUN);
	answer_report(o, id);
	expect(o, "\"cause\":1");
	assert_int_equal(requested(o, &id), MSG_END);
	assert_int_equal(id, session);
	/* The action was cancelled while its session's shell was starting. */
	ask(o, "{\"action\":\"cancel\",\"args\":{\"id\":2}}");
	expect(o, "\"observation\":\"null\"");
	expect(o, "HUTCH$CANCELLED");
	assert_int_equal(requested(o, &id), 0);
	answer_started(o, other);
	assert_int_equal(requested(o, &id), MSG_END);
	assert_int_equal(id, other);
	assert_int_equal(o->dispatcher.queue.session_count, 2); /* the lobby and main */
}

static void test_an_end_for_which_there_is_no_room_comes_later(void **state)
{
	struct office *o = *state;
	uint32_t session, id;

	ask(o, STATIC, 1);
	assert_int_equal(requested(o, &session), MSG_OPEN);
	answer_started(o, session);
	assert_int_equal(requested(o, &id), MSG_RUN);
	size_t max = o->wire.max;
	o->wire.max = FRAME_HEADER - 1;
	answer_report(o, id);
	expect(o, "\"cause\":1");
	assert_int_equal(requested(o, &id), 0);
	assert_int_equal(o->dispatcher.queue.session_count, 2);
	o->wire.max = max;
	(void)dispatcher_start(&o->dispatcher);
	assert_int_equal(requested(o, &id), MSG_END);
	assert_int_equal(id, session);
	assert_int_equal(o->dispatcher.queue.session_count, 1);
}

static void test_a_session_for_one_action_that_could_not_start_is_not_ended(void **state)
{
	struct office *o = *state;
	const struct failed f = { EXEC_STAGE_CWD, ENOENT };
	uint32_t session, id;
	struct err e;

	ask(o, STATIC, 1);
	assert_int_equal(requested(o, &session), MSG_OPEN);
	assert_int_equal(message_put_failed(&o->frames, session, &f, &e), 0);
	assert_int_equal(answer(o, &e), 0);
	expect(o, "HUTCH$NO_SHELL");
	assert_int_equal(requested(o, &id), 0);
	assert_int_equal(o->dispatcher.queue.session_count, 1);
	/* A second answer to one request breaks the protocol. */
	assert_int_equal(message_put_failed(&o->frames, session, &f, &e), 0);
	assert_int_equal(answer(o, &e), -1);
}

static void test_an_action_without_a_place_for_its_session_is_told_so(void **state)
{
	struct office *o = *state;
	char name[16];

	for (int i = 0; i < QUEUE_STATICS + 1; i++)
		ask(o, STATIC, i);
	for (int i = 0; i < QUEUE_SESSIONS - QUEUE_STATICS; i++) {
		(void)snprintf(name, sizeof(name), "s%d", i);
		assert_non_null(queue_session(&o->dispatcher.queue, name));
	}
	ask(o, STATIC, 90);
	expect_nothing(o);
	for (int i = 0; i < QUEUE_STATICS; i++) {
		ask(o, "{\"action\":\"cancel\",\"args\":{\"id\":%d}}", i);
		expect(o, "\"observation\":\"null\"");
		expect(o, "HUTCH$CANCELLED");
	}
	ask(o, "{\"action\":\"cancel\",\"args\":{\"id\":%d}}", QUEUE_STATICS);
	expect(o, "\"observation\":\"null\"");
	expect(o, "HUTCH$CANCELLED");
}

static void answer_returned(struct office *o, uint32_t id, const struct returned *x)
{
	struct err e;

	assert_int_equal(action_put_returned(&o->frames, id, x, &e), 0);
	assert_int_equal(answer(o, &e), 0);
}

/* An error is one plain sentence with the name of the file. */
static void test_the_outcome_of_an_errand_is_said(void **state)
{
	static const struct {
		const char *line;
		uint32_t outcome, sys;
		const char *expected;
	} rows[] = {
		{ "mkdir\",\"args\":{\"path\":\"f\"}", OUTCOME_DONE, 0,
		  "\"message\":\"I made the folder /p.\",\"content\":\"xx\",\"extras\":{\"path\":\"f\"}," },
		{ "stat\",\"args\":{\"path\":\"f\"}", OUTCOME_NOT_FOUND, ENOENT,
		  "File not found: /p. Your current working directory is /." },
		{ "stat\",\"args\":{\"path\":\"f\"}", OUTCOME_ERROR, EACCES,
		  "/p: Permission denied." },
		{ "list\"", OUTCOME_TIMED_OUT, 0,
		  "/p: it was not done within 120 seconds." },
		{ "list\",\"timeout\":0.5", OUTCOME_TIMED_OUT, 0,
		  "not done within 0.5 seconds." },
		{ "list\"", OUTCOME_CANCELLED, 0, "HUTCH$CANCELLED" },
		{ "glob\",\"args\":{\"pattern\":\"..\"}", OUTCOME_REFUSED, 0,
		  "\"ERROR: xx\"" },
		{ "list\"", OUTCOME_ERROR, EAGAIN, "/p: too much is under way." },
		{ "list\"", OUTCOME_ERROR, EINTR, "/p: it was ended by a signal" },
		{ "move\",\"args\":{\"path\":\"f\",\"to\":\"g\"}", OUTCOME_ERROR, EXDEV,
		  "another mount" },
		{ "mkdir\",\"args\":{\"path\":\"f\"}", OUTCOME_ERROR, EEXIST,
		  "is no folder" },
		{ "move\",\"args\":{\"path\":\"f\",\"to\":\"f/g\"}", OUTCOME_ERROR,
		  EINVAL, "/p: a folder cannot be moved into itself." },
		{ "grep\",\"args\":{\"pattern\":\"x\"}", OUTCOME_NOT_REGULAR, 0,
		  "Not a regular file: /p." },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct returned x = { .outcome = rows[i].outcome,
					    .sys = rows[i].sys,
					    .path = "/p",
					    .cwd = "/",
					    .stat.target = "" };
		struct office *o = *state;
		uint32_t id;
		ask(o, "{\"action\":\"%s}", rows[i].line);
		assert_int_equal(requested(o, &id), MSG_ERRAND);
		answer_content(o, id, 'x', 2);
		answer_returned(o, id, &x);
		expect(o, rows[i].expected);
	}
}

/* Even from a malicious executor: a stat contains only values that are valid JSON. */
static void test_a_stat_is_told_in_numbers(void **state)
{
	const struct returned x = { .path = "/p",
				    .cwd = "/",
				    .stat = { .mode = 0120777,
					      .uid = 5,
					      .gid = 6,
					      .size = 7,
					      .seconds = -1,
					      .nanoseconds = 5,
					      .target = "\"\n" } };
	struct office *o = *state;
	uint32_t id;

	ask(o, "{\"action\":\"stat\",\"args\":{\"path\":\"/p\"}}");
	assert_int_equal(requested(o, &id), MSG_ERRAND);
	answer_returned(o, id, &x);
	expect(o,
	       "\"stat\":{\"type\":\"link\",\"size\":7,\"mode\":511,\"uid\":5,\"gid\":6,"
	       "\"mtime\":-0.999999995,\"target\":\"\\\"\\n\"},");
}

/* A cancel is sent to the executor for the errand that is running; its answer still
 * comes. */
static void test_an_errand_can_be_cancelled(void **state)
{
	struct office *o = *state;
	uint32_t id, cancelled;

	ask(o, "{\"action\":\"list\",\"id\":4}");
	assert_int_equal(requested(o, &id), MSG_ERRAND);
	ask(o, "{\"action\":\"cancel\",\"args\":{\"id\":4}}");
	assert_int_equal(requested(o, &cancelled), MSG_CANCEL);
	assert_int_equal(cancelled, id);
}

static void test_so_many_errands_are_under_way_beside_files(void **state)
{
	struct office *o = *state;
	uint32_t id, first = 0;

	for (int i = 0; i < DISPATCHER_ERRANDS + 2; i++)
		ask(o, "{\"action\":\"list\",\"session\":\"s%d\"}", i);
	for (int i = 0; i < DISPATCHER_ERRANDS; i++) {
		assert_int_equal(requested(o, &id), MSG_ERRAND);
		first = first ? first : id;
	}
	assert_int_equal(requested(o, &id), 0);
	ask(o, "{\"action\":\"read\",\"args\":{\"path\":\"/f\"},\"session\":\"r\"}");
	assert_int_equal(requested(o, &id), MSG_READ);
	const struct returned x = { .path = "/p", .cwd = "/", .stat.target = "" };
	answer_returned(o, first, &x);
	assert_int_equal(requested(o, &id), MSG_ERRAND);
	assert_int_equal(requested(o, &id), 0);
}

static void test_output_becomes_events_with_stream_alone(void **state)
{
	struct office *o = *state;
	uint32_t id;
	struct err e;

	o->client.streams = true;
	(void)open_session(o, "a");
	ask(o,
	    "{\"action\":\"run\",\"args\":{\"command\":\"1\"},\"session\":\"a\",\"id\":3}");
	assert_int_equal(requested(o, &id), MSG_RUN);
	put_frame(o, MSG_OUTPUT, id);
	assert_int_equal(answer(o, &e), 0);
	expect(o, "{\"event\":\"output\",\"cause\":3,\"session\":\"a\",\"data\":\"x\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_several_commands_are_refused_and_start_no_shell),
		TEST(test_a_refusal_waits_for_its_turn),
		TEST(test_so_many_files_are_under_way_and_no_more),
		TEST(test_hostile_content_waits_until_it_is_taken),
		TEST(test_more_content_than_a_file_may_have_breaks_the_protocol),
		TEST(test_each_client_that_asked_again_gets_a_copy_when_there_is_room),
		TEST(test_a_full_dispatcher_says_so),
		TEST(test_there_are_so_many_sessions),
		TEST(test_a_session_does_one_thing_after_the_other),
		TEST(test_a_cancel_reaches_what_runs_and_what_waits),
		TEST(test_an_answer_is_due_while_one_is_awaited),
		TEST(test_each_action_has_its_time),
		TEST(test_a_time_out_counts_from_behind_the_record),
		TEST(test_the_first_of_each_session_is_waited_for),
		TEST(test_a_cancelled_action_is_waited_for_no_longer_than_a_grace),
		TEST(test_nothing_is_due_of_one_that_is_not_listened_to),
		TEST(test_no_shell_is_told_from_a_sandbox_that_stops),
		TEST(test_a_frame_at_the_wrong_time_breaks_the_protocol),
		TEST(test_a_session_is_there_for_a_linter),
		TEST(test_an_edit_has_a_text_and_the_rest_is_its_diff),
		TEST(test_a_session_for_one_action_is_opened_and_ended),
		TEST(test_an_end_for_which_there_is_no_room_comes_later),
		TEST(test_a_session_for_one_action_that_could_not_start_is_not_ended),
		TEST(test_an_action_without_a_place_for_its_session_is_told_so),
		TEST(test_a_stream_is_held_while_its_client_does_not_read),
		TEST(test_nobody_is_held_for_a_client_that_has_gone),
		TEST(test_output_that_is_not_told_is_counted),
		TEST(test_the_outcome_of_an_errand_is_said),
		TEST(test_a_stat_is_told_in_numbers),
		TEST(test_an_errand_can_be_cancelled),
		TEST(test_git_is_late_while_its_shell_is_not_there),
		TEST(test_git_has_what_is_left_of_its_time),
		TEST(test_so_many_errands_are_under_way_beside_files),
		TEST(test_output_becomes_events_with_stream_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
