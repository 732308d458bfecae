/* Tests an executor that lives on after its commands have ended, in a cgroup of its
 * own.  Needs a delegated cgroup of version 2 and a build tree; the vm tier has
 * both. */
#include "sandbox/cgroup/cgroup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/policy.h"
#include "policy/volume.h"
#include "sandbox/cgroup/watchdog.h"
#include "sandbox/kernel/host_user.h"
#include "sandbox/kernel/program.h"
#include "sandbox/kernel/seccomp.h"
#include "sandbox/launch/channel.h"
#include "sandbox/launch/spawn.h"
#include "sandbox/plan/limits.h"
#include "sandbox/plan/plan.h"
#include "tests/patience.h"

#define MEMORY (32u << 20)

struct world {
	struct policy policy;
	struct plan plan;
	struct program executor;
	struct seccomp_program filter;
	struct cgroup cgroup;
	struct sandbox box;
	struct channel channel;
	uint32_t id;
	struct err e;
};

/* Returns the path of a program in the build tree of this test. */
static char *built(const char *name)
{
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(len > 0);
	self[len] = '\0';
	for (int i = 0; i < 3; i++)
		*strrchr(self, '/') = '\0';
	return text_format("%s/%s", self, name);
}

static void open_executor(struct world *w)
{
	struct stat st;

	w->executor.path = built("libexec/hutch-executor");
	w->executor.fd = open(w->executor.path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(w->executor.fd, &st), 0);
	w->executor.dev = st.st_dev;
	w->executor.ino = st.st_ino;
}

static void build(struct world *w)
{
	AUTO_FREE char *hog = built("tests/vm/hog");
	AUTO_FREE char *volume = text_format("%s:/hog:ro", hog);
	struct host_user user;

	assert_int_equal(volume_parse_bind(&w->policy, volume, &w->e), 0);
	assert_int_equal(host_user_decide(&w->policy, &user, &w->e), 0);
	assert_int_equal(plan_build(&w->plan, &w->policy, &user, &w->e), 0);
	AUTO_FREE char *path = cgroup_commands_path(&w->cgroup);
	assert_int_equal(limits_show_cgroup(&w->plan, path, &w->e), 0);
	open_executor(w);
	seccomp_default(SECCOMP_FLAT, &w->filter);
}

static void must(int result, const struct err *e)
{
	if (result < 0)
		fail_msg("%s", e->text);
}

static void begin(struct world *w)
{
	*w = (struct world){ .executor.fd = -1 };
	policy_init(&w->policy);
	plan_init(&w->plan);
	sandbox_init(&w->box);
	cgroup_init(&w->cgroup);
	w->policy.limits.memory = MEMORY;
	w->cgroup.is_split = true;
	if (cgroup_place(&w->cgroup, &w->policy, &w->e) < 0) {
		(void)print_message("this host has no delegated cgroup: %s\n", w->e.text);
		policy_done(&w->policy);
		skip();
	}
	must(cgroup_make(&w->cgroup, &w->policy.limits, 0, &w->e), &w->e);
	build(w);
	const struct spawn_parts parts = { .plan = &w->plan, .executor = &w->executor,
					   .filter = &w->filter,
					   .cgroup = w->cgroup.into };
	must(spawn_sandbox(&parts, &w->box, &w->e), &w->e);
	channel_init(&w->channel, w->box.channel);
	must(channel_send_cgroup(&w->channel, w->cgroup.procs, &w->e), &w->e);
}

static void end(struct world *w)
{
	channel_done(&w->channel);
	sandbox_done(&w->box);
	cgroup_remove(&w->cgroup, 0);
	seccomp_done(&w->filter);
	program_done(&w->executor);
	plan_done(&w->plan);
	policy_done(&w->policy);
}

static void send_exec(struct world *w, const char *script)
{
	char *argv[] = { (char[]){ "/bin/sh" }, (char[]){ "-c" }, text_copy(script),
			 NULL };
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const struct exec x = { .uid = w->plan.uid, .gid = w->plan.gid, .cwd = "/tmp",
				.argv = argv, .env = w->plan.env.items };

	must(channel_send_exec(&w->channel, ++w->id, &x,
			       (const int[]){ null, null, null }, &w->e),
	     &w->e);
	assert_true(channel_has_passed(&w->channel));
	free(argv[2]);
}

/* Returns the exit code, or 128+N for signal N. */
static int run(struct world *w, const char *script)
{
	struct pollfd fd = { .fd = w->box.channel, .events = POLLIN };
	struct exited x;
	struct frame f;

	send_exec(w, script);
	for (;;) {
		int got = channel_next(&w->channel, &f, &w->e);
		assert_true(got >= 0);
		if (got == 0) {
			assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
			assert_int_equal(channel_fill(&w->channel, &w->e), CHANNEL_READ);
			continue;
		}
		if (f.type == MSG_FAILED)
			fail_msg("the command could not be started");
		bool is_end = f.type == MSG_EXITED;
		if (is_end)
			must(message_get_exited(&f, &x, &w->e), &w->e);
		channel_took(&w->channel, &f);
		if (is_end)
			return (int)(x.is_signaled ? 128 + x.status : x.status);
	}
}

static void test_commands_live_in_it_and_the_executor_does_not(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	assert_int_equal(run(&w, "grep -qx 0::/../cmds /proc/self/cgroup"), 0);
	assert_int_equal(run(&w, "test $(cat /sys/fs/cgroup/memory.max) = 33554432"), 0);
	assert_int_equal(run(&w, "wc -l < /sys/fs/cgroup/cgroup.procs | grep -qx [23]"),
			 0);
	end(&w);
}

/* Commands whose memory outlives their processes, as files in memory and System V
 * objects do.  Each leaves so much that the next command would be killed if it were
 * not removed. */
static const char *const leavings[] = {
	"/hog shm 16; /hog heap",
	"/hog file /dev/shm/x 12; /hog heap",
	/* The brackets keep clang from warning of a missing comma. */
	("mkdir -p /dev/shm/a/b/c/d; /hog file /dev/shm/a/b/c/d/x 12; ln -s / /dev/shm/a/l; "
	 "chmod 0 /dev/shm/a/b; /hog heap"),
	"/hog memfd",
	"/hog pipes",
	"ipcmk -S 100 && ipcmk -Q && ipcmk -M 4096 && /hog heap",
};

/* The kernel frees the content of a process's pipes a moment after its end, and
 * sends no event. */
static bool is_given_back(void *context)
{
	const struct world *w = context;
	struct consumption now;

	cgroup_consumption(&w->cgroup, &now);
	return now.memory < 6u << 20;
}

static void test_after_an_out_of_memory_the_next_command_runs(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	for (size_t i = 0; i < ARRAY_LEN(leavings); i++) {
		struct usage before, after;
		cgroup_usage(&w.cgroup, &before);
		assert_int_equal(run(&w, leavings[i]), 128 + SIGKILL);
		cgroup_usage(&w.cgroup, &after);
		assert_true(after.oom_kills > before.oom_kills && after.is_over_limit);
		patience_wait(is_given_back, &w);
		if (run(&w,
			"test -z \"$(ls -A /dev/shm; ipcs | grep ^0x)\" && /hog heap 24"))
			fail_msg("after: %s", leavings[i]);
	}
	end(&w);
}

/* When a user sends SIGKILL to a command, its files stay; they are removed only
 * after the kernel killed it for memory. */
static void test_a_killed_command_keeps_its_files(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	assert_int_equal(run(&w, "echo kept > /dev/shm/x; kill -KILL $$"), 128 + SIGKILL);
	assert_int_equal(run(&w, "grep -q kept /dev/shm/x"), 0);
	end(&w);
}

static void await_frozen(int events, bool is_frozen)
{
	struct pollfd w = { .fd = events, .events = POLLPRI };
	struct err e;
	int is;

	while ((is = cgroup_is_frozen(events, &e)) == !is_frozen)
		assert_int_equal(poll(&w, 1, PATIENCE_MS), 1);
	assert_int_equal(is, is_frozen);
}

static void test_the_freezer_says_when_all_processes_stand_still(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	send_exec(&w, "while :; do :; done");
	AUTO_CLOSE int events = cgroup_events(&w.cgroup, &w.e);
	assert_true(events >= 0);
	assert_int_equal(cgroup_is_frozen(events, &w.e), 0);
	must(cgroup_freeze(&w.cgroup, true, &w.e), &w.e);
	await_frozen(events, true);
	must(cgroup_freeze(&w.cgroup, false, &w.e), &w.e);
	await_frozen(events, false);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands_live_in_it_and_the_executor_does_not),
		cmocka_unit_test(test_after_an_out_of_memory_the_next_command_runs),
		cmocka_unit_test(test_a_killed_command_keeps_its_files),
		cmocka_unit_test(test_the_freezer_says_when_all_processes_stand_still),
	};

	(void)alarm(PATIENCE_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
