/* limits: sizes the file systems in memory of a plan after --memory and --disk. */
#include "sandbox/plan/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/policy.h"
#include "sandbox/plan/plan.h"

#define MIB (1ull << 20)

struct sizes {
	struct limits limits;
	const char *root, *shm, *dev, *sized;
};

/* The expected sizes: three of these tmpfs share the limit, and /dev is small, since
 * it holds no files. */
static const struct sizes all_sizes[] = {
	{ { .disk = 8 * MIB },
	  "size=8388608,nr_inodes=3072", "size=8388608,nr_inodes=3072,mode=1777",
	  "size=64k,mode=0755", "size=3145728,nr_inodes=1792,mode=1777" },
	{ { .memory = 48 * MIB },
	  "size=7340032,nr_inodes=2816", "size=7340032,nr_inodes=2816,mode=1777",
	  "size=64k,mode=0755", "size=3145728,nr_inodes=1792,mode=1777" },
	{ { .memory = 48 * MIB, .disk = 1 * MIB },
	  "size=1048576,nr_inodes=1280", "size=1048576,nr_inodes=1280,mode=1777",
	  "size=64k,mode=0755", "size=3145728,nr_inodes=1792,mode=1777" },
	{ { .pids = 1, .cpus = 1 },
	  "size=25%,nr_inodes=1m", "size=25%,mode=1777",
	  "size=64k,mode=0755", "size=3145728,mode=1777" },
};

static void build(struct plan *p, const struct policy *policy)
{
	plan_init(p);
	plan_add(p, STEP_ROOT, "/")->data = text_copy("size=25%,nr_inodes=1m");
	plan_add(p, STEP_TMPFS, "/dev")->data = text_copy("size=64k,mode=0755");
	plan_add(p, STEP_TMPFS, "/dev/shm")->data = text_copy("size=25%,mode=1777");
	plan_add(p, STEP_TMPFS, "/x")->data = text_copy("size=3145728,mode=1777");
	plan_add(p, STEP_FILE, "/f")->data = text_copy("size=25%");
	limits_plan(p, policy);
}

static void test_logs_are_an_eighth_of_memory_at_most(void **state)
{
	static const struct {
		uint64_t memory;
		bool has_ranges;
		const char *data;
	} rows[] = {
		{ 0, false, "size=268435456,nr_inodes=1024,mode=0755" },
		{ 4096 * MIB, false, "size=268435456,nr_inodes=1024,mode=0755" },
		{ 64 * MIB, false, "size=8388608,nr_inodes=1024,mode=0755" },
		{ 0, true,
		  "size=268435456,nr_inodes=1024,mode=0755,uid=65536,gid=65536" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct policy policy;
		struct plan p;
		policy_init(&policy);
		policy.limits.memory = rows[i].memory;
		plan_init(&p);
		p.has_ranges = rows[i].has_ranges;
		limits_plan_logs(&p, &policy);
		limits_plan(&p, &policy); /* the step stays unchanged */
		assert_int_equal(p.steps[0].kind, STEP_LOGS);
		assert_string_equal(p.steps[0].target, "/run/hutch/log");
		assert_string_equal(p.steps[0].data, rows[i].data);
		plan_done(&p);
		policy_done(&policy);
	}
}

static void test_each_tmpfs_gets_its_share(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all_sizes); i++) {
		const struct sizes *s = &all_sizes[i];
		struct policy policy;
		struct plan p;
		policy_init(&policy);
		policy.limits = s->limits;
		build(&p, &policy);
		assert_string_equal(p.steps[0].data, s->root);
		assert_string_equal(p.steps[1].data, s->dev);
		assert_string_equal(p.steps[2].data, s->shm);
		assert_string_equal(p.steps[3].data, s->sized);
		assert_string_equal(p.steps[4].data, "size=25%");
		plan_done(&p);
		policy_done(&policy);
	}
}

/* The limit is more than four times any machine's memory, so the default bound
 * stays. */
static void test_a_large_limit_takes_nothing_away(void **state)
{
	struct policy policy;
	struct plan p;

	(void)state;
	policy_init(&policy);
	policy.limits.disk = UINT64_MAX / 2;
	build(&p, &policy);
	uint64_t size = strtoull(p.steps[0].data + strlen("size="), NULL, 10);
	assert_true(size > MIB && size < 1ull << 50);
	assert_non_null(strstr(p.steps[0].data, ",nr_inodes="));
	plan_done(&p);
	policy_done(&policy);
}

static void test_a_large_folder_has_a_million_files_at_most(void **state)
{
	struct policy policy;
	struct plan p;

	(void)state;
	policy_init(&policy);
	plan_init(&p);
	policy.limits.disk = MIB;
	plan_add(&p, STEP_TMPFS, "/x")->data = text_copy("size=1t");
	limits_plan(&p, &policy);
	assert_string_equal(p.steps[0].data, "size=1099511627776,nr_inodes=1048576");
	plan_done(&p);
	policy_done(&policy);
}

static void test_a_place_for_the_cgroup(void **state)
{
	struct policy policy;
	struct plan p;
	struct stat st;
	struct err e;

	(void)state;
	policy_init(&policy);
	policy.limits.disk = 8 * MIB;
	build(&p, &policy);
	assert_int_equal(p.count, 5); /* no cgroup is planned */
	plan_done(&p);

	policy.limits.pids = 5;
	build(&p, &policy);
	assert_int_equal(p.count, 6);
	const struct step *s = &p.steps[5];
	assert_int_equal(s->kind, STEP_CGROUP);
	assert_string_equal(s->target, "/sys/fs/cgroup");
	assert_null(s->source);
	assert_int_equal(limits_show_cgroup(&p, "/nonesuch", &e), -1);
	assert_null(s->source);
	assert_int_equal(limits_show_cgroup(&p, "/tmp", &e), 0);
	assert_int_equal(stat("/tmp", &st), 0);
	assert_string_equal(s->source, "/tmp");
	assert_true(s->dev == st.st_dev && s->ino == st.st_ino && s->is_dir);
	assert_int_equal(s->attr, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
					  MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	plan_done(&p);
	policy_done(&policy);
}

static void test_processes_are_counted_with_the_executor(void **state)
{
	struct plan p;

	(void)state;
	plan_init(&p);
	p.rlimits[0] = (struct exec_rlimit){ RLIMIT_CORE, 1, 1 };
	p.rlimits[1] = (struct exec_rlimit){ RLIMIT_NPROC, 100, 200 };
	p.rlimit_count = 2;
	limits_count_processes(&p, 150);
	assert_int_equal(p.rlimits[1].soft, 100);
	assert_int_equal(p.rlimits[1].hard, 151);
	limits_count_processes(&p, 8);
	assert_int_equal(p.rlimits[1].soft, 9);
	assert_int_equal(p.rlimits[1].hard, 9);
	assert_int_equal(p.rlimits[0].hard, 1);
	plan_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_logs_are_an_eighth_of_memory_at_most),
		cmocka_unit_test(test_each_tmpfs_gets_its_share),
		cmocka_unit_test(test_a_large_limit_takes_nothing_away),
		cmocka_unit_test(test_a_large_folder_has_a_million_files_at_most),
		cmocka_unit_test(test_a_place_for_the_cgroup),
		cmocka_unit_test(test_processes_are_counted_with_the_executor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
