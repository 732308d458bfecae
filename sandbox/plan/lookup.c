#include "sandbox/plan/lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "sandbox/plan/lookup_parts.h"
#include "sandbox/plan/overlay_lowers.h"
#include "sandbox/plan/plan.h"
#include "sandbox/plan/store_image.h"

/* The kernel follows no more than these (path_resolution(7)). */
#define LINKS_MAX 40

/* --- a whole path ----------------------------------------------------------------- */

static char *read_image_link(const struct lookup *l, const struct found *f)
{
	char to[PATH_MAX];
	AUTO_CLOSE int fd = overlay_lowers_open(&l->lowers, f->path + 1, O_PATH | O_NOFOLLOW);
	ssize_t len = fd < 0 ? -1 : readlinkat(fd, "", to, sizeof(to) - 1);

	return len > 0 ? text_format("%.*s", (int)len, to) : NULL;
}

static char *read_link(const struct lookup *l, const struct found *f)
{
	char to[PATH_MAX];

	if (f->made)
		return text_copy(f->made->data);
	if (f->is_image)
		return read_image_link(l, f);
	AUTO_FREE char *proc =
		f->host ? NULL : text_format("/proc%s", path_below(f->path, "/proc"));
	ssize_t len = readlink(f->host ? f->host : proc, to, sizeof(to) - 1);
	return len > 0 ? text_format("%.*s", (int)len, to) : NULL;
}

/* A path that is being followed. */
struct way {
	const struct lookup *lookup;
	struct found *here; /* the entry at `at` */
	char *at;	    /* owned: the path so far, without links */
	char *left;	    /* owned: the rest of the path */
	int links;
	bool follows; /* even a link at the end */
};

static void look_here(struct way *w)
{
	found_done(w->here);
	lookup_place(w->lookup, w->at, w->here);
}

static bool stop(struct way *w, enum found_kind kind)
{
	w->here->kind = kind;
	return false;
}

/* Cuts the first name off; NULL: there is none. */
static char *next_name(struct way *w, bool *ret_is_last)
{
	const char *name = w->left + strspn(w->left, "/");
	size_t len = strcspn(name, "/");
	const char *rest = name + len + strspn(name + len, "/");

	if (!len)
		return NULL;
	*ret_is_last = !*rest;
	char *ret = text_format("%.*s", (int)len, name);
	/* A path that ends with a "/" must be a folder. */
	char *left = text_copy(*rest || !name[len] ? rest : ".");
	*ret_is_last &= !*left;
	free(w->left);
	w->left = left;
	return ret;
}

static bool go_up(struct way *w)
{
	char *slash = strrchr(w->at, '/');

	slash[slash == w->at] = '\0';
	look_here(w);
	return true;
}

/* Follows a link, from the folder that the link is in. */
static bool follow(struct way *w)
{
	AUTO_FREE char *to = read_link(w->lookup, w->here);

	if (!to || ++w->links > LINKS_MAX)
		return stop(w, FOUND_LOOP);
	char *left = *w->left ? text_format("%s/%s", to, w->left) : text_copy(to);
	free(w->left);
	w->left = left;
	if (*to == '/') {
		free(w->at);
		w->at = text_copy("/");
	}
	look_here(w);
	return true;
}

static bool enter(struct way *w, const char *name, bool is_last)
{
	AUTO_FREE char *next =
		text_format("%s/%s", strcmp(w->at, "/") ? w->at : "", name);

	found_done(w->here);
	lookup_place(w->lookup, next, w->here);
	if (w->here->kind == FOUND_NOTHING && !is_last)
		return stop(w, FOUND_NO_FOLDER);
	if (w->here->kind != FOUND)
		return false;
	if (S_ISLNK(w->here->st.st_mode) && (w->follows || !is_last))
		return follow(w);
	free(w->at);
	w->at = text_copy(next);
	return true;
}

/* False: the walk is over, and `here` is its end. */
static bool walk_on(struct way *w)
{
	bool is_last;
	AUTO_FREE char *name = next_name(w, &is_last);

	if (!name)
		return false;
	if (!S_ISDIR(w->here->st.st_mode))
		return stop(w, FOUND_FILE);
	if (!lookup_may(w->lookup, w->here, X_OK))
		return stop(w, FOUND_CLOSED);
	if (!strcmp(name, "."))
		return true;
	return !strcmp(name, "..") ? go_up(w) : enter(w, name, is_last);
}

void lookup_path(const struct lookup *l, const char *path, bool follows,
		 struct found *ret)
{
	struct way w = { .lookup = l,
			 .here = ret,
			 .at = text_copy("/"),
			 .left = text_copy(path),
			 .follows = follows };

	lookup_place(l, "/", ret);
	while (walk_on(&w))
		;
	free(w.at);
	free(w.left);
}

void found_done(struct found *f)
{
	own_free(&f->path);
	own_free(&f->host);
}

/* --- permissions ------------------------------------------------------------------ */

/* The id inside for this host id; -1: it is not mapped. */
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

/* A file that the launch makes is its user's.  With ranges it is root's, and so
 * are the files of an image, unless a step says otherwise. */
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

/* user_namespaces(7): a capability counts only for files whose owner and group
 * are both mapped. */
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
	/* The kernel also knows groups and access control lists.  A read-only
	 * file system is no matter of permissions. */
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

/* The place of a step's target, in the tree that the steps before it have made. */
static char *resolve(const struct lookup *l, const struct step *s)
{
	struct found f;
	char *ret;

	/* A name that a step makes is not followed as a link. */
	lookup_path(l, s->target, s->kind != STEP_SYMLINK && s->kind != STEP_FILE, &f);
	bool is_none = (s->kind == STEP_MASK && f.kind != FOUND) ||
		       (s->kind == STEP_CGROUP && !s->source);
	if (is_none)
		ret = NULL;
	else if (f.kind == FOUND || f.kind == FOUND_NOTHING)
		ret = text_copy(f.path);
	else
		ret = text_copy(s->target); /* the folders on the way are made */
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
