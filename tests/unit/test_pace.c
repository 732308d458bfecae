/* pace: each row tells events of a pool with their times, and when the pool's next
 * sandbox is due after each.  The test reads no clock and never waits. */
#include "supervisor/pool/pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/own.h"

enum event { END, FAILS, DIES, IS_MADE, TAKEN_OF_MANY, TAKEN_OF_FEW, NOTHING };

#define STEPS_MAX 16

struct step {
	enum event event;
	int64_t at;    /* ms */
	int64_t since; /* for DIES: when the sandbox that died began to wait */
	int64_t due;   /* time of the next sandbox, after the event; 0: at once */
	bool is_due;   /* whether one is due at `at`, after the event */
};

static const struct story {
	const char *name;
	struct step steps[STEPS_MAX];
} stories[] = {
	{ "nothing has happened", { { NOTHING, 1, 0, 0, true } } },
	{ "each failure doubles the pause, up to 51.2 s",
	  { { FAILS, 1000, 0, 1100, false },
	    { NOTHING, 1099, 0, 1100, false },
	    { NOTHING, 1100, 0, 1100, true },
	    { FAILS, 1100, 0, 1300, false },
	    { FAILS, 1300, 0, 1700, false },
	    { FAILS, 1700, 0, 2500, false },
	    { FAILS, 2500, 0, 4100, false },
	    { FAILS, 4100, 0, 7300, false },
	    { FAILS, 7300, 0, 13700, false },
	    { FAILS, 13700, 0, 26500, false },
	    { FAILS, 26500, 0, 52100, false },
	    { FAILS, 52100, 0, 103300, false },
	    { FAILS, 103300, 0, 154500, false },
	    { FAILS, 154500, 0, 205700, false } } },
	{ "those that were begun before count as one failure",
	  { { FAILS, 1000, 0, 1100, false },
	    { FAILS, 1000, 0, 1100, false },
	    { FAILS, 1099, 0, 1100, false },
	    { DIES, 1099, 1000, 1100, false },
	    { FAILS, 1100, 0, 1300, false } } },
	{ "a late failure doubles as one at the end of the pause does",
	  { { FAILS, 1000, 0, 1100, false }, { FAILS, 900000, 0, 900200, false } } },
	{ "one that is made ends the pause and the count",
	  { { FAILS, 1000, 0, 1100, false },
	    { FAILS, 1100, 0, 1300, false },
	    { IS_MADE, 1200, 0, 0, true },
	    { FAILS, 1250, 0, 1350, false } } },
	{ "one that waited for 10 s dies of old age",
	  { { DIES, 11000, 1000, 0, true }, { DIES, 20999, 11000, 21099, false } } },
	{ "young deaths count on through what is made meanwhile",
	  { { DIES, 1000, 990, 1100, false },
	    { IS_MADE, 1100, 0, 1100, true },
	    { DIES, 1150, 1100, 1350, false },
	    { IS_MADE, 11150, 0, 1350, true },
	    { DIES, 11160, 11150, 11560, false } } },
	{ "10 s without a young death end the count",
	  { { DIES, 1000, 990, 1100, false },
	    { IS_MADE, 11000, 0, 1100, true },
	    { IS_MADE, 11001, 0, 0, true },
	    { DIES, 11002, 11001, 11102, false } } },
	{ "a death within the pause puts off the end of the count",
	  { { DIES, 1000, 990, 1100, false },
	    { DIES, 1090, 1000, 1100, false },
	    { IS_MADE, 11050, 0, 1100, true },
	    { IS_MADE, 11091, 0, 0, true } } },
	{ "a burst of takes is served before anything is made",
	  { { TAKEN_OF_MANY, 1000, 0, 1005, false },
	    { NOTHING, 1004, 0, 1005, false },
	    { NOTHING, 1005, 0, 1005, true },
	    { TAKEN_OF_MANY, 1004, 0, 1009, false },
	    { TAKEN_OF_FEW, 1004, 0, 0, true } } },
	{ "the later of rest and pause counts",
	  { { FAILS, 1000, 0, 1100, false },
	    { TAKEN_OF_MANY, 1098, 0, 1103, false },
	    { TAKEN_OF_FEW, 1099, 0, 1100, false },
	    { IS_MADE, 1099, 0, 0, true } } },
};

static void happen(struct pace *p, const struct step *s)
{
	switch (s->event) {
	case FAILS:
		pace_failed(p, s->at);
		break;
	case DIES:
		assert_int_equal(pace_lost(p, s->since, s->at), s->at - s->since < 10000);
		break;
	case IS_MADE:
		pace_made(p, s->at);
		break;
	case TAKEN_OF_MANY:
	case TAKEN_OF_FEW:
		pace_taken(p, s->event == TAKEN_OF_MANY, s->at);
		break;
	case NOTHING:
	case END:
		break;
	}
}

static void test_stories(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stories); i++) {
		struct pace p = { 0 };
		for (size_t j = 0; j < STEPS_MAX && stories[i].steps[j].event != END;
		     j++) {
			const struct step *s = &stories[i].steps[j];
			happen(&p, s);
			if (pace_due(&p) != s->due || pace_is_due(&p, s->at) != s->is_due)
				fail_msg("'%s', step %zu: due at %lld, %s",
					 stories[i].name, j + 1, (long long)pace_due(&p),
					 pace_is_due(&p, s->at) ? "now" : "not now");
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_stories) };

	return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
