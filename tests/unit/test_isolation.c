/* isolation: knows which options each kind of isolation (namespaces or Landlock)
 * accepts. */
#include "policy/isolation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/policy.h"

static void test_names(void **state)
{
	struct policy p;
	struct err e;

	(void)state;
	policy_init(&p);
	assert_int_equal(p.isolation, ISOLATION_AUTO);
	assert_int_equal(isolation_parse(&p, "landlock", &e), 0);
	assert_int_equal(p.isolation, ISOLATION_LANDLOCK);
	assert_int_equal(isolation_parse(&p, "namespaces", &e), 0);
	assert_int_equal(p.isolation, ISOLATION_NAMESPACES);
	assert_int_equal(isolation_parse(&p, "auto", &e), 0);
	assert_int_equal(p.isolation, ISOLATION_AUTO);
	assert_int_equal(isolation_parse(&p, "", &e), -1);
	assert_int_equal(isolation_parse(&p, "Landlock", &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	policy_done(&p);
}

static void set_image(struct policy *p) { p->image = IMAGE_DIR; }
static void set_user(struct policy *p) { p->user = text_copy("root"); }
static void set_hostname(struct policy *p) { p->hostname = text_copy("x"); }
static void set_terminal(struct policy *p) { p->has_terminal = true; }
static void set_read_only(struct policy *p) { p->is_read_only = true; }
static void set_ranges(struct policy *p) { p->idmap = IDMAP_RANGES; }
static void set_cap(struct policy *p) { p->cap_add = 1; }
static void set_memory(struct policy *p) { p->limits.memory = 1; }
static void set_cpus(struct policy *p) { p->limits.cpus = 1; }
static void set_pids(struct policy *p) { p->limits.pids = 1; }
static void set_disk(struct policy *p) { p->limits.disk = 1; }
static void set_parent(struct policy *p) { p->cgroup_parent = text_copy("x"); }
static void set_landlock_root(struct policy *p) { p->landlock_root = LANDLOCK_ROOT_OFF; }
static void set_tmpfs(struct policy *p)
{
	(void)policy_add_volume(p, VOLUME_TMPFS, "--tmpfs /x");
}
static void set_cow(struct policy *p)
{
	policy_add_volume(p, VOLUME_BIND, "-v")->is_cow = true;
}
static void set_protect(struct policy *p)
{
	list_add(&p->protects, ".git");
	policy_add_volume(p, VOLUME_BIND, "-v")->is_writable = true;
}

static void
test_options_that_need_namespaces_are_refused_with_landlock_alone(void **state)
{
	static const struct {
		void (*set)(struct policy *);
		const char *flag;
	} cases[] = {
		{ set_image, "--image" },	{ set_user, "-u" },
		{ set_hostname, "--hostname" }, { set_terminal, "-t" },
		{ set_read_only, "--read-only" }, { set_ranges, "--idmap ranges" },
		{ set_cap, "--cap-add" },	{ set_memory, "--memory" },
		{ set_cpus, "--cpus" },		{ set_pids, "--pids-limit" },
		{ set_disk, "--disk" },		{ set_parent, "--cgroup-parent" },
		{ set_tmpfs, "--tmpfs" },	{ set_cow, ":cow" },
		{ set_protect, "--protect" },	{ set_landlock_root, "--landlock" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct policy p;
		struct err e = { 0 };
		policy_init(&p);
		cases[i].set(&p);
		assert_int_equal(isolation_check(&p, &e), 0);
		p.isolation = ISOLATION_LANDLOCK;
		assert_int_equal(isolation_check(&p, &e), -1);
		assert_int_equal(e.kind, ERR_UNSUPPORTED);
		assert_memory_equal(e.text, cases[i].flag, strlen(cases[i].flag));
		assert_true(e.remedy[0]);
		policy_done(&p);
	}
}

static void test_options_that_need_no_namespaces_pass(void **state)
{
	struct policy p;
	struct err e;

	(void)state;
	policy_init(&p);
	p.isolation = ISOLATION_LANDLOCK;
	p.network = NETWORK_HOST;
	p.timeout_ms = 1;
	p.drops_all_caps = p.is_best_effort = p.is_interactive = true;
	list_add(&p.protects, ".git");
	policy_add_volume(&p, VOLUME_BIND, "-v")->is_writable = false;
	assert_int_equal(isolation_check(&p, &e), 0);
	policy_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(
			test_options_that_need_namespaces_are_refused_with_landlock_alone),
		cmocka_unit_test(test_options_that_need_no_namespaces_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
