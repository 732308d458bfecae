#include "archive/site.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "archive/place.h"
#include "archive/unpack.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"

/* A folder on the trail. */
struct site_level {
	bool is_ours;
	struct looks looks; /* are given if it is */
};

int looks_give(const struct looks *l, int fd, const struct stat *now, const char *path,
	       struct err *e)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, l->mtime };
	bool is_there = (now->st_mode & 07777) == l->mode && !l->has_ids;

	/* The owner first: fchown(2) takes setuid bits away. */
	if (l->has_ids && fchown(fd, l->uid, l->gid) < 0)
		return err_sys(e, "give %.300s to %u:%u", path, l->uid, l->gid);
	if (!is_there && fchmod(fd, l->mode) < 0)
		return err_sys(e, "set the mode of %.300s", path);
	if (l->has_time && futimens(fd, times) < 0)
		return err_sys(e, "set the time of %.300s", path);
	return 0;
}

int site_check_count(const struct site *s, struct err *e)
{
	const struct unpack *u = s->u;

	if (u->entries_max && u->entries + u->left_out >= u->entries_max)
		return err_set(e, ERR_LIMIT, "the tar has more than %llu entries",
			       (unsigned long long)u->entries_max);
	return 0;
}

int site_here(const struct site *s)
{
	return trail_here(&s->trail);
}

static struct site_level *level(struct site *s)
{
	if (s->trail.depth >= s->room) {
		s->room = 2 * (s->trail.depth + 8);
		s->levels = mem_resize(s->levels, s->room, sizeof(*s->levels));
	}
	return &s->levels[s->trail.depth];
}

int site_start(struct site *s, struct unpack *u, int root, struct err *e)
{
	*s = (struct site){ .u = u };
	int mine = fcntl(root, F_DUPFD_CLOEXEC, 0);
	if (mine < 0)
		return err_sys(e, "open the folder");
	if (trail_start(&s->trail, mine, "", e) < 0)
		return -1;
	*level(s) = (struct site_level){ .is_ours = false };
	return 0;
}

void site_done(struct site *s)
{
	trail_done(&s->trail);
	inodes_done(&s->made);
	free(s->levels);
	*s = (struct site){ 0 };
}

/* Up by one, the folder being finished for now. */
static int leave(struct site *s, struct err *e)
{
	const struct site_level *l = level(s);
	const struct stat *st = &s->trail.steps[s->trail.depth].st;

	if (l->is_ours && looks_give(&l->looks, site_here(s), st,
				     trail_path(&s->trail), e) < 0)
		return -1;
	return trail_up(&s->trail, e);
}

/* The folder that the trail has come to.  One that this tar made before is finished
 * already; it is opened up again and will be put back. */
static void note_level(struct site *s, bool is_new)
{
	struct stat *st = &s->trail.steps[s->trail.depth].st;
	struct site_level *l = level(s);

	*l = (struct site_level){ .is_ours = is_new || inodes_has(&s->made, st) };
	if (is_new) {
		inodes_add(&s->made, st, NULL);
		/* A folder in a setgid one is born one (inode(7)). */
		l->looks.mode = 0755 | (st->st_mode & S_ISGID);
		return;
	}
	l->looks = (struct looks){ .mode = st->st_mode & 07777,
				   .has_time = true,
				   .mtime = st->st_mtim };
	/* Where this fails, so will what is to be made in it. */
	if (l->is_ours && (st->st_mode & 0700) != 0700 &&
	    fchmod(site_here(s), l->looks.mode | 0700) == 0)
		st->st_mode |= 0700;
}

static int is_no_folder(const char *path, struct err *e)
{
	return err_set(e, ERR_EXISTS,
		       "%.300s: a folder is to be there, and something else is (a link "
		       "is not followed)",
		       path);
}

static int enter(struct site *s, const char *name, struct err *e)
{
	struct err mine;

	if (site_check_count(s, e) < 0)
		return -1;
	bool is_new = mkdirat(site_here(s), name, 0700) == 0;
	if (!is_new && errno != EEXIST)
		return err_sys(e, "make the folder %.300s", trail_name(&s->trail, name));
	s->u->entries += is_new;
	if (trail_down(&s->trail, name, &mine) < 0) {
		if (mine.sys == ENOTDIR || mine.sys == ELOOP)
			return is_no_folder(trail_name(&s->trail, name), e);
		if (e)
			*e = mine;
		return -1;
	}
	note_level(s, is_new);
	return 0;
}

int site_go(struct site *s, const char *path, struct err *e)
{
	size_t common = trail_common(&s->trail, path);
	char name[NAME_MAX + 1];

	while (s->trail.depth > common)
		if (leave(s, e) < 0)
			return -1;
	path = trail_rest(&s->trail, path);
	while (place_next(&path, name))
		if (enter(s, name, e) < 0)
			return -1;
	return 0;
}

void site_folder(struct site *s, const struct looks *looks)
{
	struct site_level *l = level(s);
	mode_t born = s->trail.steps[s->trail.depth].st.st_mode & S_ISGID;

	l->looks = *looks;
	l->looks.mode |= born;
}

int site_leave_all(struct site *s, struct err *e)
{
	while (s->trail.depth > 0)
		if (leave(s, e) < 0)
			return -1;
	return 0;
}
