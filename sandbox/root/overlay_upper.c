#include "sandbox/root/overlay_upper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "base/resolve.h"
#include "store/folders.h"
#include "store/rm_tree.h"

#define PREFIX ".upper-"
#define PROBE  "user.hutch"

bool overlay_upper_tmpfs_suffices(void)
{
	AUTO_CLOSE int probe = memfd_create("hutch-probe", MFD_CLOEXEC);

	return probe >= 0 && fsetxattr(probe, PROBE, "1", 1, 0) == 0;
}

void overlay_upper_init(struct overlay_upper *u)
{
	*u = (struct overlay_upper){ .lock = -1 };
}

/* Removes folders that were left over.  A folder that no process locks was
 * left by a hutch that was killed with its janitor. */
static void sweep(int base)
{
	int again = openat(base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			continue;
		AUTO_CLOSE int old = rm_tree_open(base, entry->d_name);
		if (old >= 0 && flock(old, LOCK_EX | LOCK_NB) == 0)
			rm_tree_remove(base, entry->d_name);
	}
	if (dir)
		(void)closedir(dir); /* an error is harmless: the folder was only read */
}

static int make_layers(struct overlay_upper *u, bool is_layer, struct err *e)
{
	u->lock = open(u->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (u->lock < 0 || flock(u->lock, LOCK_EX | LOCK_NB) < 0)
		return err_sys(e, "lock %s", u->path);
	if (mkdirat(u->lock, "upper", 0755) < 0 || mkdirat(u->lock, "work", 0755) < 0)
		return err_sys(e, "make folders in %s", u->path);
	if (is_layer && fsetxattr(u->lock, PROBE, "1", 1, 0) < 0)
		return err_sys(e, "set an attribute on %s", u->path);
	return 0;
}

static int make_below(struct overlay_upper *u, const char *base, bool is_layer,
		      struct err *e)
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
	if (make_layers(u, is_layer, e) == 0)
		return 0;
	overlay_upper_remove(u);
	return -1;
}

/* Makes a folder unless it exists: the caller's folder may have been the upper
 * layer of an image before. */
static int make_missing(int dir, const char *name, struct err *e)
{
	struct stat st;

	if (mkdirat(dir, name, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "make the folder %s in it", name);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return err_set(e, ERR_USAGE, "%s in it is no folder", name);
	return 0;
}

static int lock_folder(struct overlay_upper *u, struct err *e)
{
	u->lock = resolve_open_real(u->path, O_RDONLY | O_DIRECTORY);
	if (u->lock < 0 && errno == ELOOP)
		return err_set(e, ERR_REFUSED,
			       "it was replaced while the sandbox was being made");
	if (u->lock < 0)
		return err_sys(e, "open it");
	if (flock(u->lock, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
			       ? err_set(e, ERR_BUSY, "another sandbox writes to it")
			       : err_sys(e, "lock it");
	return 0;
}

static int take_folder(struct overlay_upper *u, struct err *e)
{
	if (lock_folder(u, e) < 0)
		return -1;
	if (fsetxattr(u->lock, PROBE, "1", 1, 0) < 0 ||
	    fremovexattr(u->lock, PROBE) < 0) {
		(void)err_sys(e, "set an attribute on it");
		return err_remedy(
			e, "--upper takes a folder of yours on ext4, xfs or btrfs; so "
			   "does XDG_DATA_HOME, where --keep keeps files");
	}
	return make_missing(u->lock, "upper", e) < 0 ? -1
						     : make_missing(u->lock, "work", e);
}

int overlay_upper_keep(struct overlay_upper *u, const char *flag, const char *folder,
		       struct err *e)
{
	AUTO_FREE char *from = text_format("%s %.200s", flag, folder);

	u->is_kept = true;
	u->path = text_copy(folder);
	return take_folder(u, e) < 0 ? err_in(e, "%s", from) : 0;
}

static const enum folder places[] = { FOLDER_STATE, FOLDER_DATA };

static int no_place(struct err *e)
{
	(void)err_in(
		e,
		"a writable image needs a place with user.* attributes: tmpfs has none "
		"before kernel 6.6");
	return err_remedy(
		e, "add --read-only, or set XDG_DATA_HOME to a folder on ext4, xfs or "
		   "btrfs");
}

int overlay_upper_make(struct overlay_upper *u, struct err *e)
{
	(void)err_set(e, ERR_UNSUPPORTED, "no folder of hutch's own exists");
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		AUTO_FREE char *base = folder_path(places[i]);
		if (base && make_below(u, base, true, e) == 0)
			return 0;
	}
	return no_place(e);
}

int overlay_upper_make_root(struct overlay_upper *u, struct err *e)
{
	(void)err_set(e, ERR_UNSUPPORTED, "no folder of hutch's own exists");
	for (size_t i = ARRAY_LEN(places); i-- > 0;) {
		AUTO_FREE char *base = folder_path(places[i]);
		if (base && make_below(u, base, false, e) == 0)
			return 0;
	}
	return -1;
}

/* Cuts `path`, in place, to the part that exists. */
static void cut_to_existing(char *path)
{
	struct stat st;

	while (path[1] && lstat(path, &st) < 0) {
		char *slash = strrchr(path, '/');
		slash[slash == path] = '\0';
	}
}

int overlay_upper_try(char **ret_place, struct err *e)
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

/* Returns whether a copy of a file in this folder can share its content with the
 * original (FICLONE).  The test file has 64 KiB: FICLONE works on whole blocks, and
 * no file system has larger ones. */
static bool shares_content(const char *folder)
{
	AUTO_CLOSE int from = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	AUTO_CLOSE int to = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return from >= 0 && to >= 0 && ftruncate(from, 1 << 16) == 0 &&
	       ioctl(to, FICLONE, from) == 0;
}

int overlay_upper_try_root(char **ret_place, bool *ret_shares, struct err *e)
{
	(void)err_set(e, ERR_UNSUPPORTED, "no folder of hutch's own exists");
	for (size_t i = ARRAY_LEN(places); i-- > 0;) {
		AUTO_FREE char *base = folder_path(places[i]);
		if (!base)
			continue;
		AUTO_FREE char *there = text_copy(base);
		cut_to_existing(there);
		if (access(there, W_OK) == 0) {
			*ret_place = text_copy(base);
			*ret_shares = shares_content(there);
			return 0;
		}
		(void)err_sys(e, "write below %s", there);
	}
	return -1;
}

/* Makes the user's folder removable: overlayfs leaves a folder in "work" that its
 * owner cannot look into, and so cannot remove with rm -r. */
static void keep(struct overlay_upper *u)
{
	AUTO_CLOSE int work =
		openat(u->lock, "work", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	/* layer: upper-nofollow */
	if (work >= 0 && fchmodat(work, "work", 0700, AT_SYMLINK_NOFOLLOW) < 0)
		errno = 0; /* a failure is harmless: there is no such folder, or its
			    * mode stays */
	own_close(&u->lock);
	own_free(&u->path);
}

void overlay_upper_remove(struct overlay_upper *u)
{
	if (!u || !u->path)
		return;
	if (u->is_kept) {
		keep(u);
		return;
	}
	char *slash = strrchr(u->path, '/');
	*slash = '\0';
	AUTO_CLOSE int base =
		open(u->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	*slash = '/';
	if (base >= 0)
		rm_tree_remove(base, slash + 1);
	own_close(&u->lock);
	own_free(&u->path);
}
