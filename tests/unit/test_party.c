/* The processes that do one side of a copy. */
#include "sandbox/kernel/party.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <signal.h>

#include "tests/unit/scene.h"

static void count_fds(void *arg, int leash, struct outcome *o)
{
	const int *kept = arg;

	for (int fd = 3; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			o->entries++;
	CHECK(fcntl(*kept, F_GETFD) >= 0 && fcntl(leash, F_GETFD) >= 0);
}

static void test_a_worker_keeps_its_descriptors_and_tells_its_outcome(void **state)
{
	int others[2], kept = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const struct work w = { count_fds, &kept, { kept }, 1 };
	struct party p;
	struct err e;

	(void)state;
	assert_int_equal(pipe2(others, O_CLOEXEC), 0);
	assert_int_equal(party_start(&p, &w, &e), 0);
	party_collect(&p);
	assert_int_equal(p.outcome.error.kind, ERR_NONE);
	assert_int_equal(p.outcome.entries, 3); /* plus one for its outcome */
	assert_int_equal(p.pid, 0);
	assert_int_equal(p.result, -1);
	party_done(&p);
	(void)close(others[0]), (void)close(others[1]), (void)close(kept);
}

static void lie(void *arg, int leash, struct outcome *o)
{
	(void)arg, (void)leash;
	memset(o, 'x', sizeof(*o));
}

static void test_an_outcome_is_made_safe(void **state)
{
	const struct work w = { .do_it = lie };
	struct party p;
	struct err e;

	(void)state;
	assert_int_equal(party_start(&p, &w, &e), 0);
	party_collect(&p);
	assert_int_equal(p.outcome.error.kind, ERR_INTERNAL);
	assert_true(strlen(p.outcome.error.text) < sizeof(p.outcome.error.text));
	assert_true(strlen(p.outcome.first) < sizeof(p.outcome.first));
	party_done(&p);
}

static void die(void *arg, int leash, struct outcome *o)
{
	(void)arg, (void)leash, (void)o;
	(void)kill(getpid(), SIGKILL);
}

static void test_one_that_dies_is_an_error(void **state)
{
	const struct work w = { .do_it = die };
	struct party p;
	struct err e;

	(void)state;
	assert_int_equal(party_start(&p, &w, &e), 0);
	party_collect(&p);
	assert_int_equal(p.outcome.error.kind, ERR_SYSTEM);
	assert_non_null(strstr(p.outcome.error.text, "signal 9"));
	party_done(&p);
}

/* Forks a child, which must end when this process does. */
static void wait_for_ever(void *arg, int leash, struct outcome *o)
{
	(void)arg, (void)o;
	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		CHECK(write(leash, "", 1) == 1); /* the child runs now */
	}
	for (;;)
		(void)pause();
}

static void test_a_worker_is_ended_with_its_children(void **state)
{
	const struct work w = { .do_it = wait_for_ever };
	struct party p;
	struct err e;

	(void)state;
	assert_int_equal(party_start(&p, &w, &e), 0);
	int leash = fcntl(p.leash, F_DUPFD_CLOEXEC, 3);
	char byte;
	assert_int_equal(read(leash, &byte, 1), 1);
	party_done(&p);
	assert_int_equal(read(leash, &byte, 1), 0); /* no process holds the other end */
	(void)close(leash);
	party_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_worker_keeps_its_descriptors_and_tells_its_outcome),
		cmocka_unit_test(test_an_outcome_is_made_safe),
		cmocka_unit_test(test_one_that_dies_is_an_error),
		cmocka_unit_test(test_a_worker_is_ended_with_its_children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
