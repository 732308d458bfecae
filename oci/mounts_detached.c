#include "oci/mounts_detached.h"

#include <linux/mount.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "oci/config.h"
#include "oci/devices_made.h"
#include "oci/mount_options.h"
#include "oci/spaces.h"
#include "sandbox/raw/raw_mounts.h"
#include "sandbox/raw/raw_plan.h"

struct bind {
	const struct config *config;
	const struct config_mount *mount;
	const char *bundle;
	struct mount_options options;
	struct raw_step step;
};

static bool is_mapped(const struct bind *b)
{
	return b->options.is_idmapped || b->mount->uid_count || b->mount->gid_count;
}

/* The root of the container's user namespace has no rights over the host's files, so the
 * source may lie in a folder that only the engine can enter.  A bind that shares mounts
 * with the host is left to the inside, where the kernel makes it a slave. */
static bool is_from_host(const struct bind *b)
{
	const struct config_space_use *spaces = b->config->spaces;

	return b->options.is_bind && b->mount->source && !b->options.is_remount &&
	       spaces[SPACE_USER].is_listed && spaces[SPACE_MOUNT].is_listed &&
	       !spaces[SPACE_MOUNT].path && !(b->step.propagation & MS_SHARED);
}

/* An id-mapped mount has maps of its own, or those of the container. */
static int map_ids(const struct config *c, const struct config_mount *m, struct err *e)
{
	if (m->uid_count && m->gid_count)
		return spaces_make_userns(m->uids, m->uid_count, m->gids, m->gid_count,
					  e);
	if (c->uid_count && c->gid_count)
		return spaces_make_userns(c->uids, c->uid_count, c->gids, c->gid_count,
					  e);
	return err_set(e, ERR_USAGE, "an id map was expected");
}

/* Returns the mount of the step, whose source is the bind's. */
static int clone(struct bind *b, struct err *e)
{
	AUTO_FREE char *source = mount_options_source(b->mount, b->bundle);

	b->step.source = source;
	b->step.target = (char *)b->mount->target;
	b->step.is_tree = b->options.is_tree;
	b->step.is_tree_mapped = b->options.is_tree_idmapped;
	return raw_mounts_detach(&b->step, e);
}

static int detach_mapped(struct bind *b, int *ret, struct err *e)
{
	if (!b->options.is_bind || !b->mount->source)
		return err_set(e, ERR_UNSUPPORTED, "only binds can be id-mapped");
	AUTO_CLOSE int userns = map_ids(b->config, b->mount, e);
	if (userns < 0)
		return -1;
	b->step.userns = userns;
	*ret = clone(b, e);
	return *ret < 0 ? -1 : 0;
}

/* Returns -1 if this process may clone no mounts, or not this one: the container's own
 * process then makes the bind, and tells what is wrong with it. */
static int detach_bind(struct bind *b)
{
	struct err ignored;

	return clone(b, &ignored);
}

static int detach(struct bind *b, int *ret, struct err *e)
{
	b->step = (struct raw_step){ .kind = RAW_BIND, .fd = -1, .userns = -1 };
	mount_options_read(b->mount, &b->options, &b->step);
	free(b->options.data);
	if (is_mapped(b))
		return detach_mapped(b, ret, e);
	if (is_from_host(b))
		*ret = detach_bind(b);
	return 0;
}

int mounts_detach(const struct config *c, const char *bundle, int **ret, struct err *e)
{
	const size_t count = c->mount_count + c->device_count;
	int *fds = mem_new((count + 1) * sizeof(*fds));

	for (size_t i = 0; i < count; i++)
		fds[i] = -1;
	for (size_t i = 0; i < c->mount_count; i++) {
		struct bind b = { .config = c, .mount = &c->mounts[i], .bundle = bundle };
		if (detach(&b, &fds[i], e)) {
			mounts_release(c, fds);
			return err_in(e, "mount at %s", c->mounts[i].target);
		}
	}
	devices_make(c, fds + c->mount_count);
	*ret = fds;
	return 0;
}

void mounts_close(const struct config *c, int *detached)
{
	for (size_t i = 0; i < c->mount_count + c->device_count; i++)
		own_close(&detached[i]);
}

void mounts_release(const struct config *c, int *detached)
{
	if (detached)
		mounts_close(c, detached);
	free(detached);
}
