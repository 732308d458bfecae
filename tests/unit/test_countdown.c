/* countdown: each row tells events of a command with their times, and when the
 * command has to end.  The test reads no clock and never waits. */
#include "sandbox/kernel/countdown.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>

#include "base/own.h"

#define STEPS_MAX 6

struct step {
	int64_t at; /* ms; 0: end of the story */
	int signo;  /* 0: only time passes */
	bool may_ask;
	enum countdown_end end; /* result at this time, after the event */
	int64_t due;		/* next deadline after the event; 0: none */
};

#define RUNS  COUNTDOWN_RUNS
#define LATE  COUNTDOWN_TIMED_OUT
#define GRACE COUNTDOWN_GRACE_OVER

/* Each row begins at the time 1000. */
static const struct story {
	const char *name;
	uint64_t timeout_ms;
	struct step steps[STEPS_MAX];
} stories[] = {
	{ "without a time-out it runs for ever", 0, { { INT64_MAX, 0, true, RUNS, 0 } } },
	{ "a time-out ends it once",
	  5000,
	  { { 1001, 0, true, RUNS, 6000 },
	    { 5999, 0, true, RUNS, 6000 },
	    { 6000, 0, true, LATE, 0 },
	    { 9000, 0, true, RUNS, 0 } } },
	{ "SIGTERM gives it 10 s",
	  0,
	  { { 2000, SIGTERM, true, RUNS, 12000 },
	    { 11999, 0, true, RUNS, 12000 },
	    { 12000, 0, true, GRACE, 0 },
	    { 90000, 0, true, RUNS, 0 } } },
	{ "SIGHUP gives it 10 s, and SIGTERM no more",
	  0,
	  { { 2000, SIGHUP, true, RUNS, 12000 },
	    { 11000, SIGTERM, true, RUNS, 12000 },
	    { 11001, SIGHUP, true, RUNS, 12000 },
	    { 12000, 0, true, GRACE, 0 } } },
	{ "the time-out comes first, and the grace on its own time",
	  3000,
	  { { 2000, SIGTERM, true, RUNS, 4000 },
	    { 4000, 0, true, LATE, 12000 },
	    { 12000, 0, true, GRACE, 0 } } },
	{ "the grace comes first, and the time-out on its own time",
	  60000,
	  { { 2000, SIGTERM, true, RUNS, 12000 },
	    { 12000, 0, true, GRACE, 61000 },
	    { 61000, 0, true, LATE, 0 } } },
	{ "where both are over the time-out is told first",
	  3000,
	  { { 2000, SIGTERM, true, RUNS, 4000 },
	    { 50000, 0, true, LATE, 12000 },
	    { 50000, 0, true, GRACE, 0 } } },
	{ "the third SIGINT asks no more",
	  0,
	  { { 2000, SIGINT, true, RUNS, 0 },
	    { 90000, SIGINT, true, RUNS, 0 },
	    { 90001, SIGUSR1, true, RUNS, 0 },
	    { 90002, SIGINT, false, RUNS, 0 },
	    { 90003, SIGTERM, false, RUNS, 100003 } } },
	{ "no other signal counts",
	  0,
	  { { 2000, SIGUSR1, true, RUNS, 0 },
	    { 2000, SIGUSR2, true, RUNS, 0 },
	    { 2000, SIGQUIT, true, RUNS, 0 },
	    { 2000, SIGQUIT, true, RUNS, 0 },
	    { 2000, SIGQUIT, true, RUNS, 0 } } },
};

static void test_stories(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stories); i++) {
		struct countdown c;
		countdown_start(&c, stories[i].timeout_ms, 1000);
		for (size_t j = 0; j < STEPS_MAX && stories[i].steps[j].at; j++) {
			const struct step *s = &stories[i].steps[j];
			bool may_ask = !s->signo || countdown_signal(&c, s->signo, s->at);
			enum countdown_end end = countdown_expire(&c, s->at);
			if (may_ask != s->may_ask || end != s->end ||
			    countdown_due(&c) != s->due)
				fail_msg(
					"'%s', step %zu: may ask %d, end %d, due at %lld",
					stories[i].name, j + 1, may_ask, (int)end,
					(long long)countdown_due(&c));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_stories) };

	return cmocka_run_group_tests_name("countdown", tests, NULL, NULL);
}
