/* outputs: holds the end of an output back for a limited time, and waits for a
 * limited time for a client that does not read. */
#include "supervisor/outputs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>

#include "tests/unit/control.h"

#define SHOWN_MS 200 /* the value in outputs.c */

static struct control x;

static int setup(void **state)
{
	(void)state;
	control_begin(&x);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	control_end(&x);
	return 0;
}

/* Starts a process whose output is kept; its end of stdout goes to *ret_fd. */
static struct job *start(struct client *owner, int *ret_fd)
{
	struct job *j = control_job(&x, owner);
	struct connection_fds fds = { 0 };
	struct err e = { 0 };

	j->capture = capture_new(false, false, &fds, &e);
	assert_non_null(j->capture);
	*ret_fd = fd_take(&fds.fds[1]);
	(void)close(fds.fds[0]);
	(void)close(fds.fds[2]);
	return j;
}

/* Runs a turn of the loop at `now`, in which the ready descriptors are served. */
static void turn(int64_t now)
{
	struct pollfd w[2 * CAPTURE_STREAMS];

	const size_t count = outputs_watch(&x.s, w);
	assert_true(count <= ARRAY_LEN(w));
	assert_true(poll(w, count, 0) >= 0);
	x.s.now_ms = now;
	outputs_serve(&x.s, w);
}

/* --- secrets ---------------------------------------------------------------------- */

/* The supervisor holds back the beginning of a secret for SHOWN_MS after its last byte. */
static void test_held_bytes_that_are_no_secret_are_shown_after_a_while(void **state)
{
	static const struct {
		int64_t at;
		const char *printed;
		const char *shown; /* in total */
		int64_t due; /* when the held bytes are shown; 0: none are held */
	} rows[] = {
		{ 0, "sesame-0", "", SHOWN_MS },
		{ SHOWN_MS - 1, NULL, "", SHOWN_MS },
		{ SHOWN_MS, NULL, "sesame-0", 0 },
		{ 1000, "a sesame-", "sesame-0a ", 1000 + SHOWN_MS },
		{ 1100, "01", "sesame-0a ", 1100 + SHOWN_MS },
		{ 1200, NULL, "sesame-0a ", 1100 + SHOWN_MS },
		{ 1300, NULL, "sesame-0a sesame-01", 0 },
		{ 2000, "sesame-", "sesame-0a sesame-01", 2000 + SHOWN_MS },
		{ 2000 + SHOWN_MS - 1, "0123456789.",
		  "sesame-0a sesame-01<secret-hidden>.", 0 },
	};
	bool is_hidden = false;
	struct err e = { 0 };
	int fd;
	struct job *j = start(NULL, &fd);
	const struct output_ring *k = &j->capture->ring[0];

	(void)state;
	assert_int_equal(
		redact_add(&x.s.dispatcher.secrets, "sesame-0123456789", &is_hidden, &e),
		0);
	assert_true(is_hidden);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct pollfd w[2 * CAPTURE_STREAMS];
		char got[256] = "";
		const char *printed = rows[i].printed;
		if (printed)
			assert_int_equal(write(fd, printed, strlen(printed)),
					 strlen(printed));
		turn(NOW + rows[i].at);
		(void)output_ring_copy(k, k->begin, got, sizeof(got) - 1);
		(void)outputs_watch(&x.s, w);
		const int64_t due = x.s.outputs.look_ms;
		const int64_t expected = rows[i].due ? NOW + rows[i].due : 0;
		if (strcmp(got, rows[i].shown) != 0 || due != expected)
			fail_msg("row %zu: '%s', the rest at %lld", i, got,
				 (long long)due - NOW);
	}
	own_close(&fd);
}

/* --- a client that takes nothing --------------------------------------------------- */

/* While a client does not read, the supervisor stops reading the output of that
 * client's process, but only for a limited time. */
static void test_a_client_that_takes_nothing_is_waited_for_a_while(void **state)
{
	static const struct {
		int64_t stuck; /* when the client stopped reading; -1: it reads */
		int64_t at;
		bool is_read; /* whether the supervisor reads the process's output */
		int64_t look;
	} rows[] = {
		{ -1, 0, true, 0 },
		{ 0, 0, false, OUTPUTS_STUCK_MS },
		{ 0, OUTPUTS_STUCK_MS - 1, false, OUTPUTS_STUCK_MS },
		{ 0, OUTPUTS_STUCK_MS, true, 0 },
		{ 0, OUTPUTS_STUCK_MS + 1, true, 0 },
		{ 700, OUTPUTS_STUCK_MS + 1, false,
		  700 + OUTPUTS_STUCK_MS }, /* it has read */
	};
	int fd, ours;
	struct client *c = control_client(&x, &ours);
	struct job *j = start(c, &fd);

	(void)state;
	outputs_view(c, j);
	output_ring_add(&j->capture->ring[0], "0123456789", 10, OUTPUT_RING_MIN);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct pollfd w[2 * CAPTURE_STREAMS];
		c->stuck_ms = rows[i].stuck < 0 ? 0 : NOW + rows[i].stuck;
		x.s.now_ms = NOW + rows[i].at;
		size_t count = outputs_watch(&x.s, w);
		bool is_read = false;
		while (count-- > 0)
			is_read = is_read || w[count].fd == j->capture->out[0];
		if (is_read != rows[i].is_read ||
		    x.s.outputs.look_ms != (rows[i].look ? NOW + rows[i].look : 0))
			fail_msg("row %zu: %s", i, is_read ? "read" : "not read");
	}
	own_close(&fd);
	own_close(&ours);
}

/* A client counts as stuck from the first byte that it does not take, and again from
 * the last byte that it took. */
static void test_a_client_is_stuck_from_when_it_has_taken_something_last(void **state)
{
	static const char piece[4096];
	static char taken[64 << 10];
	struct buffer *out;
	int ours;
	struct client *c = control_client(&x, &ours);

	(void)state;
	out = &c->conn.out;
	x.s.now_ms = NOW;
	(void)clients_work(&x.s);
	assert_int_equal(c->stuck_ms, 0);
	do { /* until the client's socket is full */
		assert_true(buffer_append(out, piece, sizeof(piece)));
		(void)clients_work(&x.s);
	} while (buffer_len(out) == 0);
	assert_int_equal(c->stuck_ms, NOW);
	for (int i = 0; i < 64; i++) /* much more than the socket's buffer holds */
		assert_true(buffer_append(out, taken, sizeof(taken)));
	x.s.now_ms = NOW + 500;
	(void)clients_work(&x.s);
	assert_int_equal(c->stuck_ms, NOW);
	/* The client reads a little, so its socket has room for a part of the rest. */
	x.s.now_ms = NOW + 600;
	const size_t waits = buffer_len(out);
	while (buffer_len(out) == waits) {
		assert_true(read(ours, taken, sizeof(taken)) > 0);
		(void)clients_work(&x.s);
	}
	assert_true(buffer_len(out) > 0);
	assert_int_equal(c->stuck_ms, NOW + 600);
	while (read(ours, taken, sizeof(taken)) > 0)
		(void)clients_work(&x.s);
	assert_int_equal(buffer_len(out), 0);
	assert_int_equal(c->stuck_ms, 0);
	own_close(&ours);
}

/* --- clients that hold the main process ------------------------------------------ */

/* Lets a client follow the output's log. */
static void follow(struct client *c, bool holds)
{
	const struct log_reader r = { .of = &x.s.outputs.log,
				      .method = "output",
				      .follows = true,
				      .holds = holds };

	outputs_logs(c, &r, UINT64_MAX);
}

static bool is_read(const struct job *j)
{
	struct pollfd w[2 * CAPTURE_STREAMS];
	size_t count = outputs_watch(&x.s, w);

	while (count-- > 0)
		if (w[count].fd == j->capture->out[0])
			return true;
	return false;
}

/* The slowest client that holds counts, however long it reads nothing; one that has gone
 * does not, and other processes are read always. */
static void test_the_main_process_waits_for_the_slowest_client_that_holds_it(void **state)
{
	enum { PLAIN, QUICK, SLOW, CLIENTS };
	static const struct {
		uint64_t left[CLIENTS]; /* the bytes of the log that each has to get */
		bool is_read;
	} rows[] = {
		{ { 0, 0, 0 }, true },
		{ { 0, 0, OUTPUTS_HELD }, true },
		{ { 0, 0, OUTPUTS_HELD + 1 }, false },
		{ { 0, OUTPUTS_HELD + 1, 0 }, false },
		{ { 4 * OUTPUTS_HELD, 0, 0 }, true },
		{ { 4 * OUTPUTS_HELD, 0, 4 * OUTPUTS_HELD }, false },
	};
	struct log *l = &x.s.outputs.log;
	struct client *clients[CLIENTS];
	int fd, other_fd, ours[CLIENTS];
	struct job *j = start(NULL, &fd), *other = start(NULL, &other_fd);

	(void)state;
	x.s.main.process = j->id;
	for (size_t i = 0; i < CLIENTS; i++) {
		clients[i] = control_client(&x, &ours[i]);
		follow(clients[i], i != PLAIN);
	}
	l->end = 8 * OUTPUTS_HELD;
	for (size_t n = 0; n < ARRAY_LEN(rows); n++) {
		for (size_t i = 0; i < CLIENTS; i++)
			clients[i]->log_readers->at = l->end - rows[n].left[i];
		x.s.now_ms += 1000 * OUTPUTS_STUCK_MS;
		if (is_read(j) != rows[n].is_read || !is_read(other))
			fail_msg("row %zu", n);
	}
	outputs_leave(&x.s, clients[SLOW]);
	assert_true(is_read(j));
	own_close(&fd);
	own_close(&other_fd);
	for (size_t i = 0; i < CLIENTS; i++)
		own_close(&ours[i]);
}

/* --- a process that has ended ------------------------------------------------------ */

static bool is_busy(const struct job *of)
{
	const struct job *j = x.s.jobs.busy;

	while (j && j != of)
		j = j->next_busy;
	return j != NULL;
}

/* A turn looks at each busy process, and at none that has ended when its owner has been
 * told and nothing holds its output open any more. */
static void test_a_process_that_has_ended_is_looked_at_until_its_output_has(void **state)
{
	struct pollfd w[4 * CAPTURE_STREAMS];
	int fd;
	struct job *j = start(NULL, &fd), *told = control_job(&x, NULL);

	(void)state;
	told->state = j->state = JOB_ENDED;
	told->owes_event = true;
	turn(NOW);
	assert_true(is_busy(j) && is_busy(told));
	told->owes_event = false;
	assert_int_equal(write(fd, "late", 4), 4);
	turn(NOW);
	assert_true(is_busy(j) && !is_busy(told));
	own_close(&fd);
	turn(NOW);
	assert_int_equal(j->capture->ring[0].end, 4);
	assert_int_equal(outputs_watch(&x.s, w), 0);
	assert_false(is_busy(j));
	assert_ptr_equal(jobs_find(&x.s.jobs, j->id), j);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_held_bytes_that_are_no_secret_are_shown_after_a_while),
		TEST(test_a_client_that_takes_nothing_is_waited_for_a_while),
		TEST(test_a_client_is_stuck_from_when_it_has_taken_something_last),
		TEST(test_the_main_process_waits_for_the_slowest_client_that_holds_it),
		TEST(test_a_process_that_has_ended_is_looked_at_until_its_output_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
