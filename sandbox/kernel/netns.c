#include "sandbox/kernel/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"

/* the id that the kernel shows for one that is not mapped (user_namespaces(7)) */
#define NO_ID 65534

void netns_init(struct netns *n)
{
	*n = (struct netns){ -1, -1 };
}

void netns_done(struct netns *n)
{
	own_close(&n->space);
	own_close(&n->owner);
}

/* Tells whether the descriptor is of the same namespace as the path. */
static bool is_same(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

static int check_kind(int fd, const char *path, struct err *e)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return err_sys(e, "look at %.200s", path);
	if (fs.f_type == NSFS_MAGIC && ioctl(fd, NS_GET_NSTYPE) == CLONE_NEWNET)
		return 0;
	(void)err_set(e, ERR_USAGE, "%.200s is no network namespace", path);
	return err_remedy(e,
			  "a network namespace is a file such as /run/netns/x, which ip "
			  "netns add x makes, or /proc/PID/ns/net of a process in it");
}

static int check_other(int fd, const char *path, struct err *e)
{
	if (!is_same(fd, "/proc/self/ns/net"))
		return 0;
	(void)err_set(e, ERR_USAGE,
		      "%.200s is the network namespace that hutch itself is in", path);
	return err_remedy(e, "--network host has this host's network");
}

static int refuse_owner(const char *path, const char *owner, struct err *e)
{
	(void)err_set(e, ERR_REFUSED,
		      "the network namespace %.200s belongs to %s, so this user may not "
		      "enter it",
		      path, owner);
	return err_remedy(e,
			  "start hutch as root, which enters it first, or name one that "
			  "a user namespace of yours owns, as those of rootless podman "
			  "and of unshare -rn");
}

/* Opens the user namespace that owns the network namespace, which must be another one
 * than the caller's, and made by the caller.  EPERM: it is not below the caller's
 * (ioctl_ns(2)). */
static int open_owner(int fd, const char *path, struct err *e)
{
	uid_t uid;

	AUTO_CLOSE int owner = ioctl(fd, NS_GET_USERNS);
	if (owner < 0 && errno == EPERM)
		return refuse_owner(path, "a user namespace outside of this one", e);
	if (owner < 0 || ioctl(owner, NS_GET_OWNER_UID, &uid) < 0)
		return err_sys(e, "find the owner of %.200s", path);
	if (is_same(owner, "/proc/self/ns/user"))
		return refuse_owner(path, "root", e);
	if (uid != geteuid())
		return refuse_owner(path, "another user", e);
	return fd_take(&owner);
}

/* /proc/PID/ns of another user's process, and of one with more rights, is closed
 * (proc(5)). */
static int cannot_open(const char *path, struct err *e)
{
	(void)err_sys(e, "open the network namespace %.200s", path);
	return e->sys != EACCES ? -1
				: err_remedy(e, "start hutch as root, or name one of a "
						"process of yours");
}

int netns_open(const char *path, bool is_root, struct netns *ret, struct err *e)
{
	AUTO_CLOSE int space = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (space < 0)
		return cannot_open(path, e);
	if (check_kind(space, path, e) < 0 || check_other(space, path, e) < 0)
		return -1;
	AUTO_CLOSE int owner = is_root ? -1 : open_owner(space, path, e);
	if (!is_root && owner < 0)
		return -1;
	*ret = (struct netns){ fd_take(&space), fd_take(&owner) };
	return 0;
}

static int cannot_enter(const struct netns *n, struct err *e)
{
	(void)err_sys(e, "enter the network namespace");
	if (e->sys != EPERM || n->owner >= 0)
		return -1;
	return err_remedy(e, "root of a user namespace enters only what that namespace "
			     "owns: start hutch as this host's root");
}

/* The sandbox maps one id of the owner's, namely that of this user there. */
static int enter_owner(int owner, struct err *e)
{
	if (setns(owner, CLONE_NEWUSER) < 0)
		return err_sys(e, "enter the user namespace that owns the network "
				  "namespace");
	if (geteuid() != NO_ID && getegid() != NO_ID)
		return 0;
	(void)err_set(e, ERR_REFUSED,
		      "the user namespace that owns the network namespace "
		      "does not map this user's own ids");
	return err_remedy(e, "unshare -rn makes one that does");
}

int netns_enter(const struct netns *n, struct err *e)
{
	if (n->owner >= 0 && enter_owner(n->owner, e) < 0)
		return -1;
	return setns(n->space, CLONE_NEWNET) < 0 ? cannot_enter(n, e) : 0;
}
