#include "executor/fileops/errand.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/own.h"
#include "executor/files/files_parts.h"
#include "executor/files/walk.h"

#define NEW_FOLDER_MODE 0755

/* --- stat ---------------------------------------------------------------------- */

static uint64_t bounded(off_t size)
{
	return (uint64_t)size < ACTION_CUT_MAX ? (uint64_t)size : ACTION_CUT_MAX;
}

static void fill_in(struct errand *x, int at, const struct stat *st)
{
	ssize_t len = S_ISLNK(st->st_mode)
			      ? readlinkat(at, "", x->target, sizeof(x->target) - 1)
			      : 0;

	x->target[len > 0 ? len : 0] = '\0';
	x->end.stat = (struct stat_result){
		.mode = st->st_mode,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.size = bounded(st->st_size),
		.seconds = st->st_mtim.tv_sec,
		.nanoseconds = (uint32_t)st->st_mtim.tv_nsec,
		.target = x->target,
	};
}

void errand_stat(struct errand *x)
{
	struct stat st;
	AUTO_CLOSE int at = open(x->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (at < 0 || fstat(at, &st) < 0)
		(void)errand_fail(x, NULL, errno);
	else if (files_is_of_process(at))
		(void)errand_fail(x, NULL, EACCES);
	else
		fill_in(x, at, &st);
}

/* --- move ---------------------------------------------------------------------- */

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Cuts the slashes off the path's end: with a slash behind it, a link would be
 * followed. */
static void cut_slashes(char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
}

/* Renames a file, but replaces none. Where the file system does not support
 * RENAME_NOREPLACE (EINVAL), the target is looked for first. */
static int rename_to_new(const char *from, const char *to)
{
	if (sys_renameat2(AT_FDCWD, from, AT_FDCWD, to, KERNEL_RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL)
		return -1;
	if (!is_there(to))
		return rename(from, to);
	errno = EEXIST;
	return -1;
}

/* Returns the path of the folder that the target is in; uses x->target as the buffer. */
static const char *other_folder(struct errand *x)
{
	int len = (int)(strrchr(x->other, '/') - x->other);

	(void)snprintf(x->target, sizeof(x->target), "%.*s%s", len, x->other,
		       len ? "" : "/");
	return x->target;
}

/* Returns the path that a failed move is blamed on; NULL: the source, also if the source
 * is missing. */
static const char *culprit(struct errand *x, int sys)
{
	const char *folder = other_folder(x);
	bool is_other = sys == EEXIST || sys == ENOTEMPTY || sys == EISDIR;

	if (is_other)
		return x->other;
	if (!is_there(x->path) || sys == EXDEV || sys == EBUSY || sys == EINVAL)
		return NULL;
	if (sys == EACCES)
		return access(folder, W_OK | X_OK) < 0 ? folder : NULL;
	if (sys == ENOENT)
		return folder;
	if (sys == ENOTDIR)
		return is_folder(folder) ? x->other : folder;
	return sys == ENAMETOOLONG || sys == ELOOP ? x->other : NULL;
}

/* Reports a failed move. ENOTDIR for the target is OUTCOME_ERROR, not OUTCOME_NOT_FOUND:
 * a file exists where the target's path needs a folder. */
static void fail_to_move(struct errand *x, int sys)
{
	const char *path = culprit(x, sys);

	(void)errand_fail(x, path, sys);
	if (path && sys == ENOTDIR)
		x->end.outcome = OUTCOME_ERROR;
}

void errand_move(struct errand *x)
{
	bool replaces = x->ask->flags & ERRAND_OVERWRITE;

	cut_slashes(x->path);
	if ((replaces ? rename(x->path, x->other) : rename_to_new(x->path, x->other)) < 0)
		fail_to_move(x, errno);
}

/* --- remove -------------------------------------------------------------------- */

/* Removes one name. A failure is reported and ends the errand; the files that are not
 * removed by then stay. */
static enum walk_step removed(struct errand *x, const struct walk_name *n, int flags)
{
	if (unlinkat(n->folder, n->name, flags) == 0 || errno == ENOENT)
		return WALK_ON;
	int sys = errno;
	int len = snprintf(x->target, sizeof(x->target), "%s/%s", x->path, n->path);
	bool is_whole = len < (int)sizeof(x->target);
	(void)errand_fail(x, is_whole ? x->target : NULL, sys);
	return WALK_END;
}

/* Removes a name in the folder. A folder is entered only if rmdir(2) fails because it is
 * not empty. For a mount point rmdir(2) fails with EBUSY instead, so nothing in a mount
 * is removed. */
static enum walk_step on_name(void *context, const struct walk_name *n)
{
	if (n->type != DT_DIR)
		return removed(context, n, 0);
	if (unlinkat(n->folder, n->name, AT_REMOVEDIR) == 0)
		return WALK_PAST;
	if (errno == ENOTEMPTY || errno == EEXIST)
		return WALK_ON;
	return removed(context, n, AT_REMOVEDIR);
}

/* Removes a folder after its entries were removed. If it is still not empty, it has new
 * entries, or some that could not be read; remove_all() reports that in the end. */
static enum walk_step on_left(void *context, const struct walk_name *n)
{
	if (unlinkat(n->folder, n->name, AT_REMOVEDIR) == 0 || errno == ENOTEMPTY)
		return WALK_ON;
	return removed(context, n, AT_REMOVEDIR);
}

static bool is_late(void *context)
{
	(void)context;
	return errand_is_late();
}

/* Removes the entries, then the folder itself. If that fails because some folder could
 * not be read, the errno of that folder is reported. */
static int remove_all(struct errand *x)
{
	struct walk w = {
		.on_name = on_name, .on_left = on_left, .is_late = is_late, .context = x
	};
	int folder = open(x->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (folder < 0)
		return errand_fail(x, NULL, errno);
	(void)walk_run(&w, folder);
	if (x->end.outcome != OUTCOME_DONE)
		return -1;
	if (rmdir(x->path) == 0)
		return 0;
	int sys = w.closed > 0 ? w.sys : errno;
	if (errand_is_late())
		x->end.outcome = OUTCOME_TIMED_OUT;
	else
		(void)errand_fail(x, NULL, sys);
	return -1;
}

/* Removes a folder, with its content if the request allows. The first rmdir(2) fails for
 * a mount, or for "/", before any of the content is removed. */
static int remove_folder(struct errand *x)
{
	if (rmdir(x->path) == 0)
		return 0;
	if ((errno != ENOTEMPTY && errno != EEXIST) ||
	    !(x->ask->flags & ERRAND_RECURSIVE))
		return errand_fail(x, NULL, errno);
	return remove_all(x);
}

/* Returns whether the path ends with a name. A path that ends with "." or ".." is
 * refused: for ".." rmdir(2) only reports that the folder is not empty, so its content
 * would be removed. */
static bool is_name(const char *path)
{
	const char *last = strrchr(path, '/') + 1;

	return *last && strcmp(last, ".") != 0 && strcmp(last, "..") != 0;
}

void errand_remove(struct errand *x)
{
	cut_slashes(x->path);
	int sys = !is_name(x->path) ? EBUSY : unlink(x->path) < 0 ? errno : 0;
	if (sys == EISDIR || sys == EPERM)
		(void)remove_folder(x);
	else if (sys)
		(void)errand_fail(x, NULL, sys);
}

/* --- mkdir --------------------------------------------------------------------- */

/* Makes one folder. A folder that exists is fine, also if mkdir(2) fails for another
 * reason, such as a read-only file system. */
static int make_one(const char *path)
{
	if (mkdir(path, NEW_FOLDER_MODE) == 0)
		return 0;
	int sys = errno;
	return is_folder(path) ? 0 : sys;
}

/* Makes the missing folders above the path, then the path itself. On failure `path` is
 * cut to the folder that could not be made, so that the error is reported with that
 * folder. */
static int make_all(char *path)
{
	for (char *at = path + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		int sys = make_one(path);
		if (sys)
			return sys;
		*at = '/';
	}
	return make_one(path);
}

void errand_mkdir(struct errand *x)
{
	cut_slashes(x->path);
	int sys = make_all(x->path);
	if (sys)
		(void)errand_fail(x, NULL, sys);
}
