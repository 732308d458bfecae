/* Says what would give hutch a cgroup for limits.  The error of a launch and `hutch
 * doctor` both print this text, so that they cannot differ. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "base/path.h"
#include "sandbox/cgroup/delegate.h"
#include "sandbox/cgroup/scope.h"

#define FILE_MAX (1u << 20)

unsigned delegate_missing(const char *folder)
{
	AUTO_CLOSE int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return CONTROLLERS_ALL & ~delegate_controllers(fd, "cgroup.controllers");
}

char *delegate_manager(const struct outlook *o)
{
	return text_format("%s/user.slice/user-%u.slice/user@%u.service", o->root,
			   geteuid(), geteuid());
}

static bool has_systemd(void)
{
	return access("/run/systemd/system", F_OK) == 0;
}

static const char boot[] =
	"boot with systemd.unified_cgroup_hierarchy=1 on the kernel's command line";

static const char *mount_remedy(void)
{
	if (access("/sys/fs/cgroup/memory", F_OK) == 0)
		return boot;
	return access("/sys/fs/cgroup", F_OK) < 0
		       ? "start the outer container with its /sys/fs/cgroup mounted"
		       : "as root: mount -t cgroup2 cgroup2 /sys/fs/cgroup";
}

/* Returns the number of the process that called hutch, most often a shell. */
static int find_caller(pid_t hutch)
{
	AUTO_FREE char *path = text_format("/proc/%d/status", (int)hutch);
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
static char *subtree_by_hand(const struct outlook *o, pid_t hutch)
{
	unsigned uid = geteuid();

	return text_format("as root: cd %s; g=hutch-%u; echo '+memory +cpu +pids' "
			   ">cgroup.subtree_control; mkdir -p $g/shell; chown %u $g "
			   "$g/cgroup.procs $g/cgroup.subtree_control; echo %d "
			   ">$g/shell/cgroup.procs",
			   o->root, uid, uid, find_caller(hutch));
}

static char *subtree(const struct outlook *o, pid_t hutch)
{
	return has_systemd() ? text_format("as root: loginctl enable-linger %u",
					   geteuid())
			     : subtree_by_hand(o, hutch);
}

/* Says how the user's cgroup can get controllers from the cgroups above it: by the
 * service manager's configuration or, where the folders were made by hand, by writing
 * to each of them. */
static char *controllers(const struct outlook *o, const char *folder)
{
	if (has_systemd())
		return text_copy(
			"as root: mkdir -p /etc/systemd/system/user@.service.d; printf "
			"'[Service]\\nDelegate=cpu cpuset io memory pids\\n' "
			">/etc/systemd/system/user@.service.d/delegate.conf; systemctl "
			"daemon-reload; then log in anew");
	AUTO_FREE char *below = text_copy(folder + strlen(o->root));
	for (char *slash = below; (slash = strchr(slash, '/'));)
		*slash = ' ';
	return text_format("as root: g=%s; for d in%s; do echo '+memory +cpu +pids' "
			   ">$g/cgroup.subtree_control; g=$g/$d; done",
			   o->root, below);
}

static char *move_others(const struct outlook *o)
{
	return text_format("g=%s; mkdir -p $g/shell; for p in $(cat $g/cgroup.procs); do "
			   "echo $p >$g/shell/cgroup.procs; done 2>/dev/null",
			   o->own);
}

static char *place(const struct outlook *o, pid_t hutch)
{
	AUTO_FREE char *manager = delegate_manager(o);

	if (scope_has_bus())
		return delegate_missing(manager) ? controllers(o, manager) : NULL;
	if (!o->is_marked || !o->is_ours)
		return subtree(o, hutch);
	if (o->missing)
		return controllers(o, o->own);
	return o->others ? move_others(o) : NULL;
}

char *delegate_remedy(const struct outlook *o, pid_t hutch)
{
	if (!o->root)
		return text_copy(mount_remedy());
	if (delegate_missing(o->root) == CONTROLLERS_ALL)
		return text_copy(boot);
	return !o->own || o->above || !path_is_unquoted(o->own) ? NULL : place(o, hutch);
}
