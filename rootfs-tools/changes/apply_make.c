/* Makes one change: under a temporary name, and then with one rename(2). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/content.h"
#include "base/err.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "rootfs-tools/changes/apply_job.h"
#include "rootfs-tools/changes/apply_parts.h"
#include "store/rm_tree.h"

#define PIECE (64u << 10)

#define MODE(m) ((m)->item->mode & 0777)

static const char APPEARED[] = "is being changed on this host right now";

/* --- places ------------------------------------------------------------ */

void apply_remove_temporary(int at, const char *temporary)
{
	if (unlinkat(at, temporary, 0) < 0 && errno != ENOENT)
		rm_tree_remove(at, temporary);
}

static bool is_as_it_was(const struct stat *st, const struct stat *was)
{
	return st->st_ino == was->st_ino && st->st_dev == was->st_dev &&
	       st->st_mode == was->st_mode &&
	       (S_ISDIR(st->st_mode) || (st->st_size == was->st_size &&
					 st->st_mtim.tv_sec == was->st_mtim.tv_sec &&
					 st->st_mtim.tv_nsec == was->st_mtim.tv_nsec));
}

static bool is_the_one(int at, const char *name, const struct stat *was)
{
	struct stat st;

	return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && is_as_it_was(&st, was);
}

static int rename_to(int at, const char *from, const char *to, unsigned flags)
{
	if (sys_renameat2(at, from, at, to, flags) == 0)
		return 0;
	/* This file system has no RENAME_EXCHANGE or RENAME_NOREPLACE; it can
	 * only replace. */
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (flags == KERNEL_RENAME_NOREPLACE &&
	    faccessat(at, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST;
		return -1;
	}
	return renameat(at, from, at, to);
}

static int put_new(struct apply *a, const struct meeting *m, const char *temporary)
{
	if (rename_to(m->at, temporary, m->name, KERNEL_RENAME_NOREPLACE) == 0)
		return 0;
	int result = errno == EEXIST ? apply_refuse(a, m->path, APPEARED)
				     : apply_refuse_errno(a, m->path, "give it its name");
	apply_remove_temporary(m->at, temporary);
	return result;
}

/* Exchanges the new file and the host's file.  The host's file then has the temporary
 * name, and is compared once more with the file that was checked. */
static int put_instead(struct apply *a, const struct meeting *m, const char *temporary)
{
	struct stat st;

	if (rename_to(m->at, temporary, m->name, KERNEL_RENAME_EXCHANGE) < 0) {
		int result = apply_refuse_errno(a, m->path, "give it its name");
		apply_remove_temporary(m->at, temporary);
		return result;
	}
	if (!a->is_forced && fstatat(m->at, temporary, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    !is_as_it_was(&st, &m->host)) {
		(void)rename_to(m->at, temporary, m->name, KERNEL_RENAME_EXCHANGE);
		apply_remove_temporary(m->at, temporary);
		return apply_refuse(a, m->path, APPEARED);
	}
	apply_remove_temporary(m->at, temporary);
	return 0;
}

/* Gives the file, folder or link with the temporary name its own name. */
static int put_named(struct apply *a, const struct meeting *m, const char *temporary)
{
	return m->exists ? put_instead(a, m, temporary) : put_new(a, m, temporary);
}

static int put_in_place(struct apply *a, const struct meeting *m)
{
	return put_named(a, m, a->temporary);
}

int apply_put_job(struct apply *a, const struct meeting *m, const struct apply_job *j,
		  const char *temporary)
{
	if (j->end == APPLY_JOB_MADE)
		return put_named(a, m, temporary);
	errno = j->error;
	return apply_refuse_errno(a, m->path,
				  j->end == APPLY_JOB_UNMADE ? "make it" : "write it");
}

/* --- each kind ----------------------------------------------------------- */

int apply_refuse_content(struct apply *a, const struct meeting *m, const struct err *why,
			 struct err *e)
{
	if (!m->content->is_broken)
		return apply_refuse(a, m->path, why->text);
	*e = *why;
	return -1;
}

/* Copies a file's content.  Zeros become holes: a sandbox can make terabytes of holes
 * for free, and these must not fill the host's disk. */
static int copy_content(struct apply *a, const struct meeting *m, int fd, struct err *e)
{
	const uint8_t *data;
	struct err why;
	ssize_t len;
	off_t size = 0;
	int is_hole = 0;

	while ((len = changes_stream_read(m->content, &data, &why)) > 0) {
		is_hole = content_write_piece(fd, data, (size_t)len);
		if (is_hole < 0)
			return apply_refuse_errno(a, m->path, "write it");
		size += len;
	}
	if (len < 0)
		return apply_refuse_content(a, m, &why, e);
	return is_hole && ftruncate(fd, size) < 0
		       ? apply_refuse_errno(a, m->path, "write it")
		       : 0;
}

/* Makes the temporary file of a large file.  Returns 1 if the change is refused. */
static int write_file(struct apply *a, const struct meeting *m, struct err *e)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	const struct apply_attributes attributes = apply_attributes_of(m);
	AUTO_CLOSE int fd = openat(m->at, a->temporary, flags, 0600);

	if (fd < 0)
		return apply_refuse_errno(a, m->path, "make it");
	const int result = copy_content(a, m, fd, e);
	if (result != 0)
		apply_remove_temporary(m->at, a->temporary);
	else
		apply_attributes_set(&attributes, fd);
	return result;
}

/* Applies a small file.  The new content is kept in memory and compared with the host's
 * file first, so that an equal file needs no temporary file.  On ext4 each creation and
 * removal of a file makes the next one slower: its search for a free inode skips inodes
 * that were freed recently. */
static int apply_small(struct apply *a, const struct meeting *m, struct err *e)
{
	struct err why;
	int result = 0;

	if (!a->job)
		a->job = mem_new(sizeof(*a->job));
	if (apply_job_fill(a->job, m, &why) < 0)
		return apply_refuse_content(a, m, &why, e);
	if (m->may_be_same)
		result = apply_job_is_same(a->job, m->at) ? 1
							  : apply_check_unchanged(a, m);
	if (result != 0)
		return result;
	apply_job_make(a->job, m->at, a->temporary);
	return apply_put_job(a, m, a->job, a->temporary);
}

static bool is_same_file(int at, const char *one, const char *two)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	AUTO_CLOSE int first = openat(at, one, flags);
	AUTO_CLOSE int second = openat(at, two, flags);
	AUTO_FREE char *room = mem_new(2 * PIECE);
	ssize_t n = 0, other = 0;

	if (first < 0 || second < 0)
		return false;
	do {
		n = io_read_full(first, room, PIECE);
		other = io_read_full(second, room + PIECE, PIECE);
	} while (n > 0 && n == other && !memcmp(room, room + PIECE, (size_t)n));
	return n == 0 && other == 0;
}

/* Applies a large file: it is written under its temporary name first and then
 * compared. */
static int apply_large(struct apply *a, const struct meeting *m, struct err *e)
{
	int result = write_file(a, m, e);

	if (result != 0)
		return result;
	result = is_same_file(m->at, a->temporary, m->name) ? 1
							    : apply_check_unchanged(a, m);
	if (result == 0)
		return put_in_place(a, m);
	apply_remove_temporary(m->at, a->temporary);
	return result;
}

static int apply_file(struct apply *a, const struct meeting *m, struct err *e)
{
	if (apply_job_can(m))
		return apply_small(a, m, e);
	if (m->may_be_same)
		return apply_large(a, m, e);
	int result = write_file(a, m, e);
	return result == 0 ? put_in_place(a, m) : result;
}

static int apply_link(struct apply *a, const struct meeting *m, struct err *e)
{
	(void)e;
	if (symlinkat(m->item->link, m->at, a->temporary) < 0)
		return apply_refuse_errno(a, m->path, "make it");
	return put_in_place(a, m);
}

/* Returns the mode that a folder has until the end of the apply, with full access for
 * the owner, so that files can be created in the folder.  The final mode is set at the
 * end. */
static mode_t mode_now(struct apply *a, const struct meeting *m)
{
	if ((MODE(m) & 0700) != 0700)
		list_addf(&a->closed, "%04o%s", MODE(m), m->path);
	return MODE(m) | 0700;
}

static int set_mode(struct apply *a, const struct meeting *m, const char *name)
{
	AUTO_CLOSE int fd = rm_tree_open(m->at, name);

	if (fd >= 0 && fchmod(fd, mode_now(a, m)) == 0)
		return 0;
	return apply_refuse_errno(a, m->path, "change its mode");
}

static int apply_folder(struct apply *a, const struct meeting *m, struct err *e)
{
	(void)e;
	if (m->exists && S_ISDIR(m->host.st_mode))
		return m->is_on_way ? 0 : set_mode(a, m, m->name);
	if (mkdirat(m->at, a->temporary, 0700) < 0)
		return apply_refuse_errno(a, m->path, "make it");
	if (set_mode(a, m, a->temporary)) {
		apply_remove_temporary(m->at, a->temporary);
		return 1;
	}
	return put_in_place(a, m);
}

/* Gives a folder its name back if it could not be emptied, although the checks had
 * found no obstacle. */
static int put_back(struct apply *a, const struct meeting *m)
{
	if (faccessat(m->at, a->temporary, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	(void)rename_to(m->at, a->temporary, m->name, KERNEL_RENAME_NOREPLACE);
	return apply_refuse(a, m->path, "not all that is in it could be removed");
}

/* Renames the file or folder to the temporary name, compares it once more with the one
 * that was checked, and removes it. */
static int apply_removal(struct apply *a, const struct meeting *m, struct err *e)
{
	(void)e;
	if (sys_renameat2(m->at, m->name, m->at, a->temporary, KERNEL_RENAME_NOREPLACE) <
	    0)
		return apply_refuse_errno(a, m->path, "remove it");
	if (!a->is_forced && !is_the_one(m->at, a->temporary, &m->host)) {
		(void)rename_to(m->at, a->temporary, m->name, KERNEL_RENAME_NOREPLACE);
		return apply_refuse(a, m->path, APPEARED);
	}
	apply_remove_temporary(m->at, a->temporary);
	return put_back(a, m);
}

typedef int apply_kind(struct apply *, const struct meeting *, struct err *);

static apply_kind *const kinds[] = {
	[CHANGES_STREAM_FOLDER] = apply_folder,
	[CHANGES_STREAM_FILE] = apply_file,
	[CHANGES_STREAM_LINK] = apply_link,
	[CHANGES_STREAM_GONE] = apply_removal,
};

int apply_make(struct apply *a, const struct meeting *m, struct err *e)
{
	return kinds[m->item ? m->item->kind : CHANGES_STREAM_GONE](a, m, e);
}

void apply_close_folders(struct apply *a)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	while (a->closed.count > 0) { /* subfolders first: with its final mode the parent
				       * may deny access to them */
		char *item = a->closed.items[--a->closed.count];
		struct open_how mine = how;
		AUTO_CLOSE int fd = sys_openat2(a->dir, item + 4, &mine);
		item[4] = '\0';
		if (fd >= 0)
			(void)fchmod(fd, (mode_t)strtoul(item, NULL, 8));
		own_free(&a->closed.items[a->closed.count]);
	}
}
