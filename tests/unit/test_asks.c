/* asks: each row tells events of the questions with their times, and what has become of
 * the question about a.org.  The test reads no clock and never waits. */
#include "egress/asks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/own.h"

#define STEPS_MAX 8

enum what { ASK, SAY_YES, SAY_NO, ALWAYS, NEVER, TICK, FORGET };

struct step {
	int64_t at; /* ms; 0: end of the story */
	enum what what;
	bool is_well;	      /* ASK: the question is new; answers: it was waited for */
	enum ask_state state; /* after it; FREE: the question is forgotten */
	int64_t due;
};

#define PENDING ASK_PENDING
#define YES	ASK_ALLOWED
#define NO	ASK_DENIED
#define FREE	ASK_FREE

static const struct {
	const char *name;
	struct step steps[STEPS_MAX];
} stories[] = {
	{ "all who ask wait for one question",
	  { { 1000, ASK, true, PENDING, 4000 },
	    { 2000, ASK, false, PENDING, 4000 },
	    { 2500, SAY_YES, true, YES, 0 },
	    { 2500, SAY_NO, false, YES, 0 } } },
	{ "an answer is good once",
	  { { 1000, ASK, true, PENDING, 4000 },
	    { 1100, SAY_NO, true, NO, 0 },
	    { 1100, FORGET, true, FREE, 0 },
	    { 1200, ASK, true, PENDING, 4200 } } },
	{ "an answer for the sandbox stays",
	  { { 1000, ASK, true, PENDING, 4000 },
	    { 1100, ALWAYS, true, YES, 0 },
	    { 1100, FORGET, true, YES, 0 },
	    { 9000, ASK, false, YES, 0 } } },
	{ "and so does a refusal",
	  { { 1000, ASK, true, PENDING, 4000 },
	    { 1100, NEVER, true, NO, 0 },
	    { 1100, FORGET, true, NO, 0 } } },
	{ "no answer in time is a refusal, good once",
	  { { 1000, ASK, true, PENDING, 4000 },
	    { 3999, TICK, true, PENDING, 4000 },
	    { 4000, TICK, true, NO, 0 },
	    { 4000, SAY_YES, false, NO, 0 },
	    { 4000, FORGET, true, FREE, 0 } } },
};

static bool run(struct asks *a, const struct step *s)
{
	bool is_new = true;

	switch (s->what) {
	case ASK:
		assert_non_null(asks_get(a, "a.org", 443, s->at, &is_new));
		return is_new;
	case SAY_YES:
	case SAY_NO:
	case ALWAYS:
	case NEVER:
		return asks_answer(a, a->last_id, s->what == SAY_YES || s->what == ALWAYS,
				   s->what == ALWAYS || s->what == NEVER);
	case TICK:
		asks_tick(a, s->at);
		return true;
	case FORGET:
		asks_forget(a);
		return true;
	}
	return false;
}

static void test_stories(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stories); i++) {
		struct asks a = { .wait_ms = 3000 };
		for (size_t j = 0; j < STEPS_MAX && stories[i].steps[j].at; j++) {
			const struct step *s = &stories[i].steps[j];
			bool is_well = run(&a, s);
			if (is_well != s->is_well || a.items[0]->state != s->state ||
			    asks_due(&a) != s->due)
				fail_msg("'%s', step %zu: well %d, state %d, due %lld",
					 stories[i].name, j + 1, is_well,
					 (int)a.items[0]->state, (long long)asks_due(&a));
		}
		asks_done(&a);
	}
}

static void test_ports_differ(void **state)
{
	struct asks a = { .wait_ms = 3000 };
	bool is_new;

	(void)state;
	const struct ask *https = asks_get(&a, "a.org", 443, 1, &is_new);
	const struct ask *http = asks_get(&a, "a.org", 80, 1, &is_new);
	assert_true(is_new && https != http && https->id != http->id);
	asks_done(&a);
}

static struct ask *ask_number(struct asks *a, int number)
{
	char name[32];
	bool is_new;

	(void)snprintf(name, sizeof(name), "n%d.org", number);
	return asks_get(a, name, 443, 1, &is_new);
}

static void test_bounds(void **state)
{
	struct asks a = { .wait_ms = 3000 };
	int number = 0;

	(void)state;
	for (; number < ASKS_PENDING_MAX; number++)
		assert_non_null(ask_number(&a, number));
	assert_null(ask_number(&a, number));
	/* Answers for the sandbox leave room for questions. */
	while (number++ < 3 * ASKS_MAX) {
		(void)asks_answer(&a, a.last_id, true, true);
		(void)asks_has_news(&a);
		asks_forget(&a);
		assert_non_null(ask_number(&a, number));
	}
	assert_int_equal(a.pending, ASKS_PENDING_MAX);
	asks_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stories),
		cmocka_unit_test(test_ports_differ),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests_name("asks", tests, NULL, NULL);
}
