#include "oci/identity.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/account.h"
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "oci/filter.h"
#include "oci/process.h"
#include "sandbox/kernel/procfs.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

int identity_early(const struct process *p, int pid, struct err *e)
{
	char text[24];

	if (!p->has_oom_score)
		return 0;
	if (p->oom_score < -1000 || p->oom_score > 1000)
		return err_set(e, ERR_USAGE,
			       "process.oomScoreAdj: -1000 to 1000 was expected");
	(void)snprintf(text, sizeof(text), "%d", (int)p->oom_score); /* fits */
	AUTO_FREE char *path = text_format("/proc/%d/oom_score_adj", pid);
	return io_write_proc(AT_FDCWD, path, text, e);
}

static int set_limits(const struct process *p, struct err *e)
{
	for (size_t i = 0; i < p->rlimit_count; i++) {
		const struct rlimit limit = { .rlim_cur = p->rlimits[i].soft,
					      .rlim_max = p->rlimits[i].hard };
		if (prlimit(0, p->rlimits[i].resource, &limit, NULL))
			return err_sys(e, "set process.rlimits[%zu]", i);
	}
	return 0;
}

/* The argument of sched_setattr(2), which no C library declares. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static int set_scheduler(const struct process *p, struct err *e)
{
	const struct attributes a = {
		.size = sizeof(a),
		.policy = p->policy,
		.flags = p->sched_flags,
		.nice = (int32_t)p->nice,
		.priority = (uint32_t)p->priority,
		.runtime = p->runtime,
		.deadline = p->deadline,
		.period = p->period,
	};

	if (p->has_scheduler && syscall(SYS_sched_setattr, 0, &a, 0))
		return err_sys(e, "set process.scheduler");
	if (p->has_io_priority &&
	    syscall(SYS_ioprio_set, 1, 0, p->io_class << 13 | p->io_level))
		return err_sys(e, "set process.ioPriority");
	return 0;
}

/* Parses "0-3,7" and binds this process to these processors. */
static int set_cpus(const char *list, struct err *e)
{
	cpu_set_t set;
	const char *at = list;

	CPU_ZERO(&set);
	while (at && *at) {
		char *end;
		const unsigned long first = strtoul(at, &end, 10);
		const unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10)
						       : first;
		if (end == at || last >= CPU_SETSIZE || first > last ||
		    (*end && *end != ','))
			return err_set(e, ERR_USAGE, "process.execCPUAffinity: '%.64s'",
				       list);
		for (unsigned long i = first; i <= last; i++)
			CPU_SET(i, &set);
		at = *end ? end + 1 : end;
	}
	return at && sched_setaffinity(0, sizeof(set), &set)
		       ? err_sys(e, "set process.execCPUAffinity")
		       : 0;
}

/* Asks a security module for the label of the command.  The image, or a process of the
 * container, may have mounted another file there, to keep the label off (procfs.h). */
static int set_label(const char *file, const char *label, const char *what, struct err *e)
{
	struct err why = { 0 };

	if (procfs_write(file, label, &why) == 0)
		return 0;
	if (why.kind == ERR_NOT_FOUND)
		return err_set(e, ERR_UNSUPPORTED,
			       "%s '%.64s': this kernel has no such module "
			       "active (/proc/%s)",
			       what, label, file);
	if (e)
		*e = why;
	return err_in(e, "%s '%.64s'", what, label);
}

static bool has_label(const struct process *p)
{
	return (p->apparmor && *p->apparmor) || (p->selinux && *p->selinux);
}

static int set_labels(const struct process *p, struct err *e)
{
	if (p->apparmor && *p->apparmor) {
		char line[512];
		(void)snprintf(line, sizeof(line), "exec %s",
			       p->apparmor); /* long names are
									    * refused */
		if (set_label("self/attr/apparmor/exec", line, "process.apparmorProfile",
			      e))
			return -1;
	}
	if (p->selinux && *p->selinux) {
		if (access("/sys/fs/selinux/enforce", F_OK))
			return err_set(e, ERR_UNSUPPORTED,
				       "process.selinuxLabel: SELinux is "
				       "not active here");
		return set_label("self/attr/exec", p->selinux, "process.selinuxLabel", e);
	}
	return 0;
}

static int set_groups(const struct process *p, struct err *e)
{
	/* Where setgroups(2) is denied, the groups of the caller stay; that is what the
	 * denial is for (user_namespaces(7)). */
	if (!p->keeps_groups && setgroups(p->group_count, p->groups) &&
	    (p->group_count || (errno != EPERM && errno != EINVAL)))
		return err_sys(e, "set process.user.additionalGids");
	if (setresgid(p->gid, p->gid, p->gid))
		return err_sys(e, "set process.user.gid %u", p->gid);
	return 0;
}

static int set_caps(const uint64_t caps[CAPS_COUNT], struct err *e)
{
	struct __user_cap_header_struct header = { .version =
							   _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	for (int i = 0; i < 2; i++)
		data[i] = (struct __user_cap_data_struct){
			.effective = (uint32_t)(caps[CAPS_EFFECTIVE] >> (32 * i)),
			.permitted = (uint32_t)(caps[CAPS_PERMITTED] >> (32 * i)),
			.inheritable = (uint32_t)(caps[CAPS_INHERITABLE] >> (32 * i)),
		};
	return syscall(SYS_capset, &header, data) ? err_sys(e, "set process.capabilities")
						  : 0;
}

/* Reads the effective capabilities and reduces the wanted sets to them, as far as the
 * kernel demands it: an engine's defaults may name one that the engine itself lacks. */
static int reduce_caps(uint64_t caps[CAPS_COUNT], struct err *e)
{
	struct __user_cap_header_struct header = { .version =
							   _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return err_sys(e, "read capabilities");
	const uint64_t have = data[0].permitted | (uint64_t)data[1].permitted << 32;
	for (int i = 0; i < CAPS_COUNT; i++)
		caps[i] &= have;
	return 0;
}

static int drop_bounding(uint64_t kept, struct err *e)
{
	for (int i = 0; i < 64; i++) {
		if (kept >> i & 1)
			continue;
		if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) && errno == EINVAL)
			break; /* there are no more capabilities */
		else if (prctl(PR_CAPBSET_READ, i, 0, 0, 0) > 0)
			return err_sys(e, "drop capability %d from the bounding set", i);
	}
	return 0;
}

static int raise_ambient(uint64_t wanted, struct err *e)
{
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) && errno != EINVAL)
		return err_sys(e, "clear the ambient capabilities");
	for (unsigned long i = 0; i < 64; i++)
		if (wanted >> i & 1 &&
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0))
			return err_sys(e, "raise ambient capability %lu", i);
	return 0;
}

/* Becomes the user.  Capabilities survive the change of ids (PR_SET_KEEPCAPS) until the
 * sets of the configuration are installed. */
static int set_user(const struct process *p, struct err *e)
{
	uint64_t caps[CAPS_COUNT];

	memcpy(caps, p->caps, sizeof(caps));
	if (p->has_caps &&
	    (reduce_caps(caps, e) || drop_bounding(caps[CAPS_BOUNDING], e)))
		return -1;
	if (p->has_caps && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
		return err_sys(e, "keep capabilities");
	if (set_groups(p, e))
		return -1;
	if (setresuid(p->uid, p->uid, p->uid))
		return err_sys(e, "set process.user.uid %u", p->uid);
	if (!p->has_caps)
		return 0;
	/* Only an inheritable capability can be an ambient one; engines name others, too, and
	 * other runtimes pass over them. */
	const uint64_t ambient = caps[CAPS_AMBIENT] & caps[CAPS_INHERITABLE] &
				 caps[CAPS_PERMITTED];
	return set_caps(caps, e) || raise_ambient(ambient, e) ? -1 : 0;
}

/* Signals are at their defaults and not blocked for the command, as after a boot. */
static void reset_signals(void)
{
	sigset_t none;

	for (int i = 1; i < 65; i++)
		(void)signal(i, SIG_DFL); /* SIGKILL and SIGSTOP have no other */
	(void)sigemptyset(&none);	  /* can't fail */
	(void)sigprocmask(SIG_SETMASK, &none, NULL); /* can't fail */
}

int identity_take(const struct process *p, const struct filter *f, int link,
		  struct err *e)
{
	reset_signals();
	/* A process that is closed to others may not open its own files in /proc. */
	if (has_label(p))
		(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* can't fail */
	if (set_scheduler(p, e) || set_cpus(p->cpus, e) || set_limits(p, e) ||
	    set_labels(p, e))
		return -1;
	if (p->umask != UINT32_MAX)
		(void)umask(p->umask & 0777); /* can't fail */
	/* Without no_new_privs a filter takes CAP_SYS_ADMIN (seccomp(2)), so it comes
	 * before the capabilities go. */
	if (!p->no_new_privs && filter_install(f, link, e))
		return -1;
	if (set_user(p, e))
		return -1;
	if (!p->no_new_privs)
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return err_sys(e, "set no_new_privs");
	return filter_install(f, link, e);
}

static bool is_executable(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & 0111;
}

void identity_add_home(struct process *p)
{
	struct account a = { .home = "" };

	if (list_get_env(&p->env, "HOME"))
		return;
	AUTO_CLOSE int fd =
		open("/etc/passwd", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || !account_read(fd, NULL, p->uid, &a))
		a.home[0] = '\0';
	list_addf(&p->env, "HOME=%s", a.home[0] ? a.home : "/");
}

int identity_find(const struct process *p, char **ret, struct err *e)
{
	const char *name = p->args.items[0];
	const char *path = list_get_env(&p->env, "PATH");
	AUTO_FREE char *dirs = text_copy(path ? path : DEFAULT_PATH);
	char *rest = dirs;

	if (strchr(name, '/')) {
		AUTO_FREE char *full = *name == '/' ? text_copy(name)
						    : text_format("%s/%s", p->cwd, name);
		if (access(full, F_OK))
			return err_sys(e, "open executable '%s'", name);
		if (!is_executable(full))
			return err_set(e, ERR_REFUSED,
				       "open executable '%s': permission denied", name);
		*ret = text_copy(full);
		return 0;
	}
	for (char *dir; *name && (dir = strsep(&rest, ":"));) {
		char *full = text_format("%s/%s", *dir ? dir : p->cwd, name);
		if (is_executable(full)) {
			*ret = full;
			return 0;
		}
		free(full);
	}
	return err_set(
		e, ERR_NOT_FOUND,
		"executable file '%s' not found in $PATH: No such file or directory",
		name);
}

int identity_execute(const struct process *p, const char *path, struct err *e)
{
	char *const no_env[] = { NULL };

	if (chdir(p->cwd))
		return err_sys(e, "chdir to process.cwd '%s'", p->cwd);
	(void)execve(path, p->args.items, p->env.items ? p->env.items : no_env);
	return err_sys(e, "exec container process '%s'", path);
}
