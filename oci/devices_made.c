#include "oci/devices_made.h"

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

/* The numbers of the descriptors that the worker leaves open; 0: not made. */
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

/* Makes file `i` in the folder, and returns a mount of it alone. */
static int make_one(const struct config *c, size_t i, int folder)
{
	const struct config_device *d = &c->devices[i];
	struct err ignored;
	uint32_t uid, gid;
	char name[24];

	/* The container makes a pipe itself. */
	if (S_ISFIFO(d->mode) || !find_outside(c->uids, c->uid_count, d->uid, &uid) ||
	    !find_outside(c->gids, c->gid_count, d->gid, &gid))
		return -1;
	(void)snprintf(name, sizeof(name), "%zu", i); /* fits */
	/* mknod(2) applies the umask. */
	return mknodat(folder, name, d->mode, d->device) ||
			       fchownat(folder, name, uid, gid, AT_SYMLINK_NOFOLLOW) ||
			       fchmodat(folder, name, d->mode & 07777, 0)
		       ? -1
		       : mount_api_clone(folder, name, false, &ignored);
}

/* Runs in a worker with a mount namespace of its own: before 6.15 the kernel clones only the
 * mounts of the caller's namespace, and the host's must not get the tmpfs. */
static int make_all(void *arg, void *result, struct err *e)
{
	const struct config *c = arg;
	struct made *made = result;

	/* The host's mount namespace would else get the mount below, too. */
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return err_sys(e, "make the mounts private");
	AUTO_CLOSE int folder = mount_api_make("tmpfs", "mode=0700",
					       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, e);
	if (folder < 0 || mount_api_attach(folder, AT_FDCWD, "/", "/", e))
		return -1;
	for (size_t i = 0; i < c->device_count && i < ARRAY_LEN(made->fds); i++) {
		const int fd = make_one(c, i, folder);
		made->fds[i] = fd > 0 ? fd : 0;
	}
	return 0;
}

static bool is_needed(const struct config *c)
{
	const struct config_space_use *spaces = c->spaces;

	return c->device_count && spaces[SPACE_USER].is_listed &&
	       spaces[SPACE_MOUNT].is_listed && !spaces[SPACE_MOUNT].path &&
	       geteuid() == 0 && !spaces_in_userns();
}

void devices_make(const struct config *c, int *ret)
{
	struct made made = { 0 };
	struct err ignored; /* the container's own process tells which device it lacks */
	const struct worker_task task = {
		.name = "the process that makes devices",
		.work = make_all,
		.arg = (void *)c,
		.result_len = sizeof(made),
		.has_all_fds = true,
		.flags = CLONE_NEWNS | CLONE_FILES,
	};

	if (!is_needed(c) || worker_run(&task, &made, &ignored))
		return;
	for (size_t i = 0; i < c->device_count && i < ARRAY_LEN(made.fds); i++)
		if (made.fds[i])
			ret[i] = made.fds[i];
}
