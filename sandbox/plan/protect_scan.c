#include "sandbox/plan/protect_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "policy/protect.h"

#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct look {
	const struct protect *protect;
	/* waiting: folders above protected names that are still to be read; "" is the
	 * folder that is shown */
	struct list *found, waiting;
	size_t count;
};

static int refuse(const char *path, const char *pattern, const char *why, struct err *e)
{
	(void)err_set(e, ERR_REFUSED, "%.200s is protected (%.200s) and %s", path + 1, pattern,
		      why);
	return err_remedy(e, "show the folder with :cow, or :ro, or leave that pattern out");
}

static int refuse_many(const char *path, const char *pattern, struct err *e)
{
	(void)err_set(e, ERR_LIMIT, "%.200s: more than %d files would have to be looked at for what "
				    "is protected (%.200s)", path + 1, PROTECT_SCAN_LOOK_MAX, pattern);
	return err_remedy(e, "show the folder with :cow, or leave that pattern out");
}

/* Adds a path that is protected, or that is above protected names, to the lists.  A path
 * above protected names that is no folder is protected itself: a process inside could
 * replace it by a folder. */
static int take(struct look *l, const char *path, enum protected is, const char *pattern,
		const struct stat *st, struct err *e)
{
	bool is_found = is == PROTECTED_YES ||
			(is == PROTECTED_ABOVE && !S_ISDIR(st->st_mode));

	if (S_ISLNK(st->st_mode))
		return refuse(path, pattern, "a link, which the inside could replace", e);
	if (is_found && S_ISREG(st->st_mode) && st->st_nlink > 1)
		return refuse(path, pattern, "has other names (hard links), which are not", e);
	if (is_found)
		list_add(l->found, path);
	else if (S_ISDIR(st->st_mode))
		list_add(&l->waiting, path);
	return 0;
}

static int look_at(struct look *l, int folder, const char *above, const char *name, struct err *e)
{
	AUTO_FREE char *path = text_format("%s/%s", above, name);
	const char *pattern;
	struct stat st;
	enum protected is = protect_find(l->protect, path + 1, &pattern);

	if (is == PROTECTED_NOT)
		return 0;
	if (++l->count > PROTECT_SCAN_LOOK_MAX)
		return refuse_many(path, pattern, e);
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return take(l, path, is, pattern, &st, e);
	return errno == ENOENT ? 0 : err_sys(e, "look at %.300s", path + 1);
}

/* Reads a folder that is above protected names.  If hutch may not read it, that is an
 * error: processes inside run as the same user, and could give themselves permission to
 * open the folder. */
static int read_folder(struct look *l, int top, const char *above, struct err *e)
{
	int fd = openat(top, *above ? above + 1 : ".", FOLDER);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int result = 0;

	if (!dir) {
		(void)err_sys(e, "look for protected files in %.300s", *above ? above + 1 : "it");
		own_close(&fd);
		return -1;
	}
	while (result == 0 && (errno = 0, entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			result = look_at(l, fd, above, entry->d_name, e);
	if (result == 0 && errno)
		result = err_sys(e, "read the folder %.300s", *above ? above + 1 : ".");
	(void)closedir(dir); /* errors do not matter: the folder was only read */
	return result;
}

static int look_through(struct look *l, int top, struct err *e)
{
	list_add(&l->waiting, "");
	while (l->waiting.count > 0) {
		AUTO_FREE char *next = l->waiting.items[--l->waiting.count];
		l->waiting.items[l->waiting.count] = NULL;
		if (read_folder(l, top, next, e) < 0)
			return -1;
	}
	return 0;
}

int protect_scan_list(const char *source, const struct list *patterns, struct list *ret,
		   struct err *e)
{
	struct look l = { .found = ret };

	if (!patterns->count)
		return 0;
	AUTO_CLOSE int top = openat(AT_FDCWD, source, FOLDER);
	if (top < 0)
		return errno == ENOTDIR ? 0 : err_sys(e, "open %.300s", source);
	struct protect *protect = protect_new(patterns);
	l.protect = protect;
	int result = look_through(&l, top, e);
	protect_free(protect);
	list_done(&l.waiting);
	return result;
}
