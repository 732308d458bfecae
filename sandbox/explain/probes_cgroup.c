/* Theory of operation.
 *
 * A limit needs a cgroup that hutch may make, and the kernel lets an ordinary
 * user move a process only within a subtree that belongs to the user and that
 * the process is in already (cgroups(7), "Delegation containment").  A cgroup
 * that systemd manages is systemd's alone, though the user may write there,
 * except where a unit was marked with Delegate=yes.  So there are three ways,
 * in this order: a cgroup above ours, in our unit, in which no process lives;
 * our own, if no other process lives in it; a new scope of systemd's user
 * manager.
 *
 * A cgroup made as a trial would be visible to every process on the host.  So
 * the kernel is asked whether we may write (access(2), which knows read-only
 * mounts too), and the user's bus whether it answers. */
#include "sandbox/explain/probes.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/cgroup/delegate.h"
#include "sandbox/cgroup/scope.h"
#include "sandbox/explain/checks.h"

#define FILE_MAX (1u << 20)
#define ALL	 (CONTROLLER_MEMORY | CONTROLLER_CPU | CONTROLLER_PIDS)

/* Returns the controllers that the cgroup `folder` does not have. */
static unsigned missing_in(const char *folder)
{
	AUTO_CLOSE int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return ALL & ~delegate_controllers(fd, "cgroup.controllers");
}

/* Returns the folder of the user manager's own cgroup, from which the
 * manager's scopes get their controllers. */
static char *manager_folder(const struct outlook *o)
{
	return text_format("%s/user.slice/user-%u.slice/user@%u.service", o->root,
			   geteuid(), geteuid());
}

static void advise_boot(struct trial *t)
{
	trial_remedy(
		t, "boot with systemd.unified_cgroup_hierarchy=1 on the kernel's command "
		   "line");
}

static void explain_no_mount(struct trial *t)
{
	trial_found(t, CHECK_MISSING, "cgroup v2 is not mounted at /sys/fs/cgroup");
	if (access("/sys/fs/cgroup/memory", F_OK) == 0)
		advise_boot(t);
	else if (access("/sys/fs/cgroup", F_OK) < 0)
		trial_remedy(t,
			     "start the outer container with its /sys/fs/cgroup mounted");
	else
		trial_remedy(t, "as root: mount -t cgroup2 cgroup2 /sys/fs/cgroup");
}

static void explain_version_1(struct trial *t, const struct outlook *o)
{
	trial_found(t, CHECK_MISSING,
		    "cgroup v2 is at %s, but memory, cpu and pids are bound "
		    "to v1",
		    o->root);
	advise_boot(t);
}

/* Returns the number of the process that called hutch, most often a shell.
 * This process is a child of hutch, so the caller is its parent's parent. */
static int find_caller(void)
{
	AUTO_FREE char *path = text_format("/proc/%d/status", (int)getppid());
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *status = NULL;
	size_t len;

	if (fd < 0 || io_read_file(fd, path, FILE_MAX, &status, &len, NULL) < 0)
		return 0;
	const char *line = strstr(status, "\nPPid:\t");
	return line ? atoi(line + strlen("\nPPid:\t")) : 0;
}

/* Advises root to make the subtree by hand, for a host without a user manager,
 * and to put the caller's shell in a leaf of that subtree: a cgroup with
 * processes in it hands no controllers on. */
static void advise_by_hand(struct trial *t, const struct outlook *o)
{
	unsigned uid = geteuid();

	trial_remedy(t, "as root: cd %s; g=hutch-%u; echo '+memory +cpu +pids' "
			">cgroup.subtree_control; mkdir -p $g/shell; chown %u $g "
			"$g/cgroup.procs $g/cgroup.subtree_control; echo %d "
			">$g/shell/cgroup.procs", o->root, uid, uid, find_caller());
}

static void explain_none(struct trial *t, const struct outlook *o)
{
	trial_found(t, CHECK_MISSING,
		    "%.300s is not delegated to user %u, and no user manager "
		    "of systemd answers",
		    o->own, geteuid());
	if (access("/run/systemd/system", F_OK) == 0)
		trial_remedy(t, "as root: loginctl enable-linger %u", geteuid());
	else
		advise_by_hand(t, o);
}

/* Says how the user's cgroup can get controllers from the cgroups above it: by the
 * service manager's configuration or, where the folders were made by hand, by writing
 * to each of them. */
static void advise_controllers(struct trial *t, const struct outlook *o,
			       const char *folder)
{
	if (access("/run/systemd/system", F_OK) == 0) {
		trial_remedy(
			t,
			"as root: mkdir -p /etc/systemd/system/user@.service.d; printf "
			"'[Service]\\nDelegate=cpu cpuset io memory pids\\n' "
			">/etc/systemd/system/user@.service.d/delegate.conf; systemctl "
			"daemon-reload; then log in anew");
		return;
	}
	AUTO_FREE char *below = text_copy(folder + strlen(o->root));
	for (char *slash = below; (slash = strchr(slash, '/'));)
		*slash = ' ';
	trial_remedy(t, "as root: g=%s; for d in%.300s; do echo '+memory +cpu +pids' "
			">$g/cgroup.subtree_control; g=$g/$d; done", o->root, below);
}

static void explain_manager(struct trial *t, const struct outlook *o)
{
	AUTO_FREE char *folder = manager_folder(o);
	AUTO_FREE char *missing = delegate_names(missing_in(folder));

	if (*missing) {
		trial_found(t, CHECK_LIMITED,
			    "systemd's user manager makes one for each sandbox "
			    "with a limit, without %s",
			    missing);
		trial_means(t, "limits by %s fail unless --best-effort is given",
			    missing);
		advise_controllers(t, o, folder);
	} else {
		trial_found(t, CHECK_OK,
			    "systemd's user manager makes one for each sandbox with "
			    "a limit");
	}
}

static void explain_lack(struct trial *t, const struct outlook *o, const char *missing)
{
	trial_found(t, CHECK_LIMITED, "%.300s is delegated to user %u, without %s",
		    o->own, geteuid(), missing);
	trial_means(t, "limits by %s fail unless --best-effort is given", missing);
	advise_controllers(t, o, o->own);
}

static void explain_others(struct trial *t, const struct outlook *o)
{
	trial_found(t, CHECK_LIMITED,
		    "%.300s is delegated to user %u, but %u other processes "
		    "live in it",
		    o->own, geteuid(), o->others);
	trial_means(t,
		    "limits fail: a cgroup with processes in it hands no controllers on");
	trial_remedy(t,
		     "g=%.300s; mkdir -p $g/shell; for p in $(cat $g/cgroup.procs); do "
		     "echo $p >$g/shell/cgroup.procs; done 2>/dev/null",
		     o->own);
}

/* Returns whether the path can stand unquoted in a remedy, a command line that the
 * user copies into a shell, which may be root's. */
static bool is_plain(const char *path)
{
	return path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789/@._:-")] == '\0';
}

static bool is_ours(const struct outlook *o)
{
	return o->is_marked && o->is_ours;
}

/* Says whether and how hutch can use a cgroup v2 that has controllers. */
static void explain_place(struct trial *t, const struct outlook *o)
{
	AUTO_FREE char *missing = delegate_names(o->missing);

	if (o->above)
		trial_found(t, CHECK_OK, "%.300s, above our own, is delegated to user %u",
			    o->above, geteuid());
	else if (is_ours(o) && !o->missing && !o->others)
		trial_found(t, CHECK_OK, "%.300s is delegated to user %u", o->own,
			    geteuid());
	else if (scope_has_bus())
		explain_manager(t, o);
	else if (!is_ours(o))
		explain_none(t, o);
	else if (o->missing)
		explain_lack(t, o, missing);
	else
		explain_others(t, o);
	if (!is_plain(o->own))
		t->check.remedy[0] = '\0';
}

void probe_cgroup(struct trial *t)
{
	AUTO_OUTLOOK struct outlook o;

	/* Two processes in the cgroup are hutch's and do not count as others: this
	 * process and its parent. */
	delegate_look(&o, ALL, getppid());
	if (!o.root)
		explain_no_mount(t);
	else if (missing_in(o.root) == ALL)
		explain_version_1(t, &o);
	else if (!o.own)
		trial_found(t, CHECK_MISSING,
			    "cgroup v2 is at %s, which does not show our own "
			    "cgroup",
			    o.root);
	else
		explain_place(t, &o);
}
