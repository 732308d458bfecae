/* dispatcher_attach: a dispatcher gets all settings of a launch that concern
 * actions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "actions/dispatcher.h"
#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/environment.h"
#include "policy/policy.h"
#include "sandbox/launch/instance.h"
#include "sandbox/launch/launch.h"
#include "sandbox/launch/result.h"

#define SECRET "correct horse battery staple"

static struct scene {
	struct policy policy;
	struct launch launch;
	struct instance instance;
	struct dispatcher dispatcher;
} s;

static void attach(void)
{
	dispatcher_init(&s.dispatcher);
	s.dispatcher.now_us = 1000000;
	s.instance = (struct instance){ .context = &s };
	dispatcher_attach(&s.dispatcher, &s.launch, &s.instance);
}

static int setup(void **state)
{
	(void)state;
	policy_init(&s.policy);
	launch_init(&s.launch, &s.policy);
	s.policy.limits.memory = 64u << 20;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	dispatcher_done(&s.dispatcher);
	instance_done(&s.instance);
	launch_done(&s.launch);
	policy_done(&s.policy);
	return 0;
}

static void test_the_dispatcher_writes_to_the_channel_of_the_instance(void **state)
{
	(void)state;
	attach();
	assert_ptr_equal(s.dispatcher.wire, &s.instance.channel.out);
	assert_ptr_equal(s.instance.sandbox, &s.launch.sandbox);
	assert_ptr_equal(s.instance.ports, &s.launch.ports);
	assert_ptr_equal(s.instance.protect_watch, &s.launch.protect_watch);
	assert_ptr_equal(s.instance.context, &s);
}

static void test_refused_calls_are_assigned_to_sessions(void **state)
{
	(void)state;
	attach();
	assert_true(s.launch.sandbox.denials.looks_at_sessions);
}

static void test_the_policy_has_rules_or_every_action_may_be_done(void **state)
{
	(void)state;
	attach();
	assert_null(s.dispatcher.rules);
	dispatcher_done(&s.dispatcher);
	instance_done(&s.instance);
	list_add(&s.policy.rules, "{\"action\":\"run\",\"decision\":\"allow\"}");
	attach();
	assert_non_null(s.dispatcher.rules);
}

static void test_memory_is_watched_where_no_cgroup_limits_it(void **state)
{
	(void)state;
	s.launch.degraded = DEGRADED_MEMORY;
	attach();
	assert_int_equal(s.instance.watched_memory, 64u << 20);
	assert_null(s.dispatcher.cgroup);
}

static void test_a_cgroup_limits_memory_and_counts_kills(void **state)
{
	(void)state;
	s.launch.cgroup.procs = 0;
	attach();
	s.launch.cgroup.procs = -1;
	assert_int_equal(s.instance.watched_memory, 0);
	assert_ptr_equal(s.dispatcher.cgroup, &s.launch.cgroup);
	assert_int_equal(s.dispatcher.memory_limit, 64u << 20);
}

/* The audit log is used longer than the dispatcher, whose list of secrets it refers
 * to; after that it has its own list. */
static void test_the_audit_log_has_the_secrets_until_the_end(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(environment_add_secret(&s.policy, "TOKEN=" SECRET, &e), 0);
	attach();
	assert_ptr_equal(s.launch.audit.secrets, &s.dispatcher.secrets);
	AUTO_FREE char *text = redact_copy(s.launch.audit.secrets, "is " SECRET);
	assert_null(strstr(text, SECRET));
	dispatcher_done(&s.dispatcher);
	assert_ptr_equal(s.launch.audit.secrets, &s.launch.audit.own);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_dispatcher_writes_to_the_channel_of_the_instance),
		TEST(test_refused_calls_are_assigned_to_sessions),
		TEST(test_the_policy_has_rules_or_every_action_may_be_done),
		TEST(test_memory_is_watched_where_no_cgroup_limits_it),
		TEST(test_a_cgroup_limits_memory_and_counts_kills),
		TEST(test_the_audit_log_has_the_secrets_until_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
