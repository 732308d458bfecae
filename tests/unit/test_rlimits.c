#include "sandbox/kernel/rlimits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <limits.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/io.h"
#include "policy/policy.h"
#include "policy/units.h"
#include "sandbox/plan/plan.h"
#include "sandbox/plan/plan_rlimits.h"
#include "tests/unit/scene.h"

static const struct exec_rlimit *find(const struct plan *p, int resource)
{
	const struct exec_rlimit *found = NULL;

	for (uint32_t i = 0; i < p->rlimit_count; i++) {
		if (p->rlimits[i].resource != (uint32_t)resource)
			continue;
		CHECK(!found); /* each limit only once */
		found = &p->rlimits[i];
	}
	return found;
}

/* The caller's soft and hard limit, and the limit that a command gets. */
static const struct share {
	int resource;
	uint64_t soft, hard, wanted;
} shares[] = {
	{ RLIMIT_NPROC, 1000, 2000, 500 },
	{ RLIMIT_NPROC, 100000, 100000, 4096 },
	{ RLIMIT_NOFILE, 1024, 1024, 768 },
	{ RLIMIT_NOFILE, 1020, 1020, 765 },
	{ RLIMIT_NOFILE, 1000, 1000, 746 },
	{ RLIMIT_NOFILE, 400, 400, 146 },
	{ RLIMIT_NOFILE, 319, 319, 65 },
	{ RLIMIT_NOFILE, 100, 100, 64 },
	{ RLIMIT_NOFILE, 80, 80, 60 },
	{ RLIMIT_SIGPENDING, 100, 100, 25 },
	{ RLIMIT_MSGQUEUE, 800, 800, 200 },
	{ RLIMIT_MEMLOCK, 4096, 4096, 1024 },
	{ RLIMIT_CORE, 0, 0, 0 },
	{ RLIMIT_CORE, 0, 4096, 1 },
	{ RLIMIT_CORE, 4096, 4096, 1 },
	{ RLIMIT_NICE, 0, 0, 0 },
	{ RLIMIT_RTPRIO, 0, 0, 0 },
};

/* Tests RLIMIT_RSS, which the kernel does not enforce. */
static void play_lower(void *arg)
{
	const struct rlimit first = { 100, 4096 };
	const struct { uint64_t most, wanted;
	} tries[] = {
		{ UINT64_MAX, 4096 },
		{ 5000, 4096 },
		{ 4096, 4096 },
		{ 7, 7 },
		{ 9, 7 },
		{ 0, 0 },
	};
	struct rlimit now;
	struct err e;

	(void)arg;
	CHECK(setrlimit(RLIMIT_RSS, &first) == 0);
	for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
		CHECK(rlimits_lower(RLIMIT_RSS, tries[i].most, &e) == 0);
		CHECK(getrlimit(RLIMIT_RSS, &now) == 0);
		CHECK(now.rlim_cur == tries[i].wanted && now.rlim_max == tries[i].wanted);
	}
	CHECK(rlimits_lower(-1, 1, &e) < 0 && e.kind == ERR_SYSTEM);
}

static void test_a_lowered_limit_never_rises(void **state)
{
	(void)state;
	scene_child(play_lower, NULL);
}

static void play_share(void *arg)
{
	const struct share *s = arg;
	const struct rlimit own = { s->soft, s->hard };
	struct rlimit first;
	struct policy policy;
	struct plan p;
	struct err e;

	policy_init(&policy);
	plan_init(&p);
	CHECK(getrlimit(s->resource, &first) == 0);
	if (first.rlim_max < s->hard)
		return; /* the test may not raise its limit so far */
	CHECK(setrlimit(s->resource, &own) == 0);
	CHECK(plan_rlimits(&p, &policy, &e) == 0);
	const struct exec_rlimit *r = find(&p, s->resource);
	CHECK(r && r->soft == s->wanted && r->hard == s->wanted);
	plan_done(&p);
}

static void test_a_sandbox_gets_a_share_of_the_callers_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
		struct share s = shares[i];
		scene_child(play_share, &s);
	}
}

static void play_ulimits(void *arg)
{
	const struct rlimit own = { 300, 600 };
	struct policy policy;
	struct plan p;
	struct err e;

	(void)arg;
	policy_init(&policy);
	plan_init(&p);
	CHECK(setrlimit(RLIMIT_NOFILE, &own) == 0);
	CHECK(units_parse_ulimit(&policy, "nofile=100", &e) == 0);
	CHECK(units_parse_ulimit(&policy, "nofile=400:600", &e) == 0);
	CHECK(units_parse_ulimit(&policy, "cpu=7:8", &e) == 0);
	CHECK(plan_rlimits(&p, &policy, &e) == 0);
	const struct exec_rlimit *r = find(&p, RLIMIT_NOFILE);
	CHECK(r && r->soft == 400 && r->hard == 600);
	r = find(&p, RLIMIT_CPU);
	CHECK(r && r->soft == 7 && r->hard == 8);
	plan_done(&p);

	plan_init(&p);
	CHECK(units_parse_ulimit(&policy, "nofile=400:601", &e) == 0);
	CHECK(plan_rlimits(&p, &policy, &e) < 0 && e.kind == ERR_LIMIT);
	CHECK(strstr(e.text, "nofile cannot be raised above 600"));
	CHECK(strstr(e.text, "(from --ulimit nofile=400:601)"));
	plan_done(&p);

	policy.is_best_effort = true;
	plan_init(&p);
	CHECK(units_parse_ulimit(&policy, "nofile=601:602", &e) == 0);
	CHECK(plan_rlimits(&p, &policy, &e) == 0);
	r = find(&p, RLIMIT_NOFILE);
	CHECK(r && r->soft == 600 && r->hard == 600);
	r = find(&p, RLIMIT_CPU);
	CHECK(r && r->soft == 7 && r->hard == 8);
	plan_done(&p);
	policy_done(&policy);
}

static void test_a_ulimit_replaces_a_default_up_to_the_hard_limit(void **state)
{
	(void)state;
	scene_child(play_ulimits, NULL);
}

static void test_every_resource_at_once_fits(void **state)
{
	struct policy policy;
	struct plan p;
	struct err e;

	(void)state;
	policy_init(&policy);
	plan_init(&p);
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		AUTO_FREE char *word = text_format("%s=0", units_ulimit_name(i));
		assert_int_equal(units_parse_ulimit(&policy, word, &e), 0);
	}
	assert_int_equal(plan_rlimits(&p, &policy, &e), 0);
	assert_int_equal(p.rlimit_count, RLIM_NLIMITS);
	plan_done(&p);
	policy_done(&policy);
}

static uint64_t read_sysctl(const char *name)
{
	AUTO_FREE char *path = text_format("/proc/sys/%s", name);
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *text = NULL;
	size_t len;
	struct err e;

	CHECK(fd >= 0 && io_read_file(fd, path, 64, &text, &len, &e) == 0);
	return strtoull(text, NULL, 10);
}

static void play_sysctls(void *arg)
{
	const struct plan *p = arg;
	struct err e;

	AUTO_CLOSE int folder = open("/proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK(folder >= 0 &&
	      rlimits_apply_sysctls(folder, p->sysctls, p->sysctl_count, &e) == 0);
	for (size_t i = 0; i < p->sysctl_count; i++)
		CHECK(read_sysctl(p->sysctls[i].name) == p->sysctls[i].value);
	CHECK(unshare(CLONE_NEWUSER) < 0 && errno == ENOSPC);
}

static void test_the_namespace_is_bounded_and_nests_no_other(void **state)
{
	struct policy policy;
	struct plan p;
	struct err e;

	(void)state;
	policy_init(&policy);
	plan_init(&p);
	p.namespaces &= ~(uint64_t)CLONE_NEWNET;
	uint64_t watches = read_sysctl("user/max_inotify_watches");
	assert_int_equal(plan_rlimits(&p, &policy, &e), 0);
	assert_int_equal(p.sysctl_count, 3);
	assert_string_equal(p.sysctls[0].name, "user/max_user_namespaces");
	assert_int_equal(p.sysctls[0].value, 0);
	assert_string_equal(p.sysctls[1].name, "user/max_inotify_instances");
	assert_int_equal(p.sysctls[1].value,
			 read_sysctl("user/max_inotify_instances") / 4);
	assert_string_equal(p.sysctls[2].name, "user/max_inotify_watches");
	assert_int_equal(p.sysctls[2].value, watches / 4);
	scene_inside(0, 1000, play_sysctls, &p);
	assert_int_equal(read_sysctl("user/max_inotify_watches"), watches);
	plan_done(&p);
}

static void play_network(void *arg)
{
	CHECK(unshare(CLONE_NEWNET) == 0);
	play_sysctls(arg);
}

static void test_no_queue_of_datagrams_is_full_in_a_network_of_its_own(void **state)
{
	static const char name[] = "net/unix/max_dgram_qlen";
	struct policy policy;
	struct plan p;
	struct err e;

	(void)state;
	policy_init(&policy);
	plan_init(&p);
	uint64_t here = read_sysctl(name);
	assert_int_equal(plan_rlimits(&p, &policy, &e), 0);
	assert_int_equal(p.sysctl_count, 5);
	assert_string_equal(p.sysctls[3].name, name);
	assert_int_equal(p.sysctls[3].value, INT_MAX);
	assert_true(p.sysctls[3].may_lack && !p.sysctls[2].may_lack);
	assert_string_equal(p.sysctls[4].name, "net/ipv4/ip_unprivileged_port_start");
	assert_int_equal(p.sysctls[4].value, 0);
	assert_false(p.sysctls[4].may_lack);
	scene_inside(0, 1000, play_network, &p);
	assert_int_equal(read_sysctl(name), here);
	plan_done(&p);
}

static void play_lacking(void *arg)
{
	struct plan *p = arg;
	struct err e;

	AUTO_CLOSE int folder = open("/proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK(folder >= 0 &&
	      rlimits_apply_sysctls(folder, p->sysctls, p->sysctl_count, &e) == 0);
	p->sysctls[0].may_lack = false;
	CHECK(rlimits_apply_sysctls(folder, p->sysctls, p->sysctl_count, &e) < 0 &&
	      e.sys == ENOENT);
	p->sysctls[0] = (struct sysctl){ "user", 1, true };
	CHECK(rlimits_apply_sysctls(folder, p->sysctls, p->sysctl_count, &e) < 0 &&
	      e.sys == EISDIR);
}

static void test_a_limit_that_the_kernel_lacks_is_an_error_unless_optional(void **state)
{
	struct plan p = { .sysctls = { { "net/unix/no_such", 1, true } },
			  .sysctl_count = 1 };

	(void)state;
	scene_inside(0, 1000, play_lacking, &p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_sandbox_gets_a_share_of_the_callers_own),
		cmocka_unit_test(test_a_ulimit_replaces_a_default_up_to_the_hard_limit),
		cmocka_unit_test(test_every_resource_at_once_fits),
		cmocka_unit_test(test_a_lowered_limit_never_rises),
		cmocka_unit_test(test_the_namespace_is_bounded_and_nests_no_other),
		cmocka_unit_test(
			test_no_queue_of_datagrams_is_full_in_a_network_of_its_own),
		cmocka_unit_test(
			test_a_limit_that_the_kernel_lacks_is_an_error_unless_optional),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
