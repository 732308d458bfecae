/* plugin_table: a hostile executor cannot make the dispatcher believe in more than the plugins
 * that the sandbox was launched with, nor in two answerers of an action. */
#include "actions/plugin_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/frame.h"
#include "base/json_write.h"
#include "base/own.h"
#include "policy/plugin_uses.h"
#include "tests/unit/one_frame.h"

static struct err e;
static struct plugin_table t;

/* Fills the table with the plugins `one` and `two`, of which the executor was told. */
static int fill(void **state)
{
	struct plugin_uses uses = { 0 };

	one_frame_setup(state);
	struct plugin_use *one = plugin_uses_add(&uses, "one");
	one->folder = strdup("/run/hutch/plugins/one");
	one->token = strdup("secret");
	one->venv = strdup("/venv");
	one->url = strdup("/?t=secret");
	one->port = 80;
	plugin_uses_add(&uses, "two")->folder = strdup("/two");
	plugin_table_fill(&t, &uses);
	plugin_uses_done(&uses);
	t.all[0].id = 5;
	t.all[1].id = 6;
	return 0;
}

static int empty(void **state)
{
	plugin_table_done(&t);
	return one_frame_teardown(state);
}

static int offers(struct known_plugin *p, const char *action)
{
	const struct plugin_offer o = { .version = "1",
					.ready_ms = 1000,
					.timeout_ms = 200,
					.grace_ms = 30,
					.action_count = 1,
					.actions = { { action, "seen", "done" } } };

	assert_int_equal(plugin_put_offer(&b, p->id, &o, &e), 0);
	const struct frame f = one_frame(MSG_OFFER, p->id);
	int taken = plugin_table_offer(&t, p, &f, &e);
	buffer_consume(&b, SIZE_MAX);
	return taken;
}

static int says(struct known_plugin *p, enum plugin_state now, const char *reason)
{
	assert_int_equal(plugin_put_state(&b, p->id, now, reason, &e), 0);
	const struct frame f = one_frame(MSG_STATE, p->id);
	int taken = plugin_table_state(p, &f, &e);
	buffer_consume(&b, SIZE_MAX);
	return taken;
}

static void test_it_has_what_the_launch_has_found(void **state)
{
	(void)state;
	assert_int_equal(t.count, 2);
	assert_string_equal(t.all[0].environment.items[0], "HUTCH_PLUGIN_TOKEN=secret");
	assert_string_equal(t.all[0].environment.items[1], "HUTCH_PLUGIN_VENV=/venv");
	assert_int_equal(t.all[1].environment.count, 0);
	assert_ptr_equal(plugin_table_find(&t, 6), &t.all[1]);
	assert_null(plugin_table_find(&t, 7));
	t.all[1].id = 0;
	assert_null(
		plugin_table_find(&t, 0)); /* 0 is the id of a plugin that the executor
						* was not told of */
	assert_false(plugin_table_is_known(&t));
	assert_string_equal(plugin_table_state_name(&t.all[0]), "waiting");
}

static void test_an_action_has_one_answerer(void **state)
{
	const struct known_action *action = NULL;

	(void)state;
	assert_int_equal(offers(&t.all[0], "act"), 0);
	assert_ptr_equal(plugin_table_answerer(&t, "act", &action), &t.all[0]);
	assert_string_equal(action->observation, "seen");
	assert_null(plugin_table_answerer(&t, "ac", &action));
	assert_int_equal(offers(&t.all[1], "act"), -1);
	assert_non_null(strstr(e.text, "two plugins offer the action 'act'"));
	assert_int_equal(offers(&t.all[1], "other"), 0);
	assert_true(plugin_table_is_known(&t));
	assert_true(plugin_table_ms(&t.all[0], 0) == 1230);
	assert_true(plugin_table_ms(&t.all[0], 5) == 1035);
}

static void test_an_offer_comes_once_and_before_any_state(void **state)
{
	(void)state;
	assert_int_equal(says(&t.all[0], PLUGIN_READY, ""), -1);
	assert_non_null(strstr(e.text, "before its offer"));
	assert_int_equal(offers(&t.all[0], "act"), 0);
	assert_int_equal(offers(&t.all[0], "more"), -1);
	assert_non_null(strstr(e.text, "a second offer"));
	assert_int_equal(says(&t.all[0], PLUGIN_STARTING, ""), 0);
	assert_int_equal(says(&t.all[1], PLUGIN_FAILED, "why"), 0);
	assert_true(plugin_table_is_known(&t));
	assert_int_equal(offers(&t.all[1], "late"), -1);
}

static void test_a_failure_is_told_until_the_next_state(void **state)
{
	struct buffer to;

	(void)state;
	assert_int_equal(offers(&t.all[0], "act"), 0);
	assert_int_equal(says(&t.all[0], PLUGIN_FAILED, "\x1b[1m"), 0);
	json_write_begin(&to);
	plugin_table_put(&to, &t.all[0]);
	AUTO_FREE char *failed = json_write_end(&to);
	assert_string_equal(failed, "\"name\":\"one\",\"state\":\"failed\","
				    "\"error\":\"\\u001b[1m\"");
	assert_int_equal(says(&t.all[0], PLUGIN_READY, ""), 0);
	json_write_begin(&to);
	plugin_table_put(&to, &t.all[0]);
	AUTO_FREE char *ready = json_write_end(&to);
	assert_string_equal(ready, "\"name\":\"one\",\"state\":\"ready\",\"error\":null");
}

static void test_the_host_can_fail_a_plugin(void **state)
{
	(void)state;
	plugin_table_fail(&t.all[0], "too large");
	assert_true(t.all[0].is_known && t.all[0].state == PLUGIN_FAILED);
	assert_string_equal(t.all[0].reason, "the plugin 'one': too large");
	assert_int_equal(offers(&t.all[0], "act"), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fill, empty)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_it_has_what_the_launch_has_found),
		TEST(test_an_action_has_one_answerer),
		TEST(test_an_offer_comes_once_and_before_any_state),
		TEST(test_a_failure_is_told_until_the_next_state),
		TEST(test_the_host_can_fail_a_plugin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
