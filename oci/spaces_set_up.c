#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/own.h"
#include "oci/spaces.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/kernel/procfs.h"

int spaces_enter_cgroup(const struct config *c, struct err *e)
{
	const struct config_space_use *s = &c->spaces[SPACE_CGROUP];

	return s->is_listed && !s->path && unshare(CLONE_NEWCGROUP)
		       ? err_sys(e, "make a cgroup namespace")
		       : 0;
}

int spaces_leave_mounts(const struct config *c, int *ret_home, struct err *e)
{
	if (c->spaces[SPACE_MOUNT].is_listed)
		return 0;
	AUTO_CLOSE int home = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (home < 0)
		return err_sys(e, "open the mount namespace");
	if (unshare(CLONE_NEWNS))
		return err_sys(e, "make a mount namespace to set up the root in");
	*ret_home = fd_take(&home);
	return 0;
}

/* The clone of the mounts is attached nowhere.  Its mounts stay connected when the descriptor
 * is closed (open_tree(2)), and the kernel takes them apart when the last process has left
 * them.  The mounts in the namespace of spaces_leave_mounts() end with that namespace. */
int spaces_return(int home, struct err *e)
{
	if (home < 0)
		return 0;
	AUTO_CLOSE int tree = mount_api_clone(AT_FDCWD, "/", true, e);
	if (tree < 0)
		return -1;
	if (setns(home, CLONE_NEWNS))
		return err_sys(e, "go back to the caller's mount namespace");
	return fchdir(tree) || chroot(".") ? err_sys(e, "enter the container's root") : 0;
}

/* Which sysctls belong to a namespace; any other would change the host. */
static int check_sysctl(const struct config *c, const char *key, struct err *e)
{
	static const char *const of_ipc[] = { "kernel/msg", "kernel/sem", "kernel/shm",
					      "fs/mqueue/" };
	enum config_space needs = SPACE_COUNT;

	if (!strcmp(key, "kernel/hostname"))
		return err_set(e, ERR_USAGE,
			       "linux.sysctl: 'kernel.hostname' is set by the member "
			       "hostname");
	if (!strncmp(key, "net/", 4))
		needs = SPACE_NETWORK;
	else if (!strcmp(key, "kernel/domainname"))
		needs = SPACE_UTS;
	else
		for (size_t i = 0; i < ARRAY_LEN(of_ipc); i++)
			if (!strncmp(key, of_ipc[i], strlen(of_ipc[i])))
				needs = SPACE_IPC;
	if (strstr(key, "..") || needs == SPACE_COUNT)
		return err_set(e, ERR_USAGE,
			       "linux.sysctl: '%.128s' belongs to no namespace, "
			       "so it would change the host",
			       key);
	return c->spaces[needs].is_listed
		       ? 0
		       : err_set(e, ERR_USAGE,
				 "linux.sysctl: '%.128s' takes a namespace of the "
				 "container's own",
				 key);
}

static int write_sysctl(const struct config *c, const struct config_pair *pair,
			struct err *e)
{
	AUTO_FREE char *key = text_copy(pair->key);

	/* "net.ipv4.conf.eth0/1.x": as sysctl(8), a dot is the separator, unless a slash
	 * comes first. */
	const bool is_path = key[strcspn(key, "./")] == '/';
	for (char *p = key; !is_path && *p; p++)
		*p = *p == '.' ? '/' : *p == '/' ? '.' : *p;
	if (check_sysctl(c, key, e))
		return -1;
	AUTO_FREE char *path = text_format("/proc/sys/%s", key);
	/* This process still sees the host's mounts, or those of another container that it has
	 * joined, which may have mounted anything there. */
	return c->spaces[SPACE_MOUNT].path
		       ? procfs_write(path + strlen("/proc/"), pair->value, e)
		       : io_write_proc(AT_FDCWD, path, pair->value, e);
}

static int raise_loopback(struct err *e)
{
	struct ifreq request = { .ifr_name = "lo" };
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	request.ifr_flags = IFF_UP | IFF_RUNNING;
	return fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request)
		       ? err_sys(e, "set up the loopback device")
		       : 0;
}

int spaces_set_up(const struct config *c, struct err *e)
{
	const struct config_space_use *net = &c->spaces[SPACE_NETWORK];

	if (c->hostname && *c->hostname && sethostname(c->hostname, strlen(c->hostname)))
		return err_sys(e, "set config.json.hostname");
	if (c->domainname && *c->domainname &&
	    setdomainname(c->domainname, strlen(c->domainname)))
		return err_sys(e, "set config.json.domainname");
	if (net->is_listed && !net->path && raise_loopback(e))
		return -1;
	for (size_t i = 0; i < c->sysctl_count; i++)
		if (write_sysctl(c, &c->sysctls[i], e))
			return -1;
	return 0;
}
