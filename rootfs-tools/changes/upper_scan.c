#include "rootfs-tools/changes/upper_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "archive/dir_names.h"
#include "base/err.h"
#include "base/mem.h"

#define OPAQUE "user.overlay.opaque"

static const char SOCKET[] = "a socket", DEVICE[] = "a device";

bool upper_scan_is_no_file(const char *why)
{
	return !strcmp(why, SOCKET) || !strcmp(why, DEVICE);
}

struct upper_scan_level {
	struct dir_names names;
	bool is_covered;
};

void upper_scan_leave_out(struct upper_scan *d, const char *path, const char *why)
{
	d->left_out++;
	if (d->on_left_out)
		d->on_left_out(d->context, path, why);
}

static struct upper_scan_level *level(struct upper_scan *d)
{
	return &d->levels[d->stack.depth];
}

static bool is_opaque(int folder)
{
	char value[2];

	return fgetxattr(folder, OPAQUE, value, sizeof(value)) == 1 && value[0] == 'y';
}

/* Starts on the folder that the stack has just entered: reads its names. */
static void begin_folder(struct upper_scan *d, bool is_covered)
{
	size_t depth = d->stack.depth;

	if (depth >= d->room) {
		d->room = 2 * (depth + 8);
		d->levels = mem_resize(d->levels, d->room, sizeof(*d->levels));
	}
	struct upper_scan_level *l = level(d);
	l->is_covered = is_covered;
	size_t max = UPPER_SCAN_NAMES_MAX - d->names_len;
	if (dir_names_read(dir_stack_here(&d->stack), max, &l->names) < 0) {
		const char *why = errno == EOVERFLOW ? "has too many names"
						     : err_words(errno);
		dir_names_done(&l->names);
		upper_scan_leave_out(d, dir_stack_path(&d->stack), why);
	}
	dir_names_sort(&l->names);
	d->names_len += l->names.len;
}

int upper_scan_begin(struct upper_scan *d, int folder, struct err *e)
{
	if (!d->entries_max)
		d->entries_max = UPPER_SCAN_ENTRIES_MAX;
	if (dir_stack_start(&d->stack, folder, "", e) < 0)
		return -1;
	begin_folder(d, false);
	return 0;
}

void upper_scan_done(struct upper_scan *d)
{
	for (size_t i = 0; d->levels && i <= d->stack.depth; i++)
		dir_names_done(&d->levels[i].names);
	free(d->levels);
	d->levels = NULL;
	dir_stack_done(&d->stack);
}

/* Ends a folder.  dir_stack_up() leaves the stack's path in memory, so the folder's
 * path can still be reported. */
static int end_folder(struct upper_scan *d, struct upper_scan_item *ret, struct err *e)
{
	*ret = (struct upper_scan_item){ .kind = UPPER_SCAN_FOLDER_END, .fd = -1,
				    .path = dir_stack_path(&d->stack),
				    .is_covered = level(d)->is_covered };
	d->names_len -= level(d)->names.len;
	dir_names_done(&level(d)->names);
	if (dir_stack_up(&d->stack, e) < 0)
		return -1;
	ret->at = dir_stack_here(&d->stack);
	return 1;
}

/* Enters a folder; returns 0 if the folder is left out. */
static int enter_folder(struct upper_scan *d, struct upper_scan_item *i)
{
	bool was_covered = level(d)->is_covered;
	struct err why;

	if (dir_stack_down(&d->stack, i->name, &why) < 0) {
		bool is_too_deep = why.kind == ERR_LIMIT && !why.sys;
		upper_scan_leave_out(d, dir_stack_name(&d->stack, i->name),
				is_too_deep ? "is too deep" : err_words(why.sys));
		return 0;
	}
	i->kind = UPPER_SCAN_FOLDER;
	i->fd = dir_stack_here(&d->stack);
	i->st = d->stack.steps[d->stack.depth].st;
	i->is_opaque = is_opaque(i->fd);
	i->is_covered = was_covered || i->is_opaque;
	begin_folder(d, i->is_covered);
	i->path = dir_stack_path(&d->stack);
	return 1;
}

/* Sets the kind of the item.  Returns whether the item is to be reported; if not, it is
 * left out. */
static bool take(struct upper_scan *d, struct upper_scan_item *i)
{
	switch (i->st.st_mode & S_IFMT) {
	case S_IFDIR:
		return enter_folder(d, i);
	case S_IFREG:
		i->kind = UPPER_SCAN_FILE;
		return true;
	case S_IFLNK:
		i->kind = UPPER_SCAN_LINK;
		return true;
	case S_IFIFO:
		i->kind = UPPER_SCAN_FIFO;
		return true;
	case S_IFCHR:
		i->kind = UPPER_SCAN_GONE;
		if (i->st.st_rdev == makedev(0, 0))
			return true;
		break;
	default:
		break;
	}
	upper_scan_leave_out(d, i->path, S_ISSOCK(i->st.st_mode) ? SOCKET : DEVICE);
	return false;
}

/* Makes an item of one name in the current folder.  Returns 0 if the entry is left
 * out. */
static int look_at(struct upper_scan *d, const char *name, struct upper_scan_item *ret,
		   struct err *e)
{
	struct upper_scan_item i = { .at = dir_stack_here(&d->stack),
				     .name = name,
				     .fd = -1,
				     .path = dir_stack_name(&d->stack, name),
				     .is_covered = level(d)->is_covered };

	if (++d->entries > d->entries_max)
		return err_set(e, ERR_LIMIT, "there are more than %llu changes",
			       (unsigned long long)d->entries_max);
	if (d->reserved && !strncmp(name, d->reserved, strlen(d->reserved))) {
		upper_scan_leave_out(d, i.path,
				     "a name that would mean something else there");
		return 0;
	}
	if (d->trusts_types && dir_names_is_file(name)) {
		i.st.st_mode = S_IFREG;
	} else if (fstatat(i.at, name, &i.st, AT_SYMLINK_NOFOLLOW) < 0) {
		upper_scan_leave_out(d, i.path, err_words(errno));
		return 0;
	}
	if (!take(d, &i))
		return 0;
	*ret = i;
	return 1;
}

int upper_scan_next(struct upper_scan *d, struct upper_scan_item *ret, struct err *e)
{
	for (;;) {
		const char *name = dir_names_next(&level(d)->names);
		if (!name && d->stack.depth == 0)
			return 0;
		int result = name ? look_at(d, name, ret, e) : end_folder(d, ret, e);
		if (result != 0)
			return result;
	}
}
