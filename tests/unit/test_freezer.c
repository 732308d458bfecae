/* freezer: the process that stops all others for a pause.  Each start that was not
 * released gets exactly one answer, in time. */
#include "executor/process/freezer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/own.h"
#include "executor/process/caps.h"

#define NOW 1000
#define PID 1000000000 /* greater than any pid of the kernel */

static struct freezer f;
static int theirs, hold; /* the freezer process's ends of its two pipes */

/* Sets the state after freezer_start(). */
static void begun(uint32_t number)
{
	int said[2], held[2];

	assert_int_equal(pipe2(said, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(pipe2(held, O_CLOEXEC | O_NONBLOCK), 0);
	freezer_init(&f, -1, NULL);
	f.pid = PID;
	f.said = said[0];
	f.hold = held[1];
	theirs = said[1];
	hold = held[0];
	f.number = number;
	f.due = NOW + 9000;
}

static void ended(void)
{
	freezer_done(&f);
	own_close(&theirs);
	own_close(&hold);
}

static void says(uint32_t why, uint32_t pid)
{
	const struct frozen what = { .why = why, .pid = pid };

	assert_int_equal(write(theirs, &what, sizeof(what)), sizeof(what));
}

static void test_where_none_can_be_made_that_is_the_answer(void **state)
{
	struct frozen what;

	(void)state;
	freezer_init(&f, -1, NULL);
	assert_false(freezer_serve(&f, NOW, &what));
	freezer_start(&f, 3, NOW);
	assert_true(freezer_serve(&f, NOW, &what));
	assert_true(what.number == 3 && what.why == FREEZE_FAILED);
	assert_false(freezer_serve(&f, NOW, &what));
	freezer_done(&f);
}

static void test_the_word_of_the_freezer_is_the_answer(void **state)
{
	static const struct {
		uint32_t says, answer;
		int64_t at;
		bool is_silent, is_gone;
	} rows[] = {
		{ FREEZE_STANDS, FREEZE_STANDS, NOW, false, false },
		{ FREEZE_TRACED, FREEZE_TRACED, NOW, false, false },
		{ FREEZE_DENIED, FREEZE_DENIED, NOW, false, true },
		/* The process has reported that all processes are stopped, and has
		 * died: then they run again. */
		{ FREEZE_STANDS, FREEZE_FAILED, NOW, false, true },
		{ FREEZE_WHY_COUNT, FREEZE_FAILED, NOW, false, false },
		{ 0, FREEZE_LATE, NOW + 9000, true, false },
		{ 0, FREEZE_FAILED, NOW, true, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct frozen what;
		begun(5);
		assert_false(freezer_serve(&f, NOW + 8999, &what));
		if (!rows[i].is_silent)
			says(rows[i].says, 7);
		if (rows[i].is_gone) {
			own_close(&theirs);
			assert_true(freezer_reaped(&f, PID, NOW));
		}
		assert_true(freezer_serve(&f, rows[i].at, &what));
		if (what.number != 5 || what.why != rows[i].answer)
			fail_msg("row %zu: %u", i, what.why);
		assert_false(freezer_serve(&f, NOW + 99999, &what));
		/* The pipe that keeps the processes stopped stays open only if the
		 * answer says that all are. */
		assert_int_equal(f.hold >= 0, rows[i].answer == FREEZE_STANDS);
		ended();
	}
}

static void test_the_death_of_the_freezer_while_all_stand_is_noticed(void **state)
{
	struct frozen what;

	(void)state;
	begun(1);
	says(FREEZE_STANDS, 0);
	assert_true(freezer_serve(&f, NOW, &what));
	assert_false(freezer_reaped(&f, PID - 1, NOW));
	assert_true(freezer_reaped(&f, PID, NOW));
	assert_true(f.is_lost);
	ended();
	begun(1);
	says(FREEZE_STANDS, 0);
	assert_true(freezer_serve(&f, NOW, &what));
	char bytes[8];
	assert_int_equal(read(hold, bytes, sizeof(bytes)), 1); /* it was heard */
	freezer_release(&f);
	assert_int_equal(read(hold, bytes, sizeof(bytes)), 1); /* told to let go, */
	assert_int_equal(read(hold, bytes, sizeof(bytes)), 0); /* then the pipe ends */
	assert_true(freezer_reaped(&f, PID, NOW));
	assert_false(f.is_lost);
	ended();
}

static void test_one_that_does_not_go_is_killed_when_that_harms_nobody(void **state)
{
	struct frozen what;
	struct pollfd w;

	(void)state;
	begun(1);
	says(FREEZE_STANDS, 0);
	assert_true(freezer_serve(&f, NOW, &what));
	freezer_release(&f);
	assert_false(freezer_serve(&f, NOW, &what));
	/* No deadline: a kill would also end the processes that it traces. */
	assert_int_equal(f.due, 0);
	freezer_release(&f);
	freezer_watch(&f, &w);
	assert_int_equal(w.fd, f.said);
	assert_int_equal(write(theirs, "", 1), 1);
	assert_false(freezer_serve(&f, NOW, &what));
	assert_int_equal(f.due, NOW + 1000);
	assert_false(freezer_serve(&f, NOW + 999, &what));
	assert_int_not_equal(f.due, 0);
	assert_false(freezer_serve(&f, NOW + 1000, &what));
	assert_int_equal(f.due, 0);
	assert_true(freezer_reaped(&f, PID, NOW));
	ended();
}

static void test_the_next_one_waits_until_the_last_has_gone(void **state)
{
	struct frozen what;

	(void)state;
	begun(1);
	says(FREEZE_STANDS, 0);
	assert_true(freezer_serve(&f, NOW, &what));
	freezer_release(&f);
	freezer_start(&f, 2, NOW);
	assert_false(freezer_serve(&f, NOW + 99999, &what));
	assert_true(freezer_reaped(&f, PID, NOW));
	assert_true(freezer_serve(&f, NOW, &what)); /* there is no procfs */
	assert_true(what.number == 2 && what.why == FREEZE_FAILED);
	ended();
	begun(1);
	says(FREEZE_STANDS, 0);
	assert_true(freezer_serve(&f, NOW, &what));
	freezer_release(&f);
	freezer_start(&f, 2, NOW);
	freezer_release(&f);
	assert_true(freezer_reaped(&f, PID, NOW));
	assert_false(freezer_serve(&f, NOW + 99999, &what));
	ended();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_where_none_can_be_made_that_is_the_answer),
		cmocka_unit_test(test_the_word_of_the_freezer_is_the_answer),
		cmocka_unit_test(
			test_the_death_of_the_freezer_while_all_stand_is_noticed),
		cmocka_unit_test(
			test_one_that_does_not_go_is_killed_when_that_harms_nobody),
		cmocka_unit_test(test_the_next_one_waits_until_the_last_has_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
