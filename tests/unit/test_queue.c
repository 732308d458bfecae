/* queue: each session has a queue of actions. */
#include "actions/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/list.h"

static struct queue queue;

static int setup(void **state)
{
	queue_init(&queue);
	*state = &queue;
	return 0;
}

static int teardown(void **state)
{
	queue_done(*state);
	return 0;
}

static struct task *add(const char *session, const char *client, uint64_t id)
{
	struct action a = { .kind = ACT_RUN, .has_id = true, .id = id,
			    .client = text_copy(client), .timestamp = text_copy("t"),
			    .session = text_copy(session), .command = text_copy("c") };

	return queue_add(&queue, queue_session(&queue, session), &a, 10, 100);
}

static void a_session_does_one_after_the_other(void **state)
{
	struct task *a = add("s", "", 1), *b = add("s", "", 2), *c = add("s", "", 3);
	struct session *s = queue_session(&queue, "s");

	(void)state;
	assert_ptr_equal(s->first, a);
	assert_int_equal(queue.count, 3);
	assert_int_equal(queue.bytes, 30);
	queue_remove(&queue, b);
	assert_ptr_equal(s->first->next, c);
	queue_remove(&queue, c);
	assert_ptr_equal(s->last, a);
	queue_remove(&queue, a);
	assert_null(s->first);
	assert_null(s->last);
	assert_int_equal(queue.count, 0);
	assert_int_equal(queue.bytes, 0);
	a = add("s", "", 4);
	assert_ptr_equal(s->first, a);
}

static void only_the_first_that_was_sent_is_under_way(void **state)
{
	struct task *a = add("s", "", 1), *b = add("s", "", 2);

	(void)state;
	a->id = b->id = 77;
	assert_null(queue_under_way(&queue, 77));
	b->is_sent = true;
	assert_null(queue_under_way(&queue, 77));
	a->is_sent = true;
	assert_ptr_equal(queue_under_way(&queue, 77), a);
	assert_null(queue_under_way(&queue, 78));
}

static void an_action_is_found_by_whose_it_is(void **state)
{
	struct task *a = add("s", "one", 1), *b = add("u", "other", 1);

	(void)state;
	assert_ptr_equal(queue_find(&queue, "one", 1, NULL), a);
	assert_ptr_equal(queue_find(&queue, "other", 1, "t"), b);
	assert_null(queue_find(&queue, "other", 1, "u"));
	assert_null(queue_find(&queue, "other", 2, NULL));
	assert_null(queue_find(&queue, "", 1, NULL));
}

static void sessions_are_bounded(void **state)
{
	char name[16];

	(void)state;
	for (int i = 0; i < QUEUE_SESSIONS; i++) {
		(void)snprintf(name, sizeof(name), "s%d", i);
		assert_non_null(queue_session(&queue, name));
	}
	assert_null(queue_session(&queue, "one more"));
	assert_non_null(queue_session(&queue, "s0"));
}

static struct task *add_static(uint64_t id)
{
	struct action a = { .kind = ACT_RUN, .has_id = true, .id = id, .is_static = true,
			    .client = text_copy(""), .timestamp = text_copy("t"),
			    .session = text_copy("s"), .command = text_copy("c") };

	return queue_add(&queue, NULL, &a, 10, 100);
}

static void what_has_a_session_of_its_own_waits_for_a_place(void **state)
{
	struct session *seats[QUEUE_STATICS + 1];
	struct task *t = NULL;

	(void)state;
	assert_null(queue_seat(&queue));
	for (uint64_t i = 0; i <= QUEUE_STATICS; i++)
		t = add_static(i);
	assert_ptr_equal(queue_find(&queue, "", QUEUE_STATICS, NULL), t);
	for (int i = 0; i < QUEUE_STATICS; i++) {
		seats[i] = queue_seat(&queue);
		assert_non_null(seats[i]);
		assert_true(queue_is_static(seats[i]));
		assert_ptr_equal(seats[i]->first, seats[i]->last);
		assert_int_equal(seats[i]->first->action.id, i);
		assert_ptr_equal(seats[i]->first->session, seats[i]);
	}
	assert_null(queue_seat(&queue));
	queue_remove(&queue, seats[3]->first);
	uint32_t id = seats[3]->id;
	queue_leave(&queue, seats[3]);
	assert_null(queue_session_by_id(&queue, id));
	struct session *s = queue_seat(&queue);
	assert_ptr_equal(s->first, t);
	assert_int_not_equal(s->id, id);
	assert_null(queue_seat(&queue));
	assert_int_equal(queue.count, QUEUE_STATICS);
}

static void a_place_that_was_given_back_is_anybodys(void **state)
{
	char name[16];

	(void)state;
	(void)add_static(1);
	struct session *s = queue_seat(&queue);
	for (int i = 1; i < QUEUE_SESSIONS; i++) {
		(void)snprintf(name, sizeof(name), "s%d", i);
		assert_non_null(queue_session(&queue, name));
	}
	assert_null(queue_session(&queue, "one more"));
	/* Another session may begin once a finished one is removed. */
	assert_true(queue_has_place(&queue));
	queue_remove(&queue, s->first);
	queue_leave(&queue, s);
	assert_ptr_equal(queue_session(&queue, "one more"), s);
	assert_false(queue_has_place(&queue));
	(void)add_static(2);
	assert_null(queue_seat(&queue));
}

static void ids_go_round_and_leave_out_those_of_sessions(void **state)
{
	uint32_t id = queue_session(&queue, "s")->id;

	(void)state;
	queue.next_id = UINT32_MAX;
	assert_int_equal(queue_new_id(&queue), UINT32_MAX);
	assert_int_equal(id, 1);
	/* Neither 0 nor the id that the session has. */
	assert_int_equal(queue_new_id(&queue), 2);
}

/* If memory is not freed, a sanitizer reports it. */
static void a_session_that_leaves_takes_along_what_it_held_of_a_secret(void **state)
{
	struct redact secrets = { 0 };
	struct buffer shown = { .max = 64 };

	(void)state;
	assert_int_equal(redact_add(&secrets, "secret", NULL, NULL), 0);
	(void)add_static(1);
	struct session *s = queue_seat(&queue);
	redact_feed(&secrets, &s->shown, "secretsec", 9, &shown);
	assert_int_equal(buffer_len(&s->shown.held), 3);
	queue_remove(&queue, s->first);
	queue_leave(&queue, s);
	assert_int_equal(s->shown.held.max, 0);
	buffer_done(&shown);
	redact_done(&secrets);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_session_does_one_after_the_other),
		CASE(only_the_first_that_was_sent_is_under_way),
		CASE(an_action_is_found_by_whose_it_is),
		CASE(sessions_are_bounded),
		CASE(what_has_a_session_of_its_own_waits_for_a_place),
		CASE(a_place_that_was_given_back_is_anybodys),
		CASE(a_session_that_leaves_takes_along_what_it_held_of_a_secret),
		CASE(ids_go_round_and_leave_out_those_of_sessions),
	};

	return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
