#include "rootfs-tools/changes/delta.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "archive/roll.h"
#include "base/err.h"
#include "base/mem.h"

#define OPAQUE "user.overlay.opaque"

static const char SOCKET[] = "a socket", DEVICE[] = "a device";

bool delta_is_no_file(const char *why)
{
	return !strcmp(why, SOCKET) || !strcmp(why, DEVICE);
}

struct delta_level {
	struct roll names;
	bool is_covered;
};

void delta_leave_out(struct delta *d, const char *path, const char *why)
{
	d->left_out++;
	if (d->on_left_out)
		d->on_left_out(d->who, path, why);
}

static struct delta_level *level(struct delta *d)
{
	return &d->levels[d->trail.depth];
}

static bool is_opaque(int folder)
{
	char value[2];

	return fgetxattr(folder, OPAQUE, value, sizeof(value)) == 1 && value[0] == 'y';
}

/* Begins the folder that the trail has just entered. */
static void begin_folder(struct delta *d, bool is_covered)
{
	size_t depth = d->trail.depth;

	if (depth >= d->room) {
		d->room = 2 * (depth + 8);
		d->levels = mem_resize(d->levels, d->room, sizeof(*d->levels));
	}
	struct delta_level *l = level(d);
	l->is_covered = is_covered;
	size_t max = DELTA_NAMES_MAX - d->names_len;
	if (roll_read(trail_here(&d->trail), max, &l->names) < 0) {
		const char *why = errno == EOVERFLOW ? "has too many names" : err_words(errno);
		roll_done(&l->names);
		delta_leave_out(d, trail_path(&d->trail), why);
	}
	roll_sort(&l->names);
	d->names_len += l->names.len;
}

int delta_begin(struct delta *d, int folder, struct err *e)
{
	if (!d->entries_max)
		d->entries_max = DELTA_ENTRIES_MAX;
	if (trail_start(&d->trail, folder, "", e) < 0)
		return -1;
	begin_folder(d, false);
	return 0;
}

void delta_done(struct delta *d)
{
	for (size_t i = 0; d->levels && i <= d->trail.depth; i++)
		roll_done(&d->levels[i].names);
	free(d->levels);
	d->levels = NULL;
	trail_done(&d->trail);
}

/* The path stays valid in the trail's memory after trail_up(). */
static int end_folder(struct delta *d, struct delta_item *ret, struct err *e)
{
	*ret = (struct delta_item){ .kind = DELTA_FOLDER_END, .fd = -1,
				    .path = trail_path(&d->trail),
				    .is_covered = level(d)->is_covered };
	d->names_len -= level(d)->names.len;
	roll_done(&level(d)->names);
	if (trail_up(&d->trail, e) < 0)
		return -1;
	ret->at = trail_here(&d->trail);
	return 1;
}

/* 0: the folder is left out. */
static int enter_folder(struct delta *d, struct delta_item *i)
{
	bool was_covered = level(d)->is_covered;
	struct err why;

	if (trail_down(&d->trail, i->name, &why) < 0) {
		bool is_too_deep = why.kind == ERR_LIMIT && !why.sys;
		delta_leave_out(d, trail_name(&d->trail, i->name),
				is_too_deep ? "is too deep" : err_words(why.sys));
		return 0;
	}
	i->kind = DELTA_FOLDER;
	i->fd = trail_here(&d->trail);
	i->st = d->trail.steps[d->trail.depth].st;
	i->is_opaque = is_opaque(i->fd);
	i->is_covered = was_covered || i->is_opaque;
	begin_folder(d, i->is_covered);
	i->path = trail_path(&d->trail);
	return 1;
}

/* Whether the entry is reported in *ret. */
static bool take(struct delta *d, struct delta_item *i)
{
	switch (i->st.st_mode & S_IFMT) {
	case S_IFDIR:
		return enter_folder(d, i);
	case S_IFREG:
		i->kind = DELTA_FILE;
		return true;
	case S_IFLNK:
		i->kind = DELTA_LINK;
		return true;
	case S_IFIFO:
		i->kind = DELTA_FIFO;
		return true;
	case S_IFCHR:
		i->kind = DELTA_GONE;
		if (i->st.st_rdev == makedev(0, 0))
			return true;
		break;
	default:
		break;
	}
	delta_leave_out(d, i->path, S_ISSOCK(i->st.st_mode) ? SOCKET : DEVICE);
	return false;
}

/* 0: the entry is left out. */
static int look_at(struct delta *d, const char *name, struct delta_item *ret, struct err *e)
{
	struct delta_item i = { .at = trail_here(&d->trail), .name = name, .fd = -1,
				.path = trail_name(&d->trail, name),
				.is_covered = level(d)->is_covered };

	if (++d->entries > d->entries_max)
		return err_set(e, ERR_LIMIT, "there are more than %llu changes",
			       (unsigned long long)d->entries_max);
	if (d->reserved && !strncmp(name, d->reserved, strlen(d->reserved))) {
		delta_leave_out(d, i.path, "a name that would mean something else there");
		return 0;
	}
	if (fstatat(i.at, name, &i.st, AT_SYMLINK_NOFOLLOW) < 0) {
		delta_leave_out(d, i.path, err_words(errno));
		return 0;
	}
	if (!take(d, &i))
		return 0;
	*ret = i;
	return 1;
}

int delta_next(struct delta *d, struct delta_item *ret, struct err *e)
{
	for (;;) {
		const char *name = roll_next(&level(d)->names);
		if (!name && d->trail.depth == 0)
			return 0;
		int result = name ? look_at(d, name, ret, e) : end_folder(d, ret, e);
		if (result != 0)
			return result;
	}
}
