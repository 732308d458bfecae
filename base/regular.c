#include "base/regular.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"

int regular_open(int dir, const char *path, int flags, const char *name, struct err *e)
{
	AUTO_CLOSE int fd =
		openat(dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open %.500s", name);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_USAGE, "open %.500s: it is not a regular file",
			       name);
	return fd_take(&fd);
}
