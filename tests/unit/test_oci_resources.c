/* The resources object of a configuration as writes to files of cgroups, of both versions. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "oci/resources.h"
#include "policy/json/json.h"

static int read_text(const char *text, struct resources *ret, struct err *e)
{
	struct json_at root;
	AUTO_JSON struct json *doc = json_parse_wide(text, strlen(text), e);

	assert_non_null(doc);
	json_root(doc, "linux.resources", &root);
	return resources_read(&root, ret, e);
}

/* Each is the last write of the object. */
static const struct {
	const char *text, *file, *value, *v1, *v1_value;
} writes[] = {
	{ "{\"pids\":{\"limit\":7}}", "pids.max", "7", "pids/pids.max", "7" },
	{ "{\"cpu\":{\"quota\":5,\"period\":9}}", NULL, NULL, "cpu/cpu.cfs_quota_us",
	  "5" },
	{ "{\"hugepageLimits\":[{\"pageSize\":\"2MB\",\"limit\":4194304}]}",
	  "hugetlb.2MB.max", "4194304", "hugetlb/hugetlb.2MB.limit_in_bytes", "4194304" },
	{ "{\"network\":{\"classID\":4294967295}}", NULL, NULL, "net_cls/net_cls.classid",
	  "4294967295" },
	{ "{\"network\":{\"priorities\":[{\"name\":\"lo\",\"priority\":9}]}}", NULL, NULL,
	  "net_prio/net_prio.ifpriomap", "lo 9" },
	{ "{\"unified\":{\"a.b\":\"c\"}}", "a.b", "c", NULL, NULL },
	{ "{\"memory\":{\"kernel\":9}}", NULL, NULL, "memory/memory.kmem.limit_in_bytes",
	  "9" },
	{ "{\"cpu\":{\"realtimeRuntime\":7,\"realtimePeriod\":9}}", NULL, NULL,
	  "cpu/cpu.rt_runtime_us", "7" },
	{ "{\"cpu\":{\"realtimePeriod\":9}}", NULL, NULL, "cpu/cpu.rt_period_us", "9" },
	{ "{\"blockIO\":{\"weight\":10}}", "io.weight", "1", "blkio/blkio.weight", "10" },
	{ "{\"blockIO\":{\"weight\":10,\"leafWeight\":30}}", NULL, NULL,
	  "blkio/blkio.leaf_weight", "30" },
	{ "{\"blockIO\":{\"weightDevice\":[{\"major\":8,\"minor\":1,\"weight\":1000}]}}",
	  "io.weight", "8:1 10000", "blkio/blkio.weight_device", "8:1 1000" },
	{ "{\"blockIO\":{\"weightDevice\":[{\"major\":8,\"leafWeight\":20}]}}", NULL,
	  NULL, "blkio/blkio.leaf_weight_device", "8:0 20" },
	{ "{\"rdma\":{\"mlx5_1\":{\"hcaHandles\":2}}}", "rdma.max",
	  "mlx5_1 hca_handle=2 hca_object=max", "rdma/rdma.max",
	  "mlx5_1 hca_handle=2 hca_object=max" },
	{ "{\"cpu\":{}}", NULL, NULL, "cpuset", "" },
	{ "{\"memory\":{}}", NULL, NULL, "memory", "" },
};

static void assert_same(const char *found, const char *expected)
{
	assert_string_equal(found ? found : "none", expected ? expected : "none");
}

static void test_limits_become_writes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(writes); i++) {
		struct resources r;
		struct err e = { 0 };
		assert_int_equal(read_text(writes[i].text, &r, &e), 0);
		assert_true(r.count > 0);
		const struct resources_write *w = &r.writes[r.count - 1];
		assert_same(w->file, writes[i].file);
		assert_same(w->text, writes[i].value);
		assert_same(w->v1, writes[i].v1);
		assert_same(w->v1_text, writes[i].v1_value);
		resources_done(&r);
	}
}

static const struct {
	const char *text, *error;
} refused[] = {
	{ "{\"network\":{\"classID\":4294967296}}", "network.classID: a number of 32" },
	{ "{\"network\":{\"classID\":-1}}", "network.classID: a number of 32 bits" },
	{ "{\"network\":{\"priorities\":[{\"name\":\"a b\"}]}}", "priorities[0]: the" },
	{ "{\"network\":{\"priorities\":[{\"name\":\"a\\nb\"}]}}", "priorities[0]: the" },
	{ "{\"network\":{\"priorities\":[{\"priority\":1}]}}",
	  "priorities[0]: the name" },
	{ "{\"network\":{\"priorities\":[{\"name\":\"lo\",\"priority\":-1}]}}",
	  "priority of 32 bits" },
	{ "{\"hugepageLimits\":[{\"pageSize\":\"../x\",\"limit\":1}]}", "pageSize" },
	{ "{\"unified\":{\"a/b.c\":\"1\"}}", "CONTROLLER.VALUE" },
	{ "{\"rdma\":{\"a b\":{}}}", "the name of a device" },
};

static void test_refuses_with_the_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct resources r;
		struct err e = { 0 };
		assert_int_equal(read_text(refused[i].text, &r, &e), -1);
		if (!strstr(e.text, refused[i].error))
			fail_msg("case %zu: '%s' has no '%s'", i, e.text,
				 refused[i].error);
	}
}

/* Without its own file in cgroup v2 a limit of v1 is an error there, but for the quota, which
 * v2 has in the file of the period. */
static void test_where_v1_is_missing_its_limits_are_refused(void **state)
{
	static const char *const texts[] = {
		"{\"network\":{\"classID\":1}}",
		"{\"memory\":{\"swappiness\":0}}",
		"{\"memory\":{\"disableOOMKiller\":true}}",
		"{\"memory\":{\"kernelTCP\":1}}",
		"{\"memory\":{\"kernel\":1}}",
		"{\"cpu\":{\"realtimePeriod\":1}}",
		"{\"cpu\":{\"realtimeRuntime\":1}}",
		"{\"blockIO\":{\"leafWeight\":1}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct resources r;
		struct err e = { 0 };
		assert_int_equal(read_text(texts[i], &r, &e), 0);
		assert_int_equal(resources_apply(&r, "/", NULL, &e), -1);
		if (!strstr(e.text, "cgroup version 2 has no such limit"))
			fail_msg("case %zu: %s", i, e.text);
		resources_done(&r);
	}
}

static void test_no_demand_is_no_write(void **state)
{
	static const char *const texts[] = {
		"{\"memory\":{\"kernel\":0}}",
		"{\"cpu\":{\"realtimePeriod\":0,\"realtimeRuntime\":0}}",
		"{\"blockIO\":{\"weight\":0,\"leafWeight\":0,\"weightDevice\":[]}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct resources r;
		struct err e = { 0 };
		assert_int_equal(read_text(texts[i], &r, &e), 0);
		assert_int_equal(r.count, 0);
		resources_done(&r);
	}
}

/* Where no cgroup can be made, an object without limits is no error. */
static void test_an_empty_object_asks_for_no_limit(void **state)
{
	struct resources r;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(read_text("{\"cpu\":{},\"memory\":{}}", &r, &e), 0);
	assert_int_equal(r.count, 3);
	assert_int_equal(resources_apply(&r, "/", NULL, &e), 0);
	resources_done(&r);
}

static const struct {
	const char *text, *error; /* NULL: the limits may be written */
} checks[] = {
	{ "{\"memory\":{\"limit\":4096,\"checkBeforeUpdate\":true}}",
	  "linux.resources.memory.limit: the limit 4096 is not above the 4096 bytes in use" },
	{ "{\"memory\":{\"limit\":4097,\"checkBeforeUpdate\":true}}", NULL },
	{ "{\"memory\":{\"limit\":4096,\"checkBeforeUpdate\":false}}", NULL },
	{ "{\"memory\":{\"limit\":4096}}", NULL },
	{ "{\"memory\":{\"limit\":-1,\"checkBeforeUpdate\":true}}", NULL },
	{ "{\"memory\":{\"limit\":1,\"swap\":2,\"checkBeforeUpdate\":true}}",
	  "linux.resources.memory.swap: the limit 2 is not above" },
	{ "{\"memory\":{\"checkBeforeUpdate\":true}}", NULL },
};

static void check_row(size_t i, const char *folder)
{
	struct resources r;
	struct err e = { 0 };

	assert_int_equal(read_text(checks[i].text, &r, &e), 0);
	assert_int_equal(resources_check(&r, folder, &e), checks[i].error ? -1 : 0);
	if (checks[i].error)
		assert_non_null(strstr(e.text, checks[i].error));
	assert_int_equal(resources_check(&r, "/", &e), 0); /* lacks the controller */
	assert_int_equal(resources_check(&r, NULL, &e), 0);
	resources_done(&r);
}

static void test_a_limit_not_above_the_usage_is_refused_if_asked(void **state)
{
	char folder[] = "/tmp/oci_resources.XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(folder));
	AUTO_FREE char *path = text_format("%s/memory.current", folder);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "4096\n", 5), 5);
	for (size_t i = 0; i < ARRAY_LEN(checks); i++)
		check_row(i, folder);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits_become_writes),
		cmocka_unit_test(test_refuses_with_the_place),
		cmocka_unit_test(test_no_demand_is_no_write),
		cmocka_unit_test(test_a_limit_not_above_the_usage_is_refused_if_asked),
		cmocka_unit_test(test_an_empty_object_asks_for_no_limit),
		cmocka_unit_test(test_where_v1_is_missing_its_limits_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
