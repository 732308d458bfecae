/* landlock_rules: decides which paths a command may open.  No process is confined
 * here. */
#include "sandbox/landlock/landlock_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/policy.h"

#define OF_FOLDERS (LANDLOCK_READ_DIR | LANDLOCK_MAKE_REG | LANDLOCK_REMOVE_FILE | LANDLOCK_REFER)

static const struct landlock_rule *find(const struct landlock_rules *g, const char *path)
{
	for (size_t i = 0; i < g->count; i++)
		if (!strcmp(g->paths[i], path))
			return &g->rules[i];
	return NULL;
}

static void test_the_hosts_programs_are_read_and_nothing_else_is_open(void **state)
{
	static const char *const closed[] = {
		"/",	 "/etc", "/proc", "/proc/self", "/tmp",	       "/home",
		"/root", "/run", "/dev",  "/dev/shm",	"/etc/shadow", "/etc/resolv.conf"
	};
	struct policy p;
	struct landlock_rules g = { 0 };
	struct err e;

	(void)state;
	policy_init(&p);
	assert_int_equal(landlock_rules_build(&g, &p, &e), 0);
	assert_int_equal(find(&g, "/usr")->allowed,
			 LANDLOCK_EXECUTE | LANDLOCK_READ_FILE | LANDLOCK_READ_DIR);
	assert_int_equal(find(&g, "/dev/null")->allowed,
			 LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE | LANDLOCK_IOCTL_DEV);
	assert_int_equal(find(&g, "/etc/passwd")->allowed,
			 LANDLOCK_EXECUTE | LANDLOCK_READ_FILE);
	for (size_t i = 0; i < ARRAY_LEN(closed); i++)
		assert_null(find(&g, closed[i]));
	for (size_t i = 0; i < g.count; i++)
		if (strncmp(g.paths[i], "/dev/", 5))
			assert_int_equal(g.rules[i].allowed & LANDLOCK_WRITE_FILE, 0);
	landlock_rules_done(&g);
	policy_done(&p);
}

static struct volume *show(struct policy *p, enum volume_kind kind, const char *source,
			   const char *target)
{
	struct volume *v = policy_add_volume(p, kind, "-v");

	v->source = text_copy(source);
	v->target = text_copy(target);
	return v;
}

static void test_a_folder_is_granted_at_its_own_path_alone(void **state)
{
	char folder[] = "/tmp/hutch-test.XXXXXX";
	struct landlock_rules g = { 0 };
	struct policy p;
	struct err e;

	(void)state;
	assert_non_null(mkdtemp(folder));
	policy_init(&p);
	show(&p, VOLUME_BIND, folder, folder)->is_writable = true;
	assert_int_equal(landlock_rules_build(&g, &p, &e), 0);
	assert_true(find(&g, folder)->allowed & LANDLOCK_MAKE_REG);
	assert_int_equal(find(&g, folder)->allowed & (1ull << 6 | 1ull << 9 | 1ull << 11),
			 0);
	assert_null(g.workspace);
	landlock_rules_done(&g);
	policy_done(&p);

	(void)show(&p, VOLUME_BIND, folder, "/usr");
	assert_int_equal(landlock_rules_build(&g, &p, &e), -1);
	assert_int_equal(e.kind, ERR_UNSUPPORTED);
	landlock_rules_done(&g);
	policy_done(&p);

	(void)show(&p, VOLUME_WORKSPACE, folder, "/workspace");
	assert_int_equal(landlock_rules_build(&g, &p, &e), 0);
	assert_string_equal(g.workspace, folder);
	assert_int_equal(find(&g, folder)->allowed & LANDLOCK_WRITE_FILE, 0);
	landlock_rules_done(&g);
	policy_done(&p);
	assert_int_equal(rmdir(folder), 0);
}

static void test_a_file_gets_no_right_of_folders(void **state)
{
	char file[] = "/tmp/hutch-test.XXXXXX";
	struct landlock_rules g = { 0 };
	struct policy p;
	struct err e;

	(void)state;
	AUTO_CLOSE int fd = mkstemp(file);
	assert_true(fd >= 0);
	policy_init(&p);
	show(&p, VOLUME_BIND, file, file)->is_writable = true;
	assert_int_equal(landlock_rules_build(&g, &p, &e), 0);
	assert_int_equal(find(&g, file)->allowed & OF_FOLDERS, 0);
	assert_true(find(&g, file)->allowed & LANDLOCK_TRUNCATE);
	landlock_rules_done(&g);
	policy_done(&p);
	assert_int_equal(unlink(file), 0);
}

static void test_paths_of_the_kernel_and_of_hutch_are_refused(void **state)
{
	static const char *const refused[] = { "/", "/proc", "/proc/self", "/sys",
					       "/tmp" };
	struct policy p;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct landlock_rules g = { 0 };
		if (access(refused[i], F_OK) < 0)
			continue; /* the test may run in a sandbox, which has no /sys */
		policy_init(&p);
		(void)show(&p, VOLUME_WORKSPACE, refused[i], "/workspace");
		assert_int_equal(landlock_rules_build(&g, &p, &e), -1);
		assert_int_equal(e.kind, ERR_REFUSED);
		landlock_rules_done(&g);
		policy_done(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_the_hosts_programs_are_read_and_nothing_else_is_open),
		cmocka_unit_test(test_a_folder_is_granted_at_its_own_path_alone),
		cmocka_unit_test(test_a_file_gets_no_right_of_folders),
		cmocka_unit_test(test_paths_of_the_kernel_and_of_hutch_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
