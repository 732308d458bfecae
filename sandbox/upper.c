#include "sandbox/upper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "sandbox/folders.h"

#define PREFIX ".upper-"
#define PROBE  "user.hutch"

bool upper_tmpfs_suffices(void)
{
	AUTO_CLOSE int probe = memfd_create("hutch-probe", MFD_CLOEXEC);

	return probe >= 0 && fsetxattr(probe, PROBE, "1", 1, 0) == 0;
}

void upper_init(struct upper *u)
{
	*u = (struct upper){ .lock = -1 };
}

/* Opens a folder that its owner may have closed to himself. */
static int open_folder(int parent, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(parent, name, flags);

	if (fd >= 0 || errno != EACCES)
		return fd;
	/* By descriptor: fchmodat(2) would follow a link that is put in its
	 * place.  An O_PATH one takes no fchmod(2), its /proc name does. */
	AUTO_CLOSE int path = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char self[40];
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", path);
	if (path < 0 || chmod(self, 0700) < 0)
		return -1;
	return openat(parent, name, flags);
}

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* Unlinks what can be unlinked; the name of a folder that is not empty, or
 * NULL when there is none left. */
static char *clear_files(int folder, bool *ret_progress)
{
	char *full = NULL;
	struct dirent *entry;
	int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);

	if (!dir)
		return NULL;
	(void)fchmod(folder, 0700); /* to unlink in it; what fails shows below */
	while (!full && (entry = readdir(dir))) {
		if (is_dots(entry->d_name))
			continue;
		if (unlinkat(folder, entry->d_name, 0) == 0 ||
		    unlinkat(folder, entry->d_name, AT_REMOVEDIR) == 0)
			*ret_progress = true;
		else if (errno == ENOTEMPTY)
			full = text_copy(entry->d_name);
	}
	(void)closedir(dir); /* it was only read */
	return full;
}

static bool is_same(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* Empties the tree below `top`, with a handful of descriptors however deep it
 * is: down into a folder that is not empty, and up again when it is.  Having
 * come up to the same full folder without having removed anything means that
 * something in it cannot be removed. */
static void empty_tree(int top)
{
	AUTO_CLOSE int at = fcntl(top, F_DUPFD_CLOEXEC, 0);
	bool came_up = false;

	while (at >= 0) {
		bool progress = false;
		AUTO_FREE char *full = clear_files(at, &progress);
		if (full ? came_up && !progress : is_same(at, top))
			return;
		came_up = !full;
		int next = open_folder(at, full ? full : "..");
		own_close(&at);
		at = next;
	}
}

static void remove_folder(int base, const char *name)
{
	AUTO_CLOSE int folder = open_folder(base, name);

	if (folder >= 0)
		empty_tree(folder);
	(void)unlinkat(base, name, AT_REMOVEDIR); /* else: the next launch tries again */
}

/* What nobody locks was left by a hutch that was killed with its janitor. */
static void sweep(int base)
{
	int again = openat(base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			continue;
		AUTO_CLOSE int old = open_folder(base, entry->d_name);
		if (old >= 0 && flock(old, LOCK_EX | LOCK_NB) == 0)
			remove_folder(base, entry->d_name);
	}
	if (dir)
		(void)closedir(dir); /* it was only read */
}

static int make_layers(struct upper *u, struct err *e)
{
	u->lock = open(u->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (u->lock < 0 || flock(u->lock, LOCK_EX | LOCK_NB) < 0)
		return err_sys(e, "lock %s", u->path);
	if (mkdirat(u->lock, "upper", 0755) < 0 || mkdirat(u->lock, "work", 0755) < 0)
		return err_sys(e, "make folders in %s", u->path);
	if (fsetxattr(u->lock, PROBE, "1", 1, 0) < 0)
		return err_sys(e, "set an attribute on %s", u->path);
	return 0;
}

static int make_below(struct upper *u, const char *base, struct err *e)
{
	if (folder_create(base, e) < 0)
		return -1;
	AUTO_CLOSE int dir = folder_open(base, e);
	if (dir < 0)
		return -1;
	sweep(dir);
	u->path = text_format("%s/" PREFIX "XXXXXX", base);
	if (!mkdtemp(u->path)) {
		own_free(&u->path);
		return err_sys(e, "make a folder in %s", base);
	}
	if (make_layers(u, e) == 0)
		return 0;
	upper_remove(u);
	return -1;
}

static const enum folder places[] = { FOLDER_STATE, FOLDER_DATA };

static int no_place(struct err *e)
{
	(void)err_in(e, "a writable image needs a place with user.* attributes: tmpfs has none "
			"before kernel 6.6");
	return err_remedy(e, "add --read-only, or set XDG_DATA_HOME to a folder on ext4, xfs or "
			     "btrfs");
}

int upper_make(struct upper *u, struct err *e)
{
	(void)err_set(e, ERR_UNSUPPORTED, "no folder of hutch's own exists");
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		AUTO_FREE char *base = folder_path(places[i]);
		if (base && make_below(u, base, e) == 0)
			return 0;
	}
	return no_place(e);
}

/* The part of `path` that is there. */
static void cut_to_existing(char *path)
{
	struct stat st;

	while (path[1] && lstat(path, &st) < 0) {
		char *slash = strrchr(path, '/');
		slash[slash == path] = '\0';
	}
}

int upper_try(char **ret_place, struct err *e)
{
	(void)err_set(e, ERR_UNSUPPORTED, "no folder of hutch's own exists");
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		AUTO_FREE char *base = folder_path(places[i]);
		if (!base)
			continue;
		AUTO_FREE char *there = text_copy(base);
		cut_to_existing(there);
		AUTO_CLOSE int fd = open(there, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (fd >= 0 && fsetxattr(fd, PROBE, "1", 1, 0) == 0) {
			*ret_place = text_copy(base);
			return 0;
		}
		(void)err_sys(e, "set an attribute below %s", there);
	}
	return no_place(e);
}

void upper_remove(struct upper *u)
{
	if (!u || !u->path)
		return;
	char *slash = strrchr(u->path, '/');
	*slash = '\0';
	AUTO_CLOSE int base = open(u->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	*slash = '/';
	if (base >= 0)
		remove_folder(base, slash + 1);
	own_close(&u->lock);
	own_free(&u->path);
}
