#include "oci/cgroup_mounts.h"

#include <linux/mount.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "oci/cgroups.h"
#include "oci/cgroups_v1.h"
#include "oci/config.h"
#include "oci/mount_options.h"
#include "sandbox/raw/raw_plan.h"

/* The place of the v2 hierarchy where it is the only one. */
#define ALONE "/sys/fs/cgroup"

struct filling {
	const struct config_mount *mount;
	struct raw_plan *plan;
};

static bool has_v2_alone(void)
{
	const char *root = cgroups_root();

	return root && !strcmp(root, ALONE);
}

static void set_type(struct raw_step *step, const char *type)
{
	free(step->type);
	step->type = text_copy(type);
}

/* cgroup2 in a cgroup namespace shows the container's own cgroup as the root; without one
 * a bind of its folder does. */
static void set_v2(const struct config *c, char *own, struct raw_step *step)
{
	const struct config_space_use *space = &c->spaces[SPACE_CGROUP];

	if (space->is_listed && !space->path) {
		step->kind = RAW_MOUNT;
		set_type(step, "cgroup2");
		return;
	}
	step->kind = RAW_BIND;
	step->is_tree = true;
	free(step->source);
	step->source = text_copy(own);
}

void cgroup_mounts_set(const struct config *c, struct raw_step *step)
{
	AUTO_FREE char *own = has_v2_alone() ? cgroups_own() : NULL;

	if (own) {
		set_v2(c, own, step);
		return;
	}
	set_type(step, "tmpfs");
	step->data = text_copy("size=0,mode=0755");
	/* The folders are made first; cgroup_mounts_fill() makes it read-only. */
	step->flags.set &= ~(uint64_t)MOUNT_ATTR_RDONLY;
}

/* Adds a step with the flags of the mount. */
static struct raw_step *add(const struct filling *f, enum raw_kind kind, const char *name)
{
	AUTO_FREE char *target = text_format("%s%s%s", f->mount->target, *name ? "/" : "",
					     name);
	struct raw_step *step = raw_plan_add(f->plan, kind, target);
	struct mount_options o = { 0 };

	step->from = f->mount->target;
	mount_options_read(f->mount, &o, step);
	free(o.data); /* no file system is made */
	return step;
}

static void add_v1(const char *controller, const char *folder, void *arg)
{
	add(arg, RAW_BIND, controller)->source = text_copy(folder);
}

void cgroup_mounts_fill(const struct config *c, const struct config_mount *m,
			const char *path, struct raw_plan *plan)
{
	struct filling f = { m, plan };

	if (has_v2_alone())
		return;
	AUTO_FREE char *own = cgroups_own();
	if (path)
		cgroups_v1_each(path, add_v1, &f);
	if (own)
		set_v2(c, own, add(&f, RAW_MOUNT, "unified"));
	add(&f, RAW_REMOUNT, "")->flags.set |= MOUNT_ATTR_RDONLY;
}
