/* outcome: reads how a copy ended, whatever the copying process sends. */
#include "archive/outcome.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <signal.h>

#include "base/worker.h"
#include "tests/unit/scene.h"

static struct outcome outcome_of(int (*work)(void *, void *, struct err *))
{
	const struct worker_task task = { .name = "the process", .work = work,
					  .result_len = sizeof(struct outcome) };
	struct outcome o;
	struct worker w;

	memset(&o, 'y', sizeof(o));
	assert_int_equal(worker_start(&task, &w, NULL), 0);
	outcome_wait(&w, &o);
	assert_int_equal(w.pid, 0);
	return o;
}

static int succeed(void *arg, void *result, struct err *e)
{
	struct outcome *o = result;

	(void)arg, (void)e;
	o->entries = 3;
	return 0;
}

static void test_success_has_its_numbers(void **state)
{
	const struct outcome o = outcome_of(succeed);

	(void)state;
	assert_int_equal(o.error.kind, ERR_NONE);
	assert_int_equal(o.entries, 3);
	assert_string_equal(o.first, "");
}

static int lie(void *arg, void *result, struct err *e)
{
	(void)arg, (void)e;
	memset(result, 'x', sizeof(struct outcome));
	return 0;
}

static void test_an_outcome_is_made_safe(void **state)
{
	const struct outcome o = outcome_of(lie);

	(void)state;
	assert_int_equal(o.error.kind, ERR_INTERNAL);
	assert_true(strlen(o.error.text) < sizeof(o.error.text));
	assert_true(strlen(o.first) < sizeof(o.first));
}

static int refuse(void *arg, void *result, struct err *e)
{
	(void)arg, (void)result;
	return err_set(e, ERR_LIMIT, "full");
}

static int die(void *arg, void *result, struct err *e)
{
	(void)arg, (void)result, (void)e;
	(void)kill(getpid(), SIGKILL);
	return 0;
}

static void test_without_an_outcome_there_is_an_error(void **state)
{
	struct outcome o = outcome_of(refuse);

	(void)state;
	assert_int_equal(o.error.kind, ERR_LIMIT);
	assert_string_equal(o.error.text, "full");
	assert_int_equal(o.entries, 0);
	o = outcome_of(die);
	assert_int_equal(o.error.kind, ERR_SYSTEM);
	assert_string_equal(o.error.text, "the process was ended by signal 9");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_success_has_its_numbers),
		cmocka_unit_test(test_an_outcome_is_made_safe),
		cmocka_unit_test(test_without_an_outcome_there_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
