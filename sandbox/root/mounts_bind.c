/* The steps that show a path of the host. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "sandbox/kernel/mount_api.h"
#include "sandbox/kernel/mount_target.h"
#include "sandbox/plan/plan.h"
#include "sandbox/root/cow_mount.h"
#include "sandbox/root/mounts_parts.h"

int mounts_check_same(int dir, const char *name, const struct step *s, struct err *e)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0)
		return err_sys(e, "stat %.300s", s->source);
	if (st.st_dev == s->dev && st.st_ino == s->ino)
		return 0;
	return err_set(e, ERR_REFUSED,
		       "mount %.300s: it was replaced while the sandbox was "
		       "being made",
		       s->source);
}

/* The new root is mounted over "/", so a clone of "/" with its submounts
 * that is made later would include it.  Such clones are made before the
 * first step. */
int mounts_clone_hosts(struct tree *t, struct err *e)
{
	const struct plan *p = t->plan;

	t->hosts = mem_zeroed(p->count + 1, sizeof(*t->hosts));
	for (size_t i = 0; i < p->count; i++)
		t->hosts[i] = -1;
	for (size_t i = 0; i < p->count; i++) {
		if (p->steps[i].kind != STEP_BIND || strcmp(p->steps[i].source, "/"))
			continue;
		t->hosts[i] = mount_api_clone(AT_FDCWD, "/", true, e);
		if (t->hosts[i] < 0)
			return -1;
	}
	return 0;
}

static int attach_made(struct tree *t, int mount, const struct step *s, struct err *e)
{
	AUTO_TARGET struct mount_target at = { .fd = -1 };

	if (mount_target_make(&t->targets, s->target, s->is_dir, 0755, &at, e) < 0)
		return -1;
	return mounts_attach(t, mount, &at, s, e);
}

/* Tells whether no other process can change the names in the folder: it is of the root's
 * own file system, or of the tmpfs that was mounted last.  The names of a volume change
 * whenever another sandbox that shows it wants them to. */
static bool is_private(const struct tree *t, int folder)
{
	struct stat root, st;

	if (t->is_whole || fstat(t->root, &root) < 0 || fstat(folder, &st) < 0)
		return false;
	return st.st_dev == root.st_dev || st.st_dev == t->tmpfs;
}

/* Enters the folder if it is private.  Many binds behind each other share a folder, which
 * is entered once. */
static bool enter_private(struct tree *t, int folder)
{
	const bool is_kept = folder == t->targets.folder;

	if (is_kept && t->entered == t->targets.changes)
		return true;
	t->entered = 0;
	if (!is_private(t, folder) || fchdir(folder) < 0)
		return false;
	if (is_kept)
		t->entered = t->targets.changes;
	return true;
}

/* Binds the source over a name that was just made in a private folder, which is the working
 * directory: mount(2) follows a link by which another process would have replaced that
 * name. */
static int bind_made(const struct mount_target *at, const struct step *s, struct err *e)
{
	if (mount_api_bind_here(s->source, at->name, e) < 0 ||
	    mounts_check_same(at->dir, at->name, s, e) < 0)
		return -1;
	return mount_api_set_attr_at(at->dir, at->name, s->attr, s->source, e);
}

static int bind_source(struct tree *t, const struct step *s, struct err *e)
{
	int *host = &t->hosts[t->at];
	AUTO_TARGET struct mount_target at = { .fd = -1 };

	if (mount_target_make(&t->targets, s->target, s->is_dir, 0755, &at, e) < 0)
		return -1;
	if (*at.name && *host < 0 && enter_private(t, at.dir))
		return bind_made(&at, s, e);
	AUTO_CLOSE int mount = *host >= 0 ? fd_take(host)
					  : mount_api_clone(AT_FDCWD, s->source, true, e);
	if (mount < 0 || mounts_check_same(mount, "", s, e) < 0 ||
	    mount_api_set_attr(mount, s->attr, true, s->source, e) < 0)
		return -1;
	return mounts_attach(t, mount, &at, s, e);
}

/* Binds the source over an empty file or folder of a prepared folder.  No other process
 * changes the names of that folder. */
static int bind_placed(int folder, const char *name, const struct step *s, struct err *e)
{
	return mount_api_bind(s->source, folder, name, e) < 0
		       ? -1
		       : mounts_check_same(folder, name, s, e);
}

static bool is_placed_bind(const struct plan *p, size_t at)
{
	return at < p->count && p->steps[at].is_placed && p->steps[at].kind == STEP_BIND;
}

/* Mounts a prepared folder and, over the places in it, what the next steps show there.
 * All of them get their flags in one call. */
static int bind_prepared(struct tree *t, const struct step *s, struct err *e)
{
	AUTO_CLOSE int mount = mount_api_clone(AT_FDCWD, s->source, false, e);

	if (mount < 0 || mounts_check_same(mount, "", s, e) < 0 ||
	    attach_made(t, mount, s, e) < 0)
		return -1;
	for (; is_placed_bind(t->plan, t->at + 1); t->at++) {
		const struct step *placed = &t->plan->steps[t->at + 1];
		const char *name = path_below(placed->target, s->target) + 1;
		if (bind_placed(mount, name, placed, e) < 0)
			return -1;
	}
	return mount_api_set_attr(mount, s->attr, true, s->target, e);
}

int mounts_bind(struct tree *t, const struct step *s, struct err *e)
{
	if (s->is_prepared) {
		t->entered = 0;
		return bind_prepared(t, s, e);
	}
	return bind_source(t, s, e) < 0 ? err_from(e, s->from) : 0;
}

static int mount_cow(struct tree *t, const struct step *s, struct err *e)
{
	AUTO_CLOSE int mount = cow_mount(s, e);

	if (mount < 0)
		return -1;
	AUTO_TARGET struct mount_target at = { .fd = -1 };
	if (mount_target_make(&t->targets, s->target, true, 0755, &at, e) < 0)
		return -1;
	return mounts_attach(t, mount, &at, s, e);
}

int mounts_cow(struct tree *t, const struct step *s, struct err *e)
{
	return mount_cow(t, s, e) < 0 ? err_from(e, s->from) : 0;
}

/* Shows the commands' cgroup.  A read-only image may have no mount point for
 * the cgroup; then the step does nothing. */
int mounts_cgroup(struct tree *t, const struct step *s, struct err *e)
{
	struct err why = { 0 };

	if (!s->source || bind_source(t, s, &why) == 0 || why.sys == EROFS)
		return 0;
	*e = why;
	return -1;
}
