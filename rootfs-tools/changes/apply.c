#include "rootfs-tools/changes/apply.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/content.h"
#include "base/err.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "rootfs-tools/changes/repository.h"
#include "rootfs-tools/changes/rmdir_check.h"
#include "rootfs-tools/changes/upper_scan.h"
#include "store/folders.h"
#include "store/rm_tree.h"

#define RECORD_MAX (64u << 20)
#define PIECE	   (64u << 10)

#define MODE(m) ((m)->item->mode & 0777)

static const char CHANGED[] = "was changed on this host since the sandbox began",
		  APPEARED[] = "is being changed on this host right now",
		  PROTECTED[] = "is protected",
		  NOT_TRIED[] = "was not tried, since another one failed";

static bool does_nothing(const struct apply *a)
{
	return a->is_dry || a->is_judging;
}

/* Returns 1: this change is refused, and the walk goes on. */
static int refuse(struct apply *a, const char *path, const char *why)
{
	a->refused++;
	a->is_stopped = a->is_whole && !a->is_judging;
	repository_break(a->repositories, path, why);
	if (a->on_refused)
		a->on_refused(a->who, path, why);
	return 1;
}

static int refuse_errno(struct apply *a, const char *path, const char *what)
{
	AUTO_FREE char *why = text_format("%s: %s", what, err_words(errno));

	return refuse(a, path, why);
}

/* --- what was applied before --------------------------------------------- */

static char *time_text(const struct stat *st)
{
	return text_format("%lld.%09ld", (long long)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
}

/* A line is "DEV INO CTIME\n".  A last line without its newline was cut by a
 * kill and is ignored. */
static void read_line(struct apply *a, char *line)
{
	unsigned long long dev, ino;
	char when[40];

	if (sscanf(line, "%20llu %20llu %39s", &dev, &ino, when) != 3)
		return;
	const struct stat st = { .st_dev = (dev_t)dev, .st_ino = (ino_t)ino };
	inodes_put(&a->applied, &st, when);
}

static int read_record(struct apply *a, struct err *e)
{
	AUTO_FREE char *text = NULL;
	size_t len;

	if (a->record < 0)
		return 0;
	if (io_read_file(a->record, "what was applied", RECORD_MAX, &text, &len, e) < 0)
		return -1;
	for (char *at = text, *end; (end = strchr(at, '\n')); at = end + 1) {
		*end = '\0';
		read_line(a, at);
	}
	return 0;
}

/* If the record cannot be written, the next apply reports a conflict for this
 * file. */
static void write_down(struct apply *a, const struct meeting *m)
{
	struct stat st;

	if (fstatat(m->at, m->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	AUTO_FREE char *when = time_text(&st);
	inodes_put(&a->applied, &st, when);
	AUTO_FREE char *line = text_format("%llu %llu %s\n", (unsigned long long)st.st_dev,
					   (unsigned long long)st.st_ino, when);
	if (a->record >= 0)
		(void)io_write_all(a->record, line, strlen(line));
}

/* --- whether the host's file was changed meanwhile ------------------------ */

static bool is_changed(const struct apply *a, const struct stat *st)
{
	if (a->is_forced)
		return false;
	int64_t when = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
	const char *ours = inodes_get(&a->applied, st);
	AUTO_FREE char *text = time_text(st);

	return when > a->started_ns && !(ours && !strcmp(ours, text));
}

/* hutch's own folders are masked inside, so a change that is reported there cannot be the
 * sandbox's: check_place() refuses it. */
static void find_own(struct apply *a)
{
	struct stat st;

	for (int i = 0; i < FOLDER_COUNT; i++) {
		AUTO_FREE char *path = folder_path((enum folder)i);
		if (path && stat(path, &st) == 0)
			inodes_add(&a->own, &st, NULL);
	}
}

/* A folder to be removed. */
struct removal {
	struct apply *apply;
	const char *path;
};

static const char *why_not_removed(void *who, const char *below, const struct stat *st)
{
	const struct removal *r = who;

	if (is_changed(r->apply, st)) {
		r->apply->changed++;
		return CHANGED;
	}
	if (apply_protect_has(&r->apply->protect, r->path, below)) {
		r->apply->protected++;
		return PROTECTED;
	}
	return S_ISDIR(st->st_mode) && inodes_has(&r->apply->own, st) ? "is hutch's own" : NULL;
}

static int check_folder(struct apply *a, const struct meeting *m)
{
	struct removal removal = { a, m->path };

	if (inodes_has(&a->own, &m->host))
		return refuse(a, m->path, "is hutch's own");
	AUTO_FREE char *found = rmdir_check_find(m->at, m->name, why_not_removed, &removal);
	return found ? refuse(a, m->path, found) : 0;
}

/* Whether an apply makes the parent folder writable to its owner before it
 * comes to this path. */
static bool is_to_be_opened(struct apply *a, const struct meeting *m)
{
	const size_t len = strlen(m->path) - strlen(m->name);
	struct list *o = &a->opened;

	while (o->count && !path_below(m->path, o->items[o->count - 1]))
		own_free(&o->items[--o->count]);
	return o->count && strlen(o->items[o->count - 1]) + 1 == len;
}

/* Why rename(2) will not move the existing file or folder aside, or NULL. */
static const char *why_fixed(const struct meeting *m, bool is_mode)
{
	const char *why = rmdir_check_fixed(m->at, "");
	struct stat at;

	if (!why && m->exists)
		why = rmdir_check_fixed(m->at, m->name);
	if (!why && m->exists && !is_mode && m->host.st_uid != geteuid() && fstat(m->at, &at) == 0)
		why = rmdir_check_sticky(&at);
	return why;
}

/* Asks the kernel in advance, as far as that is possible, whether it would
 * permit the change. */
static int check_rights(struct apply *a, const struct meeting *m)
{
	const bool is_mode = m->exists && S_ISDIR(m->host.st_mode) && m->item &&
			     m->item->kind == CHANGES_STREAM_FOLDER;
	const bool is_open = !does_nothing(a) || is_to_be_opened(a, m);

	if (is_mode && geteuid() != 0 && m->host.st_uid != geteuid())
		return refuse(a, m->path, "belongs to another user, who alone may change its "
					  "mode");
	if (is_mode && does_nothing(a))
		list_add(&a->opened, m->path);
	if (!is_mode && !is_open && faccessat(m->at, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return refuse_errno(a, m->path, "write to the folder that it is in");
	const char *why = why_fixed(m, is_mode);
	return why ? refuse(a, m->path, why) : 0;
}

/* 0: the path may be created or changed at this place. */
static int check_place(struct apply *a, const struct meeting *m)
{
	struct stat at;

	if (m->item && m->item->kind == CHANGES_STREAM_FIFO)
		return refuse(a, m->path, "is a FIFO, and these are not applied");
	if (!strncmp(m->name, APPLY_TEMPORARY, strlen(APPLY_TEMPORARY)))
		return refuse(a, m->path, "has a name of hutch's own");
	if (m->at < 0) /* its folder does not exist yet */
		return 0;
	if (fstat(m->at, &at) < 0 || inodes_has(&a->own, &at))
		return refuse(a, m->path, "is in a folder of hutch's own");
	return m->is_on_way && m->exists ? 0 : check_rights(a, m);
}

/* 0: the host's file has not changed since the sandbox began, so it may be
 * replaced. */
static int check_unchanged(struct apply *a, const struct meeting *m)
{
	bool is_folder = m->exists && S_ISDIR(m->host.st_mode);

	if (!m->exists)
		return 0;
	/* A folder's times change with its entries, so they say nothing about
	 * the folder itself. */
	if (is_folder && m->item && m->item->kind == CHANGES_STREAM_FOLDER)
		return 0;
	if (is_changed(a, &m->host)) {
		a->changed++;
		return refuse(a, m->path, CHANGED);
	}
	return is_folder ? check_folder(a, m) : 0;
}

/* --- places ------------------------------------------------------------ */

static void remove_temporary(struct apply *a, int at)
{
	if (unlinkat(at, a->temporary, 0) < 0 && errno != ENOENT)
		rm_tree_remove(at, a->temporary);
}

static bool is_the_one(int at, const char *name, const struct stat *was)
{
	struct stat st;

	return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == was->st_ino &&
	       st.st_dev == was->st_dev && st.st_mode == was->st_mode &&
	       (S_ISDIR(st.st_mode) ||
		(st.st_size == was->st_size && st.st_mtim.tv_sec == was->st_mtim.tv_sec &&
		 st.st_mtim.tv_nsec == was->st_mtim.tv_nsec));
}

static int rename_to(int at, const char *from, const char *to, unsigned flags)
{
	if (sys_renameat2(at, from, at, to, flags) == 0)
		return 0;
	/* This file system has no RENAME_EXCHANGE or RENAME_NOREPLACE; it can
	 * only replace. */
	return (errno == EINVAL || errno == ENOSYS) ? renameat(at, from, at, to) : -1;
}

static int put_new(struct apply *a, const struct meeting *m)
{
	if (rename_to(m->at, a->temporary, m->name, KERNEL_RENAME_NOREPLACE) == 0)
		return 0;
	int result = errno == EEXIST ? refuse(a, m->path, APPEARED)
				     : refuse_errno(a, m->path, "give it its name");
	remove_temporary(a, m->at);
	return result;
}

/* After the exchange the old file has the temporary name, where it is compared
 * once more with the one that was judged. */
static int put_instead(struct apply *a, const struct meeting *m)
{
	if (rename_to(m->at, a->temporary, m->name, KERNEL_RENAME_EXCHANGE) < 0) {
		int result = refuse_errno(a, m->path, "give it its name");
		remove_temporary(a, m->at);
		return result;
	}
	if (!a->is_forced && faccessat(m->at, a->temporary, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
	    !is_the_one(m->at, a->temporary, &m->host)) {
		(void)rename_to(m->at, a->temporary, m->name, KERNEL_RENAME_EXCHANGE);
		remove_temporary(a, m->at);
		return refuse(a, m->path, APPEARED);
	}
	remove_temporary(a, m->at);
	return 0;
}

static int put_in_place(struct apply *a, const struct meeting *m)
{
	return m->exists ? put_instead(a, m) : put_new(a, m);
}

/* --- each kind ----------------------------------------------------------- */

/* Keeps the group of the host's file where we may: a shared folder's files do
 * not have our group. */
static void set_up(int fd, const struct meeting *m)
{
	const struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = m->item->mtime, .tv_nsec = m->item->mtime_ns },
	};

	if (m->exists && S_ISREG(m->host.st_mode) && m->host.st_gid != getegid() &&
	    fchown(fd, (uid_t)-1, m->host.st_gid) < 0)
		errno = 0; /* then the file gets our own group, as any new file does */
	(void)fchmod(fd, MODE(m));
	(void)futimens(fd, times); /* ignored: the change is shown by content and mode,
				    * the time is a courtesy */
}

static int refuse_content(struct apply *a, const struct meeting *m,
			  const struct err *why, struct err *e)
{
	if (!m->content->is_broken)
		return refuse(a, m->path, why->text);
	*e = *why;
	return -1;
}

/* Zeros become holes: terabytes of holes cost the inside nothing, and must not fill the
 * disk of the host. */
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
			return refuse_errno(a, m->path, "write it");
		size += len;
	}
	if (len < 0)
		return refuse_content(a, m, &why, e);
	return is_hole && ftruncate(fd, size) < 0 ? refuse_errno(a, m->path, "write it") : 0;
}

static int write_held(struct apply *a, const struct meeting *m, int fd, struct err *e)
{
	(void)e;
	return io_write_all(fd, a->held, a->held_len) == 0 ? 0
							   : refuse_errno(a, m->path, "write it");
}

typedef int apply_fill(struct apply *, const struct meeting *, int fd, struct err *);

/* Makes the temporary file, whose content `fill` writes.  1: refused. */
static int write_file(struct apply *a, const struct meeting *m, apply_fill *fill, struct err *e)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	AUTO_CLOSE int fd = openat(m->at, a->temporary, flags, 0600);

	if (fd < 0)
		return refuse_errno(a, m->path, "make it");
	const int result = fill(a, m, fd, e);
	if (result != 0)
		remove_temporary(a, m->at);
	else
		set_up(fd, m);
	return result;
}

/* --- one that may be there already --------------------------------------- */

/* hold() keeps at most PIECE bytes.  Content that is longer than its announced
 * size is refused at its end, so cutting it is safe. */
static int hold(struct apply *a, const struct meeting *m, struct err *e)
{
	const uint8_t *data;
	struct err why;
	ssize_t len;

	if (!a->held)
		a->held = mem_new(2 * PIECE);
	a->held_len = 0;
	while ((len = changes_stream_read(m->content, &data, &why)) > 0) {
		size_t room = PIECE - a->held_len;
		size_t some = (size_t)len < room ? (size_t)len : room;
		memcpy(a->held + a->held_len, data, some);
		a->held_len += some;
	}
	return len == 0 ? 0 : refuse_content(a, m, &why, e);
}

static bool is_held(const struct apply *a, const struct meeting *m)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	AUTO_CLOSE int fd = openat(m->at, m->name, flags);
	char *there = a->held + PIECE, more;

	return fd >= 0 && io_read_full(fd, there, a->held_len) == (ssize_t)a->held_len &&
	       !memcmp(a->held, there, a->held_len) && io_read_full(fd, &more, 1) == 0;
}

/* A small file is compared from memory, not from a temporary file: creating and
 * removing files costs more each time on some file systems (ext4), which do not
 * reuse an inode for a while and search through all such inodes for the next
 * one. */
static int apply_small(struct apply *a, const struct meeting *m, struct err *e)
{
	int result = hold(a, m, e);

	if (result == 0)
		result = is_held(a, m) ? 1 : check_unchanged(a, m);
	if (result == 0)
		result = write_file(a, m, write_held, e);
	return result == 0 ? put_in_place(a, m) : result;
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

/* A large file is written under its temporary name first and then compared. */
static int apply_large(struct apply *a, const struct meeting *m, struct err *e)
{
	int result = write_file(a, m, copy_content, e);

	if (result != 0)
		return result;
	result = is_same_file(m->at, a->temporary, m->name) ? 1 : check_unchanged(a, m);
	if (result == 0)
		return put_in_place(a, m);
	remove_temporary(a, m->at);
	return result;
}

static int apply_file(struct apply *a, const struct meeting *m, struct err *e)
{
	if (m->may_be_same && m->item->size <= PIECE)
		return apply_small(a, m, e);
	if (m->may_be_same)
		return apply_large(a, m, e);
	int result = write_file(a, m, copy_content, e);
	return result == 0 ? put_in_place(a, m) : result;
}

static int apply_link(struct apply *a, const struct meeting *m, struct err *e)
{
	(void)e;
	if (symlinkat(m->item->link, m->at, a->temporary) < 0)
		return refuse_errno(a, m->path, "make it");
	return put_in_place(a, m);
}

/* The mode for now: the owner must be able to create files in the folder.  The
 * final mode is set at the end. */
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
	return refuse_errno(a, m->path, "change its mode");
}

static int apply_folder(struct apply *a, const struct meeting *m, struct err *e)
{
	(void)e;
	if (m->exists && S_ISDIR(m->host.st_mode))
		return m->is_on_way ? 0 : set_mode(a, m, m->name);
	if (mkdirat(m->at, a->temporary, 0700) < 0)
		return refuse_errno(a, m->path, "make it");
	if (set_mode(a, m, a->temporary)) {
		remove_temporary(a, m->at);
		return 1;
	}
	return put_in_place(a, m);
}

/* Gives a folder its name back that could not be emptied, although the checks
 * had found that it could. */
static int put_back(struct apply *a, const struct meeting *m)
{
	if (faccessat(m->at, a->temporary, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	(void)rename_to(m->at, a->temporary, m->name, KERNEL_RENAME_NOREPLACE);
	return refuse(a, m->path, "not all that is in it could be removed");
}

/* Moves the file or folder aside, compares it once more with the one that was
 * judged, and removes it. */
static int apply_removal(struct apply *a, const struct meeting *m, struct err *e)
{
	(void)e;
	if (sys_renameat2(m->at, m->name, m->at, a->temporary, KERNEL_RENAME_NOREPLACE) < 0)
		return refuse_errno(a, m->path, "remove it");
	if (!a->is_forced && !is_the_one(m->at, a->temporary, &m->host)) {
		(void)rename_to(m->at, a->temporary, m->name, KERNEL_RENAME_NOREPLACE);
		return refuse(a, m->path, APPEARED);
	}
	remove_temporary(a, m->at);
	return put_back(a, m);
}

typedef int apply_kind(struct apply *, const struct meeting *, struct err *);

static apply_kind *const kinds[] = {
	[CHANGES_STREAM_FOLDER] = apply_folder, [CHANGES_STREAM_FILE] = apply_file, [CHANGES_STREAM_LINK] = apply_link,
	[CHANGES_STREAM_GONE] = apply_removal,
};

/* A protected file that was written inside with the same content is no change. 
 * 1: refused, or no change. */
static int check_protect(struct apply *a, const struct meeting *m, struct err *e)
{
	AUTO_FREE char *why = apply_protect_why(&a->protect, m);
	int is_same = why && m->may_be_same ? changes_walk_is_same(m, e) : 0;

	if (!why || is_same != 0)
		return is_same;
	a->protected++;
	return refuse(a, m->path, why);
}

/* The reason for a repository is reported once, for all of its files. */
static int refuse_with_repository(struct apply *a, struct repository *r)
{
	AUTO_FREE char *why = text_format("%s; a repository is applied whole or not at all",
					  r->why);

	if (r->is_named) {
		a->refused++;
		return 1;
	}
	r->is_named = true;
	return refuse(a, r->path, why);
}

/* Refuses a change because another change was refused or failed. */
static int check_others(struct apply *a, const struct meeting *m, struct err *e)
{
	struct repository *r = repository_find(a->repositories, m->path);

	if (a->is_judging || (!a->is_stopped && !r) || (m->is_on_way && m->exists))
		return 0;
	int is_same = m->may_be_same ? changes_walk_is_same(m, e) : 0;
	if (is_same != 0)
		return is_same;
	return a->is_stopped ? refuse(a, m->path, NOT_TRIED) : refuse_with_repository(a, r);
}

static int apply_one(struct apply *a, const struct meeting *m, struct err *e)
{
	const enum changes_stream_kind kind = m->item ? m->item->kind : CHANGES_STREAM_GONE;
	int result = check_others(a, m, e);

	if (result == 0)
		result = check_protect(a, m, e);
	if (result == 0)
		result = check_place(a, m);
	if (result == 0 && m->may_be_same && does_nothing(a))
		result = changes_walk_is_same(m, e);
	if (result == 0 && !(m->may_be_same && !does_nothing(a)))
		result = check_unchanged(a, m);
	if (result != 0 || does_nothing(a))
		return result;
	return kinds[kind](a, m, e);
}

/* Changes below a refused folder are not reported. */
static void remember_refused(struct apply *a, const struct meeting *m)
{
	if (!m->item || m->item->kind != CHANGES_STREAM_FOLDER)
		return;
	list_done(&a->shut);
	list_add(&a->shut, m->path);
}

static int on_new_below(struct apply *a, const struct meeting *m, struct err *e)
{
	if (a->shut.count && changes_walk_is_wanted(&a->shut, m->path))
		return 0;
	int result = check_others(a, m, e);
	if (result == 0)
		result = check_protect(a, m, e);
	if (result == 0)
		result = check_place(a, m);
	if (result > 0)
		remember_refused(a, m);
	if (result != 0)
		return result < 0 ? -1 : 0;
	a->done++;
	if (a->on_done)
		a->on_done(a->who, m);
	return 0;
}

static int on_meeting(void *who, const struct meeting *m, struct err *e)
{
	struct apply *a = who;

	if (m->at < 0) /* the parent folder was refused, or does not exist yet because
		        * nothing is done */
		return does_nothing(a) ? on_new_below(a, m, e) : 0;
	int result = apply_one(a, m, e);
	if (result > 0)
		remember_refused(a, m);
	if (result != 0)
		return result < 0 ? -1 : 0;
	a->done++;
	if (!does_nothing(a) && m->item && m->item->kind != CHANGES_STREAM_GONE)
		write_down(a, m);
	if (!m->is_on_way && a->on_done)
		a->on_done(a->who, m);
	return 0;
}

/* --- all ------------------------------------------------------------ */

static void close_folders(struct apply *a)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	while (a->closed.count > 0) { /* subfolders first */
		char *item = a->closed.items[--a->closed.count];
		struct open_how mine = how;
		AUTO_CLOSE int fd = sys_openat2(a->dir, item + 4, &mine);
		item[4] = '\0';
		if (fd >= 0)
			(void)fchmod(fd, (mode_t)strtoul(item, NULL, 8));
		own_free(&a->closed.items[a->closed.count]);
	}
}

int apply_begin(struct apply *a, struct err *e)
{
	(void)snprintf(a->temporary, sizeof(a->temporary), APPLY_TEMPORARY "%.31s", a->id);
	find_own(a);
	if (apply_protect_begin(&a->protect, a->protects, a->dir, e) < 0)
		return -1;
	return read_record(a, e);
}

void apply_done(struct apply *a)
{
	inodes_done(&a->applied);
	inodes_done(&a->own);
	apply_protect_done(&a->protect);
	list_done(&a->closed);
	list_done(&a->shut);
	list_done(&a->opened);
	own_free(&a->held);
}

static void sweep_folder(void *who, int at)
{
	struct apply *a = who;

	if (!does_nothing(a))
		remove_temporary(a, at);
}

static void on_left_out(void *who, const char *path, const char *why)
{
	struct apply *a = who;

	if (!upper_scan_is_no_file(why)) {
		(void)refuse(a, path, why);
		return;
	}
	a->left_out++;
	if (a->on_left_out)
		a->on_left_out(a->who, path, why);
}

int apply_all(struct apply *a, struct changes_stream *t, struct err *e)
{
	const struct changes_walk g = { .dir = a->dir, .wanted = a->wanted, .who = a,
				  .on_meeting = on_meeting, .on_folder = sweep_folder,
				  .on_left_out = on_left_out };
	int result = changes_walk_walk(&g, t, e);

	close_folders(a);
	return result;
}

static int pass_over(void *who, const struct meeting *m, struct err *e)
{
	(void)who, (void)m, (void)e;
	return 0;
}

int apply_sweep(struct apply *a, struct changes_stream *t, struct err *e)
{
	const struct changes_walk g = { .dir = a->dir, .who = a, .on_meeting = pass_over,
				  .on_folder = sweep_folder };

	return changes_walk_walk(&g, t, e);
}
