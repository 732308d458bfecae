#include "oci/mounts.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "oci/cgroup_mounts.h"
#include "oci/config.h"
#include "oci/devices_made.h"
#include "oci/log.h"
#include "oci/mount_options.h"
#include "oci/spaces.h"
#include "sandbox/raw/raw_plan.h"

#define FILESYSTEMS_MAX 65536

struct builder {
	const struct config *config;
	const char *bundle;
	struct raw_plan *plan;
};

static bool is_new(const struct config *c, enum config_space space)
{
	return c->spaces[space].is_listed && !c->spaces[space].path;
}

static bool is_type(const struct config_mount *m, const char *type)
{
	return m->type && !strcmp(m->type, type);
}

static bool is_cgroup(const struct config_mount *m)
{
	return is_type(m, "cgroup") || is_type(m, "cgroup2");
}

static bool is_bind(const struct config_mount *m)
{
	return is_type(m, "bind") || list_has(&m->options, "bind") ||
	       list_has(&m->options, "rbind");
}

static bool has_gid(const struct config *c, uint32_t gid)
{
	for (size_t i = 0; i < c->gid_count; i++)
		if (gid >= c->gids[i].inside &&
		    gid - c->gids[i].inside < c->gids[i].count)
			return true;
	return !c->gid_count;
}

/* The group of terminals does not exist in a user namespace that does not map it. */
static void drop_gid(struct mount_options *o)
{
	char *at = o->data ? strstr(o->data, "gid=5") : NULL;

	if (!at || (at > o->data && at[-1] != ',') || (at[5] && at[5] != ','))
		return;
	if (at[5] == ',')
		memmove(at, at + 6, strlen(at + 6) + 1);
	else
		at[at > o->data ? -1 : 0] = '\0';
}

/* Turns a step into a bind of a host path: the fallback for what a user namespace may not
 * mount anew. */
static void make_bind(struct raw_step *step, const char *source)
{
	step->kind = RAW_BIND;
	free(step->source);
	step->source = text_copy(source);
	step->is_tree = true;
}

static void set_type(const struct builder *b, const struct config_mount *m,
		     struct raw_step *step, struct mount_options *o)
{
	const bool is_alien = b->config->spaces[SPACE_USER].is_listed ||
			      spaces_in_userns();

	if (is_cgroup(m)) {
		free(o->data);
		o->data = NULL;
		cgroup_mounts_set(b->config, step);
		return;
	}
	if (is_type(m, "sysfs") && is_alien && !is_new(b->config, SPACE_NETWORK)) {
		make_bind(step, "/sys");
		return;
	}
	if (is_type(m, "devpts") && !has_gid(b->config, 5))
		drop_gid(o);
}

/* The source of a new file system is a word of its own options (fsconfig(2)); a comma in it
 * would end it. */
static void add_source(const struct config_mount *m, struct raw_step *step)
{
	char *data = step->data;

	if (step->kind != RAW_MOUNT || !m->source || strchr(m->source, ','))
		return;
	step->data = data ? text_format("source=%s,%s", m->source, data)
			  : text_format("source=%s", m->source);
	free(data);
}

/* Tells whether the words are flags or NAME=VALUE of file systems, which mean nothing for a
 * bind: the kernel passes over them (mount(2)), and so do other runtimes. */
static bool only_super(const char *data)
{
	static const char *const words[] = { "sync", "dirsync", "lazytime", "mand" };
	bool is_known = true;

	for (const char *at = data; is_known && *at; at += strspn(at, ",")) {
		const size_t len = strcspn(at, ",");
		is_known = memchr(at, '=', len) != NULL;
		for (size_t i = 0; i < ARRAY_LEN(words); i++)
			is_known = is_known || (strlen(words[i]) == len &&
						!strncmp(words[i], at, len));
		at += len;
	}
	return is_known;
}

static int check_bind(const struct config_mount *m, const struct mount_options *o,
		      struct err *e)
{
	if (!o->is_remount && !m->source)
		return err_set(e, ERR_USAGE, "mount at %s: a bind takes a source",
			       m->target);
	/* A bind has no options of a file system, so these words would be lost. */
	return o->data && (o->is_remount || !only_super(o->data))
		       ? err_set(e, ERR_UNSUPPORTED,
				 "mount at %s: unknown options '%.128s'", m->target,
				 o->data)
		       : 0;
}

static int add_mount(const struct builder *b, const struct config_mount *m, int detached,
		     struct err *e)
{
	struct raw_step *step = raw_plan_add(b->plan, RAW_MOUNT, m->target);
	struct mount_options o = { 0 };

	step->from = m->target;
	mount_options_read(m, &o, step);
	if ((o.is_bind || o.is_remount) && check_bind(m, &o, e)) {
		free(o.data);
		return -1;
	}
	if (o.is_remount)
		step->kind = RAW_REMOUNT;
	else if (o.is_bind)
		step->kind = RAW_BIND;
	step->is_tree = o.is_tree;
	step->copies_up = o.copies_up;
	step->source = o.is_bind && m->source ? mount_options_source(m, b->bundle)
		       : m->source	      ? text_copy(m->source)
					      : NULL;
	step->type = m->type && !o.is_bind ? text_copy(m->type) : NULL;
	int rc = step->kind == RAW_MOUNT && !m->type
			 ? err_set(e, ERR_USAGE, "mount at %s: a type was expected",
				   m->target)
			 : 0;
	if (!rc && step->kind == RAW_MOUNT)
		set_type(b, m, step, &o);
	if (step->kind == RAW_MOUNT && !step->data)
		step->data = o.data;
	else
		free(o.data);
	add_source(m, step);
	if (!rc && detached >= 0) {
		step->fd = fcntl(detached, F_DUPFD_CLOEXEC, 0);
		step->is_detached = true;
	}
	return rc;
}

/* --- devices ------------------------------------------------------------------------ */

static bool has_mount(const struct config *c, const char *target)
{
	for (size_t i = 0; i < c->mount_count; i++)
		if (!strcmp(c->mounts[i].target, target))
			return true;
	return false;
}

/* Where /dev is a bind, it is the host's or an image's, and stays as it is. */
static bool is_dev_bound(const struct config *c)
{
	for (size_t i = 0; i < c->mount_count; i++) {
		const struct config_mount *m = &c->mounts[i];
		if (!strcmp(m->target, "/dev") && is_bind(m))
			return true;
	}
	return false;
}

static void add_device(struct raw_plan *plan, const struct config_device *d, int made)
{
	struct raw_step *step = raw_plan_add(plan, RAW_DEVICE, d->path);

	step->mode = d->mode;
	step->device = d->device;
	step->uid = d->uid;
	step->gid = d->gid;
	step->from = d->path;
	step->refused = made < 0 ? DEVICES_REASON(made) : 0;
	step->fd = made < 0 ? -1 : made;
}

static bool has_device(const struct config *c, const char *path)
{
	for (size_t i = 0; i < c->device_count; i++)
		if (!strcmp(c->devices[i].path, path))
			return true;
	return false;
}

/* Adds the devices that each container has, and those of the configuration; `made` are those
 * of mounts_detach(), which the steps then own. */
static void add_devices(const struct builder *b, int *made)
{
	static const struct {
		const char *path;
		unsigned major, minor;
	} defaults[] = {
		{ "/dev/null", 1, 3 },	 { "/dev/zero", 1, 5 },	   { "/dev/full", 1, 7 },
		{ "/dev/random", 1, 8 }, { "/dev/urandom", 1, 9 }, { "/dev/tty", 5, 0 },
	};
	const struct config *c = b->config;

	for (size_t i = 0; i < ARRAY_LEN(defaults); i++) {
		const struct config_device d = {
			.path = defaults[i].path,
			.mode = S_IFCHR | 0666,
			.device = makedev(defaults[i].major, defaults[i].minor),
		};
		if (!has_device(c, d.path) && !has_mount(c, d.path))
			add_device(b->plan, &d, -1);
	}
	/* A privileged container lists all devices of the host; ptmx is that of its own devpts. */
	for (size_t i = 0; i < c->device_count; i++)
		if (strcmp(c->devices[i].path, "/dev/ptmx") != 0)
			add_device(b->plan, &c->devices[i], fd_take(&made[i]));
}

static void add_links(const struct builder *b)
{
	static const struct {
		const char *path, *to;
	} links[] = {
		{ "/dev/fd", "/proc/self/fd" },
		{ "/dev/stdin", "/proc/self/fd/0" },
		{ "/dev/stdout", "/proc/self/fd/1" },
		{ "/dev/stderr", "/proc/self/fd/2" },
		{ "/dev/ptmx", "pts/ptmx" },
	};

	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		if (!has_mount(b->config, links[i].path)) {
			struct raw_step *step =
				raw_plan_add(b->plan, RAW_SYMLINK, links[i].path);
			step->source = text_copy(links[i].to);
		}
}

/* A kernel that enforces SELinux has its file system, and one started without SELinux has not. */
static int has_selinux(bool *ret, struct err *e)
{
	AUTO_CLOSE int fd = open("/proc/filesystems", O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *text = NULL;
	size_t len;

	if (fd < 0)
		return err_sys(e, "open /proc/filesystems");
	if (io_read_file(fd, "/proc/filesystems", FILESYSTEMS_MAX, &text, &len, e))
		return -1;
	*ret = strstr(text, "\tselinuxfs\n") != NULL;
	return 0;
}

/* A label gives processes that SELinux confines a way to files.  Without SELinux no process is
 * confined by it, and no mount can have one. */
static int check_label(const struct config *c, struct err *e)
{
	struct err why;
	bool has = false;

	if (!c->mount_label || !*c->mount_label)
		return 0;
	if (has_selinux(&has, e))
		return -1;
	if (has)
		return err_set(e, ERR_UNSUPPORTED,
			       "linux.mountLabel: hutch-oci sets no labels of SELinux");
	(void)err_set(&why, ERR_UNSUPPORTED,
		      "linux.mountLabel: passed over, since SELinux is not active");
	log_warning(&why);
	return 0;
}

static int add_mounts(const struct builder *b, const struct mounts_order *o,
		      struct err *e)
{
	const struct config *c = o->config;

	for (size_t i = 0; i < c->mount_count; i++) {
		const struct config_mount *m = &c->mounts[i];
		if (add_mount(b, m, o->detached[i], e))
			return -1;
		if (is_cgroup(m) && !is_bind(m) && !list_has(&m->options, "remount"))
			cgroup_mounts_fill(c, m, o->cgroup, b->plan);
	}
	return 0;
}

int mounts_plan(const struct mounts_order *o, struct raw_plan *ret, struct err *e)
{
	const struct config *c = o->config;
	const struct builder b = { c, o->bundle, ret };

	if (check_label(c, e))
		return -1;
	ret->root = c->root;
	ret->root_propagation = c->propagation;
	ret->is_root_readonly = c->is_root_readonly;
	if (add_mounts(&b, o, e))
		return -1;
	if (!is_dev_bound(c)) {
		add_devices(&b, o->detached + c->mount_count);
		add_links(&b);
	}
	/* The working directory may be missing in an image.  Later the root may be read-only. */
	if (c->has_process && strcmp(c->process.cwd, "/") != 0)
		raw_plan_add(ret, RAW_DIR, c->process.cwd)->mode = 0755;
	for (size_t i = 0; i < c->readonly.count; i++)
		raw_plan_add(ret, RAW_COVER, c->readonly.items[i])->is_always = true;
	for (size_t i = 0; i < c->masked.count; i++)
		(void)raw_plan_add(ret, RAW_MASK, c->masked.items[i]);
	return 0;
}
