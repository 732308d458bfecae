/* An errand's process reads hostile files: whatever it then writes, and however
 * long it takes, the supervisor gets exactly one valid answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "executor/fileops/errand.h"
#include "executor/fileops/errands.h"
#include "executor/process/all_processes.h"
#include "executor/process/processes.h"
#include "executor/process/user.h"
#include "executor/process/workers.h"
#include "executor/wire/send_queue.h"
#include "protocol/action.h"
#include "protocol/message.h"
#include "tests/patience.h"

#define ID 7u
/* The time at which each errand of these tests starts. */
#define T0 1000

static const struct returned fine = { .path = "/p", .cwd = "/", .stat.target = "" };

static void put(const void *bytes, size_t len)
{
	(void)io_write_all(1, bytes, len); /* fails if the reader has closed the pipe */
}

static void put_frame(uint16_t type, uint32_t id, const struct returned *x)
{
	struct buffer b;

	buffer_init(&b, 1 << 20);
	(void)action_put_returned(&b, id, x, NULL); /* it fits */
	buffer_data(&b);
	b.bytes[4] = (uint8_t)type;
	put(buffer_data(&b), buffer_len(&b));
}

static void put_much(size_t len)
{
	char *much = mem_zeroed(len, 1);

	memset(much, 'x', len);
	put(much, len);
}

static void good(void)
{
	put_frame(MSG_RETURNED, ID, &fine);
	put("text", 4);
}

static void nothing(void)
{
}

static void garbage(void)
{
	put("what is this, and why is it here?", 33);
}

static void of_another_id(void)
{
	put_frame(MSG_RETURNED, ID + 1, &fine);
}

static void of_another_type(void)
{
	put_frame(MSG_DONE, ID, &fine);
}

static void out_of_range(void)
{
	const struct returned x = { .outcome = OUTCOME_COUNT, .path = "/p", .cwd = "/",
				    .stat.target = "" };

	put_frame(MSG_RETURNED, ID, &x);
}

static void too_long_a_frame(void)
{
	const uint8_t head[12] = { 0, 0, 0, 1, MSG_RETURNED, 0, 0, 0, ID };

	put(head, sizeof(head));
	put_much(100000);
}

static void half_a_frame(void)
{
	const uint8_t head[12] = { 100, 0, 0, 0, MSG_RETURNED, 0, 0, 0, ID };

	put(head, sizeof(head));
}

static void two_frames(void)
{
	put_frame(MSG_RETURNED, ID, &fine);
	put_frame(MSG_RETURNED, ID, &fine);
}

static void too_much_text(void)
{
	put_frame(MSG_RETURNED, ID, &fine);
	put_much(ERRAND_TEXT_MAX + 1);
}

static void text_without_end(void)
{
	put_frame(MSG_RETURNED, ID, &fine);
	for (;;)
		put_much(1 << 16);
}

static void killed(void)
{
	put_frame(MSG_RETURNED, ID, &fine);
	(void)kill(getpid(), SIGKILL);
}

static const struct row {
	void (*write)(void);
	uint32_t outcome, sys;
	size_t text;
} rows[] = {
	{ good, OUTCOME_DONE, 0, 4 },
	{ nothing, OUTCOME_ERROR, EINTR, 0 },
	{ garbage, OUTCOME_ERROR, EINTR, 0 },
	{ of_another_id, OUTCOME_ERROR, EINTR, 0 },
	{ of_another_type, OUTCOME_ERROR, EINTR, 0 },
	{ out_of_range, OUTCOME_ERROR, EINTR, 0 },
	{ too_long_a_frame, OUTCOME_ERROR, EINTR, 0 },
	{ half_a_frame, OUTCOME_ERROR, EINTR, 0 },
	/* The executor takes the second frame for text. */
	{ two_frames, OUTCOME_DONE, 0, SIZE_MAX },
	{ too_much_text, OUTCOME_DONE, 0, ERRAND_TEXT_MAX },
	{ text_without_end, OUTCOME_DONE, 0, ERRAND_TEXT_MAX },
	{ killed, OUTCOME_DONE, 0, 0 }, /* its answer was complete */
};

/* Plays the errand's process as the row says that the request's `limit` names. */
static void run(const void *order)
{
	const struct errand_order *o = order;

	rows[o->request->limit].write();
	_exit(0);
}

static void wait_for_end(struct workers *s)
{
	while (s->count > 0) {
		struct pollfd fds[WORKERS_MAX];
		size_t n = workers_watch(s, fds);
		if (fds[0].fd >= 0) {
			assert_int_equal(poll(fds, n, PATIENCE_MS), 1);
			workers_serve(s, fds);
			continue;
		}
		assert_true(workers_reaped(s, waitpid(-1, NULL, 0))); /* pipe is closed */
	}
}

static void test_any_report_of_the_process_becomes_one_good_answer(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct send_queue replies = { 0 };
		struct processes processes;
		struct all_processes all_processes = { 0 };
		struct user user;
		struct returned x;
		struct frame f;
		struct err e;
		const struct errand_request r = { .place = { getuid(), getgid(), "/" },
						  .path = "/asked",
						  .limit = (uint32_t)i };
		processes_init(&processes);
		assert_int_equal(user_init(&user), 0);
		struct workers s = { .replies = &replies, .processes = &processes,
				     .user = &user, .all_processes = &all_processes };
		errands_start(&s, &(struct errand_order){ ID, &r, NULL }, run, 0);
		wait_for_end(&s);
		struct reply *a = replies.first;
		assert_true(a && !a->next && a->id == ID && a->type == MSG_CONTENT);
		assert_int_equal(frame_next(&a->end, SEND_QUEUE_END_MAX, &f, &e), 1);
		assert_int_equal(f.id, ID);
		assert_int_equal(action_get_returned(&f, &x, &e), 0);
		if (x.outcome != rows[i].outcome || x.sys != rows[i].sys ||
		    (rows[i].text != SIZE_MAX && a->len != rows[i].text))
			fail_msg("row %zu: %u, %u, %zu bytes", i, x.outcome, x.sys,
				 a->len);
		assert_string_equal(x.path, x.outcome == OUTCOME_DONE ? "/p" : "/asked");
		assert_int_equal(processes.fds, 0);
		workers_done(&s);
		send_queue_done(&replies);
		processes_done(&processes);
	}
}

/* --- its time ---------------------------------------------------------------------- */

static void hang(const void *order)
{
	(void)order;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)signal(SIGALRM, SIG_IGN);
	for (;;)
		(void)pause();
}

static void be_late(const void *order)
{
	sigset_t late;

	(void)sigemptyset(&late);
	(void)sigaddset(&late, SIGALRM);
	(void)sigprocmask(SIG_BLOCK, &late, NULL);
	(void)raise(SIGALRM);
	errand_run(order);
}

struct timed {
	struct send_queue replies;
	struct processes processes;
	struct all_processes all_processes;
	struct user user;
	struct workers workers;
};

static void begin(struct timed *t, const struct errand_request *r,
		  void (*how)(const void *order))
{
	*t = (struct timed){ 0 };
	processes_init(&t->processes);
	assert_int_equal(user_init(&t->user), 0);
	t->workers = (struct workers){ .replies = &t->replies,
				       .processes = &t->processes,
				       .user = &t->user,
				       .all_processes = &t->all_processes };
	errands_start(&t->workers, &(struct errand_order){ ID, r, NULL }, how, T0);
}

static uint32_t end(struct timed *t)
{
	struct returned x;
	struct frame f;
	struct err e;

	wait_for_end(&t->workers);
	assert_non_null(t->replies.first);
	assert_int_equal(frame_next(&t->replies.first->end, SEND_QUEUE_END_MAX, &f, &e),
			 1);
	assert_int_equal(action_get_returned(&f, &x, &e), 0);
	workers_done(&t->workers);
	send_queue_done(&t->replies);
	processes_done(&t->processes);
	return x.outcome;
}

static struct errand_request list_all(void)
{
	return (struct errand_request){ .place = { getuid(), getgid(), "/" },
					.kind = ERRAND_LIST, .path = "/", .other = "",
					.include = "", .depth = ERRAND_DEPTH_MAX,
					.limit = ERRAND_LIMIT_MAX, .timeout_ms = 300 };
}

/* The errand is asked to finish after its time-out of 300 ms, and is killed 2 s
 * later. */
static void test_an_errand_that_hangs_is_given_up_after_its_time_out(void **state)
{
	const struct errand_request r = list_all();
	struct timed t;

	(void)state;
	begin(&t, &r, hang);
	assert_true(workers_due(&t.workers) == T0 + 300);
	workers_expire(&t.workers, T0 + 299);
	assert_true(workers_due(&t.workers) == T0 + 300);
	workers_expire(&t.workers, T0 + 300);
	assert_true(workers_due(&t.workers) == T0 + 2300 && !t.replies.first);
	workers_expire(&t.workers, T0 + 2299);
	assert_null(t.replies.first);
	workers_expire(&t.workers, T0 + 2300);
	assert_non_null(t.replies.first);
	assert_int_equal(end(&t), OUTCOME_TIMED_OUT);
}

/* An errand that begins late is not given up for that. */
static void test_a_late_errand_tells_the_results_that_it_has(void **state)
{
	const struct errand_request r = list_all();
	struct timed t;

	(void)state;
	begin(&t, &r, be_late);
	wait_for_end(&t.workers);
	AUTO_FREE char *said = strndup((const char *)t.replies.first->bytes,
				       t.replies.first->len);
	assert_non_null(strstr(said, "[Reading took too long, and was ended after "));
	assert_int_equal(end(&t), OUTCOME_DONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_report_of_the_process_becomes_one_good_answer),
		cmocka_unit_test(
			test_an_errand_that_hangs_is_given_up_after_its_time_out),
		cmocka_unit_test(test_a_late_errand_tells_the_results_that_it_has),
	};

	(void)alarm(PATIENCE_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
