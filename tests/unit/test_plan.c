/* plan: tests properties of a launch's plan that hold on any host. */
#include "sandbox/plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/capability.h>

#include "base/err.h"
#include "base/kernel.h"
#include "policy/policy.h"
#include "policy/volume.h"
#include "sandbox/kernel/host_user.h"
#include "sandbox/kernel/landlock.h"
#include "sandbox/plan/image.h"
#include "tests/unit/scene.h"
#include "tests/unit/world.h"

static int build(struct world *w)
{
	const struct host_user user = { .uid = geteuid() ? geteuid() : 65534,
					.gid = getegid() ? getegid() : 65534 };

	return plan_build(&w->plan, &w->policy, &user, &w->e);
}

static void use_image(struct world *w, const char *path)
{
	w->policy.image = IMAGE_DIR;
	w->policy.image_path = text_copy(path);
}

static bool is_below(const char *path, const char *dir)
{
	return !strncmp(path, dir, strlen(dir)) && strchr("/", path[strlen(dir)]);
}

/* Only devices are writable. */
static void check_bind(const struct step *s)
{
	static const char *const shown[] = { "/usr",   "/bin",	 "/sbin",   "/lib",
					     "/lib32", "/lib64", "/libx32", "/nix/store",
					     "/etc",   "/dev" };
	bool is_shown = false;

	for (size_t i = 0; i < ARRAY_LEN(shown); i++)
		is_shown = is_shown || is_below(s->source, shown[i]);
	if (!is_shown || !s->ino || !(s->attr & MOUNT_ATTR_RDONLY) ||
	    !(s->attr & MOUNT_ATTR_NOSUID))
		fail_msg("%s at %s", s->source, s->target);
	if (is_below(s->source, "/dev"))
		assert_true(s->attr & MOUNT_ATTR_NOEXEC);
	else
		assert_true(s->attr & MOUNT_ATTR_NODEV);
}

static void test_the_host_image_shows_programs_read_only_and_nothing_else(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w);
	assert_int_equal(build(&w), 0);
	for (size_t i = 0; i < w.plan.count; i++) {
		const struct step *s = &w.plan.steps[i];
		assert_int_equal(s->target[0], '/');
		assert_null(strstr(s->target, "/.."));
		if (s->kind == STEP_BIND)
			check_bind(s);
		else
			assert_null(s->source);
	}
	world_done(&w);
}

static void test_secret_files_of_etc_stay_out(void **state)
{
	static const char *const secrets[] = {
		"/etc",	       "/etc/shadow",	  "/etc/gshadow",
		"/etc/ssh",    "/etc/machine-id", "/etc/fstab",
		"/etc/passwd", "/etc/hosts",	  "/etc/resolv.conf"
	};
	struct world w;

	(void)state;
	world_begin(&w);
	assert_int_equal(build(&w), 0);
	for (size_t i = 0; i < ARRAY_LEN(secrets); i++)
		assert_null(world_find(&w, STEP_BIND, secrets[i]));
	const char *passwd = world_find(&w, STEP_FILE, "/etc/passwd")->data;
	assert_non_null(strstr(passwd, "agent:x:1000:1000:"));
	const char *resolv = world_find(&w, STEP_FILE, "/etc/resolv.conf")->data;
	assert_null(strstr(resolv, "nameserver"));
	const char *hosts = world_find(&w, STEP_FILE, "/etc/hosts")->data;
	assert_non_null(strstr(hosts, "localhost hutch"));
	world_done(&w);
}

/* The safety of a plan depends on its order: a root comes first and its seal last,
 * procfs before the masks in it, and a mount point before its mount. */
static void test_the_order_of_steps(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w);
	assert_int_equal(build(&w), 0);
	assert_int_equal(w.plan.steps[0].kind, STEP_ROOT);
	assert_int_equal(w.plan.steps[w.plan.count - 1].kind, STEP_SEAL);
	const struct step *proc = world_find(&w, STEP_PROC, "/proc");
	assert_true(world_find(&w, STEP_DIR, "/proc") < proc);
	assert_true(proc < world_find(&w, STEP_MASK, "/proc/keys"));
	assert_true(proc < world_find(&w, STEP_READONLY, "/proc/sys"));
	assert_true(world_find(&w, STEP_DIR, "/dev/pts") <
		    world_find(&w, STEP_DEVPTS, "/dev/pts"));
	assert_non_null(world_find(&w, STEP_SCRATCH, "/workspace"));
	assert_non_null(world_find(&w, STEP_SCRATCH, "/home/agent"));
	assert_non_null(world_find(&w, STEP_SCRATCH, "/dev/shm"));
	world_done(&w);
}

static void test_a_read_only_root_leaves_shm_alone_writable(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w);
	w.policy.is_read_only = true;
	assert_int_equal(build(&w), 0);
	for (size_t i = 0; i < w.plan.count; i++)
		if (w.plan.steps[i].kind == STEP_SCRATCH)
			assert_string_equal(w.plan.steps[i].target, "/dev/shm");
	world_done(&w);
}

static void test_the_defaults(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w);
	assert_int_equal(build(&w), 0);
	assert_int_equal(w.plan.uid, 1000);
	assert_int_equal(w.plan.caps, 0);
	assert_int_equal(plan_executor_caps(&w.plan), 0);
	assert_int_equal(w.plan.ids.uid_count, 1);
	assert_int_not_equal(w.plan.ids.uids[0].outside, 0);
	assert_string_equal(w.plan.hostname, "hutch");
	assert_string_equal(w.plan.workdir, "/workspace");
	assert_string_equal(list_get_env(&w.plan.env, "HOME"), "/home/agent");
	const uint64_t all = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
			     CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
	assert_int_equal(w.plan.namespaces, all);
	assert_false(w.plan.hides_abstract || w.plan.refuses_unix || w.plan.has_ranges);
	world_done(&w);
}

/* With the host's network the host's abstract sockets would be in reach, so the plan
 * must add Landlock's scope or a filter against them. */
static void test_with_the_hosts_network_a_wall_is_added(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w);
	w.policy.network = NETWORK_HOST;
	assert_int_equal(build(&w), 0);
	assert_int_equal(w.plan.namespaces & CLONE_NEWNET, 0);
	assert_true(w.plan.hides_abstract != w.plan.refuses_unix);
	assert_int_equal(w.plan.hides_abstract, landlock_abi() >= LANDLOCK_ABI_SCOPES);
	world_done(&w);
}

static void test_the_second_wall_stands_where_the_kernel_has_it(void **state)
{
	const bool has_it = landlock_abi() >= LANDLOCK_ABI_REFER;
	static const enum landlock_root_mode modes[] = { LANDLOCK_ROOT_AUTO,
							 LANDLOCK_ROOT_ON,
							 LANDLOCK_ROOT_OFF };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		struct world w;
		world_begin(&w);
		w.policy.landlock_root = modes[i];
		bool fails = modes[i] == LANDLOCK_ROOT_ON && !has_it;
		assert_int_equal(build(&w), fails ? -1 : 0);
		assert_int_equal(w.plan.has_landlock_root,
				 has_it && modes[i] != LANDLOCK_ROOT_OFF);
		world_done(&w);
	}
}

static void test_the_executor_holds_more_with_ranges_only(void **state)
{
	struct plan p;

	(void)state;
	plan_init(&p);
	p.root_caps = 1ull << CAP_CHOWN;
	assert_int_equal(plan_executor_caps(&p), 1ull << CAP_CHOWN);
	p.has_ranges = true;
	assert_int_equal(plan_executor_caps(&p), 1ull << CAP_CHOWN | 1ull << CAP_SETUID |
							 1ull << CAP_SETGID |
							 1ull << CAP_KILL);
	plan_done(&p);
	plan_done(NULL);
}

static void test_a_folder_as_an_image(void **state)
{
	struct world w;

	scene_dir(state, "image");
	scene_dir(state, "image/bin");
	scene_dir(state, "image/proc");
	scene_file(state, "image/bin/bash", "");
	AUTO_FREE char *path = scene_path(state, "image");
	AUTO_FREE char *bash = scene_path(state, "image/bin/bash");
	assert_int_equal(chmod(bash, 0755), 0);
	world_begin(&w);
	use_image(&w, path);
	assert_int_equal(build(&w), 0);
	assert_int_equal(w.plan.steps[0].kind, STEP_OVERLAY);
	assert_string_equal(w.plan.steps[0].source, path);
	assert_null(world_find(&w, STEP_SEAL, "/"));
	assert_int_equal(w.plan.uid, 0);
	assert_string_equal(list_get_env(&w.plan.env, "SHELL"), "/bin/bash");
	world_done(&w);

	world_begin(&w);
	use_image(&w, path);
	w.policy.is_read_only = true;
	assert_int_equal(build(&w), 0);
	assert_int_equal(w.plan.steps[0].kind, STEP_ROOT);
	const struct step *bin = world_find(&w, STEP_BIND, "/bin");
	assert_true(bin && (bin->attr & MOUNT_ATTR_RDONLY) &&
		    (bin->attr & MOUNT_ATTR_NODEV));
	assert_null(world_find(&w, STEP_BIND, "/proc"));
	assert_int_equal(w.plan.steps[w.plan.count - 1].kind, STEP_SEAL);
	world_done(&w);
}

static void test_an_image_that_is_none(void **state)
{
	AUTO_FREE char *file = scene_path(state, "file");
	struct world w;

	scene_file(state, "file", "x");
	world_begin(&w);
	use_image(&w, "/nonesuch");
	assert_int_equal(build(&w), -1);
	assert_non_null(strstr(w.e.text, "/nonesuch"));
	world_done(&w);
	world_begin(&w);
	use_image(&w, file);
	assert_int_equal(build(&w), -1);
	assert_non_null(strstr(w.e.text, "is not a directory"));
	world_done(&w);
}

static void test_the_time_zone(void **state)
{
	static const struct {
		const char *tz, *zone;
	} zones[] = { { "Europe/Oslo", "Europe/Oslo" }, { "UTC", "UTC" } };
	static const char *const paths[] = { ":/etc/localtime", "/etc/shadow", "" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(zones); i++) {
		assert_int_equal(setenv("TZ", zones[i].tz, 1), 0);
		AUTO_FREE char *zone = image_timezone();
		assert_string_equal(zone, zones[i].zone);
	}
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		assert_int_equal(setenv("TZ", paths[i], 1), 0);
		AUTO_FREE char *zone = image_timezone();
		assert_true(*zone && *zone != '/' && *zone != ':');
	}
	assert_int_equal(unsetenv("TZ"), 0);
}

/* A plan contains names that a user chose, so a printed plan must show them safely
 * and completely. */
static void test_a_printed_plan_is_safe_and_whole(void **state)
{
	AUTO_FREE char *text = NULL;
	struct world w;
	size_t len;

	scene_dir(state, "a\033[2J\n\xc2\x9b");
	AUTO_FREE char *path = scene_path(state, "a\033[2J\n\xc2\x9b");
	AUTO_FREE char *word = text_format("%s:/x\033]0;t\a:ro", path);
	world_begin(&w);
	assert_int_equal(volume_parse_bind(&w.policy, word, &w.e), 0);
	list_add(&w.policy.argv, "\033[31m");
	list_add(&w.policy.env_set, "A=\r\n\033");
	w.policy.network = NETWORK_HOST;
	w.policy.limits = (struct limits){ 64 << 20, 1 << 20, 9, 1250 };
	w.policy.cgroup_parent = text_copy("/c\033");
	assert_int_equal(build(&w), 0);
	FILE *to = open_memstream(&text, &len);
	assert_non_null(to);
	plan_print(&w.plan, &w.policy, to);
	assert_int_equal(fclose(to), 0);
	size_t lines = 0;
	for (const char *at = text; *at; at++) {
		assert_true(*at == '\n' || (unsigned char)*at >= 0x20);
		lines += *at == '\n';
	}
	assert_null(strstr(text, "\xc2\x9b"));
	assert_true(lines > w.plan.count + w.plan.env.count);
	assert_non_null(strstr(text, "bind      /x^[]0;t^G"));
	assert_non_null(strstr(text, "network   this host's"));
	assert_non_null(strstr(text, "caps      none"));
	assert_non_null(strstr(text, "limit     memory 67108864\nlimit     cpus 1.250\n"
				     "limit     pids 9\nlimit     disk 1048576\n"));
	assert_non_null(strstr(text, "limits by a cgroup in /c^[\n"));
	assert_non_null(strstr(text, "cgroup    /sys/fs/cgroup\n"));
	assert_non_null(strstr(text, "run       true ^[[31m\n"));
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_the_host_image_shows_programs_read_only_and_nothing_else),
		cmocka_unit_test(test_secret_files_of_etc_stay_out),
		cmocka_unit_test(test_the_order_of_steps),
		cmocka_unit_test(test_a_read_only_root_leaves_shm_alone_writable),
		cmocka_unit_test(test_the_defaults),
		cmocka_unit_test(test_with_the_hosts_network_a_wall_is_added),
		cmocka_unit_test(test_the_second_wall_stands_where_the_kernel_has_it),
		cmocka_unit_test(test_the_executor_holds_more_with_ranges_only),
		cmocka_unit_test(test_a_folder_as_an_image),
		cmocka_unit_test(test_an_image_that_is_none),
		cmocka_unit_test(test_the_time_zone),
		cmocka_unit_test(test_a_printed_plan_is_safe_and_whole),
	};

	return cmocka_run_group_tests(tests, scene_setup, scene_teardown);
}
