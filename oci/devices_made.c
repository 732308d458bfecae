#include "oci/devices_made.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/worker.h"
#include "oci/config.h"
#include "oci/spaces.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/raw/raw_plan.h"

/* The devices that one worker makes. */
struct batch {
	const struct config *config;
	size_t first; /* the number of its first device */
	size_t count; /* of all devices */
};

/* For each device the number of the descriptor that the worker leaves open, or a negative
 * errno. */
struct made {
	int fds[WORKER_RESULT_MAX / sizeof(int)];
};

/* Looks up which id of the host an id of the container is. */
static bool find_outside(const struct idmap *maps, size_t count, uint32_t inside,
			 uint32_t *ret)
{
	for (size_t i = 0; i < count; i++)
		if (inside >= maps[i].inside && inside - maps[i].inside < maps[i].count) {
			*ret = inside - maps[i].inside + maps[i].outside;
			return true;
		}
	return false;
}

/* Makes the file of device `i` in the folder, and returns a mount of it alone; or a negative
 * errno. */
static int make_one(const struct config *c, size_t i, int folder)
{
	const struct config_device *d = &c->devices[i];
	struct err why;
	uint32_t uid, gid;
	char name[24];

	if (S_ISFIFO(d->mode))
		return -EPERM; /* the container makes a pipe itself */
	if (!find_outside(c->uids, c->uid_count, d->uid, &uid) ||
	    !find_outside(c->gids, c->gid_count, d->gid, &gid))
		return -RAW_NO_OWNER;
	(void)snprintf(name, sizeof(name), "%zu", i); /* fits */
	/* mknod(2) applies the umask. */
	if (mknodat(folder, name, d->mode, d->device) ||
	    fchownat(folder, name, uid, gid, AT_SYMLINK_NOFOLLOW) ||
	    fchmodat(folder, name, d->mode & 07777, 0))
		return -errno;
	const int fd = mount_api_clone(folder, name, false, &why);
	return fd < 0 ? -why.sys : fd;
}

/* Runs in a worker with a mount namespace of its own: before 6.15 the kernel clones only the
 * mounts of the caller's namespace, and the host's must not get the tmpfs. */
static int make_all(void *arg, void *result, struct err *e)
{
	const struct batch *b = arg;
	struct made *made = result;

	/* The host's mount namespace would else get the mount below, too. */
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return err_sys(e, "make the mounts private");
	AUTO_CLOSE int folder = mount_api_make("tmpfs", "mode=0700",
					       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, e);
	if (folder < 0 || mount_api_attach(folder, AT_FDCWD, "/", "/", e))
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(made->fds) && b->first + i < b->count; i++)
		made->fds[i] = make_one(b->config, b->first + i, folder);
	return 0;
}

static bool is_needed(const struct config *c)
{
	const struct config_space_use *spaces = c->spaces;

	return c->device_count && spaces[SPACE_USER].is_listed &&
	       spaces[SPACE_MOUNT].is_listed && !spaces[SPACE_MOUNT].path &&
	       geteuid() == 0 && !spaces_in_userns();
}

/* A worker's result has room for some hundred devices; a privileged container lists all of a
 * host's, which may be more. */
static void make_batch(const struct config *c, size_t first, int *ret)
{
	struct made made = { 0 };
	struct err why = { 0 };
	struct batch b = { .config = c, .first = first, .count = c->device_count };
	const struct worker_task task = {
		.name = "the process that makes devices",
		.work = make_all,
		.arg = &b,
		.result_len = sizeof(made),
		.has_all_fds = true,
		.flags = CLONE_NEWNS | CLONE_FILES,
	};
	const bool is_done = worker_run(&task, &made, &why) == 0;

	for (size_t i = 0; i < ARRAY_LEN(made.fds) && first + i < c->device_count; i++) {
		const int got = is_done ? made.fds[i] : -why.sys;
		ret[first + i] = got > 0 ? got : DEVICES_REFUSED(-got);
	}
}

void devices_make(const struct config *c, int *ret)
{
	const size_t step = ARRAY_LEN(((struct made *)NULL)->fds);

	for (size_t i = 0; is_needed(c) && i < c->device_count; i += step)
		make_batch(c, i, ret);
}
