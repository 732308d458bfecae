/* Making and entering namespaces: both give capabilities, and with them access
 * to parts of the kernel that are rarely exercised. */
#include "tests/escape/probe.h"

#include "base/own.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static void space_unshare(struct trial *t)
{
	trial_call(t, unshare((int)t->probe->value));
}

/* clone(2) with fork's flags and one more.  The child exits at once. */
static void space_clone(struct trial *t)
{
	long pid = syscall(SYS_clone, (unsigned long)t->probe->value | SIGCHLD,
			   NULL, NULL, NULL, NULL);

	trial_clone(t, pid);
}

static void space_clone3(struct trial *t)
{
	struct clone_args args = {
		.flags = (uint64_t)t->probe->value, .exit_signal = SIGCHLD,
	};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	trial_clone(t, pid);
}

/* Mounts in a new user namespace, which is the usual reason for making one. */
static void space_mount(struct trial *t)
{
	int ret = unshare(CLONE_NEWUSER | CLONE_NEWNS);

	if (!ret)
		ret = mount("none", t->set->scratch, "tmpfs", 0, NULL);
	trial_call(t, ret);
}

/* Entering one's own namespace changes nothing but needs the same rights as
 * entering another.  The user namespace is left out: entering one's own is
 * always EINVAL. */
static void space_enter(struct trial *t)
{
	static const char *const names[] = {
		"mnt", "pid", "net", "ipc", "uts", "cgroup", "time",
	};

	trial_says(t, "absent", "no namespace files");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
		int ret = fd < 0 ? -1 : setns(fd, 0);
		if (fd < 0 && errno == ENOENT)
			continue; /* this kernel has no such kind of namespace */
		trial_call(t, ret);
		trial_note(t, "%s", names[i]);
		if (!ret)
			return;
	}
}

static void space_enter_pidfd(struct trial *t)
{
	AUTO_CLOSE int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	trial_call(t, fd < 0 ? -1 : setns(fd, CLONE_NEWUTS));
}

/* Enters the target's namespaces by name.  The target is the host's pid 1 or,
 * inside, the executor. */
static void space_of_target(struct trial *t)
{
	char link[64];

	trial_file(t, readlink(path_of_pid(t->set->target, "ns/mnt").s, link,
			       sizeof(link)));
}

static void space_of_host_pid(struct trial *t)
{
	char link[64];

	trial_file(t, readlink(path_of_pid(t->set->host_pid, "ns/mnt").s, link,
			       sizeof(link)));
}

static void set_hostname(struct trial *t)
{
	char name[65] = "";

	/* Cannot fail: the buffer is large enough. */
	(void)gethostname(name, sizeof(name) - 1);
	trial_call(t, sethostname(name, strlen(name)));
}

#define UNSHARE(nm, flag) { "B32", nm, .run = space_unshare, .value = flag }

const struct probe spaces_probes[] = {
	UNSHARE("unshare-user", CLONE_NEWUSER),
	UNSHARE("unshare-user-net", CLONE_NEWUSER | CLONE_NEWNET),
	UNSHARE("unshare-mount", CLONE_NEWNS),
	UNSHARE("unshare-net", CLONE_NEWNET),
	UNSHARE("unshare-pid", CLONE_NEWPID),
	UNSHARE("unshare-uts", CLONE_NEWUTS),
	UNSHARE("unshare-ipc", CLONE_NEWIPC),
	UNSHARE("unshare-cgroup", CLONE_NEWCGROUP),
	UNSHARE("unshare-time", CLONE_NEWTIME),
	{ "B32", "unshare-user-mount-tmpfs", .run = space_mount },
	{ "B32", "clone-user", .run = space_clone, .value = CLONE_NEWUSER },
	{ "B32", "clone-user-mount", .run = space_clone,
	  .value = CLONE_NEWUSER | CLONE_NEWNS },
	{ "B32", "clone3-plain", .run = space_clone3 },
	{ "B32", "clone3-user", .run = space_clone3, .value = CLONE_NEWUSER },
	{ "B33", "setns-own", .run = space_enter },
	{ "B33", "setns-pidfd", .run = space_enter_pidfd },
	{ "B33", "ns-of-pid1", .run = space_of_target },
	{ "B33", "ns-of-host-pid", .run = space_of_host_pid },
	{ "B46", "sethostname", .run = set_hostname },
	{ 0 },
};
