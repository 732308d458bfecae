/* stub: answers questions while hutch-egress changes the rules.  The guest's socket and
 * the one to hutch-egress are socketpairs, so that each test says what has come before
 * what. */
#include "egress/gate/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/frame.h"
#include "base/own.h"
#include "egress/dns_names.h"
#include "tests/unit/egress.h"

enum { EMPTY_ANSWER = 0, ALLOWED = 18, REFUSED = 19, NO_ANSWER = -1 };

struct stage {
	struct gate gate;
	int guest, egress;   /* owned: the other ends of the gate's sockets */
	uint32_t generation; /* of the last rules */
};

static int setup(void **state)
{
	const uint8_t key[DNS_NAMES_KEY] = { 1 };
	struct stage *st = calloc(1, sizeof(*st));
	int guest[2], egress[2];

	assert_non_null(st);
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, guest), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, egress), 0);
	st->guest = guest[1];
	st->egress = egress[1];
	st->gate.network.datagrams = guest[0];
	st->gate.link.fd = egress[0];
	st->gate.has_hello = st->gate.has_rules = true;
	st->gate.names = dns_names_new(key);
	buffer_init(&st->gate.link.in, LINK_MAX);
	buffer_init(&st->gate.link.out, LINK_MAX);
	*state = st;
	return 0;
}

static int teardown(void **state)
{
	struct stage *st = *state;
	struct gate *g = &st->gate;

	stub_done(g);
	egress_rules_done(&g->rules);
	egress_rules_done(&g->coming);
	dns_names_free(g->names);
	buffer_done(&g->link.in);
	buffer_done(&g->link.out);
	own_close(&g->network.datagrams);
	own_close(&g->link.fd);
	own_close(&st->guest);
	own_close(&st->egress);
	free(st);
	return 0;
}

/* --- hutch-egress --------------------------------------------------------------------- */

static void send_frames(struct stage *st, struct buffer *frames)
{
	const size_t len = buffer_len(frames);

	assert_int_equal(send(st->egress, buffer_data(frames), len, 0), len);
	buffer_done(frames);
}

/* Sends a set of one rule. */
static void send_rule(struct stage *st, enum egress_verdict verdict, const char *target)
{
	const struct frames_set set = { .generation = ++st->generation,
					.count = 1,
					.verdict = verdict,
					.target = target,
					.as = "" };
	struct buffer frame;

	buffer_init(&frame, FRAMES_MAX);
	assert_int_equal(frames_put_set(&frame, &set, NULL), 0);
	send_frames(st, &frame);
}

static void send_outcome(struct stage *st, uint32_t id, enum frames_outcome outcome)
{
	struct buffer frame;

	buffer_init(&frame, FRAMES_MAX);
	assert_int_equal(frames_put_resolved(&frame, id, outcome, NULL), 0);
	send_frames(st, &frame);
}

/* Lets the gate read what hutch-egress has sent. */
static void hear(struct stage *st)
{
	struct err e;

	assert_int_equal(link_read(&st->gate, &e), 1);
}

/* Returns the id of the question that the gate has for hutch-egress; 0: there is none. */
static uint32_t take_question(struct stage *st)
{
	struct buffer *out = &st->gate.link.out;
	struct frame frame;
	const char *name;
	uint32_t id = 0;
	struct err e;

	while (frames_next(out, FRAMES_GATE, &frame, &e) > 0) {
		if (frame.type == FRAMES_RESOLVE) {
			assert_int_equal(frames_get_resolve(&frame, &name, &e), 0);
			assert_string_equal(name, "example.org");
			id = frame.id;
		}
		buffer_consume(out, FRAME_HEADER + frame.len);
	}
	return id;
}

/* --- the guest ------------------------------------------------------------------------ */

static void ask(const struct stage *st)
{
	static const uint8_t question[] = "\0\7\1\0\0\1\0\0\0\0\0\0"
					  "\7example\3org\0\0\1\0\1";

	assert_int_equal(send(st->guest, question, sizeof(question) - 1, 0),
			 sizeof(question) - 1);
}

/* Returns the pool of the address in the answer. */
static int take_answer(const struct stage *st)
{
	uint8_t answer[512];
	const ssize_t len = recv(st->guest, answer, sizeof(answer), MSG_DONTWAIT);

	if (len < 0)
		return NO_ANSWER;
	if (answer[7] == 0) /* the count of records */
		return EMPTY_ANSWER;
	assert_int_equal(answer[len - 4], 198);
	return answer[len - 3];
}

/* --- tests ---------------------------------------------------------------------------- */

static const struct {
	const char *what;
	enum egress_verdict first, then;
	const char *first_target, *then_target;
	int answer;
} changes[] = {
	{ "allowed, then denied", EGRESS_ALLOW, EGRESS_DENY, "example.org", "example.org",
	  REFUSED },
	{ "denied, then allowed", EGRESS_DENY, EGRESS_ALLOW, "example.org", "*.org",
	  ALLOWED },
	{ "denied, then asked", EGRESS_DENY, EGRESS_ASK, "example.org", "example.org",
	  ALLOWED },
};

/* A client was told that new rules are in force, and its program has asked then: the
 * gate's loop may come to the question before it comes to the rules. */
static void test_a_question_is_answered_by_rules_that_came_before_it(void **state)
{
	struct stage *st = *state;

	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		send_rule(st, changes[i].first, changes[i].first_target);
		hear(st);
		send_rule(st, changes[i].then, changes[i].then_target);
		ask(st);
		stub_read_datagrams(&st->gate);
		const int answer = take_answer(st);
		if (answer != changes[i].answer)
			fail_msg("%s: %d", changes[i].what, answer);
	}
}

/* hutch-egress looks up no name that the new rules do not allow, and says that the name is
 * empty. */
static void test_a_question_that_waits_is_answered_by_new_rules(void **state)
{
	static const struct {
		enum egress_verdict then;
		enum frames_outcome outcome;
		int answer;
	} rows[] = {
		{ EGRESS_DENY, FRAMES_EMPTY, REFUSED },
		{ EGRESS_DENY, FRAMES_FOUND, REFUSED },
		{ EGRESS_ASK, FRAMES_EMPTY, ALLOWED },
		{ EGRESS_ALLOW, FRAMES_FOUND, ALLOWED },
		{ EGRESS_ALLOW, FRAMES_EMPTY, EMPTY_ANSWER },
		{ EGRESS_ALLOW, FRAMES_NXDOMAIN, EMPTY_ANSWER },
	};
	struct stage *st = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		send_rule(st, EGRESS_ALLOW, "example.org");
		hear(st);
		ask(st);
		stub_read_datagrams(&st->gate);
		const uint32_t id = take_question(st);
		assert_true(id > 0);
		assert_int_equal(take_answer(st), NO_ANSWER);
		send_rule(st, rows[i].then, "example.org");
		send_outcome(st, id, rows[i].outcome);
		hear(st);
		const int answer = take_answer(st);
		if (answer != rows[i].answer)
			fail_msg("row %zu: %d", i, answer);
	}
}

static void test_a_broken_frame_that_a_question_finds_ends_the_gate(void **state)
{
	struct stage *st = *state;
	struct err e;

	send_rule(st, EGRESS_ALLOW, "*.org");
	hear(st);
	assert_int_equal(send(st->egress, "\0\0\0\0\77\0\0\0\0\0\0\0", 12, 0), 12);
	ask(st);
	stub_read_datagrams(&st->gate);
	assert_int_equal(take_answer(st), ALLOWED);
	assert_int_equal(link_read(&st->gate, &e), -1);
	assert_int_equal(e.kind, ERR_PROTOCOL);
}

static void test_an_end_that_a_question_finds_ends_the_gate(void **state)
{
	struct stage *st = *state;
	struct err e;

	own_close(&st->egress);
	ask(st);
	stub_read_datagrams(&st->gate);
	assert_int_equal(take_answer(st), REFUSED);
	assert_int_equal(link_read(&st->gate, &e), 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_question_is_answered_by_rules_that_came_before_it),
		TEST(test_a_question_that_waits_is_answered_by_new_rules),
		TEST(test_a_broken_frame_that_a_question_finds_ends_the_gate),
		TEST(test_an_end_that_a_question_finds_ends_the_gate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
