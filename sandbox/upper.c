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
#include "sandbox/tree.h"

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

/* What nobody locks was left by a hutch that was killed with its janitor. */
static void sweep(int base)
{
	int again = openat(base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			continue;
		AUTO_CLOSE int old = tree_open(base, entry->d_name);
		if (old >= 0 && flock(old, LOCK_EX | LOCK_NB) == 0)
			tree_remove(base, entry->d_name);
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
		tree_remove(base, slash + 1);
	own_close(&u->lock);
	own_free(&u->path);
}
