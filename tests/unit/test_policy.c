#include "policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/own.h"
#include "policy/volume.h"

static void start(struct policy *p)
{
	policy_init(p);
	list_add(&p->argv, "true");
}

static const struct {
	/* says: part of the error; NULL: mounting there is allowed. */
	const char *target, *says;
} targets[] = {
	{ "/data", NULL },	    { "/procs", NULL },
	{ "/system", NULL },	    { "/dev/null", NULL },
	{ "/dev/ptsx", NULL },	    { "/etc", NULL },
	{ "/", "--image" },	    { "/dev", "--image" },
	{ "/proc", "/proc is" },    { "/proc/sys", "/proc is" },
	{ "/sys", "/sys is" },	    { "/sys/fs/cgroup", "/sys is" },
	{ "/dev/pts", "/dev/pts is" }, { "/dev/pts/0", "/dev/pts is" },
	{ "/dev/shm", "/dev/shm is" }, { "/./proc//", "/proc is" },
};

static void test_where_nothing_may_be_mounted(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
		struct policy p;
		struct err e = { 0 };
		start(&p);
		assert_int_equal(volume_parse_tmpfs(&p, targets[i].target, &e), 0);
		assert_int_equal(policy_check(&p, &e), targets[i].says ? -1 : 0);
		if (targets[i].says) {
			assert_non_null(strstr(e.text, targets[i].says));
			assert_non_null(strstr(e.text, "(from --tmpfs /"));
		}
		policy_done(&p);
	}
}

static void test_two_mounts_at_one_place_are_an_error(void **state)
{
	struct policy p;
	struct err e;

	(void)state;
	start(&p);
	assert_int_equal(volume_parse_tmpfs(&p, "/z", &e), 0);
	assert_int_equal(volume_parse_bind(&p, "/tmp:/a/b", &e), 0);
	assert_int_equal(volume_parse_tmpfs(&p, "/a", &e), 0);
	assert_int_equal(policy_check(&p, &e), 0);
	assert_int_equal(volume_parse_tmpfs(&p, "/a//b/", &e), 0);
	assert_int_equal(policy_check(&p, &e), -1);
	assert_non_null(strstr(e.text, "-v /tmp:/a/b"));
	assert_non_null(strstr(e.text, "--tmpfs /a//b/"));
	policy_done(&p);
}

static void test_a_name_needs_a_copy_on_write_folder(void **state)
{
	struct policy p;
	struct err e;

	(void)state;
	start(&p);
	p.name = text_copy("tidy");
	assert_int_equal(volume_parse_bind(&p, "/tmp:/a", &e), 0);
	assert_int_equal(policy_check(&p, &e), -1);
	assert_non_null(strstr(e.text, "--name names the changes"));
	assert_non_null(strstr(e.remedy, "hutch create tidy "));
	assert_int_equal(volume_parse_bind(&p, "/tmp:/b:cow", &e), 0);
	assert_int_equal(policy_check(&p, &e), 0);
	policy_done(&p);
}

static void test_hostnames(void **state)
{
	static const struct {
		const char *name;
		int result;
	} names[] = {
		{ "a", 0 },
		{ "A-1.b", 0 },
		{ "", -1 },
		{ "-a", -1 },
		{ "a-", -1 },
		{ ".a", -1 },
		{ "a.", -1 },
		{ "a b", -1 },
		{ "a\n", -1 },
		{ "a/b", -1 },
		{ "\xc3\xa4", -1 },
		{ "a_b", -1 },
		{ "012345678901234567890123456789012345678901234567890123456789012", 0 },
		{ "0123456789012345678901234567890123456789012345678901234567890123",
		  -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct policy p;
		struct err e;
		start(&p);
		p.hostname = text_copy(names[i].name);
		assert_int_equal(policy_check(&p, &e), names[i].result);
		policy_done(&p);
	}
}

static void test_capabilities_that_reach_the_init_are_refused(void **state)
{
	static const int refused[] = { 19, 21, 23, 24 };

	(void)state;
	for (int n = 0; n < 41; n++) {
		struct policy p;
		struct err e;
		bool is_refused = false;
		for (size_t i = 0; i < ARRAY_LEN(refused); i++)
			is_refused = is_refused || refused[i] == n;
		start(&p);
		p.cap_add = 1ull << n;
		assert_int_equal(policy_check(&p, &e), is_refused ? -1 : 0);
		policy_done(&p);
	}
}

static const struct {
	enum image_kind image;
	enum idmap_mode idmap;
	const char *user;
	int uid, gid;	  /* -1: refused */
	const char *says;
} users[] = {
	{ IMAGE_HOST, IDMAP_SINGLE, NULL, 1000, 1000, NULL },
	{ IMAGE_DIR, IDMAP_SINGLE, NULL, 0, 0, NULL },
	{ IMAGE_HOST, IDMAP_SINGLE, "root", 0, 0, NULL },
	{ IMAGE_HOST, IDMAP_SINGLE, "0", 0, 0, NULL },
	{ IMAGE_DIR, IDMAP_SINGLE, "agent", 1000, 1000, NULL },
	{ IMAGE_DIR, IDMAP_SINGLE, "1000:1000", 1000, 1000, NULL },
	{ IMAGE_HOST, IDMAP_RANGES, "65535", 65535, 65535, NULL },
	{ IMAGE_HOST, IDMAP_RANGES, "33:root", 33, 0, NULL },
	{ IMAGE_HOST, IDMAP_SINGLE, "33", 33, 33, NULL },
	{ IMAGE_HOST, IDMAP_SINGLE, "10001:7", 10001, 7, NULL },
	{ IMAGE_HOST, IDMAP_SINGLE, "agent:root", 1000, 0, NULL },
	{ IMAGE_HOST, IDMAP_SINGLE, "2147483647", 2147483647, 2147483647, NULL },
	{ IMAGE_HOST, IDMAP_SINGLE, "2147483648", -1, -1, "not '2147483648'" },
	{ IMAGE_HOST, IDMAP_RANGES, "65536", -1, -1, "not '65536'" },
	{ IMAGE_HOST, IDMAP_RANGES, "", -1, -1, "-u takes" },
	{ IMAGE_HOST, IDMAP_RANGES, ":5", -1, -1, "-u takes" },
	{ IMAGE_HOST, IDMAP_RANGES, "5:", -1, -1, "-u takes" },
	{ IMAGE_HOST, IDMAP_RANGES, "5:6:7", -1, -1, "-u takes" },
	{ IMAGE_HOST, IDMAP_RANGES, "nobody", 65534, 65534, NULL },
	{ IMAGE_HOST, IDMAP_RANGES, "nobody:tty", 65534, 5, NULL },
	{ IMAGE_HOST, IDMAP_SINGLE, "nobody", 65534, 65534, NULL },
	{ IMAGE_HOST, IDMAP_RANGES, "tty", -1, -1, "-u takes" },
	{ IMAGE_HOST, IDMAP_RANGES, "daemon", -1, -1, "-u takes" },
	{ IMAGE_HOST, IDMAP_RANGES, "-1", -1, -1, "-u takes" },
};

static void test_a_command_can_be_a_user_of_the_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(users); i++) {
		struct policy p;
		struct err e = { 0 };
		uint32_t uid = 7, gid = 7;
		start(&p);
		p.image = users[i].image;
		p.idmap = users[i].idmap;
		p.user = users[i].user ? text_copy(users[i].user) : NULL;
		int result = policy_user(&p, &uid, &gid, &e);
		assert_int_equal(policy_check(&p, NULL), result);
		assert_int_equal(result, users[i].says ? -1 : 0);
		assert_int_equal(uid, users[i].says ? 7 : users[i].uid);
		assert_int_equal(gid, users[i].says ? 7 : users[i].gid);
		if (users[i].says)
			assert_non_null(strstr(e.text, users[i].says));
		policy_done(&p);
	}
}

static void test_a_command_is_needed(void **state)
{
	struct policy p;
	struct err e;

	(void)state;
	policy_init(&p);
	assert_int_equal(policy_check(&p, &e), -1);
	assert_non_null(strstr(e.text, "no command"));
	list_add(&p.argv, "");
	assert_int_equal(policy_check(&p, &e), -1);
	assert_non_null(strstr(e.text, "empty word"));
	policy_done(&p);
	policy_done(&p);
	policy_done(NULL);
}

static void test_a_terminal_and_inherited_stdio_exclude_each_other(void **state)
{
	struct policy p;
	struct err e;

	(void)state;
	start(&p);
	p.has_terminal = true;
	assert_int_equal(policy_check(&p, &e), 0);
	p.inherits_stdio = true;
	assert_int_equal(policy_check(&p, &e), -1);
	policy_done(&p);
}

static const struct {
	const char *volume;
	bool is_lenient, is_refused;
} shown[] = {
	{ "/tmp:/a:rw", false, true },
	{ "/tmp:/a", false, true }, /* rw is the default */
	{ "/tmp:/a:ro", false, false },
	{ "/tmp:/a:rw", true, false },
};

static void test_disk_needs_folders_that_can_be_bounded(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
		struct policy p;
		struct err e = { 0 };
		start(&p);
		assert_int_equal(volume_parse_tmpfs(&p, "/t", &e), 0);
		assert_int_equal(volume_parse_bind(&p, shown[i].volume, &e), 0);
		p.is_best_effort = shown[i].is_lenient;
		assert_int_equal(policy_check(&p, &e), 0);
		p.limits.disk = 1 << 20;
		assert_int_equal(policy_check(&p, &e), shown[i].is_refused ? -1 : 0);
		if (shown[i].is_refused) {
			assert_int_equal(e.kind, ERR_UNSUPPORTED);
			assert_non_null(strstr(e.text, "/a"));
			assert_non_null(strstr(e.text, "(from -v "));
			assert_non_null(strstr(e.remedy, "--best-effort"));
		}
		policy_done(&p);
	}
}

static void test_limits_of_the_table_need_a_cgroup(void **state)
{
	struct policy p;

	(void)state;
	start(&p);
	p.limits.disk = 1 << 20; /* --disk is the size of a tmpfs and needs no cgroup */
	p.is_best_effort = true;
	assert_false(policy_wants_cgroup(&p));
	p.limits.memory = 1;
	assert_true(policy_wants_cgroup(&p));
	p.limits = (struct limits){ .pids = 1 };
	assert_true(policy_wants_cgroup(&p));
	p.limits = (struct limits){ .cpus = 1 };
	assert_true(policy_wants_cgroup(&p));
	p.limits = (struct limits){ 0 };
	p.cgroup_parent = text_copy("/x");
	assert_true(policy_wants_cgroup(&p));
	policy_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_where_nothing_may_be_mounted),
		cmocka_unit_test(test_two_mounts_at_one_place_are_an_error),
		cmocka_unit_test(test_a_name_needs_a_copy_on_write_folder),
		cmocka_unit_test(test_hostnames),
		cmocka_unit_test(test_capabilities_that_reach_the_init_are_refused),
		cmocka_unit_test(test_a_command_can_be_a_user_of_the_table),
		cmocka_unit_test(test_a_command_is_needed),
		cmocka_unit_test(test_a_terminal_and_inherited_stdio_exclude_each_other),
		cmocka_unit_test(test_disk_needs_folders_that_can_be_bounded),
		cmocka_unit_test(test_limits_of_the_table_need_a_cgroup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
