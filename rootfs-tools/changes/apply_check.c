/* Finds out which changes are refused, before any is made. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/own.h"
#include "base/path.h"
#include "rootfs-tools/changes/apply_parts.h"
#include "rootfs-tools/changes/repository.h"
#include "rootfs-tools/changes/rmdir_check.h"
#include "store/folders.h"

static const char CHANGED[] = "was changed on this host since the sandbox began",
		  PROTECTED[] = "is protected",
		  NOT_TRIED[] = "was not tried, since another one failed";

/* --- whether the host's file was changed meanwhile ------------------------ */

void apply_find_own(struct apply *a)
{
	struct stat st;

	for (int i = 0; i < FOLDER_COUNT; i++) {
		AUTO_FREE char *path = folder_path((enum folder)i);
		if (path && stat(path, &st) == 0)
			inodes_add(&a->own, &st, NULL);
	}
}

/* A folder that is to be removed, while its entries are checked. */
struct removal {
	struct apply *apply;
	const char *path;
};

static const char *why_not_removed(void *context, const char *below,
				   const struct stat *st)
{
	const struct removal *r = context;

	if (apply_is_changed(r->apply, st)) {
		r->apply->changed++;
		return CHANGED;
	}
	if (apply_protect_has(&r->apply->protect, r->path, below)) {
		r->apply->protected++;
		return PROTECTED;
	}
	return S_ISDIR(st->st_mode) && inodes_has(&r->apply->own, st) ? "is hutch's own"
								      : NULL;
}

static int check_folder(struct apply *a, const struct meeting *m)
{
	struct removal removal = { a, m->path };

	if (inodes_has(&a->own, &m->host))
		return apply_refuse(a, m->path, "is hutch's own");
	AUTO_FREE char *found =
		rmdir_check_find(m->at, m->name, why_not_removed, &removal);
	return found ? apply_refuse(a, m->path, found) : 0;
}

/* Returns whether the apply makes the path's parent folder writable to its owner before
 * it makes the change of this path. */
static bool is_to_be_opened(struct apply *a, const struct meeting *m)
{
	const size_t len = strlen(m->path) - strlen(m->name);
	struct list *o = &a->opened;

	while (o->count && !path_below(m->path, o->items[o->count - 1]))
		own_free(&o->items[--o->count]);
	return o->count && strlen(o->items[o->count - 1]) + 1 == len;
}

/* Returns why rename(2) cannot move the existing file or folder aside, or NULL if it
 * can. */
static const char *why_fixed(const struct apply *a, const struct meeting *m, bool is_mode)
{
	const char *why = a->place.fixed;

	if (!why && m->exists)
		why = m->fixed;
	if (!why && m->exists && !is_mode && m->host.st_uid != geteuid())
		why = a->place.sticky;
	return why;
}

/* Checks in advance, as far as that is possible, whether the kernel will permit the
 * change. */
static int check_rights(struct apply *a, const struct meeting *m)
{
	const bool is_mode = m->exists && S_ISDIR(m->host.st_mode) && m->item &&
			     m->item->kind == CHANGES_STREAM_FOLDER;
	const bool is_open = !apply_does_nothing(a) || is_to_be_opened(a, m);

	if (is_mode && geteuid() != 0 && m->host.st_uid != geteuid())
		return apply_refuse(a, m->path,
				    "belongs to another user, who alone may change its "
				    "mode");
	if (is_mode && apply_does_nothing(a))
		list_add(&a->opened, m->path);
	errno = a->place.error;
	if (!is_mode && !is_open && errno)
		return apply_refuse_errno(a, m->path,
					  "write to the folder that it is in");
	const char *why = why_fixed(a, m, is_mode);
	return why ? apply_refuse(a, m->path, why) : 0;
}

/* Looks at the folder that the path is in, unless the last change was in it, too. */
static void look_at_place(struct apply *a, const struct meeting *m)
{
	const size_t len = strlen(m->path) - strlen(m->name);
	struct apply_place *p = &a->place;
	struct stat at;

	if (p->path && !strncmp(p->path, m->path, len) && !p->path[len])
		return;
	free(p->path);
	*p = (struct apply_place){ .path = text_format("%.*s", (int)len, m->path) };
	p->is_own = fstat(m->at, &at) < 0 || inodes_has(&a->own, &at);
	if (p->is_own)
		return;
	p->error = faccessat(m->at, ".", W_OK | X_OK, AT_EACCESS) < 0 ? errno : 0;
	p->fixed = rmdir_check_fixed(m->at, "");
	p->sticky = rmdir_check_sticky(&at);
}

/* Checks the path of a change and its parent folder.  Returns 0 if a file may be
 * created or replaced there. */
static int check_place(struct apply *a, const struct meeting *m)
{
	if (m->item && m->item->kind == CHANGES_STREAM_FIFO)
		return apply_refuse(a, m->path, "is a FIFO, and these are not applied");
	if (!strncmp(m->name, APPLY_TEMPORARY, strlen(APPLY_TEMPORARY)))
		return apply_refuse(a, m->path, "has a name of hutch's own");
	if (m->at < 0) /* the parent folder does not exist yet */
		return 0;
	look_at_place(a, m);
	if (a->place.is_own)
		return apply_refuse(a, m->path, "is in a folder of hutch's own");
	return m->is_on_way && m->exists ? 0 : check_rights(a, m);
}

/* Returns 0 if the host's file has not changed since the sandbox began, so that it may
 * be replaced. */
int apply_check_unchanged(struct apply *a, const struct meeting *m)
{
	bool is_folder = m->exists && S_ISDIR(m->host.st_mode);

	if (!m->exists)
		return 0;
	/* A folder's times change with its entries, so they say nothing about
	 * the folder itself. */
	if (is_folder && m->item && m->item->kind == CHANGES_STREAM_FOLDER)
		return 0;
	if (apply_is_changed(a, &m->host)) {
		a->changed++;
		return apply_refuse(a, m->path, CHANGED);
	}
	return is_folder ? check_folder(a, m) : 0;
}

/* --- whether it may be changed at all -------------------------------------- */

int apply_is_same(struct apply *a, const struct meeting *m, struct err *e)
{
	if (!a->is_probing)
		return changes_walk_is_same(m, e);
	a->has_doubt = true;
	return 1;
}

/* Checks a protected path.  If the sandbox wrote the same content to a protected file,
 * that is no change.  Returns 1 if the change is refused, or if there is no change. */
static int check_guarded(struct apply *a, const struct meeting *m, struct err *e)
{
	AUTO_FREE char *why = apply_protect_why(&a->protect, m);
	int is_same = why && m->may_be_same ? apply_is_same(a, m, e) : 0;

	if (!why || is_same != 0)
		return is_same;
	a->protected++;
	return apply_refuse(a, m->path, why);
}

/* Refuses a change in a repository that has another refused change.  The reason is
 * reported once, for all of the repository's files. */
static int refuse_with_repository(struct apply *a, struct repository *r)
{
	AUTO_FREE char *why =
		text_format("%s; a repository is applied whole or not at all", r->why);

	if (r->is_named) {
		a->refused++;
		return 1;
	}
	r->is_named = true;
	return apply_refuse(a, r->path, why);
}

/* Refuses a change because another change was refused or failed. */
int apply_check_others(struct apply *a, const struct meeting *m, struct err *e)
{
	struct repository *r = repository_find(a->repositories, m->path);

	if (a->is_judging || (!a->is_stopped && !r) || (m->is_on_way && m->exists))
		return 0;
	int is_same = m->may_be_same ? apply_is_same(a, m, e) : 0;
	if (is_same != 0)
		return is_same;
	return a->is_stopped ? apply_refuse(a, m->path, NOT_TRIED)
			     : refuse_with_repository(a, r);
}

int apply_check_new(struct apply *a, const struct meeting *m, struct err *e)
{
	int result = apply_check_others(a, m, e);

	if (result == 0)
		result = check_guarded(a, m, e);
	return result == 0 ? check_place(a, m) : result;
}

int apply_check(struct apply *a, const struct meeting *m, struct err *e)
{
	int result = apply_check_new(a, m, e);

	/* The first walk only finds out which changes are refused: a file that may be
	 * replaced need not be compared with its replacement. */
	if (result == 0 && m->may_be_same && a->is_judging &&
	    !apply_is_changed(a, &m->host))
		return 0;
	if (result == 0 && m->may_be_same && apply_does_nothing(a))
		result = apply_is_same(a, m, e);
	if (result == 0 && !(m->may_be_same && !apply_does_nothing(a)))
		result = apply_check_unchanged(a, m);
	return result;
}
