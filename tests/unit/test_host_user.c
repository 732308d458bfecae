/* host_user: root becomes an ordinary user, so most tests run as root only, each in
 * a child, since the change cannot be undone. */
#include "sandbox/kernel/host_user.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <grp.h>
#include <sys/prctl.h>

#include "base/err.h"
#include "policy/policy.h"
#include "policy/volume.h"
#include "tests/unit/scene.h"

#define NOBODY 65534

static void needs_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("skipped: needs root\n");
	skip();
}

static void test_an_ordinary_caller_stays(void **state)
{
	struct policy p;
	struct host_user user;
	struct err e;

	(void)state;
	policy_init(&p);
	if (geteuid() == 0)
		skip();
	/* For a caller that is not root SUDO_UID means nothing. */
	assert_int_equal(setenv("SUDO_UID", "1", 1), 0);
	assert_int_equal(host_user_decide(&p, &user, &e), 0);
	assert_int_equal(user.uid, getuid());
	assert_int_equal(user.gid, getgid());
	assert_false(user.was_root);
	assert_string_equal(user.why, "caller");
	assert_int_equal(host_user_become(&user, &e), 0);
	assert_int_equal(unsetenv("SUDO_UID"), 0);
}

static const struct {
	const char *sudo_uid, *sudo_gid;
	/* Owner and group of the workspace; -1: there is no workspace. */
	int owner, group;
	uid_t uid;
	gid_t gid;
	const char *why;
} roots[] = {
	{ NULL, NULL, -1, -1, NOBODY, NOBODY, "nobody" },
	{ "1234", "1235", -1, -1, 1234, 1235, "SUDO_UID" },
	{ "1234", NULL, -1, -1, 1234, NOBODY, "SUDO_UID" },
	{ "1234", "0", -1, -1, 1234, NOBODY, "SUDO_UID" },
	{ "1234", "1235", 1300, 1301, 1234, 1235, "SUDO_UID" },
	{ "0", "0", 1300, 1301, 1300, 1301, "owner of the workspace" },
	{ "0", "1235", -1, -1, NOBODY, NOBODY, "nobody" },
	{ "", "", 1300, 1301, 1300, 1301, "owner of the workspace" },
	{ "12x", "1235", 1300, 0, 1300, NOBODY, "owner of the workspace" },
	{ "-1", "-1", -1, -1, NOBODY, NOBODY, "nobody" },
	{ "4294967295", "1", -1, -1, NOBODY, NOBODY, "nobody" },
	{ "4294967296", "1", -1, -1, NOBODY, NOBODY, "nobody" },
	{ NULL, NULL, 0, 0, NOBODY, NOBODY, "nobody" },
	{ NULL, NULL, 0, 1301, NOBODY, NOBODY, "nobody" },
};

static void set_or_not(const char *name, const char *value)
{
	assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static void test_root_stands_for_the_user_of_sudo_or_of_the_workspace(void **state)
{
	needs_root();
	scene_dir(state, "w");
	AUTO_FREE char *path = scene_path(state, "w");
	for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
		struct policy p;
		struct host_user user;
		struct err e;
		policy_init(&p);
		set_or_not("SUDO_UID", roots[i].sudo_uid);
		set_or_not("SUDO_GID", roots[i].sudo_gid);
		if (roots[i].owner >= 0) {
			assert_int_equal(chown(path, (uid_t)roots[i].owner,
					       (gid_t)roots[i].group), 0);
			assert_int_equal(volume_parse_workspace(&p, path, &e), 0);
		}
		assert_int_equal(host_user_decide(&p, &user, &e), 0);
		assert_true(user.was_root);
		assert_int_equal(user.uid, roots[i].uid);
		assert_int_equal(user.gid, roots[i].gid);
		assert_string_equal(user.why, roots[i].why);
		policy_done(&p);
	}
}

static void play_become(void *arg)
{
	const struct host_user user = { .uid = 1234, .gid = 1235, .was_root = true };
	gid_t groups[] = { 0, 4, 27 }, g[3];
	struct stat st;
	uid_t u[3];
	struct err e;

	(void)arg;
	CHECK(setgroups(3, groups) == 0);
	CHECK(host_user_become(&user, &e) == 0);
	CHECK(getresuid(&u[0], &u[1], &u[2]) == 0 && getresgid(&g[0], &g[1], &g[2]) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(u[i] == 1234 && g[i] == 1235);
	CHECK(getgroups(0, NULL) == 0);
	/* The process is dumpable, so its files in /proc belong to its user. */
	CHECK(prctl(PR_GET_DUMPABLE) == 1);
	CHECK(stat("/proc/self/environ", &st) == 0 && st.st_uid == 1234);
	/* The process cannot become root again. */
	CHECK(setuid(0) < 0 && setgid(0) < 0 && setgroups(1, groups) < 0);
	CHECK(open("/proc/1/environ", O_RDONLY) < 0);
	CHECK(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, 21, 0, 0) == 0);
	struct err again;
	CHECK(host_user_become(&user, &again) < 0);
}

static void test_root_drops_everything(void **state)
{
	(void)state;
	needs_root();
	scene_child(play_become, NULL);
}

static void play_setuid(void *arg)
{
	struct policy p;
	struct host_user user;
	struct err e;

	(void)arg;
	policy_init(&p);
	CHECK(setresuid(1234, 0, 0) == 0);
	CHECK(host_user_decide(&p, &user, &e) < 0 && e.kind == ERR_REFUSED);
	CHECK(setresuid(0, 0, 0) == 0 && setresgid(0, 1235, 1235) == 0);
	CHECK(host_user_decide(&p, &user, &e) < 0 && strstr(e.text, "setuid or setgid"));
}

static void test_a_setuid_hutch_refuses_to_work(void **state)
{
	(void)state;
	needs_root();
	scene_child(play_setuid, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_ordinary_caller_stays),
		cmocka_unit_test(
			test_root_stands_for_the_user_of_sudo_or_of_the_workspace),
		cmocka_unit_test(test_root_drops_everything),
		cmocka_unit_test(test_a_setuid_hutch_refuses_to_work),
	};

	return cmocka_run_group_tests(tests, scene_setup, scene_teardown);
}
