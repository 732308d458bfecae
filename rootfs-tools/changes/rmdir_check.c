#include "rootfs-tools/changes/rmdir_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "archive/dir_names.h"
#include "archive/dir_stack.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

#define NAMES_MAX (64u << 20) /* limit of the bytes of the names in one folder */

/* A folder on the stack, with the reasons that forbid removing its entries. */
struct level {
	struct dir_names names;
	const char *keeps;  /* why no entry can be removed; NULL: entries can be
			     * removed */
	const char *others; /* why entries of other users cannot be removed; NULL: they
			     * can be removed */
};

struct scan {
	rmdir_check_why *why;
	void *context;
	struct dir_stack stack;
	struct level *levels; /* owned; one for each step of the stack */
	size_t room;
	char *found; /* owned: the path of the first file that cannot be removed, and
		      * why */
};

const char *rmdir_check_rights(int folder, const struct stat *st)
{
	if (st->st_uid == geteuid())
		return NULL; /* no obstacle: the folder is ours, so its mode can be
			      * changed */
	return faccessat(folder, ".", W_OK | X_OK, AT_EACCESS) == 0
		       ? NULL : "cannot be removed from a folder of another user";
}

const char *rmdir_check_sticky(const struct stat *folder)
{
	return (folder->st_mode & S_ISVTX) && geteuid() != 0 &&
			       folder->st_uid != geteuid()
		       ? "belongs to another user, and the folder that it is in has the sticky bit"
		       : NULL;
}

static const char *why_fixed(const struct statx *x, bool is_entry)
{
	const uint64_t has = x->stx_attributes;

	/* statx(2) reports mount points since Linux 5.8. */
	if (is_entry && (has & STATX_ATTR_MOUNT_ROOT)) /* layer: rmdir-mounts */
		return "is a mount on this host, whose content the sandbox has not seen";
	if (has & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND))
		return is_entry ? "cannot be changed (lsattr(1): i or a)"
				: "is in a folder that cannot be changed (lsattr(1): i "
				  "or a)";
	return NULL;
}

const char *rmdir_check_fixed(int at, const char *name)
{
	const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT |
			  (*name ? 0 : AT_EMPTY_PATH);
	struct statx x = { 0 };

	if (syscall(SYS_statx, at, name, flags, STATX_TYPE, &x) < 0)
		return NULL; /* the caller's next access to the file reports the error */
	return why_fixed(&x, *name);
}

static struct timespec time_of(const struct statx_timestamp *t)
{
	return (struct timespec){ .tv_sec = t->tv_sec, .tv_nsec = t->tv_nsec };
}

static struct stat stat_of(const struct statx *x)
{
	return (struct stat){ .st_dev = makedev(x->stx_dev_major, x->stx_dev_minor),
			      .st_ino = x->stx_ino,
			      .st_mode = x->stx_mode,
			      .st_nlink = x->stx_nlink,
			      .st_uid = x->stx_uid,
			      .st_gid = x->stx_gid,
			      .st_rdev = makedev(x->stx_rdev_major, x->stx_rdev_minor),
			      .st_size = (off_t)x->stx_size,
			      .st_blksize = (blksize_t)x->stx_blksize,
			      .st_blocks = (blkcnt_t)x->stx_blocks,
			      .st_atim = time_of(&x->stx_atime),
			      .st_mtim = time_of(&x->stx_mtime),
			      .st_ctim = time_of(&x->stx_ctime) };
}

int rmdir_check_look(int at, const char *name, struct stat *ret, const char **ret_fixed)
{
	const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
	struct statx x = { 0 };

	*ret_fixed = NULL;
	if (syscall(SYS_statx, at, name, flags, STATX_BASIC_STATS, &x) == 0) {
		*ret = stat_of(&x);
		*ret_fixed = why_fixed(&x, true);
		return 0;
	}
	/* A filter may refuse statx(2), with ENOSYS or EPERM. */
	return errno == ENOENT ? -1 : fstatat(at, name, ret, AT_SYMLINK_NOFOLLOW);
}

static const char *why_it_stays(const struct level *l, const struct stat *st)
{
	/* layer: rmdir-owners */
	return l->keeps ? l->keeps : st->st_uid != geteuid() ? l->others : NULL;
}

static bool blocks_rmdir(struct scan *s, const char *name, const char *path,
			 const struct stat *st)
{
	const char *why = s->why(s->context, path, st);

	if (!why)
		why = why_it_stays(&s->levels[s->stack.depth], st);
	if (!why)
		why = rmdir_check_fixed(dir_stack_here(&s->stack), name);
	if (why)
		s->found = text_format("%s in it %s", path, why);
	return why;
}

static int scan_begin(struct scan *s)
{
	size_t depth = s->stack.depth;

	const struct stat *st = &s->stack.steps[depth].st;

	if (depth >= s->room) {
		s->room = 2 * (depth + 8);
		s->levels = mem_resize(s->levels, s->room, sizeof(*s->levels));
	}
	s->levels[depth] = (struct level){
		.keeps = rmdir_check_rights(dir_stack_here(&s->stack), st),
		.others = rmdir_check_sticky(st),
	};
	return dir_names_read(dir_stack_here(&s->stack), NAMES_MAX,
			      &s->levels[depth].names);
}

/* Checks one entry.  Returns 0 to go on; 1 if the entry cannot be removed or cannot be
 * read. */
static int scan_one(struct scan *s, const char *name)
{
	const char *path = dir_stack_name(&s->stack, name);
	struct stat st;
	struct err e;

	if (fstatat(dir_stack_here(&s->stack), name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		s->found = text_format("%s in it: %s", path, err_words(errno));
		return 1;
	}
	if (blocks_rmdir(s, name, path, &st))
		return 1;
	if (!S_ISDIR(st.st_mode))
		return 0;
	if (dir_stack_down(&s->stack, name, &e) == 0 && scan_begin(s) == 0)
		return 0;
	s->found = text_format("%s in it cannot be read", path);
	return 1;
}

static int scan_all(struct scan *s)
{
	struct err e;

	if (scan_begin(s) < 0) {
		s->found = text_format("it cannot be read: %s", err_words(errno));
		return 1;
	}
	for (;;) {
		const char *name = dir_names_next(&s->levels[s->stack.depth].names);
		if (name && scan_one(s, name))
			return 1;
		if (name)
			continue;
		dir_names_done(&s->levels[s->stack.depth].names);
		if (s->stack.depth == 0)
			return 0;
		if (dir_stack_up(&s->stack, &e) < 0) {
			s->found = text_copy("is being changed on this host right now");
			return 1;
		}
	}
}

char *rmdir_check_find(int at, const char *name, rmdir_check_why *why, void *context)
{
	struct scan s = { .why = why, .context = context };
	struct err e;

	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	AUTO_CLOSE int folder = openat(at, name, flags);
	if (folder < 0)
		return text_format("it cannot be read: %s", err_words(errno));
	if (dir_stack_start(&s.stack, fd_take(&folder), "", &e) == 0)
		(void)scan_all(&s);
	else
		s.found = text_copy(e.text);
	for (size_t i = 0; s.levels && s.stack.steps && i <= s.stack.depth; i++)
		dir_names_done(&s.levels[i].names);
	free(s.levels);
	dir_stack_done(&s.stack);
	return s.found;
}
