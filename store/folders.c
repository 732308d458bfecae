#include "store/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"

static const struct {
	const char *variable, *below_home;
} homes[] = {
	[FOLDER_STATE] = { "XDG_RUNTIME_DIR", NULL },
	[FOLDER_DATA] = { "XDG_DATA_HOME", ".local/share" },
	[FOLDER_CACHE] = { "XDG_CACHE_HOME", ".cache" },
	[FOLDER_CONFIG] = { "XDG_CONFIG_HOME", ".config" },
};
_Static_assert(ARRAY_LEN(homes) == FOLDER_COUNT, "a folder has no home");

static int is_ours(const struct stat *st)
{
	return S_ISDIR(st->st_mode) && st->st_uid == geteuid();
}

static int state_path(char *to, size_t size)
{
	char runtime[40];
	struct stat st;

	(void)snprintf(runtime, sizeof(runtime), "/run/user/%u", geteuid());
	if (lstat(runtime, &st) == 0 && is_ours(&st))
		return snprintf(to, size, "%s/hutch", runtime);
	return snprintf(to, size, "/tmp/hutch-%u", geteuid());
}

/* Returns whether an XDG variable's folder is used.  A variable left over from sudo
 * may name another user's folder, so the folder must be ours, or not exist yet (XDG
 * Base Directory Specification). */
static bool counts(const char *base)
{
	struct stat st;

	if (!base || base[0] != '/')
		return false;
	if (stat(base, &st) == 0)
		return is_ours(&st);
	return errno == ENOENT || errno == ENOTDIR;
}

static int print_path(enum folder which, char *to, size_t size)
{
	const char *base = getenv(homes[which].variable), *home = getenv("HOME");
	struct stat st;

	if (counts(base))
		return snprintf(to, size, "%s/hutch", base);
	if (which == FOLDER_STATE)
		return state_path(to, size);
	if (!home || home[0] != '/' || stat(home, &st) < 0 || !is_ours(&st))
		return -1;
	return snprintf(to, size, "%s/%s/hutch", home, homes[which].below_home);
}

bool folder_path_in(enum folder which, char *to, size_t size)
{
	const int len = print_path(which, to, size);

	return len >= 0 && (size_t)len < size;
}

char *folder_path(enum folder which)
{
	/* The path fits: the base passed stat(2) and so is not longer than PATH_MAX,
	 * and `path` has room for hutch's own part after the base. */
	char path[PATH_MAX + 64];

	return folder_path_in(which, path, sizeof(path)) ? text_copy(path) : NULL;
}

int folder_open(const char *path, struct err *e)
{
	struct stat st;
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, "open %s", path);
	if (fstat(fd, &st) < 0)
		return err_sys(e, "stat %s", path);
	if (!is_ours(&st) || (st.st_mode & 022)) {
		(void)err_set(e, ERR_REFUSED,
			      "%s belongs to another user or others may write to "
			      "it", path);
		return err_remedy(e, "remove it, or chown it to you and chmod 700 it");
	}
	return fd_take(&fd);
}

/* Returns whether the owner of a parent folder is trusted.  The owner of the root
 * folder is trusted, since that user could change every path anyway: it is root or, in
 * a user namespace that does not map root, the overflow id. */
static bool is_trusted(uid_t uid)
{
	struct stat st;

	return uid == geteuid() || uid == 0 || (stat("/", &st) == 0 && st.st_uid == uid);
}

static int refuse_theirs(const char *name, const char *path, struct err *e)
{
	return err_set(e, ERR_REFUSED, "make %s: %s on the way to it is another user's",
		       path, name);
}

/* Opens the folder `name` in `dir`, and makes the folder if it is missing; closes
 * `dir`.  The owner of `dir` is checked, since that user could replace a folder made
 * in it, and so is the owner of a link, which leads where its owner wants. */
static int step(int dir, const char *name, const char *path, struct err *e)
{
	AUTO_CLOSE int above = dir;
	int follow = O_NOFOLLOW;
	struct stat st;

	if (fstatat(above, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISLNK(st.st_mode) && !is_trusted(st.st_uid))
			return refuse_theirs(name, path, e);
		follow = S_ISLNK(st.st_mode) ? 0 : O_NOFOLLOW;
	} else if (errno != ENOENT) {
		return err_sys(e, "make %s", path);
	} else if (fstat(above, &st) < 0 || !is_trusted(st.st_uid)) {
		return refuse_theirs("the folder above", path, e);
	} else if (mkdirat(above, name, 0700) < 0 && errno != EEXIST) {
		return err_sys(e, "make %s", path);
	}
	int fd = openat(above, name, O_PATH | O_DIRECTORY | O_CLOEXEC | follow);
	return fd < 0 ? err_sys(e, "make %s", path) : fd;
}

/* Adds to the error which variable chose the folder, since the user can change the
 * variable. */
static int advise(const char *path, struct err *e)
{
	for (size_t i = 0; i < FOLDER_COUNT; i++) {
		const char *base = getenv(homes[i].variable);
		const size_t len = base && base[0] == '/' ? strlen(base) : 0;

		if (len && !strncmp(path, base, len) &&
		    (path[len] == '/' || base[len - 1] == '/'))
			return err_remedy(
				e,
				"%s names it: set that to a folder of yours, or unset "
				"it",
				homes[i].variable);
	}
	return -1;
}

char *folder_audit(const char *where)
{
	if (!where || !strcmp(where, "off"))
		return NULL;
	if (*where == '/')
		return text_copy(where);
	if (strcmp(where, "on") != 0) {
		AUTO_FREE char *here = realpath(".", NULL);
		return here ? text_format("%s/%s", here, where) : NULL;
	}
	AUTO_FREE char *data = folder_path(FOLDER_DATA);
	return data ? text_format("%s/audit", data) : NULL;
}

int folder_create(const char *path, struct err *e)
{
	AUTO_FREE char *names = text_copy(path);
	AUTO_CLOSE int at =
		open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char *rest = names;

	if (at < 0)
		return err_sys(e, "make %s", path);
	for (const char *name; (name = strsep(&rest, "/"));) {
		if (!*name)
			continue;
		at = step(fd_take(&at), name, path, e);
		if (at < 0)
			return advise(path, e);
	}
	AUTO_CLOSE int fd = folder_open(path, e);
	return fd < 0 ? -1 : 0;
}
