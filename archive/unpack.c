#include "archive/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/content.h"
#include "archive/dir_stack.h"
#include "archive/entries.h"
#include "archive/entry_path.h"
#include "archive/inodes.h"
#include "archive/layer.h"
#include "archive/unpack_dirs.h"
#include "base/err.h"
#include "base/kernel.h"
#include "base/own.h"
#include "base/resolve.h"

struct work {
	struct unpack *u;
	struct entries tar;
	struct unpack_dirs dirs;
	struct dir_stack look; /* the folders that lead to the target of the last hard
			        * link; `dirs` keeps those of the entries */
	struct entry_path entry_path, target;
};

static int start_look(struct work *w, struct err *e)
{
	int root = fcntl(w->u->root, F_DUPFD_CLOEXEC, 0);

	return root < 0 ? err_sys(e, "open the folder")
			: dir_stack_start(&w->look, root, "", e);
}

static struct looks looks_of(const struct work *w)
{
	const struct tar_entry *entry = &w->tar.now;

	return (struct looks){
		.mode = w->u->layer ? layer_mode(entry) :
				      entry->mode & (w->u->keeps_setid ? 07777 : 0777),
		.has_ids = w->u->keeps_ids,
		.uid = (uid_t)entry->uid,
		.gid = (gid_t)entry->gid,
		.has_time = true,
		.mtime = { .tv_sec = entry->mtime, .tv_nsec = entry->mtime_ns },
	};
}

static int give_folder(struct work *w, struct err *e)
{
	return w->u->layer
		       ? layer_give(unpack_dirs_here(&w->dirs), &w->tar.now, &w->tar.pax,
				    unpack_dirs_is_new(&w->dirs), &w->u->left_out, e)
		       : 0;
}

static int make_folder(struct work *w, struct err *e)
{
	const struct looks looks = looks_of(w);
	uint64_t before = w->u->entries;

	if (!*w->entry_path.path && !w->u->layer) /* except in a layer, the root existed
						   * before and is not changed */
		return 0;
	if (unpack_dirs_check_count(&w->dirs, e) < 0 ||
	    unpack_dirs_go(&w->dirs, w->entry_path.path, e) < 0 || give_folder(w, e) < 0)
		return -1;
	unpack_dirs_folder(&w->dirs, &looks);
	if (w->u->entries == before)
		w->u->entries++; /* the folder was there already, so unpack_dirs_go()
				  * has not counted it */
	return 0;
}

/* --- places ------------------------------------------------------------------ */

/* Goes to the folder that the entry is to be in. */
static int reach_place(struct work *w, struct err *e)
{
	if (!*w->entry_path.path)
		return err_set(e, ERR_PROTOCOL, "the tar has something without a name");
	if (unpack_dirs_go(&w->dirs, entry_path_folder(&w->entry_path), e) < 0)
		return -1;
	return unpack_dirs_check_count(&w->dirs, e);
}

/* Removes a folder of the layer with its content.  `look` may lead through that folder,
 * so `look` starts anew at the root. */
static int clear_folder(struct work *w, struct err *e)
{
	w->u->layer->remove(unpack_dirs_here(&w->dirs), w->entry_path.name);
	unpack_dirs_forget(&w->dirs, entry_path_whole(&w->entry_path));
	dir_stack_done(&w->look);
	return start_look(w, e);
}

/* Removes the file or link that is at the entry's path; a folder is removed only in a
 * layer. */
static int clear_place(struct work *w, struct err *e)
{
	int here = unpack_dirs_here(&w->dirs);
	struct stat st;

	if (fstatat(here, w->entry_path.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT
			       ? 0
			       : err_sys(e, "%.300s", entry_path_whole(&w->entry_path));
	if (S_ISDIR(st.st_mode) && w->u->layer)
		return clear_folder(w, e);
	if (S_ISDIR(st.st_mode))
		return err_set(e, ERR_EXISTS,
			       "%.300s is a folder, and the tar has something else of "
			       "that name",
			       entry_path_whole(&w->entry_path));
	if (unlinkat(here, w->entry_path.name, 0) < 0)
		return err_sys(e, "replace %.300s", entry_path_whole(&w->entry_path));
	return 0;
}

/* --- files ------------------------------------------------------------------- */

/* Checks the limit of bytes before the first byte of an entry is written.  Extension
 * headers count, so that a tar of nothing else comes to the limit, too. */
static int check_bytes(const struct work *w, struct err *e)
{
	uint64_t max = w->u->bytes_max, size = w->tar.now.size;

	if (max && (size > max || w->u->bytes + w->tar.extra_bytes > max - size))
		return err_set(e, ERR_LIMIT, "the tar has more than %llu bytes",
			       (unsigned long long)max);
	return 0;
}

/* Returns the mode that a file has until its owner is set: no other user may open the
 * file, and setting attributes needs write permission. */
static mode_t mode_at_first(const struct work *w)
{
	const struct tar_entry *entry = &w->tar.now;
	bool is_given = w->u->layer && layer_has_any(entry, &w->tar.pax);

	return w->u->keeps_ids ? 0600 : (entry->mode & 0777) | (is_given ? 0600 : 0);
}

static int create(const struct work *w)
{
	const struct open_how how = {
		.flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		.mode = mode_at_first(w),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return resolve_open(unpack_dirs_here(&w->dirs), w->entry_path.name, &how);
}

/* Creates the entry's file.  Tries without unlinking first, since mostly no file is at
 * the place. */
static int create_anew(struct work *w, struct err *e)
{
	int fd = create(w);

	if (fd < 0 && errno == EEXIST) {
		if (clear_place(w, e) < 0)
			return -1;
		fd = create(w);
	}
	return fd < 0 ? err_sys(e, "make %.300s", entry_path_whole(&w->entry_path)) : fd;
}

/* Records that this tar made the file, so that hard links may lead to it.  In a layer
 * nothing is recorded: the layer made every file there. */
static void note_made(struct work *w, const struct stat *st)
{
	if (!w->u->layer)
		inodes_add(&w->dirs.made, st, NULL);
}

static int finish_file(struct work *w, int fd, struct err *e)
{
	const struct looks looks = looks_of(w);
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat %.300s", entry_path_whole(&w->entry_path));
	if (w->u->layer && layer_give(fd, &w->tar.now, &w->tar.pax, true, &w->u->left_out,
				      e) < 0)
		return -1;
	if (looks_give(&looks, fd, &st, entry_path_whole(&w->entry_path), e) < 0)
		return -1;
	note_made(w, &st);
	w->u->entries++;
	w->u->bytes += w->tar.now.size;
	return 0;
}

static int make_file(struct work *w, struct err *e)
{
	if (check_bytes(w, e) < 0 || reach_place(w, e) < 0)
		return -1;
	AUTO_CLOSE int fd = create_anew(w, e);
	if (fd < 0)
		return -1;
	if (content_write(&w->tar, fd, entry_path_whole(&w->entry_path), e) == 0 &&
	    finish_file(w, fd, e) == 0)
		return 0;
	/* A file that is only partly written must not be taken for a whole file. */
	(void)unlinkat(unpack_dirs_here(&w->dirs), w->entry_path.name, 0);
	return -1;
}

/* --- links ------------------------------------------------------------------- */

static void tell_link(struct work *w)
{
	const char *to = w->tar.now.link;

	/* With `rename`, the unpacked tree is the folder `rename` and not the whole
	 * root, so a link from there to the root leads out of the tree. */
	if (!entry_path_leads_out(&w->entry_path, to, w->u->rename ? 1 : 0))
		return;
	w->u->links_out++;
	if (w->u->on_link_out)
		w->u->on_link_out(w->u->context, w->entry_path.path, to);
}

static int finish_link(struct work *w, struct err *e)
{
	const struct looks l = looks_of(w);
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, l.mtime };
	const char *name = w->entry_path.name, *path = entry_path_whole(&w->entry_path);
	int here = unpack_dirs_here(&w->dirs);
	struct stat st;

	if (l.has_ids && fchownat(here, name, l.uid, l.gid, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "give %.300s to %u:%u", path, l.uid, l.gid);
	/* Some file systems keep no times of links, and no program depends on them. */
	(void)utimensat(here, name, times, AT_SYMLINK_NOFOLLOW);
	if (fstatat(here, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		note_made(w, &st);
	w->u->entries++;
	return 0;
}

static int make_link(struct work *w, struct err *e)
{
	if (reach_place(w, e) < 0 || clear_place(w, e) < 0)
		return -1;
	if (symlinkat(w->tar.now.link, unpack_dirs_here(&w->dirs), w->entry_path.name) <
	    0)
		return err_sys(e, "make the link %.300s",
			       entry_path_whole(&w->entry_path));
	if (finish_link(w, e) < 0)
		return -1;
	tell_link(w);
	return 0;
}

/* --- hard links -------------------------------------------------------------- */

static int not_made(struct work *w, struct err *e)
{
	return err_set(e, ERR_PROTOCOL,
		       "%.200s is to be a hard link to %.200s, which this tar has not "
		       "made",
		       w->tar.now.path, w->tar.now.link);
}

/* Opens the folder of a hard link's target.  Unlike the folder of an entry, a missing
 * one is not made. */
static int look_at(struct work *w, const char *folder)
{
	size_t common = dir_stack_common(&w->look, folder);
	char name[NAME_MAX + 1];

	while (w->look.depth > common)
		if (dir_stack_up(&w->look, NULL) < 0)
			return -1;
	folder = dir_stack_rest(&w->look, folder);
	while (entry_path_next(&folder, name))
		if (dir_stack_down(&w->look, name, NULL) < 0)
			return -1;
	return 0;
}

static bool is_made(const struct work *w, const struct stat *st)
{
	return w->u->layer || inodes_has(&w->dirs.made, st);
}

static int find_target(struct work *w, struct stat *ret, struct err *e)
{
	struct entry_path *target = &w->target;

	if (entry_path_read(target, w->tar.now.link, w->u->rename, e) < 0)
		return -1;
	if (!*target->path || look_at(w, entry_path_folder(target)) < 0 ||
	    fstatat(dir_stack_here(&w->look), target->name, ret, AT_SYMLINK_NOFOLLOW) <
		    0 ||
	    S_ISDIR(ret->st_mode) || S_ISCHR(ret->st_mode) || !is_made(w, ret))
		return not_made(w, e);
	return 0;
}

/* Returns whether the entry's path already exists, as a hard link to the file `file`. */
static bool has_file(const struct work *w, const struct stat *file)
{
	const char *name = w->entry_path.name;
	struct stat st;

	return fstatat(unpack_dirs_here(&w->dirs), name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_dev == file->st_dev && st.st_ino == file->st_ino;
}

/* Adds the new name of a hard link, and checks that it names the same file that was
 * checked as the target. */
static int add_name(struct work *w, const struct stat *target, struct err *e)
{
	int here = unpack_dirs_here(&w->dirs);

	if (linkat(dir_stack_here(&w->look), w->target.name, here, w->entry_path.name,
		   0) < 0)
		return err_sys(e, "make the hard link %.300s",
			       entry_path_whole(&w->entry_path));
	if (has_file(w, target))
		return 0;
	(void)unlinkat(here, w->entry_path.name, 0);
	return not_made(w, e);
}

static int make_hard_link(struct work *w, struct err *e)
{
	struct stat target;

	if (find_target(w, &target, e) < 0 || reach_place(w, e) < 0)
		return -1;
	/* If the path is a name of the target already, nothing is to be done: replacing
	 * it would first remove it. */
	if (!has_file(w, &target) &&
	    (clear_place(w, e) < 0 || add_name(w, &target, e) < 0))
		return -1;
	w->u->entries++;
	return 0;
}

/* --- what only layers have --------------------------------------------------- */

static int make_fifo(struct work *w, struct err *e)
{
	if (reach_place(w, e) < 0 || clear_place(w, e) < 0)
		return -1;
	/* The FIFO keeps the mode that umask(2) leaves: fchmod(2) would need a
	 * descriptor, and opening a FIFO to write blocks. */
	if (mknodat(unpack_dirs_here(&w->dirs), w->entry_path.name,
		    S_IFIFO | layer_mode(&w->tar.now), 0) < 0)
		return err_sys(e, "make the FIFO %.300s",
			       entry_path_whole(&w->entry_path));
	return finish_link(w, e);
}

/* Makes a whiteout.  A whiteout never deletes a file of its own layer.  If the layer
 * has a folder of that name, only the folder's content from lower layers is deleted. */
static int make_whiteout(struct work *w, struct err *e)
{
	struct stat st;

	if (reach_place(w, e) < 0)
		return -1;
	w->u->entries++;
	if (fstatat(unpack_dirs_here(&w->dirs), w->entry_path.name, &st,
		    AT_SYMLINK_NOFOLLOW) < 0)
		return layer_hide(unpack_dirs_here(&w->dirs), w->entry_path.name,
				  entry_path_whole(&w->entry_path), e);
	if (!S_ISDIR(st.st_mode))
		return 0;
	if (unpack_dirs_go(&w->dirs, entry_path_whole(&w->entry_path), e) < 0)
		return -1;
	return layer_make_opaque(unpack_dirs_here(&w->dirs),
				 entry_path_whole(&w->entry_path), e);
}

static int make_opaque(struct work *w, struct err *e)
{
	const char *folder = entry_path_folder(&w->entry_path);

	if (unpack_dirs_go(&w->dirs, folder, e) < 0 ||
	    unpack_dirs_check_count(&w->dirs, e) < 0)
		return -1;
	w->u->entries++;
	if (!*folder)
		w->u->layer->hides_all = true;
	return layer_make_opaque(unpack_dirs_here(&w->dirs), folder, e);
}

/* --- entries ----------------------------------------------------------------- */

static const char *why_not(char flag)
{
	switch (flag) {
	case '3':
	case '4':
		return "a device, which is not made";
	case '6':
		return "a FIFO, which is not made";
	default:
		return "something of an unknown kind";
	}
}

static int leave_out(struct work *w, struct err *e)
{
	if (unpack_dirs_check_count(&w->dirs, e) < 0)
		return -1;
	w->u->left_out++;
	if (w->u->on_left_out)
		w->u->on_left_out(w->u->context, w->tar.now.path,
				  why_not(w->tar.now.flag));
	return 0;
}

static int check_ids(const struct work *w, struct err *e)
{
	const struct tar_entry *entry = &w->tar.now;

	/* chown(2) takes the last id for "no change". */
	if (w->u->keeps_ids && (entry->uid >= UINT32_MAX || entry->gid >= UINT32_MAX))
		return err_set(e, ERR_PROTOCOL, "%.300s: its owner is no user",
			       entry->path);
	return 0;
}

static int make_by_type(struct work *w, struct err *e)
{
	static int (*const make[])(struct work *, struct err *) = {
		[TAR_FILE] = make_file,	    [TAR_HARD_LINK] = make_hard_link,
		[TAR_LINK] = make_link,	    [TAR_FOLDER] = make_folder,
		[TAR_OTHER] = leave_out,
	};

	if (w->u->layer && w->tar.now.flag == '6')
		return make_fifo(w, e);
	return make[w->tar.now.type](w, e);
}

static int make_of_layer(struct work *w, struct err *e)
{
	enum layer_kind kind;

	if (layer_read(&w->entry_path, &kind, e) < 0)
		return -1;
	switch (kind) {
	case LAYER_WHITEOUT:
		return make_whiteout(w, e);
	case LAYER_OPAQUE:
		return make_opaque(w, e);
	case LAYER_NOTHING: /* an ignored entry counts as well, so that a tar of many such
			     * entries reaches the limit */
		w->u->entries++;
		return unpack_dirs_check_count(&w->dirs, e);
	case LAYER_THING:
		break;
	}
	return make_by_type(w, e);
}

static int make_entry(struct work *w, struct err *e)
{
	if (check_ids(w, e) < 0 ||
	    entry_path_read(&w->entry_path, w->tar.now.path, w->u->rename, e) < 0)
		return -1;
	return w->u->layer ? make_of_layer(w, e) : make_by_type(w, e);
}

static int make_all(struct work *w, struct err *e)
{
	int more;

	while ((more = entries_next(&w->tar, e)) > 0)
		if (make_entry(w, e) < 0)
			break;
	if (more != 0) {
		(void)unpack_dirs_leave_all(&w->dirs,
					    NULL); /* the tar is broken: finish those
						    * folders that can be finished */
		return -1;
	}
	if (unpack_dirs_leave_all(&w->dirs, e) < 0)
		return -1;
	entries_drain(&w->tar);
	return 0;
}

static int start(struct work *w, struct err *e)
{
	w->tar.may_just_end = w->u->layer;
	if (start_look(w, e) < 0)
		return -1;
	return unpack_dirs_start(&w->dirs, w->u, w->u->root, e);
}

int unpack_all(struct unpack *u, struct err *e)
{
	struct work w = { .u = u };

	if (u->rename && !entry_path_is_name(u->rename))
		return err_set(e, ERR_USAGE, "'%.300s' is no name for a file", u->rename);
	entries_init(&w.tar, u->in);
	entry_path_init(&w.entry_path);
	entry_path_init(&w.target);
	int result = start(&w, e) < 0 ? -1 : make_all(&w, e);
	entries_done(&w.tar);
	unpack_dirs_done(&w.dirs);
	dir_stack_done(&w.look);
	entry_path_done(&w.entry_path);
	entry_path_done(&w.target);
	return result;
}
