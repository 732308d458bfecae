#include "sandbox/kernel/diagnose.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/worker.h"

/* Ubuntu's sysctl, since 23.10: if it is 1, a program without an AppArmor profile
 * that has "userns," gets no user namespace or, since 24.04, one in which it has no
 * rights. */
#define APPARMOR_SYSCTL	 "kernel.apparmor_restrict_unprivileged_userns"
#define APPARMOR_PROFILE "/etc/apparmor.d/hutch"
#define POWERLESS "AppArmor lets this program make a user namespace but do nothing in it " \
		  "(" APPARMOR_SYSCTL " is 1)"

static const struct namespace {
	uint64_t flag;
	const char *name;   /* for messages: "make a network namespace" */
	const char *sysctl; /* the sysctl below /proc/sys/user that limits the number of
			     * these namespaces */
} namespaces_known[] = {
	{ CLONE_NEWUSER, "a user", "max_user_namespaces" },
	{ CLONE_NEWNS, "a mount", "max_mnt_namespaces" },
	{ CLONE_NEWPID, "a pid", "max_pid_namespaces" },
	{ CLONE_NEWNET, "a network", "max_net_namespaces" },
	{ CLONE_NEWIPC, "an ipc", "max_ipc_namespaces" },
	{ CLONE_NEWUTS, "a uts", "max_uts_namespaces" },
	{ CLONE_NEWCGROUP, "a cgroup", "max_cgroup_namespaces" },
};

/* Returns the number in a file, or -1 if the file cannot be read. */
static long long read_number(const char *path)
{
	AUTO_FREE char *text = NULL;
	size_t len;

	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || io_read_file(fd, path, 64, &text, &len, NULL) < 0)
		return -1;
	return strtoll(text, NULL, 10);
}

bool diagnose_is_old_kernel(struct utsname *ret)
{
	unsigned major = 0, minor = 0, oldest_major = 0, oldest_minor = 0;

	if (uname(ret) < 0 || sscanf(ret->release, "%u.%u", &major, &minor) != 2) {
		ret->release[0] = '\0';
		return false;
	}
	(void)sscanf(DIAGNOSE_OLDEST_KERNEL, "%u.%u", &oldest_major, &oldest_minor);
	return major < oldest_major || (major == oldest_major && minor < oldest_minor);
}

bool diagnose_is_filtered(void)
{
	AUTO_FREE char *text = NULL;
	size_t len;

	AUTO_CLOSE int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || io_read_file(fd, "status", 1u << 16, &text, &len, NULL) < 0)
		return false;
	return strstr(text, "\nSeccomp:\t2") != NULL;
}

/* Tries to clone a process into these namespaces.  Returns 0, or the errno of the
 * failure. */
static int try_clone(uint64_t flags)
{
	struct clone_args args = { .flags = flags, .exit_signal = SIGCHLD };
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid < 0)
		return errno;
	if (pid == 0)
		_exit(0);
	(void)worker_reap((pid_t)pid); /* the child's status does not matter: it does
					* nothing */
	return 0;
}

/* Returns the first of these namespaces that cannot be made, each tried alone in a new
 * user namespace; NULL: each can be made. */
static const struct namespace *find_refused(uint64_t wanted, int *ret_errno)
{
	for (size_t i = 0; i < ARRAY_LEN(namespaces_known); i++) {
		const struct namespace *ns = &namespaces_known[i];
		if (!(wanted & ns->flag))
			continue;
		*ret_errno = try_clone(ns->flag | CLONE_NEWUSER);
		if (*ret_errno)
			return ns;
	}
	return NULL;
}

static bool is_restricted_by_apparmor(void)
{
	return read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1;
}

/* Advises how to load hutch's AppArmor profile.  AppArmor applies an installed
 * profile by path, and this hutch may be at another path. */
static int advise_apparmor(struct err *e)
{
	bool is_installed = access(APPARMOR_PROFILE, F_OK) == 0;

	return err_remedy(
		e,
		"%s `sudo apparmor_parser -r " APPARMOR_PROFILE "`%s; or, for every "
		"program of this machine, `sudo sysctl -w " APPARMOR_SYSCTL "=0`",
		is_installed ? "load hutch's profile:"
			     : "in hutch's source, `sudo make install`, then",
		is_installed ? ", and run the hutch that it names" : "");
}

static int explain_powerless(struct err *e)
{
	(void)err_in(e, POWERLESS);
	return advise_apparmor(e);
}

static int explain_user(struct err *e)
{
	if (read_number("/proc/sys/kernel/unprivileged_userns_clone") == 0) {
		(void)err_set(e, ERR_REFUSED,
			      "make a user namespace: refused by the sysctl "
			      "kernel.unprivileged_userns_clone");
		return err_remedy(
			e, "as root: sysctl -w kernel.unprivileged_userns_clone=1");
	}
	if (is_restricted_by_apparmor() && !diagnose_is_filtered()) {
		(void)err_set(e, ERR_REFUSED,
			      "make a user namespace: AppArmor refuses it to "
			      "this program (" APPARMOR_SYSCTL " is 1)");
		return advise_apparmor(e);
	}
	if (diagnose_is_filtered()) {
		(void)err_set(e, ERR_REFUSED,
			      "make a user namespace: refused by a seccomp "
			      "filter around this process, as a container has");
		return err_remedy(
			e, "start the outer container with --security-opt "
			   "seccomp=unconfined, or with a profile that allows clone, "
			   "unshare and mount");
	}
	(void)err_set(e, ERR_REFUSED, "make a user namespace: Operation not permitted");
	return err_remedy(
		e, "a chroot or a security module forbids it; dmesg may say which");
}

static int explain_bound(const struct namespace *ns, struct err *e)
{
	(void)err_set(e, ERR_LIMIT, "make %s namespace: the bound user.%s is reached",
		      ns->name, ns->sysctl);
	return err_remedy(e, "as root: sysctl -w user.%s=10000", ns->sysctl);
}

int diagnose_try(uint64_t namespaces, struct err *e)
{
	int cause = 0;
	const struct namespace *ns = find_refused(namespaces, &cause);

	if (!ns)
		return 0;
	if (cause == ENOSPC)
		return explain_bound(ns, e);
	/* Docker's default filter answers clone3 with ENOSYS, AppArmor answers with
	 * EACCES. */
	if (ns->flag == CLONE_NEWUSER &&
	    (cause == EPERM || cause == EACCES || cause == ENOSYS))
		return explain_user(e);
	errno = cause;
	(void)err_sys(e, "make %s namespace", ns->name);
	/* A user namespace could be made, but a further namespace takes a right in it,
	 * which AppArmor denies. */
	if ((cause == EPERM || cause == EACCES) && is_restricted_by_apparmor() &&
	    !diagnose_is_filtered())
		return explain_powerless(e);
	if (cause == EINVAL)
		return err_remedy(e,
				  "this kernel was built without it, or an outer sandbox "
				  "hides it");
	if (ns->flag == CLONE_NEWNET)
		return err_remedy(e,
				  "--network host does without one; everything on this "
				  "host's network is then in reach");
	return -1;
}

int diagnose_clone(uint64_t namespaces, struct err *e)
{
	int first = errno;

	if (diagnose_try(namespaces, e) < 0)
		return -1;
	errno = first;
	return err_sys(e, "start a process in new namespaces");
}

bool diagnose_lacks_user(const struct err *e)
{
	struct err why;

	if (!strncmp(e->text, POWERLESS, strlen(POWERLESS)))
		return true;
	return diagnose_try(CLONE_NEWUSER, &why) < 0 && !strcmp(why.text, e->text);
}

void diagnose_setup(struct err *e)
{
	struct utsname kernel;

	if (e->remedy[0] || (e->sys != EPERM && e->sys != EACCES && e->sys != ENOSYS))
		return;
	if (diagnose_is_old_kernel(&kernel)) {
		(void)err_remedy(e,
				 "hutch needs Linux " DIAGNOSE_OLDEST_KERNEL
				 " or newer, and this is %s",
				 kernel.release);
		return;
	}
	if (is_restricted_by_apparmor()) {
		(void)explain_powerless(e);
		return;
	}
	if (diagnose_is_filtered())
		(void)err_remedy(e,
				 "a seccomp filter around this process may be the cause: "
				 "in docker, --security-opt seccomp=unconfined");
}
