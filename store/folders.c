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

static int print_path(enum folder which, char *to, size_t size)
{
	const char *base = getenv(homes[which].variable), *home = getenv("HOME");
	struct stat st;

	/* A variable that was left behind by sudo names another user's folder:
	 * only what is ours counts. */
	if (base && base[0] == '/' && stat(base, &st) == 0 && is_ours(&st))
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
	/* stat(2) lets none of a path through that is longer than PATH_MAX; ours is behind it. */
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
			      "%s belongs to somebody else or others may write to it", path);
		return err_remedy(e, "remove it, or chown it to you and chmod 700 it");
	}
	return fd_take(&fd);
}

int folder_create(const char *path, struct err *e)
{
	AUTO_FREE char *at = text_copy(path);

	for (char *slash = strchr(at + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(at, 0700) < 0 && errno != EEXIST)
			return err_sys(e, "make %s", at);
		*slash = '/';
	}
	if (mkdir(at, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make %s", at);
	AUTO_CLOSE int fd = folder_open(path, e);
	return fd < 0 ? -1 : 0;
}
