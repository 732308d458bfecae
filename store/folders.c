#include "store/folders.h"

#include <errno.h>
#include <fcntl.h>
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

static char *state_path(void)
{
	AUTO_FREE char *runtime = text_format("/run/user/%u", geteuid());
	struct stat st;

	if (lstat(runtime, &st) == 0 && is_ours(&st))
		return text_format("%s/hutch", runtime);
	return text_format("/tmp/hutch-%u", geteuid());
}

char *folder_path(enum folder which)
{
	const char *base = getenv(homes[which].variable), *home = getenv("HOME");
	struct stat st;

	/* A variable that was left behind by sudo names another user's folder:
	 * only what is ours counts. */
	if (base && base[0] == '/' && stat(base, &st) == 0 && is_ours(&st))
		return text_format("%s/hutch", base);
	if (which == FOLDER_STATE)
		return state_path();
	if (!home || home[0] != '/' || stat(home, &st) < 0 || !is_ours(&st))
		return NULL;
	return text_format("%s/%s/hutch", home, homes[which].below_home);
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
