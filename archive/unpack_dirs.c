#include "archive/unpack_dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/entry_path.h"
#include "archive/layer.h"
#include "archive/unpack.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

/* A folder on the stack. */
struct unpack_dirs_level {
	bool is_ours, is_new;
	struct looks looks; /* mode, owner and times; set when the stack leaves the
			     * folder, if is_ours */
};

/* A folder whose mode is set at the very end, since with that mode the folder could
 * not be entered again. */
struct unpack_dirs_closed {
	char *path; /* owned */
	mode_t mode;
};

/* Limit of folders in one tar whose mode is set at the end; it bounds memory.  An
 * ordinary layer has far fewer. */
#define CLOSED_MAX 4096

int looks_give(const struct looks *l, int fd, const struct stat *now, const char *path,
	       struct err *e)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, l->mtime };
	bool is_there = (now->st_mode & 07777) == l->mode && !l->has_ids;

	/* The owner is set first, since fchown(2) clears setuid bits. */
	if (l->has_ids && fchown(fd, l->uid, l->gid) < 0)
		return err_sys(e, "give %.300s to %u:%u", path, l->uid, l->gid);
	if (!is_there && fchmod(fd, l->mode) < 0)
		return err_sys(e, "set the mode of %.300s", path);
	if (l->has_time && futimens(fd, times) < 0)
		return err_sys(e, "set the time of %.300s", path);
	return 0;
}

int unpack_dirs_check_count(const struct unpack_dirs *s, struct err *e)
{
	const struct unpack *u = s->u;

	if (u->entries_max && u->entries + u->left_out >= u->entries_max)
		return err_set(e, ERR_LIMIT, "the tar has more than %llu entries",
			       (unsigned long long)u->entries_max);
	return 0;
}

int unpack_dirs_here(const struct unpack_dirs *s)
{
	return dir_stack_here(&s->stack);
}

static struct unpack_dirs_level *level(struct unpack_dirs *s)
{
	if (s->stack.depth >= s->room) {
		s->room = 2 * (s->stack.depth + 8);
		s->levels = mem_resize(s->levels, s->room, sizeof(*s->levels));
	}
	return &s->levels[s->stack.depth];
}

int unpack_dirs_start(struct unpack_dirs *s, struct unpack *u, int root, struct err *e)
{
	*s = (struct unpack_dirs){ .u = u };
	int mine = fcntl(root, F_DUPFD_CLOEXEC, 0);
	if (mine < 0)
		return err_sys(e, "open the folder");
	if (dir_stack_start(&s->stack, mine, "", e) < 0)
		return -1;
	*level(s) = (struct unpack_dirs_level){ .is_ours = u->layer, .looks.mode = 0755 };
	return 0;
}

void unpack_dirs_done(struct unpack_dirs *s)
{
	dir_stack_done(&s->stack);
	inodes_done(&s->made);
	free(s->levels);
	while (s->closed_count > 0)
		own_free(&s->closed[--s->closed_count].path);
	free(s->closed);
	*s = (struct unpack_dirs){ 0 };
}

/* --- folders that are closed to their owner ---------------------------------------- */

static bool is_closed(mode_t mode)
{
	return (mode & 0500) != 0500;
}

static int close_later(struct unpack_dirs *s, const char *path, mode_t mode,
		       struct err *e)
{
	if (s->closed_count == CLOSED_MAX)
		return err_set(
			e, ERR_LIMIT,
			"the layer has more than %d folders that are closed to their "
			"owner",
			CLOSED_MAX);
	s->closed = mem_resize(s->closed, s->closed_count + 1, sizeof(*s->closed));
	s->closed[s->closed_count++] =
		(struct unpack_dirs_closed){ text_copy(path), mode };
	return 0;
}

void unpack_dirs_forget(struct unpack_dirs *s, const char *path)
{
	size_t len = strlen(path), kept = 0;

	for (size_t i = 0; i < s->closed_count; i++) {
		char *other = s->closed[i].path;
		if (!strncmp(other, path, len) && (!other[len] || other[len] == '/'))
			free(other);
		else
			s->closed[kept++] = s->closed[i];
	}
	s->closed_count = kept;
}

static void forget_one(struct unpack_dirs *s, const char *path)
{
	for (size_t i = 0; i < s->closed_count; i++)
		if (!strcmp(s->closed[i].path, path)) {
			free(s->closed[i].path);
			s->closed[i] = s->closed[--s->closed_count];
			return;
		}
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct unpack_dirs_closed *)a)->path,
		      ((const struct unpack_dirs_closed *)b)->path);
}

/* Sets the mode, owner and times of the current folder, and goes up to its parent.  The
 * tar may come back to the folder later. */
static int leave(struct unpack_dirs *s, struct err *e)
{
	struct unpack_dirs_level *l = level(s);
	const struct stat *st = &s->stack.steps[s->stack.depth].st;
	const char *path = dir_stack_path(&s->stack);

	if (l->is_ours && s->u->layer && is_closed(l->looks.mode)) {
		if (close_later(s, path, l->looks.mode, e) < 0)
			return -1;
		l->looks.mode |= 0700;
	}
	if (l->is_ours && looks_give(&l->looks, unpack_dirs_here(s), st, path, e) < 0)
		return -1;
	return dir_stack_up(&s->stack, e);
}

/* Records the folder that the stack has just entered.  A folder that this tar made
 * earlier has its final mode already: the folder is made writable again, and leave()
 * restores its mode and time. */
static void note_level(struct unpack_dirs *s, bool is_new)
{
	struct stat *st = &s->stack.steps[s->stack.depth].st;
	struct unpack_dirs_level *l = level(s);

	*l = (struct unpack_dirs_level){ .is_new = is_new };
	l->is_ours = is_new || s->u->layer || inodes_has(&s->made, st);
	if (is_new) {
		if (!s->u->layer)
			inodes_add(&s->made, st, NULL);
		/* mkdir(2) in a setgid folder sets the bit on the new folder
		 * (inode(7)). */
		l->looks.mode = 0755 | (st->st_mode & S_ISGID);
		return;
	}
	l->looks = (struct looks){ .mode = st->st_mode & 07777,
				   .has_time = true,
				   .mtime = st->st_mtim };
	/* The result is ignored: if chmod fails, making a file in the folder fails, and
	 * that error is reported. */
	if (l->is_ours && (st->st_mode & 0700) != 0700 &&
	    fchmod(unpack_dirs_here(s), l->looks.mode | 0700) == 0)
		st->st_mode |= 0700;
}

static int is_no_folder(const char *path, struct err *e)
{
	return err_set(e, ERR_EXISTS,
		       "%.300s: a folder is to be there, and something else is (a link "
		       "is not followed)",
		       path);
}

/* Replaces a file or link of a layer by a folder, and enters the folder.  The folder is
 * made opaque: it must still hide the files that the replaced file hid in lower
 * layers. */
static int enter_instead(struct unpack_dirs *s, const char *name, struct err *e)
{
	int here = unpack_dirs_here(s);

	if (unlinkat(here, name, 0) < 0 || mkdirat(here, name, 0700) < 0)
		return err_sys(e, "replace %.300s by a folder",
			       dir_stack_name(&s->stack, name));
	s->u->entries++;
	if (dir_stack_down(&s->stack, name, e) < 0)
		return -1;
	note_level(s, true);
	return layer_make_opaque(unpack_dirs_here(s), dir_stack_path(&s->stack), e);
}

static int enter(struct unpack_dirs *s, const char *name, struct err *e)
{
	struct err mine;

	if (unpack_dirs_check_count(s, e) < 0)
		return -1;
	bool is_new = mkdirat(unpack_dirs_here(s), name, 0700) == 0;
	if (!is_new && errno != EEXIST)
		return err_sys(e, "make the folder %.300s",
			       dir_stack_name(&s->stack, name));
	s->u->entries += is_new;
	if (dir_stack_down(&s->stack, name, &mine) == 0) {
		note_level(s, is_new);
		return 0;
	}
	bool is_other = mine.sys == ENOTDIR || mine.sys == ELOOP;
	if (is_other && s->u->layer)
		return enter_instead(s, name, e);
	if (is_other)
		return is_no_folder(dir_stack_name(&s->stack, name), e);
	if (e)
		*e = mine;
	return -1;
}

int unpack_dirs_go(struct unpack_dirs *s, const char *path, struct err *e)
{
	size_t common = dir_stack_common(&s->stack, path);
	char name[NAME_MAX + 1];

	while (s->stack.depth > common)
		if (leave(s, e) < 0)
			return -1;
	path = dir_stack_rest(&s->stack, path);
	while (entry_path_next(&path, name))
		if (enter(s, name, e) < 0)
			return -1;
	return 0;
}

void unpack_dirs_folder(struct unpack_dirs *s, const struct looks *looks)
{
	struct unpack_dirs_level *l = level(s);
	mode_t born = s->stack.steps[s->stack.depth].st.st_mode & S_ISGID;

	forget_one(s, dir_stack_path(&s->stack));
	l->is_new = false;
	l->looks = *looks;
	l->looks.mode |= born;
}

bool unpack_dirs_is_new(const struct unpack_dirs *s)
{
	return s->levels[s->stack.depth].is_new;
}

/* Sets the final mode of one folder, by a descriptor and after the stack has left the
 * folder: going up needs search permission in the folder, which the mode may lack. */
static int close_one(struct unpack_dirs *s, const struct unpack_dirs_closed *c,
		     struct err *e)
{
	if (unpack_dirs_go(s, c->path, e) < 0)
		return -1;
	AUTO_CLOSE int fd = fcntl(unpack_dirs_here(s), F_DUPFD_CLOEXEC, 0);
	if (fd >= 0 && leave(s, e) < 0)
		return -1;
	if (fd < 0 || fchmod(fd, c->mode) < 0)
		return err_sys(e, "set the mode of %.300s", c->path);
	return 0;
}

/* Sets the final modes of the folders in `closed`, of each folder before its parent. */
static int close_all(struct unpack_dirs *s, struct err *e)
{
	if (s->closed_count > 0)
		qsort(s->closed, s->closed_count, sizeof(*s->closed), by_path);
	for (size_t i = s->closed_count; i-- > 0;)
		if (close_one(s, &s->closed[i], e) < 0)
			return -1;
	return 0;
}

static int leave_below(struct unpack_dirs *s, struct err *e)
{
	while (s->stack.depth > 0)
		if (leave(s, e) < 0)
			return -1;
	return 0;
}

int unpack_dirs_leave_all(struct unpack_dirs *s, struct err *e)
{
	if (leave_below(s, e) < 0)
		return -1;
	if (!s->u->layer)
		return 0;
	if (close_all(s, e) < 0 || leave_below(s, e) < 0)
		return -1;
	return looks_give(&level(s)->looks, unpack_dirs_here(s), &s->stack.steps[0].st,
			  "/", e);
}
