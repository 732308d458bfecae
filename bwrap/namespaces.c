#include "bwrap/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "bwrap/args.h"
#include "bwrap/privileges.h"
#include "sandbox/kernel/diagnose.h"
#include "sandbox/kernel/idmap.h"

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Tells whether root may make a user namespace, by the one setting that a sandbox around
 * this process may have made. */
static bool can_make_user(void)
{
	char text[16] = "";

	if (!exists("/proc/self/ns/user"))
		return false;
	AUTO_CLOSE int fd =
		open("/proc/sys/user/max_user_namespaces", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || io_read_full(fd, text, sizeof(text) - 1) <= 0)
		return true;
	return strcmp(text, "0\n") != 0;
}

static bool makes_user(const struct args *a)
{
	if (a->unshare_user || (getuid() != 0 && a->userns < 0))
		return true;
	return a->unshare_user_try && can_make_user();
}

static int decide_cgroup(const struct args *a, struct namespaces *n, struct err *e)
{
	const bool can = exists("/proc/self/ns/cgroup");

	if (a->unshare_cgroup && !can)
		return err_set(e, ERR_UNSUPPORTED,
			       "Cannot create new cgroup namespace because the kernel "
			       "does not support it");
	if (a->unshare_cgroup || (a->unshare_cgroup_try && can))
		n->flags |= CLONE_NEWCGROUP;
	return 0;
}

int namespaces_decide(const struct args *a, struct namespaces *ret, struct err *e)
{
	struct namespaces n = { .flags = CLONE_NEWNS,
				.makes_user = makes_user(a),
				.outer_uid = getuid(),
				.outer_gid = getgid() };

	n.uid = a->uid < 0 ? n.outer_uid : (uint32_t)a->uid;
	n.gid = a->gid < 0 ? n.outer_gid : (uint32_t)a->gid;
	if (n.makes_user)
		n.flags |= CLONE_NEWUSER;
	if (a->unshare_pid)
		n.flags |= CLONE_NEWPID;
	if (a->unshare_net)
		n.flags |= CLONE_NEWNET;
	if (a->unshare_ipc)
		n.flags |= CLONE_NEWIPC;
	if (a->unshare_uts)
		n.flags |= CLONE_NEWUTS;
	if ((a->unshare_cgroup || a->unshare_cgroup_try) && decide_cgroup(a, &n, e) < 0)
		return -1;
	*ret = n;
	return 0;
}

int namespaces_join(const struct args *a, struct err *e)
{
	if (a->userns >= 0 && setns(a->userns, CLONE_NEWUSER) < 0) {
		if (errno == EINVAL)
			return err_set(e, ERR_USAGE,
				       "Joining the specified user namespace failed, it "
				       "might not be a descendant of the current user "
				       "namespace.");
		return err_sys(e, "Joining specified user namespace failed");
	}
	if (a->pidns >= 0 && setns(a->pidns, CLONE_NEWPID) < 0)
		return err_sys(e, "Setting pidns failed");
	return 0;
}

/* Puts bwrap's words in front of the errno, since programs look for them, and adds what
 * on this host is the cause. */
static int reword(const char *words, struct err *e)
{
	struct err why = *e;

	diagnose_setup(&why);
	(void)err_set(e, (enum err_kind)why.kind, "%s: %s", words, err_words(why.sys));
	e->sys = why.sys;
	return *why.remedy ? err_remedy(e, "%s", why.remedy) : -1;
}

/* Writes the maps of a new user namespace. */
static int map_ids(const struct namespaces *n, struct err *e)
{
	struct idmap uid, gid;

	(void)idmap_single(&uid, n->uid, n->outer_uid);
	(void)idmap_single(&gid, n->gid, n->outer_gid);
	if (idmap_deny_setgroups(e) < 0 || idmap_write_own("uid_map", &uid, e) < 0)
		return reword("setting up uid map", e);
	if (idmap_write_own("gid_map", &gid, e) < 0)
		return reword("setting up gid map", e);
	return 0;
}

int namespaces_take_ids(const struct args *a, const struct namespaces *n, struct err *e)
{
	/* A new user namespace comes with a full bounding set. */
	if ((n->makes_user || a->userns >= 0) && privileges_bound(a->caps, e) < 0)
		return -1;
	if (a->userns >= 0) {
		if (n->uid != n->outer_uid && setuid(n->uid) < 0)
			return err_sys(e, "unable to switch to uid %u", n->uid);
		if (n->gid != n->outer_gid && setgid(n->gid) < 0)
			return err_sys(e, "unable to switch to gid %u", n->gid);
		return 0;
	}
	return n->makes_user && a->userns_block < 0 ? map_ids(n, e) : 0;
}

int namespaces_start_loopback(struct err *e)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	/* netdevice(7); the kernel adds the addresses.  Programs look for bwrap's words,
	 * in which the device is set up by netlink. */
	if (fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0)
		return 0;
	(void)err_sys(e, "set the loopback device up");
	return reword("loopback: Failed RTM_NEWLINK", e);
}

static int write_proc(int proc, const char *file, const struct idmap *map, struct err *e)
{
	char line[64];

	(void)snprintf(line, sizeof(line), "%u %u %u\n", map->inside, map->outside,
		       map->count);
	return io_write_proc(proc, file, line, e);
}

/* Lets this user namespace have one child, and becomes that child, whose processes cannot
 * change the bound: it belongs to the parent. */
static int disable_user(const struct args *a, const struct namespaces *n, int proc,
			struct err *e)
{
	struct idmap uid, gid;

	(void)idmap_single(&uid, n->uid, n->uid);
	(void)idmap_single(&gid, n->gid, n->gid);
	if (io_write_proc(proc, "sys/user/max_user_namespaces", "1", e) < 0)
		return err_in(e, "--disable-userns");
	if (unshare(CLONE_NEWUSER) < 0)
		return err_sys(e, "unshare user ns");
	if (privileges_bound(a->caps, e) < 0)
		return -1;
	/* Without that the kernel gives the files below /proc/self to root. */
	if (privileges_show(e) < 0)
		return -1;
	if (write_proc(proc, "self/uid_map", &uid, e) < 0)
		return err_in(e, "setting up uid map");
	if (write_proc(proc, "self/gid_map", &gid, e) < 0)
		return err_in(e, "setting up gid map");
	return 0;
}

int namespaces_finish(const struct args *a, const struct namespaces *n, int proc,
		      struct err *e)
{
	if (a->userns2 >= 0 && setns(a->userns2, CLONE_NEWUSER) < 0)
		return err_sys(e, "Setting userns2 failed");
	if (a->disable_userns && disable_user(a, n, proc, e) < 0)
		return -1;
	if ((a->disable_userns || a->assert_userns_disabled) &&
	    unshare(CLONE_NEWUSER) == 0)
		return err_set(e, ERR_REFUSED,
			       "creation of new user namespaces was not disabled as "
			       "requested");
	return 0;
}

int namespaces_explain(const struct namespaces *n, struct err *e)
{
	const int sys = errno;
	struct err why = { 0 };

	(void)diagnose_clone(n->flags, &why);
	if (n->makes_user && sys == EPERM)
		(void)err_set(e, ERR_REFUSED,
			      "No permissions to create a new namespace, likely because "
			      "the kernel does not allow non-privileged user namespaces");
	else if (sys == ENOSPC)
		(void)err_set(e, ERR_LIMIT,
			      "Creating new namespace failed: nesting depth or "
			      "/proc/sys/user/max_*_namespaces exceeded (ENOSPC)");
	else
		(void)err_set(e, (enum err_kind)why.kind,
			      "Creating new namespace failed: %s", err_words(sys));
	e->sys = sys;
	if (strstr(why.remedy, "--network")) /* a flag of hutch run */
		return err_remedy(e,
				  "%s; with --unshare-all, --share-net does without one",
				  why.text);
	return err_remedy(e, "%s", *why.remedy ? why.remedy : why.text);
}
