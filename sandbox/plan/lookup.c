#include "sandbox/plan/lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/path_walk.h"
#include "sandbox/plan/lookup_parts.h"
#include "sandbox/plan/overlay_lowers.h"
#include "sandbox/plan/plan.h"
#include "sandbox/plan/store_image.h"

/* --- a whole path ----------------------------------------------------------------- */

static ssize_t read_image_link(const struct lookup *l, const struct found *f, char *to)
{
	AUTO_CLOSE int fd =
		overlay_lowers_open(&l->lowers, f->path + 1, O_PATH | O_NOFOLLOW);

	return fd < 0 ? -1 : readlinkat(fd, "", to, PATH_MAX - 1);
}

static ssize_t read_host_link(const struct found *f, char *to)
{
	AUTO_FREE char *proc =
		f->host ? NULL : text_format("/proc%s", path_below(f->path, "/proc"));

	return readlink(f->host ? f->host : proc, to, PATH_MAX - 1);
}

/* The state of a look-up, which follows a path inside the sandbox name by name. */
struct walk {
	const struct lookup *lookup;
	struct found *here; /* borrowed: the file that the look-up has reached */
	struct found link;  /* owned: the link that was found last */
	bool follows;	    /* whether a link at the end of the path is followed too */
};

static int go_to(struct walk *w, const char *path)
{
	struct found f;

	lookup_place(w->lookup, path, &f);
	found_done(w->here);
	*w->here = f;
	return PATH_WALK_ON;
}

static int go_root(void *context)
{
	return go_to(context, "/");
}

static int go_up(struct walk *w)
{
	const char *path = w->here->path, *slash = strrchr(path, '/');
	AUTO_FREE char *above =
		text_format("%.*s", slash == path ? 1 : (int)(slash - path), path);

	return go_to(w, above);
}

/* Ends the look-up at the path that it has reached, with `kind` as the result. */
static int stop(struct walk *w, enum found_kind kind)
{
	w->here->kind = kind;
	return -1;
}

static int go_down(struct walk *w, const char *name, bool is_last)
{
	const char *path = w->here->path;
	AUTO_FREE char *next = text_format("%s/%s", strcmp(path, "/") ? path : "", name);
	struct found f;

	lookup_place(w->lookup, next, &f);
	const bool is_link = f.kind == FOUND && S_ISLNK(f.st.st_mode);
	struct found *to = is_link && (w->follows || !is_last) ? &w->link : w->here;
	found_done(to);
	*to = f;
	if (to == &w->link)
		return PATH_WALK_LINK;
	if (f.kind == FOUND_NOTHING && !is_last)
		return stop(w, FOUND_NO_FOLDER);
	return f.kind == FOUND ? PATH_WALK_ON : stop(w, f.kind);
}

static int enter(void *context, const char *name, bool is_last)
{
	struct walk *w = context;

	if (!S_ISDIR(w->here->st.st_mode))
		return stop(w, FOUND_FILE);
	if (!lookup_may(w->lookup, w->here, X_OK))
		return stop(w, FOUND_CLOSED);
	if (!strcmp(name, "."))
		return PATH_WALK_ON;
	return !strcmp(name, "..") ? go_up(w) : go_down(w, name, is_last);
}

static int read_link(void *context, const char *name, char *to)
{
	const struct walk *w = context;
	const struct found *f = &w->link;
	ssize_t len;

	(void)name;
	if (f->made)
		len = snprintf(to, PATH_MAX, "%s", f->made->data);
	else if (f->is_image)
		len = read_image_link(w->lookup, f, to);
	else
		len = read_host_link(f, to);
	if (len <= 0 || len >= PATH_MAX)
		return -ELOOP;
	to[len] = '\0';
	return 0;
}

void lookup_path(const struct lookup *l, const char *path, bool follows,
		 struct found *ret)
{
	static const struct path_tree shown = { enter, read_link, go_root };
	struct walk w = { .lookup = l, .here = ret, .follows = follows };
	struct path_walk walk = { .tree = &shown, .context = &w };

	lookup_place(l, "/", ret);
	if (path_walk(&walk, path) == -ELOOP) {
		found_done(ret);
		*ret = w.link;
		ret->kind = FOUND_LOOP;
	} else {
		found_done(&w.link);
	}
}

void found_done(struct found *f)
{
	own_free(&f->path);
	own_free(&f->host);
}

/* --- permissions ------------------------------------------------------------------ */

/* Returns the id inside that stands for this host id; -1: the host id is not
 * mapped. */
static int64_t inside_id(const struct idmap *maps, size_t count, uint32_t id)
{
	for (size_t i = 0; i < count; i++)
		if (id >= maps[i].outside && id - maps[i].outside < maps[i].count)
			return (int64_t)maps[i].inside + (id - maps[i].outside);
	return -1;
}

struct owner {
	int64_t uid, gid;
};

/* Returns the owner of a file, inside.  A file that the launch makes belongs to the
 * launch's user.  With --idmap ranges, files that the launch makes and files of an image
 * belong to root, unless a step says otherwise. */
static struct owner owner_of(const struct plan *p, const struct found *f)
{
	if (p->has_ranges && f->made && (f->made->uid || f->made->gid))
		return (struct owner){ f->made->uid, f->made->gid };
	if (p->has_ranges && (f->is_own || f->is_image) && f->step->kind != STEP_SCRATCH)
		return (struct owner){ 0, 0 };
	if (f->is_own)
		return (struct owner){ p->uid, p->gid };
	return (struct owner){ inside_id(p->ids.uids, p->ids.uid_count, f->st.st_uid),
			       inside_id(p->ids.gids, p->ids.gid_count, f->st.st_gid) };
}

/* Tells whether a capability of the command overrides the file's mode.  A capability
 * applies only to files whose owner and group are both mapped (user_namespaces(7)). */
static bool may_override(const struct plan *p, const struct found *f, struct owner owner,
			 int how)
{
	const bool is_folder = S_ISDIR(f->st.st_mode);

	if (owner.uid < 0 || owner.gid < 0)
		return false;
	if (p->caps & 1ull << CAP_DAC_OVERRIDE)
		return how != X_OK || is_folder || f->st.st_mode & 0111;
	return p->caps & 1ull << CAP_DAC_READ_SEARCH &&
	       (how == R_OK || (how == X_OK && is_folder));
}

static bool has_mode(const struct plan *p, const struct found *f, struct owner owner,
		     int how)
{
	mode_t mode = f->st.st_mode;

	if (owner.uid == p->uid)
		return mode >> 6 & (mode_t)how;
	if (owner.gid == p->gid)
		return mode >> 3 & (mode_t)how;
	return mode & (mode_t)how;
}

bool lookup_may(const struct lookup *l, const struct found *f, int how)
{
	const struct plan *p = l->plan;
	const struct owner owner = owner_of(p, f);

	if (may_override(p, f, owner, how))
		return true;
	/* For files of the host, access(2) decides, which also respects groups and
	 * access control lists.  EROFS counts as allowed: it is not about permissions
	 * but about a read-only file system. */
	if (f->host && !p->has_ranges)
		return access(f->host, how) == 0 || errno == EROFS;
	return has_mode(p, f, owner, how);
}

int lookup_open(const struct lookup *l, const struct found *f)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

	if (f->is_image)
		return overlay_lowers_open(&l->lowers, f->path + 1, flags & ~O_CLOEXEC);
	errno = ENOENT;
	return f->host ? open(f->host, flags) : -1;
}

/* --- the plan --------------------------------------------------------------------- */

/* Returns the path of a step's target with all links resolved, in the tree that the
 * earlier steps have made; NULL if the step does nothing. */
static char *resolve(const struct lookup *l, const struct step *s)
{
	struct found f;
	char *ret;

	/* A step that makes a link or a file replaces a link that has that name, and
	 * does not follow it. */
	lookup_path(l, s->target, s->kind != STEP_SYMLINK && s->kind != STEP_FILE, &f);
	bool is_none = (s->kind == STEP_MASK && f.kind != FOUND) ||
		       (s->kind == STEP_CGROUP && !s->source);
	if (is_none)
		ret = NULL;
	else if (f.kind == FOUND || f.kind == FOUND_NOTHING)
		ret = text_copy(f.path);
	else
		ret = text_copy(s->target); /* the launch makes the missing folders on
					     * the way to the target */
	found_done(&f);
	return ret;
}

static void list_lowers(struct lookup *l)
{
	const struct plan *p = l->plan;
	const struct step *root = &p->steps[0];

	if (p->store_image)
		for (size_t i = 0; i < p->store_image->lowers.count; i++)
			list_add(&l->lowers, p->store_image->lowers.items[i]);
	else if (root->kind == STEP_OVERLAY)
		list_add(&l->lowers, root->source);
}

struct lookup *lookup_new(const struct plan *plan)
{
	struct lookup *l = mem_zeroed(1, sizeof(*l));

	l->plan = plan;
	l->targets = mem_zeroed(plan->count, sizeof(*l->targets));
	list_lowers(l);
	l->targets[0] = text_copy("/");
	for (l->done = 1; l->done < plan->count; l->done++)
		l->targets[l->done] = resolve(l, &plan->steps[l->done]);
	return l;
}

void lookup_free(struct lookup *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->plan->count; i++)
		free(l->targets[i]);
	free(l->targets);
	list_done(&l->lowers);
	free(l);
}
