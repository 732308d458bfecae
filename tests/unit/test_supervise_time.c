/* supervise: each row tells events with their times, and the state of a supervised
 * command after each; no process runs and no test waits.  The test includes the
 * module's source, since the functions of a turn are static. */
#include "sandbox/launch/supervise.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/socket.h>

#define STEPS_MAX 5
#define NONE	  RUN_EXITED /* no verdict yet; the zero object has this value */

struct late_step {
	int64_t at; /* ms; 0: no more steps */
	int signo;  /* 0: only time passes */
	enum state state; /* state after the step, as are the next fields */
	enum run_status status;
	int signal;
	int64_t due;
};

/* Each row begins at the time 1000. */
static const struct story {
	const char *name;
	enum state state;
	enum instance_state instance;
	uint64_t timeout_ms;
	struct late_step steps[STEPS_MAX];
} stories[] = {
	{ "a time-out ends one that has not said hello",
	  ASKED,
	  INSTANCE_STARTING,
	  500,
	  { { 1499, 0, ASKED, NONE, 0, 1500 }, { 1500, 0, ENDING, RUN_TIMEOUT, 0, 0 } } },
	{ "a time-out ends one that was asked",
	  ASKED,
	  INSTANCE_READY,
	  500,
	  { { 1499, 0, ASKED, NONE, 0, 1500 }, { 1500, 0, ENDING, RUN_TIMEOUT, 0, 0 } } },
	{ "a time-out ends one that runs",
	  RUNNING,
	  INSTANCE_READY,
	  500,
	  { { 1499, 0, RUNNING, NONE, 0, 1500 },
	    { 1500, 0, ENDING, RUN_TIMEOUT, 0, 0 } } },
	{ "no time counts for what is delivered",
	  DRAINING,
	  INSTANCE_GONE,
	  500,
	  { { 1499, 0, DRAINING, NONE, 0, 0 } } },
	{ "SIGTERM, 10 s and SIGKILL",
	  RUNNING,
	  INSTANCE_READY,
	  0,
	  { { 2000, SIGTERM, RUNNING, NONE, 0, 12000 },
	    { 11999, SIGTERM, RUNNING, NONE, 0, 12000 },
	    { 12000, 0, ENDING, RUN_SIGNALED, SIGKILL, 0 } } },
	{ "SIGHUP to one that was asked, 10 s and SIGKILL",
	  ASKED,
	  INSTANCE_READY,
	  0,
	  { { 2000, SIGHUP, ASKED, NONE, 0, 12000 },
	    { 12000, 0, ENDING, RUN_SIGNALED, SIGKILL, 0 } } },
	{ "a time-out within the grace is a time-out",
	  RUNNING,
	  INSTANCE_READY,
	  3000,
	  { { 2000, SIGTERM, RUNNING, NONE, 0, 4000 },
	    { 4000, 0, ENDING, RUN_TIMEOUT, 0, 12000 },
	    { 12000, 0, ENDING, RUN_TIMEOUT, 0, 0 } } },
	{ "a grace within the time-out is a signal",
	  RUNNING,
	  INSTANCE_READY,
	  60000,
	  { { 2000, SIGTERM, RUNNING, NONE, 0, 12000 },
	    { 12000, 0, ENDING, RUN_SIGNALED, SIGKILL, 61000 },
	    { 61000, 0, ENDING, RUN_SIGNALED, SIGKILL, 0 } } },
	{ "SIGTERM before hello ends it at once",
	  ASKED,
	  INSTANCE_STARTING,
	  0,
	  { { 2000, SIGTERM, ENDING, RUN_SIGNALED, SIGTERM, 12000 } } },
	{ "SIGUSR1 before hello is nothing",
	  ASKED,
	  INSTANCE_STARTING,
	  0,
	  { { 2000, SIGUSR1, ASKED, NONE, 0, 0 } } },
	{ "the third SIGINT ends it, whenever",
	  RUNNING,
	  INSTANCE_READY,
	  0,
	  { { 2000, SIGINT, RUNNING, NONE, 0, 0 },
	    { 2000, SIGINT, RUNNING, NONE, 0, 0 },
	    { 9000000, SIGINT, ENDING, RUN_SIGNALED, SIGINT, 0 } } },
	{ "a signal to one that ends already",
	  ENDING,
	  INSTANCE_ENDING,
	  0,
	  { { 2000, SIGTERM, ENDING, RUN_SIGNALED, SIGTERM, 12000 } } },
	{ "a signal leaves what is not delivered",
	  DRAINING,
	  INSTANCE_GONE,
	  0,
	  { { 2000, SIGUSR1, DRAINING, NONE, 0, 0 },
	    { 2000, SIGTERM, DONE, RUN_SIGNALED, SIGTERM, 0 } } },
};

struct scene {
	struct sandbox box;
	struct exec exec;
	struct run run;
	struct result result;
	struct supervisor s;
	int executor; /* the executor's end of the channel, from which nothing is read */
};

static void open_scene(struct scene *x, const struct story *story)
{
	int ends[2];

	*x = (struct scene){ 0 };
	sandbox_init(&x->box);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	x->box.channel = ends[0];
	x->executor = ends[1];
	x->run = (struct run){ .sandbox = &x->box, .exec = &x->exec, .signals = -1 };
	x->s = (struct supervisor){ .run = &x->run, .result = &x->result,
				    .state = story->state };
	x->s.instance = (struct instance){ .sandbox = &x->box };
	instance_init(&x->s.instance, 1000);
	x->s.instance.state = story->instance;
	countdown_start(&x->s.countdown, story->timeout_ms, 1000);
}

static void close_scene(struct scene *x)
{
	instance_done(&x->s.instance);
	sandbox_done(&x->box);
	own_close(&x->executor);
}

static void check(const struct scene *x, const struct story *story,
		  const struct late_step *step)
{
	const struct supervisor *s = &x->s;

	if (s->state != step->state || x->result.status != step->status ||
	    x->result.signal != step->signal || due(s) != step->due)
		fail_msg("'%s', at %lld: state %d, status %d, signal %d, due at %lld",
			 story->name, (long long)step->at, (int)s->state,
			 (int)x->result.status, x->result.signal, (long long)due(s));
	/* There is a verdict after exactly those steps that have a status. */
	assert_int_equal(s->has_verdict, step->status != NONE);
}

static void test_stories(void **state)
{
	struct scene x;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stories); i++) {
		open_scene(&x, &stories[i]);
		for (size_t j = 0; j < STEPS_MAX && stories[i].steps[j].at; j++) {
			const struct late_step *step = &stories[i].steps[j];
			if (step->signo)
				on_signal(&x.s, step->signo, step->at);
			on_deadline(&x.s, step->at);
			check(&x, &stories[i], step);
		}
		close_scene(&x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_stories) };

	return cmocka_run_group_tests_name("supervise_time", tests, NULL, NULL);
}
