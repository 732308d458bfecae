/* jobs: manages the processes that clients start, with an executor that may send
 * anything at any time. */
#include "supervisor/jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/frame.h"
#include "base/mem.h"
#include "base/own.h"
#include "protocol/action.h"
#include "sandbox/launch/instance.h"
#include "sandbox/launch/spawn.h"

#define NOW 1000000

struct scene {
	struct sandbox box;
	struct instance instance;
	struct jobs jobs;
	int executor; /* the executor's end of its channel to the supervisor */
	struct buffer said; /* the executor's next frames */
	unsigned started, failed, ended, waited, looked_up;
	bool is_nobody; /* whether the user that is looked up does not exist */
	uint32_t sys; /* errno in the last report about a failed start */
};

/* Stand for two clients: jobs compares the addresses of clients only. */
static char clients[2];

static struct client *client(int i)
{
	return (struct client *)(void *)&clients[i];
}

static void on_started(void *context, struct job *j)
{
	struct scene *s = context;

	(void)j;
	s->started++;
}

static void on_failed(void *context, struct job *j, const struct failed *f)
{
	struct scene *s = context;

	(void)j;
	s->failed++;
	s->sys = f->sys;
}

static void on_ended(void *context, struct job *j)
{
	struct scene *s = context;

	assert_int_equal(j->state, JOB_ENDED);
	s->ended++;
}

static void on_waited(void *context, const struct waiter *w, const struct job *j)
{
	struct scene *s = context;

	assert_int_equal(w->job, j->id);
	s->waited++;
}

static bool on_looked_up(void *context, struct job *j, const struct returned *x)
{
	struct scene *s = context;

	assert_int_equal(x->outcome, OUTCOME_DONE);
	assert_int_equal(buffer_len(&j->found), 5);
	s->looked_up++;
	return !s->is_nobody;
}

static int setup(void **state)
{
	static struct scene s;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
	s = (struct scene){ .executor = ends[1] };
	sandbox_init(&s.box);
	s.box.channel = ends[0];
	s.instance = (struct instance){ .sandbox = &s.box, .state = INSTANCE_READY };
	instance_init(&s.instance, NOW);
	s.jobs = (struct jobs){ .instance = &s.instance,
				.context = &s,
				.on_started = on_started,
				.on_failed = on_failed,
				.on_ended = on_ended,
				.on_waited = on_waited,
				.on_looked_up = on_looked_up };
	buffer_init(&s.said, 1 << 20);
	*state = &s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	jobs_done(&s->jobs);
	instance_done(&s->instance);
	buffer_done(&s->said);
	(void)close(s->box.channel);
	(void)close(s->executor);
	return 0;
}

static struct job *add_as(struct scene *s, uint32_t id, struct client *owner,
			  const char *user)
{
	struct job *j = mem_zeroed(1, sizeof(*j));
	struct err e;

	j->id = id;
	j->owner = owner;
	j->request = text_copy("1");
	j->cwd = text_copy("/");
	j->user = user ? text_copy(user) : NULL;
	list_add(&j->argv, "true");
	list_add(&j->env, "A=b");
	j->exec = (struct exec){ .cwd = j->cwd,
				 .argv = j->argv.items,
				 .env = j->env.items };
	for (unsigned i = 0; i < CONNECTION_FDS; i++)
		j->fds.fds[j->fds.count++] = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (jobs_add(&s->jobs, j, &e) == 0)
		return j;
	assert_int_equal(e.kind, ERR_LIMIT);
	job_free(j);
	return NULL;
}

static struct job *add(struct scene *s, uint32_t id, struct client *owner)
{
	return add_as(s, id, owner, NULL);
}

/* Passes the one frame in `said` to jobs_frame(), and returns its result. */
static int frame(struct scene *s)
{
	struct frame f;
	struct err e;

	assert_int_equal(frame_next(&s->said, FRAME_MAX_FROM_EXECUTOR, &f, &e), 1);
	int taken = jobs_frame(&s->jobs, &f, &e);
	buffer_consume(&s->said, FRAME_HEADER + f.len);
	return taken;
}

static int say_started(struct scene *s, uint32_t id)
{
	assert_int_equal(message_put_started(&s->said, id, 7, NULL), 0);
	return frame(s);
}

static int say_failed(struct scene *s, uint32_t id)
{
	const struct failed failed = { .stage = EXEC_STAGE_LOOKUP, .sys = ENOENT };

	assert_int_equal(message_put_failed(&s->said, id, &failed, NULL), 0);
	return frame(s);
}

static int say_exited(struct scene *s, uint32_t id)
{
	const struct exited exited = { .status = 3 };

	assert_int_equal(message_put_exited(&s->said, id, &exited, NULL), 0);
	return frame(s);
}

static int say_text(struct scene *s, uint32_t id, size_t len)
{
	static const char text[ERRAND_ACCOUNT_MAX];

	const struct bytes content = { (const uint8_t *)text, len };

	assert_int_equal(action_put_text(&s->said, MSG_CONTENT, id, content, NULL), 0);
	return frame(s);
}

static int say_returned(struct scene *s, uint32_t id)
{
	const struct returned x = { .path = "/etc", .cwd = "/", .stat.target = "" };

	assert_int_equal(action_put_returned(&s->said, id, &x, NULL), 0);
	return frame(s);
}

static void drain(struct scene *s)
{
	char dropped[65536];
	bool has_more = true;

	while (has_more) {
		has_more = false;
		while (recv(s->executor, dropped, sizeof(dropped), 0) > 0)
			has_more = true;
		instance_flush(&s->instance);
	}
}

static void run(struct scene *s, uint32_t id, struct client *owner)
{
	assert_non_null(add(s, id, owner));
	jobs_send(&s->jobs, NOW);
	drain(s);
	assert_int_equal(say_started(s, id), 1);
}

static void from_the_request_to_the_end(void **state)
{
	struct scene *s = *state;
	struct err e;

	run(s, 1, client(0));
	assert_int_equal(jobs_wait(&s->jobs, 1, client(1), text_copy("2"), &e), 0);
	assert_int_equal(s->waited, 0);
	assert_int_equal(say_exited(s, 1), 1);
	assert_int_equal(s->ended, 1);
	assert_int_equal(s->waited, 1);
	assert_int_equal(s->jobs.alive, 0);
	assert_int_equal(jobs_wait(&s->jobs, 1, client(1), text_copy("3"), &e), 0);
	assert_int_equal(s->waited, 2);
	char *request = text_copy("4");
	assert_int_equal(jobs_wait(&s->jobs, 2, client(1), request, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	free(request);
}

static void what_comes_at_the_wrong_time_breaks_the_protocol(void **state)
{
	struct scene *s = *state;

	/* `jobs` does not know this id; a session may own it. */
	assert_int_equal(say_started(s, 1), 0);
	run(s, 1, client(0));
	assert_int_equal(say_started(s, 1), -1);
	assert_int_equal(say_failed(s, 1), -1);
	assert_int_equal(say_exited(s, 1), 1);
	assert_int_equal(say_exited(s, 1), -1);
	assert_int_equal(say_started(s, 1), -1);
	assert_non_null(add(s, 2, client(0)));
	assert_int_equal(say_exited(s, 2), -1);
	assert_int_equal(say_started(s, 2), -1);
	assert_int_equal(say_failed(s, 2), -1);
	assert_int_equal(s->started, 1);
	assert_int_equal(s->failed, 0);
}

/* If an executor's early answer made the supervisor close the descriptors, a
 * file that is opened next under the same number would be sent to the executor. */
static void descriptors_stay_open_until_they_have_gone(void **state)
{
	struct scene *s = *state;
	char much[65536] = { 0 };
	uint32_t id = 1;

	/* Fills the channel. */
	while (send(s->box.channel, much, sizeof(much), MSG_DONTWAIT) > 0)
		;
	struct job *j = add(s, id, client(0));
	jobs_send(&s->jobs, NOW);
	assert_int_equal(j->state, JOB_ASKED);
	assert_false(channel_has_passed(&s->instance.channel));
	assert_int_equal(say_failed(s, id), -1);
	assert_int_equal(say_started(s, id), -1);
	for (unsigned i = 0; i < CONNECTION_FDS; i++)
		assert_true(fcntl(j->fds.fds[i], F_GETFD) >= 0);
	drain(s);
	jobs_send(&s->jobs, NOW);
	assert_int_equal(j->fds.count, 0);
	assert_int_equal(say_failed(s, id), 1);
}

static void one_at_a_time_has_its_descriptors_sent(void **state)
{
	struct scene *s = *state;
	char much[65536] = { 0 };

	while (send(s->box.channel, much, sizeof(much), MSG_DONTWAIT) > 0)
		;
	struct job *first = add(s, 1, client(0)), *second = add(s, 2, client(0));
	jobs_send(&s->jobs, NOW);
	assert_int_equal(first->state, JOB_ASKED);
	assert_int_equal(second->state, JOB_WAITING);
	drain(s);
	jobs_send(&s->jobs, NOW);
	assert_int_equal(second->state, JOB_ASKED);
}

static void what_fits_no_frame_fails_alone(void **state)
{
	struct scene *s = *state;
	char *large = mem_new(9u << 20);
	struct job *j = add(s, 1, client(0));

	memset(large, 'x', (9u << 20) - 1);
	large[(9u << 20) - 1] = '\0';
	list_add(&j->argv, large);
	j->exec.argv = j->argv.items;
	free(large);
	assert_non_null(add(s, 2, client(0)));
	jobs_send(&s->jobs, NOW);
	assert_int_equal(s->failed, 1);
	assert_int_equal(s->sys, E2BIG);
	assert_null(jobs_find(&s->jobs, 1));
	assert_int_equal(s->instance.cause, INSTANCE_RUNS);
	assert_int_equal(jobs_find(&s->jobs, 2)->state, JOB_ASKED);
	assert_int_equal(s->jobs.alive, 1);
}

static void a_user_is_looked_up_before_it_is_started(void **state)
{
	struct scene *s = *state;
	struct job *j = add_as(s, 1, client(0), "app");

	jobs_pause(&s->jobs, NOW);
	jobs_send(&s->jobs, NOW);
	assert_int_equal(j->state, JOB_NAMED);
	jobs_resume(&s->jobs, NOW);
	assert_int_equal(say_text(s, 1, 5), -1);
	assert_int_equal(say_returned(s, 1), -1);
	jobs_send(&s->jobs, NOW);
	drain(s);
	assert_int_equal(j->state, JOB_LOOKED_UP);
	assert_int_equal(say_started(s, 1), -1);
	assert_int_equal(say_text(s, 1, 5), 1);
	assert_int_equal(say_text(s, 1, ERRAND_ACCOUNT_MAX), -1);
	assert_int_equal(say_returned(s, 1), 1);
	assert_int_equal(j->state, JOB_WAITING);
	assert_int_equal(say_returned(s, 1), -1);
	jobs_send(&s->jobs, NOW);
	drain(s);
	assert_int_equal(say_started(s, 1), 1);
	assert_int_equal(s->looked_up, 1);
}

/* The job of a user that does not exist is removed, and its slot is free again. */
static void of_one_that_is_not_found_nothing_is_left(void **state)
{
	struct scene *s = *state;

	s->is_nobody = true;
	for (uint32_t id = 1; id <= 2; id++) {
		assert_non_null(add_as(s, id, client(0), "app"));
		jobs_send(&s->jobs, NOW);
		drain(s);
		if (id == 2)
			jobs_leave(&s->jobs, client(0), NOW);
		assert_int_equal(say_text(s, id, 5), 1);
		assert_int_equal(say_returned(s, id), 1);
		assert_null(jobs_find(&s->jobs, id));
	}
	assert_int_equal(s->looked_up, 1);
	assert_int_equal(s->jobs.alive, 0);
	assert_int_equal(s->started + s->failed, 0);
}

static void more_than_may_run_are_refused(void **state)
{
	struct scene *s = *state;

	for (uint32_t id = 1; id <= JOBS_MAX; id++)
		run(s, id, client(0));
	assert_null(add(s, JOBS_MAX + 1, client(0)));
	assert_int_equal(say_exited(s, 1), 1);
	assert_non_null(add(s, JOBS_MAX + 1, client(0)));
}

static void so_many_are_remembered(void **state)
{
	struct scene *s = *state;

	for (uint32_t id = 1; id <= JOBS_REMEMBERED + 1; id++) {
		run(s, id, client(0));
		assert_int_equal(say_exited(s, id), 1);
	}
	assert_null(jobs_find(&s->jobs, 1));
	assert_non_null(jobs_find(&s->jobs, 2));
	assert_non_null(jobs_find(&s->jobs, JOBS_REMEMBERED + 1));
}

/* Returns the ids of the busy jobs as digits. */
static unsigned busy(const struct scene *s)
{
	unsigned digits = 0;
	const struct job *last = NULL;

	for (const struct job *j = s->jobs.busy; j; j = j->next_busy) {
		digits = 10 * digits + j->id;
		last = j;
	}
	assert_ptr_equal(s->jobs.last_busy, last);
	return digits;
}

/* A job that rests is found, and counts among those that are remembered; a turn of the
 * loop, or the client that goes, does not look at it. */
static void a_job_that_rests_is_remembered_and_not_looked_at(void **state)
{
	struct scene *s = *state;

	for (uint32_t id = 1; id <= 4; id++)
		run(s, id, client(0));
	assert_int_equal(busy(s), 1234);
	for (uint32_t id = 2; id <= 4; id++)
		assert_int_equal(say_exited(s, id), 1);
	jobs_rest(&s->jobs, jobs_find(&s->jobs, 4));
	assert_int_equal(busy(s), 123);
	jobs_rest(&s->jobs, jobs_find(&s->jobs, 2));
	assert_int_equal(busy(s), 13);
	assert_null(jobs_find(&s->jobs, 2)->owner);
	assert_ptr_equal(jobs_find(&s->jobs, 3)->owner, client(0));
	run(s, 5, client(0));
	assert_int_equal(busy(s), 135);
	for (uint32_t id = 6; id <= JOBS_REMEMBERED + 3; id++) {
		run(s, id, client(0));
		assert_int_equal(say_exited(s, id), 1);
		jobs_rest(&s->jobs, jobs_find(&s->jobs, id));
	}
	assert_null(jobs_find(&s->jobs, 2)); /* forgotten while it rested */
	assert_non_null(jobs_find(&s->jobs, 3));
	assert_int_equal(busy(s), 135);
	jobs_leave(&s->jobs, client(0), NOW);
	assert_null(jobs_find(&s->jobs, 3)->owner);
}

/* Numbers begin anew after 2^32, and a job with a high one may still be there. */
static void a_job_is_found_whatever_its_number(void **state)
{
	struct scene *s = *state;

	run(s, UINT32_MAX, client(0));
	assert_null(jobs_find(&s->jobs, 1));
	run(s, 1, client(0));
	assert_non_null(jobs_find(&s->jobs, 1));
	assert_non_null(jobs_find(&s->jobs, UINT32_MAX));
	assert_null(jobs_find(&s->jobs, 2));
}

#define THE_END 1000 /* means the whole tree */

/* Returns the signals that were sent to the executor, as numbers. */
static size_t signals(struct scene *s, uint32_t *ret, size_t max)
{
	struct buffer in;
	struct frame f;
	struct err e;
	size_t count = 0;
	char got[4096];
	ssize_t n;

	buffer_init(&in, 1 << 20);
	while ((n = recv(s->executor, got, sizeof(got), 0)) > 0)
		assert_true(buffer_append(&in, got, (size_t)n));
	while (frame_next(&in, FRAME_MAX_TO_EXECUTOR, &f, &e) > 0) {
		if (f.type == MSG_SIGNAL && count < max)
			assert_int_equal(message_get_signal(&f, &ret[count++], &e), 0);
		if (f.type == MSG_END && count < max)
			ret[count++] = THE_END;
		buffer_consume(&in, FRAME_HEADER + f.len);
	}
	buffer_done(&in);
	return count;
}

static void a_client_that_goes_takes_what_is_its_own(void **state)
{
	struct scene *s = *state;
	uint32_t got[8];
	struct err e;

	run(s, 1, client(0));
	run(s, 2, client(0));
	jobs_find(&s->jobs, 2)->is_detached = true;
	run(s, 3, client(1));
	assert_int_equal(jobs_wait(&s->jobs, 3, client(0), text_copy("2"), &e), 0);
	assert_non_null(add(s, 4, client(0)));
	jobs_leave(&s->jobs, client(0), NOW);
	/* It is removed at once: the executor had not started it yet. */
	assert_null(jobs_find(&s->jobs, 4));
	assert_int_equal(signals(s, got, 8), 1);
	assert_int_equal(got[0], SIGHUP);
	assert_int_equal(say_exited(s, 3), 1);
	assert_int_equal(s->waited, 0);
}

/* --- time ----------------------------------------------------------------- */

/* A process that was started at NOW with this time-out.  Its client leaves at
 * `gone`; -1: it stays.  The sandbox is paused from `pause` to `resume`; 0: it is
 * not paused. */
struct life {
	uint64_t timeout_ms;
	int64_t gone, pause, resume;
	int64_t end; /* time of its end; 0: never */
	bool is_late;
};

#define GRACE_MS 10000

static const struct life lives[] = {
	{ .gone = -1 },
	{ .timeout_ms = 1, .gone = -1, .end = 1, .is_late = true },
	{ .timeout_ms = 60000, .gone = -1, .end = 60000, .is_late = true },
	{ .gone = 7, .end = 7 + GRACE_MS },
	/* The process ends at the earlier of its time-out and the grace period. */
	{ .timeout_ms = 60000, .gone = 7, .end = 7 + GRACE_MS },
	{ .timeout_ms = 5000, .gone = 7, .end = 5000, .is_late = true },
	/* A pause takes no time from the time-out or the grace period. */
	{ .timeout_ms = 60000,
	  .gone = -1,
	  .pause = 59999,
	  .resume = 1059999,
	  .end = 1060000,
	  .is_late = true },
	{ .timeout_ms = 60000,
	  .gone = -1,
	  .pause = 1,
	  .resume = 2,
	  .end = 60001,
	  .is_late = true },
	{ .gone = 7, .pause = 8, .resume = 50008, .end = 7 + GRACE_MS + 50000 },
	/* If the client leaves during the pause, the whole grace period comes after
	 * it. */
	{ .gone = 30000, .pause = 8, .resume = 50008, .end = 50008 + GRACE_MS },
	{ .timeout_ms = 60000,
	  .gone = 30000,
	  .pause = 8,
	  .resume = 50008,
	  .end = 50008 + GRACE_MS },
};

/* Does what is due at this time.  Returns true if the end of the process was
 * requested. */
static bool step(struct scene *s, const struct life *l, int64_t at)
{
	uint32_t got[8];
	bool has_ended = false;

	if (l->pause && at == l->pause)
		jobs_pause(&s->jobs, NOW + at);
	if (l->resume && at == l->resume)
		jobs_resume(&s->jobs, NOW + at);
	if (at == l->gone)
		jobs_leave(&s->jobs, client(0), NOW + at);
	jobs_expire(&s->jobs, NOW + at);
	for (size_t n = signals(s, got, 8); n-- > 0;)
		has_ended = has_ended || got[n] == THE_END;
	return has_ended;
}

/* Returns the next time at which something happens: the next event of `l`,
 * jobs_due(), or the millisecond before that. */
static int64_t next_moment(const struct scene *s, const struct life *l, int64_t at)
{
	const int64_t due = jobs_due(&s->jobs);
	const int64_t moments[] = { l->gone, l->pause, l->resume, due ? due - NOW - 1 : 0,
				    due ? due - NOW : 0 };
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < ARRAY_LEN(moments); i++)
		if (moments[i] > at && moments[i] < next)
			next = moments[i];
	return next;
}

static void a_process_is_ended_when_its_time_has_come(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(lives); i++) {
		const struct life *l = &lives[i];
		struct scene *s = *state;
		struct job *j = add(s, 1, client(0));
		int64_t end = 0;
		j->timeout_ms = l->timeout_ms;
		jobs_send(&s->jobs, NOW);
		assert_int_equal(j->exec.flags, l->timeout_ms ? EXEC_TREE : 0);
		drain(s);
		assert_int_equal(say_started(s, 1), 1);
		for (int64_t at = 0; at < INT64_MAX && !end; at = next_moment(s, l, at))
			end = step(s, l, at) ? at : 0;
		if (end != l->end || j->has_timed_out != l->is_late)
			fail_msg("row %zu: ended at %lld, %s", i, (long long)end,
				 j->has_timed_out ? "late" : "not late");
		assert_int_equal(jobs_due(&s->jobs), 0); /* only once */
		assert_int_equal(teardown(state) + setup(state), 0);
	}
}

/* jobs_due() returns the earliest deadline of all jobs. */
static void the_next_is_due_first(void **state)
{
	static const uint64_t timeouts[] = { 300, 0, 100, 200 };
	struct scene *s = *state;

	for (uint32_t i = 0; i < 4; i++) {
		struct job *j = add(s, i + 1, client(0));
		j->timeout_ms = timeouts[i];
		jobs_send(&s->jobs, NOW);
		drain(s);
		assert_int_equal(say_started(s, i + 1), 1);
	}
	assert_int_equal(jobs_due(&s->jobs), NOW + 100);
	jobs_expire(&s->jobs, NOW + 250);
	assert_true(jobs_find(&s->jobs, 3)->has_timed_out);
	assert_true(jobs_find(&s->jobs, 4)->has_timed_out);
	assert_int_equal(jobs_due(&s->jobs), NOW + 300);
	jobs_pause(&s->jobs, NOW + 250);
	assert_int_equal(jobs_due(&s->jobs), 0);
}

/* During a pause or after a stop the executor takes a request to start for a broken
 * protocol, so the supervisor sends none. */
static void nothing_is_started_in_a_pause_or_a_stop(void **state)
{
	struct scene *s = *state;
	struct job *j = add(s, 1, client(0));

	jobs_pause(&s->jobs, NOW);
	jobs_send(&s->jobs, NOW);
	assert_int_equal(j->state, JOB_WAITING);
	jobs_resume(&s->jobs, NOW + 1);
	jobs_send(&s->jobs, NOW);
	assert_int_equal(j->state, JOB_ASKED);
	drain(s);
	jobs_send(&s->jobs, NOW);
	assert_int_equal(j->fds.count, 0);
	j = add(s, 2, client(0));
	s->jobs.is_closed = true;
	jobs_send(&s->jobs, NOW);
	assert_int_equal(j->state, JOB_WAITING);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(from_the_request_to_the_end),
		CASE(what_comes_at_the_wrong_time_breaks_the_protocol),
		CASE(descriptors_stay_open_until_they_have_gone),
		CASE(one_at_a_time_has_its_descriptors_sent),
		CASE(what_fits_no_frame_fails_alone),
		CASE(a_user_is_looked_up_before_it_is_started),
		CASE(of_one_that_is_not_found_nothing_is_left),
		CASE(more_than_may_run_are_refused),
		CASE(so_many_are_remembered),
		CASE(a_job_that_rests_is_remembered_and_not_looked_at),
		CASE(a_job_is_found_whatever_its_number),
		CASE(a_client_that_goes_takes_what_is_its_own),
		CASE(a_process_is_ended_when_its_time_has_come),
		CASE(the_next_is_due_first),
		CASE(nothing_is_started_in_a_pause_or_a_stop),
	};

	return cmocka_run_group_tests_name("jobs", tests, NULL, NULL);
}
