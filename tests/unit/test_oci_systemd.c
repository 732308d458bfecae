/* systemd: cgroupsPath as the name of a scope, and limits as its properties. */
#include "oci/systemd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "oci/resources.h"
#include "policy/json/json.h"

static void test_a_path_is_a_slice_a_prefix_and_a_name(void **state)
{
	static const struct {
		const char *path, *slice, *name;
	} rows[] = {
		{ "machine.slice:libpod:abc", "machine.slice", "libpod-abc.scope" },
		{ "kubepods-pod1.slice:cri-containerd:abc", "kubepods-pod1.slice",
		  "cri-containerd-abc.scope" },
		{ "a.slice::abc", "a.slice", "abc.scope" },
		{ "-.slice:x:abc", "-.slice", "x-abc.scope" },
	};
	struct systemd_scope s;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(systemd_read(rows[i].path, "id", &s, &e), 0);
		assert_string_equal(s.slice, rows[i].slice);
		assert_string_equal(s.name, rows[i].name);
		systemd_done(&s);
	}
	assert_int_equal(systemd_read(":x:abc", "id", &s, &e), 0);
	assert_non_null(strstr(s.slice, ".slice"));
	systemd_done(&s);
	assert_int_equal(systemd_read(NULL, "id", &s, &e), 0);
	assert_string_equal(s.name, "hutch-oci-id.scope");
	systemd_done(&s);
}

static void test_another_form_or_letter_is_refused(void **state)
{
	static const char *const rows[] = {
		"/a/b",		 "a.slice:b",	  "a.slice:b:",	      "a.slice:b:c:d",
		"a:b:c",	 ".slice:b:c",	  "a/../b.slice:c:d", "a.slice:b/c:d",
		"a.slice:b:c/d", "a.slice:b:c d", "a.slice:b:\n",     "a.slice:b:c+d",
	};
	struct systemd_scope s;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(systemd_read(rows[i], "id", &s, &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
	}
	assert_int_equal(systemd_read("", "a+b", &s, &e), -1);
}

static void test_limits_are_properties_too(void **state)
{
	static const char text[] =
		"{\"memory\": {\"limit\": 67108864, \"swap\": -1}, "
		"\"cpu\": {\"quota\": 50000, \"period\": 100000, \"shares\": 1024, "
		"\"cpus\": \"0-3,7\"}, \"pids\": {\"limit\": 0}, "
		"\"unified\": {\"memory.low\": \"64M\", \"io.weight\": \"50\", "
		"\"memory.high\": \"1\"}}";
	static const char *const expected[] = {
		"MemoryMax=67108864",
		"MemorySwapMax=infinity",
		"CPUWeight=39",
		"CPUQuotaPerSecUSec=500000",
		"CPUQuotaPeriodUSec=100000",
		"AllowedCPUs=0-3,7",
		"TasksMax=infinity",
		"IOWeight=50",
	};
	struct list words = { 0 };
	struct resources r;
	struct json_at root;
	struct err e;

	(void)state;
	AUTO_JSON struct json *doc = json_parse_wide(text, strlen(text), &e);
	assert_non_null(doc);
	json_root(doc, "resources", &root);
	assert_int_equal(resources_read(&root, &r, &e), 0);
	systemd_properties(&r, &words);
	assert_int_equal(words.count, ARRAY_LEN(expected));
	for (size_t i = 0; i < words.count; i++)
		assert_string_equal(words.items[i], expected[i]);
	list_done(&words);
	resources_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_path_is_a_slice_a_prefix_and_a_name),
		cmocka_unit_test(test_another_form_or_letter_is_refused),
		cmocka_unit_test(test_limits_are_properties_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
