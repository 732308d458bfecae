/* Looks up a single name inside: finds the step that makes or shows the file with that
 * name, and describes the file. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/kernel.h"
#include "base/list.h"
#include "base/own.h"
#include "base/path.h"
#include "sandbox/plan/lookup.h"
#include "sandbox/plan/lookup_parts.h"
#include "sandbox/plan/overlay_lowers.h"
#include "sandbox/plan/plan.h"

/* --- one name, without links on the way ------------------------------------------- */

static bool is_mount(enum step_kind kind)
{
	return kind != STEP_DIR && kind != STEP_SYMLINK && kind != STEP_FILE &&
	       kind != STEP_READONLY && kind != STEP_SEAL;
}

static bool is_root(const struct step *s)
{
	return s->kind == STEP_ROOT || s->kind == STEP_OVERLAY || s->kind == STEP_MERGE;
}

static bool is_never_written(const struct step *s)
{
	return s->attr & MOUNT_ATTR_RDONLY || s->kind == STEP_CGROUP ||
	       s->kind == STEP_LOGS;
}

static const char *target_of(const struct lookup *l, size_t i)
{
	return l->targets ? l->targets[i] : l->plan->steps[i].target;
}

size_t lookup_cover(const struct lookup *l, const char *path, bool *ret_is_read_only)
{
	size_t cover = 0;

	*ret_is_read_only = false;
	for (size_t i = 0; i < l->done; i++) {
		const struct step *s = &l->plan->steps[i];
		if (s->kind == STEP_SEAL && is_root(&l->plan->steps[cover]))
			*ret_is_read_only = true;
		const char *target = target_of(l, i);
		if (!target || !path_below(path, target))
			continue;
		if (s->kind == STEP_READONLY)
			*ret_is_read_only = true;
		if (!is_mount(s->kind))
			continue;
		cover = i;
		*ret_is_read_only = is_never_written(s);
	}
	return cover;
}

/* Returns the index of the step after which steps make files in this mount.  That is the
 * step that makes the mount.  For the overlay of the root (STEP_MERGE), it is
 * STEP_OVERLAY already: the steps between these two make files of the overlay too. */
static size_t begin_of(const struct lookup *l, size_t cover)
{
	while (l->plan->steps[cover].kind == STEP_MERGE)
		cover = 0;
	return cover;
}

/* Returns the step that makes this path, unless the path is a mount point.  If there is
 * none, returns a step that makes a file below the path, and so the path as a folder
 * too. */
static const struct step *maker_of(const struct lookup *l, size_t cover, const char *path,
				   bool *ret_is_above)
{
	const struct step *above = NULL, *exact = NULL;

	for (size_t i = begin_of(l, cover) + 1; i < l->done; i++) {
		const struct step *s = &l->plan->steps[i];
		const char *rest = l->targets[i] ? path_below(l->targets[i], path) :
						   NULL;
		if (!rest || s->kind == STEP_MASK || s->kind == STEP_READONLY ||
		    s->kind == STEP_SEAL)
			continue;
		if (!*rest)
			exact = s;
		else
			above = s;
	}
	*ret_is_above = !exact && above;
	return exact ? exact : above;
}

static mode_t mode_of_tmpfs(const struct step *s)
{
	const char *mode = s->data ? strstr(s->data, "mode=") : NULL;

	return mode ? (mode_t)strtoul(mode + 5, NULL, 8) : 0755;
}

static void set_own(struct found *f, const struct step *s, mode_t mode)
{
	f->kind = FOUND;
	f->is_own = true;
	f->made = s;
	f->st = (struct stat){ .st_mode = mode };
}

/* Returns whether a step makes this path.  If so, describes the file that it makes in
 * *f. */
static bool look_at_made(const struct lookup *l, size_t cover, const char *path,
			 struct found *f)
{
	bool is_above;
	const struct step *s = maker_of(l, cover, path, &is_above);

	if (!s)
		return false;
	if (!is_above && s->kind == STEP_SYMLINK)
		set_own(f, s, S_IFLNK | 0777);
	else if (!is_above && s->kind == STEP_FILE)
		set_own(f, s, S_IFREG | s->mode);
	else
		set_own(f, s, S_IFDIR | (is_above || !s->mode ? 0755 : s->mode));
	return true;
}

static void look_at_host(struct found *f, char *path)
{
	f->host = path;
	if (lstat(path, &f->st) == 0)
		f->kind = FOUND;
}

static void look_at_image(const struct lookup *l, const char *rest, struct found *f)
{
	struct overlay_lowers_entry entry = { .path = *rest ? rest + 1 : "." };

	overlay_lowers_look(&l->lowers, &entry, 1);
	if (entry.error)
		return;
	f->kind = FOUND;
	f->st = entry.st;
	f->is_image = true;
}

/* Looks at a path on the mount of the root.  If the image has a folder there, that
 * folder is found; any other entry of the image is replaced if a step makes the same
 * path. */
static void look_at_root(const struct lookup *l, size_t cover, const char *path,
			 struct found *f)
{
	if (l->lowers.count)
		look_at_image(l, path_below(path, "/"), f);
	if ((f->kind != FOUND || !S_ISDIR(f->st.st_mode)) &&
	    look_at_made(l, cover, path, f))
		f->is_image = false;
}

/* Looks at the host's procfs in place of the sandbox's, which does not exist yet.  The
 * folders of processes are left out, and links below "self" are not read: both would
 * tell about processes of the host. */
static void look_at_proc(const char *rest, struct found *f)
{
	static const char *const own[] = { "/self", "/thread-self" };

	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		f->is_own |= path_below(rest, own[i]) != NULL;
	AUTO_FREE char *path = text_format("/proc%s", rest);
	if ((rest[1] >= '0' && rest[1] <= '9') || lstat(path, &f->st) < 0)
		return;
	f->kind = FOUND;
	/* The links below "self" are about this process and lead elsewhere inside, so
	 * only the type of their targets is guessed here. */
	if (S_ISLNK(f->st.st_mode) && f->is_own)
		f->st.st_mode = strcmp(rest, "/self") && strcmp(rest, "/thread-self") ?
					S_IFREG | 0700 :
					S_IFDIR | 0555;
}

static void look_at_devpts(const char *rest, struct found *f)
{
	if (!strcmp(rest, "/ptmx"))
		set_own(f, f->step, S_IFCHR | 0666);
}

static bool is_of_host(const struct step *s)
{
	return s->kind == STEP_BIND || s->kind == STEP_COW || s->kind == STEP_CGROUP;
}

static void look_below(const struct lookup *l, size_t cover, const char *path,
		       struct found *f)
{
	const struct step *s = f->step;
	const char *rest = path_below(path, l->targets[cover]);

	if (s->kind == STEP_OVERLAY || s->kind == STEP_MERGE) {
		look_at_root(l, cover, path, f);
		return;
	}
	if (is_of_host(s))
		look_at_host(f,
			     text_format("%s%s", strcmp(s->source, "/") ? s->source : "",
					 rest));
	else if (s->kind == STEP_PROC)
		look_at_proc(rest, f);
	else if (s->kind == STEP_DEVPTS)
		look_at_devpts(rest, f);
	if (f->kind != FOUND)
		/* if no step makes the path either, *f still says that it does not
		 * exist */
		(void)look_at_made(l, cover, path, f);
}

static void look_at_mount(struct found *f)
{
	const struct step *s = f->step;

	if (s->kind == STEP_MASK)
		f->kind = FOUND_MASK;
	else
		set_own(f, s,
			S_IFDIR | (s->kind == STEP_TMPFS ? mode_of_tmpfs(s) :
				   s->kind == STEP_PROC || s->kind == STEP_DEVPTS ? 0555 :
				   s->mode ? s->mode :
					     0755));
}

void lookup_place(const struct lookup *l, const char *path, struct found *ret)
{
	bool is_read_only;
	size_t cover = lookup_cover(l, path, &is_read_only);
	const struct step *s = &l->plan->steps[cover];

	*ret = (struct found){ .kind = FOUND_NOTHING,
			       .path = text_copy(path),
			       .step = s,
			       .is_read_only = is_read_only };
	if (is_of_host(s) ||
	    (*path_below(path, l->targets[cover]) && s->kind != STEP_MASK))
		look_below(l, cover, path, ret);
	else
		look_at_mount(ret);
}
